from dataclasses import replace

import pytest

from codetrail.adapters.treesitter.chunker import TreeSitterChunker
from codetrail.domain.span import Kind, Span
from tests.evaluation import golden
from tests.evaluation.corpora import Untitled, innermost
from tests.evaluation.golden import Golden, Set, without_names
from tests.evaluation.sealing import Sealed
from tests.support.revisions import span

SOURCES = {
    "a.go": ("go", "package a\n\n// Parse reads s.\n// It may fail.\nfunc Parse(s string) {}\n"),
    "a.py": (
        "python",
        '# a remark\ndef parse(s):\n    """Read the text s.\n\n    Args:\n        s: text\n    """\n',
    ),
    "a.rs": ("rust", "/// Reads the text s.\n///\n/// # Panics\n/// Always.\npub fn parse(s: &str) {}\n"),
    "a.ts": ("typescript", "/**\n * Reads the text s.\n * @param s text\n */\nexport function parse(s) {}\n"),
    "A.java": ("java", "class A {\n  /** Reads the text s. */\n  public void parse(String s) {}\n}\n"),
}


def spans(path: str, language: str, text: str, *, strip: bool) -> list[Span]:
    data = text.encode()
    with TreeSitterChunker(strip_doc_comments=strip) as chunker:
        chunked = chunker.chunk(path, language, data)
    for start, end in chunked.blanks:
        blank = bytes(10 if byte == 10 else 32 for byte in data[start:end])
        data = data[:start] + blank + data[end:]
    return [
        replace(
            span(at, data[piece.start_byte : piece.end_byte].decode().rstrip("\n"), symbol=piece.symbol),
            path=path,
            language=language,
            kind=Kind(piece.kind),
            start_line=data[: piece.start_byte].count(b"\n") + 1,
            end_line=data[: piece.end_byte].rstrip(b"\n").count(b"\n") + 1,
        )
        for at, piece in enumerate(chunked.pieces)
    ]


def sealed(found: list[Span]) -> Sealed:
    return Sealed(
        manifest=None,  # type: ignore[arg-type]  # nothing here reads it
        spans=tuple(found), masses=(), postings=(), names=(), files=(),
    )  # fmt: skip


@pytest.mark.parametrize("path", SOURCES)
def test_the_prose_of_a_doc_comment_is_the_question_without_its_marks_and_tables(path):
    language, text = SOURCES[path]

    found = golden.documented(
        sealed(spans(path, language, text, strip=False)), sealed(spans(path, language, text, strip=True))
    )

    wanted = {"a.go": "Parse reads s. It may fail.", "a.py": "Read the text s."}.get(
        path, "Reads the text s."
    )
    assert [one.prose for one in found] == [wanted]


def test_a_name_is_taken_out_as_it_is_written_and_no_word_with_it():
    text = "Dict adds a dict; see Event.Dict, `Dict` and Dict()."

    assert without_names(text, "Event.Dict") == "adds a dict; see and"


def made(rows, searched) -> Golden:
    return golden.gathered(Set.PROSE, rows, searched)


def test_a_question_that_stands_in_what_is_searched_is_dropped_and_counted():
    said = "reads one two three four five six seven words of it"
    searched = [span(0, f"func F() {{ // {said.upper()}!\n}}"), span(1, "func G() {}")]

    found = made([(said, [1], "G"), ("quite another question", [1], "G")], searched)

    assert ([case.question for case in found.cases], found.leaking) == (["quite another question"], 1)
    assert golden.refused([found])


@pytest.mark.parametrize(("leaking", "out"), [(1, False), (2, True)])
def test_a_corpus_is_refused_when_more_than_one_question_in_a_hundred_leaks(leaking, out):
    said = "these are the eight words that do leak"
    rows = [(f"{said} {at}", [0], "F") for at in range(leaking)]
    rows += [(f"an honest question {at}", [0], "F") for at in range(100 - leaking)]

    found = made(rows, [span(0, "\n".join(text for text, _, _ in rows[:leaking]))])

    assert (found.made, found.leaking, golden.refused([found])) == (100, leaking, out)


def test_a_short_phrase_that_stands_somewhere_leaks_nothing():
    found = made([("install the module", [0], "F")], [span(0, "install the module")])

    assert (len(found.cases), found.leaking, golden.refused([found])) == (1, 0, False)


def test_questions_alike_share_their_answers_and_are_counted():
    searched = [span(0, "func F() {}"), span(1, "func G() {}")]

    found = made([("Closes it.", [0], "F"), ("closes it", [1], "G")], searched)

    assert [case.gold for case in found.cases] == [(0, 1), (0, 1)]
    assert found.duplicate == 1
    assert len({case.id for case in found.cases}) == 2


def test_only_innermost_headings_are_questions():
    assert innermost(["a", "a > b", "a > b > c", "d", ""]) == {"a > b > c", "d"}


def test_an_untitled_section_has_lost_its_heading_and_kept_those_around_it():
    source = b"# Guide\n\nHello.\n\n## Install\n\nRun it.\n\n```sh\n# not a heading\n```\n"
    with TreeSitterChunker() as chunker:
        chunked = Untitled(chunker).chunk("a.md", "markdown", source)

    assert [piece.symbol for piece in chunked.pieces] == ["Guide", "Guide"]
    assert [source[start:end] for start, end in chunked.blanks] == [b"## Install"]
