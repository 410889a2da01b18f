"""Markdown by section. What a heading is, a CommonMark parser says."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from codetrail.adapters.treesitter.sections import OVERLAP_BYTES, SECTION_BYTES, block_parser, cut_markdown
from codetrail.domain.lines import Lines
from tests.support.chunking import cut_file

PARSER = block_parser()


def headings(text: str) -> list[tuple[str, int]]:
    """Return (text, line) of each heading of the document itself, as CommonMark sees it."""
    tokens = MarkdownIt("commonmark").parse(text)
    return [
        (tokens[at + 1].content, (token.map or [0])[0] + 1)
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0
    ]


DOCUMENTS = {
    "a fence": "# A\n\n```sh\n# no\n```\n\nx\n",
    "a tilde fence": "# A\n\n~~~\n# no\n```\n# no\n~~~\n\n# B\n\nx\n",
    "four backticks around three": "````\n```\n# no\n```\n````\n\n# A\n\nx\n",
    "a closer with an info string": "```\n# no\n``` x\n# no\n```\n\n# A\n\nx\n",
    "an unclosed fence": "# A\n\nx\n\n```\n# no\n",
    "setext": "Title\n=====\n\nx\n\nSub\nlines\n---\n\ny\n",
    "a rule": "# A\n\nx\n\n---\n\n# B\n\ny\n",
    "a list with a fence": "# A\n\n- ```\n  # no\n  ```\n\n# B\n\nx\n",
    "a heading in a list": "1. x\n\n   # no\n\n# A\n\nx\n",
    "a quote": "> # no\n\n# A\n\nx\n",
    "html": "<div>\n# no\n</div>\n\n# A\n\nx\n\n<!--\n# no\n-->\n",
    "indented code": "# A\n\n    # no\n\n#no\n\n####### no\n",
    "closing marks": "# A ##\n\nx\n\n## B #\n\ny\n",
    "CRLF": "# A\r\n\r\nx\r\n\r\nB\r\n===\r\n\r\ny\r\n",
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_sections_start_at_the_headings_that_commonmark_sees(name: str) -> None:
    text = DOCUMENTS[name]

    cut = cut_file("a.md", text.encode())

    found = [(piece.symbol.rpartition(" > ")[2], piece.start) for piece in cut.pieces if piece.symbol]
    assert found == [(heading.replace("\n", " "), line) for heading, line in headings(text)]


BLOCKS = st.sampled_from(
    [
        *("# A\n", "## B ##\n", "### `c`\n", "T\n=\n", "U\n---\n", "para\nmore\n", "    code\n", "#no\n"),
        *("```\n", "~~~\n", "````\n", "``` x\n", "\n", "  # D\n", "| a |\n|---|\n", "> q\n", "***\n", "#\n"),
    ]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(BLOCKS, max_size=14))
def test_random_documents_start_sections_where_commonmark_sees_headings(blocks: list[str]) -> None:
    text = "start\n\n" + "\n".join(blocks) + "\n\nend\n"
    source = text.encode()
    lines = text.split("\n")
    expected = [line for _, line in headings(text)]

    cut = cut_markdown(source, PARSER)

    starts = {Lines(source).of_byte(piece.start_byte) for piece in cut.pieces}
    assert starts <= {1, *expected}
    for line, until in pairwise([*expected, len(lines) + 1]):
        # A setext heading's underline says nothing either.
        under = [text for text in lines[line : until - 1] if text.strip(" =-")]
        if under:
            assert line in starts


def test_same_headings_under_different_parents_have_different_paths() -> None:
    cut = cut_file("a.md", b"# A\n\nx\n\n## Errors\n\ny\n\n# B\n\nz\n\n## Errors\n\nw\n")

    assert [piece.symbol for piece in cut.pieces] == ["A", "A > Errors", "B", "B > Errors"]


def test_a_second_title_starts_its_own_path() -> None:
    cut = cut_file("a.md", b"# A\n\nx\n\nB\n===\n\ny\n\n## C\n\nz\n")

    assert [piece.symbol for piece in cut.pieces] == ["A", "B", "B > C"]


def test_a_heading_with_nothing_under_it_joins_the_piece_before() -> None:
    cut = cut_file("a.md", b"# A\n\nx\n\n## Empty\n\n## B\n\ny\n")

    assert cut.where == [("section", "A", 1, 5), ("section", "A > B", 7, 9)]


def test_the_first_heading_with_nothing_under_it_joins_the_piece_after() -> None:
    cut = cut_file("a.md", b"# A\n\n## B\n\ny\n")

    assert cut.where == [("section", "A > B", 1, 5)]


def test_a_file_of_headings_alone_is_one_piece() -> None:
    assert cut_file("a.md", b"# A\n\n## B\n").where == [("section", "A", 1, 3)]


def test_prose_whose_lines_end_in_cr_is_found_though_all_of_it_is_one_heading() -> None:
    (piece,) = cut_file("a.md", b"# Install\r\rRun make to install.\r").pieces

    assert (piece.start, piece.end) == (1, 1)
    assert "Run make to install." in piece.text


@pytest.mark.parametrize(
    ("data", "first"),
    [
        (b'---\ntitle: "#x"\n---\n\n# A\n\nx\n', 5),
        (b"+++\ntitle = '# x'\n+++\n# A\n\nx\n", 4),
        (b"# A\n\nx\n\n---\n\ny\n", 1),
    ],
    ids=["yaml", "toml", "a rule"],
)
def test_front_matter_is_no_text_but_its_lines_count(data: bytes, first: int) -> None:
    cut = cut_file("a.md", data)

    assert [(piece.symbol, piece.start) for piece in cut.pieces] == [("A", first)]
    assert "title" not in "".join(piece.text for piece in cut.pieces)


def test_links_and_code_in_a_heading_leave_their_words() -> None:
    cut = cut_file("a.md", b"## The `Foo` of [bar](http://x) **baz**\n\nx\n")

    assert cut.pieces[0].symbol == "The Foo of bar baz"


def test_long_sections_are_split_at_paragraphs_and_overlap() -> None:
    paragraphs = [f"Paragraph {n} " + "ü" * 500 + "\n\n" for n in range(20)]
    data = ("# A\n\n" + "".join(paragraphs)).encode()

    cut = cut_file("a.md", data)

    assert len(cut.pieces) > 3
    assert {piece.symbol for piece in cut.pieces} == {"A"}
    for piece in cut.pieces:
        assert len(piece.text.encode()) <= SECTION_BYTES
        assert "\ufffd" not in piece.text
    for before, after in pairwise(cut.pieces):
        assert before.end >= after.start
        assert before.text.split("\n")[-1].startswith("Paragraph")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n#"), max_size=400), max_size=60))
def test_no_text_is_lost_and_only_single_lines_pass_the_limit(lines: list[str]) -> None:
    data = ("# A\n\n" + "\n".join(lines) + "\n").encode()
    cut = cut_markdown(data, PARSER)
    rows = data.split(b"\n")
    seen = set()
    for piece in cut.pieces:
        first, last = data.count(b"\n", 0, piece.start_byte), data.count(b"\n", 0, piece.end_byte - 1)
        seen |= set(range(first, last + 1))
        assert piece.end_byte - piece.start_byte <= SECTION_BYTES + 1 or first == last

    if cut.pieces:
        assert all(number in seen for number, row in enumerate(rows) if row.strip())


def test_the_overlap_is_what_the_reference_says() -> None:
    lines = [f"line {number:04} " + "x" * 30 for number in range(300)]

    cut = cut_file("a.md", ("# A\n\n" + "\n".join(lines)).encode())

    before, after = cut.pieces[:2]
    shared = "\n".join(before.text.split("\n")[after.start - before.end - 1 :])
    assert OVERLAP_BYTES <= len(shared) < OVERLAP_BYTES + 50
    assert after.text.startswith(shared)
