import subprocess
from datetime import UTC, datetime

import pytest

from codetrail.domain.repo import Reason
from codetrail_local import render
from codetrail_local.replies import (
    Answer,
    Citation,
    Coverage,
    Floor,
    Hit,
    Hits,
    Job,
    JobError,
    Marked,
    Near,
    Place,
    Progress,
    Repo,
    Searched,
    Staleness,
)
from codetrail_local.terminal import Style

NOTE = "Correct at commit 2d3c2a9, indexed 1 day ago. codetrail has not checked whether HEAD has moved since."
PLAIN = Style(columns=80)
URL = "https://github.com/google/uuid"
COMMIT = "2d3c2a9cc518326daf99a383f07c4d3c44317e4d"


def citation(path="version7.go", remote=URL, **fields):
    given = {
        "remote": remote,
        "commit": COMMIT,
        "ref": "HEAD",
        "path": path,
        "start_line": 22,
        "end_line": 31,
        "digest": "a" * 64,
        "check": f"git cat-file blob {COMMIT}:{path} | tail -n +22 | head -n 10 | head -c 300 | sha256sum",
        "permalink": f"{remote}/blob/{COMMIT}/{path}#L22-L31",
        "staleness": Staleness(note=NOTE),
    }
    return Citation(**{**given, **fields})


def answered(*marked, text="[1] version7.go:22-31 (NewV7)\nfunc NewV7() {}\n", **fields):
    return Answer(refused=False, answer=text, citations=list(marked), **fields)


def marked(number=1, symbol="NewV7", **fields):
    return Marked(marker=number, kind="func", symbol=symbol, citation=citation(**fields))


def test_an_answer_is_followed_by_its_citations_and_what_is_not_known():
    assert (
        render.answer(answered(marked(), dropped=2), PLAIN)
        == f"""\
[1] version7.go:22-31 (NewV7)
func NewV7() {{}}

Citations. Each command prints the SHA-256 under it, in any clone:
    git clone https://github.com/google/uuid && cd uuid

[1] version7.go:22-31 (func NewV7)
    https://github.com/google/uuid/blob/{COMMIT}/version7.go#L22-L31
    git cat-file blob {COMMIT}:version7.go | tail -n +22 | head -n 10 | head -c 300 | sha256sum
    {"a" * 64}

Correct at commit 2d3c2a9, indexed 1 day ago. codetrail has not checked whether
HEAD has moved since.
2 more spans matched and did not fit the answer's length."""
    )


def test_a_command_is_one_line_however_narrow_the_terminal_is():
    lines = render.answer(answered(marked()), Style(columns=20)).split("\n")

    assert [line.strip() for line in lines if "cat-file" in line] == [citation().check]


def test_citations_are_grouped_by_repository_with_one_way_to_a_clone_each():
    other = "https://codeberg.org/a/b"
    text = render.citations([marked(1), marked(2, remote=other), marked(3)], PLAIN)

    assert text.count("git clone") == 2
    assert (
        text.index("[1]") < text.index("[3]") < text.index(f"git clone {other} && cd b") < text.index("[2]")
    )


def test_a_repository_on_this_machine_is_a_clone_already():
    assert render.clone_hint("file:///home/me/a%20b%27s") == "cd '/home/me/a b'\"'\"'s'"


def test_a_file_without_a_forge_has_no_link_line():
    text = render.citations([marked(remote="file:///src/uuid", permalink="")], PLAIN)

    assert "\n    cd" not in text.split("\n\n")[1]
    assert [line[:15] for line in text.split("\n")[-3:]] == [
        "[1] version7.go",
        "    git cat-fil",
        "    aaaaaaaaaaa",
    ]


def test_a_refusal_says_why_and_what_was_searched():
    reply = Answer(
        refused=True,
        reason="below_floor",
        detail="What was found speaks too little for an answer being here.",
        top_score=0.633,
        confidence=0.181,
        floor=Floor(value=0.25, calibrated=True, quantity="confidence"),
        coverage=Coverage(
            indexed=25, degraded=1, skipped=3, reasons={"binary": 2, "lfs_pointer": 1, "new": 1}
        ),
        searched=Searched(files=1, spans=12),
        nearest=[
            Near(path="a.go", start_line=3, end_line=4, kind="func", symbol="Near", score=1.25),
            Near(path="b.md", start_line=1, end_line=1, score=0.5),
        ],
    )

    assert (
        render.answer(reply, PLAIN)
        == """\
No answer.
What was found speaks too little for an answer being here.

  reason   below_floor
  reached  0.181 of confidence
  floor    0.250 of confidence (measured)
  searched 12 spans in 1 file
  indexed  26 files, 1 of them by windows of lines
  skipped  3 files
  why      2 binary, 1 Git LFS pointers, 1 new

What came nearest. It is not an answer:
  a.go:3-4 (func Near)  score 1.250
  b.md:1-1  score 0.500"""
    )


def test_a_floor_that_nobody_measured_is_not_called_measured():
    reply = Answer(refused=True, floor=Floor(value=0.4, calibrated=False))

    assert "of cosine (not measured)" in render.answer(reply, PLAIN)


def test_a_refusal_names_no_floor_where_none_refuses():
    reply = Answer(refused=True, reason="unscored", floor=Floor(value=-1))

    assert "floor" not in render.answer(reply, PLAIN)


def test_hits_show_their_first_lines():
    hit = Hit(
        kind="func", symbol="NewV7",
        text="a\n\nb\nc\nd\ne\nf\n", score=5.1234, citation=citation(),
    )  # fmt: skip

    assert (
        render.hits(Hits(mode="hybrid", hits=[hit]), PLAIN)
        == """\
1. version7.go:22-31 (func NewV7)  score 5.123
    a
    b
    c
    d
    … 2 more lines

Correct at commit 2d3c2a9, indexed 1 day ago. codetrail has not checked whether
HEAD has moved since.
Scores order the hits of one search (hybrid); they say nothing across searches."""
    )


def test_nothing_found_is_said_with_what_was_searched():
    assert render.hits(Hits(hits=[]), PLAIN) == "Nothing in this repository's index matches."
    assert render.hits(Hits(hits=[], searched=Searched(files=0, spans=0)), PLAIN) == (
        "Nothing in this repository's index matches. Searched: 0 spans in 0 files."
    )


def test_the_words_that_no_cited_span_contains_are_one_line():
    text = render.answer(answered(marked(), unmatched_words=["foo", "Bar::baz"]), PLAIN)

    assert "\nNo cited span contains: foo, Bar::baz\n" in text
    assert "No cited span contains" not in render.answer(answered(marked()), PLAIN)


PLACES = [Place(path=f"v{at}/a.go", start_line=at, end_line=at + 1) for at in range(1, 6)]


def test_where_else_the_same_bytes_stand_is_told_in_few_places():
    few = Hit(score=1, citation=citation(), copies=1, copy_places=PLACES[:1])
    many = marked(1).model_copy(update={"copies": 40, "copy_places": PLACES})

    assert render.hits(Hits(hits=[few]), PLAIN).split("\n")[1] == "    the same also at v1/a.go:1-2"
    assert (
        f"    {'a' * 64}\n    the same also at v1/a.go:1-2, v2/a.go:2-3, v3/a.go:3-4, 37 more\n"
        in render.answer(answered(many), PLAIN)
    )


def test_the_corpus_is_a_table():
    repo = Repo(
        id="9f2c1a7b3d5e4088", remote=URL, ref="HEAD", commit=COMMIT, indexed_at="2026-11-30T20:00:00Z"
    )
    now = datetime(2026, 11, 30, 22, 5, tzinfo=UTC)

    assert render.repos([repo], now).split("\n") == [
        "ID                COMMIT   INDEXED      REPOSITORY",
        "9f2c1a7b3d5e4088  2d3c2a9  2 hours ago  https://github.com/google/uuid (HEAD)",
    ]


def test_an_empty_corpus_says_how_to_begin():
    assert "codetrail index REMOTE" in render.repos([], datetime.now(UTC))


def test_every_reason_that_a_file_may_have_is_told_in_words():
    coverage = Coverage(skipped=len(Reason), reasons={reason.value: 1 for reason in Reason})
    reply = Answer(refused=True, reason="unscored", detail="Nothing.", coverage=coverage)

    assert "_" not in render.answer(reply, Style(columns=80))


def test_a_failed_job_says_why_under_its_line():
    failed = Job(
        id="j1", remote=URL, ref="v9", status="failed", progress=Progress(stage="resolve"),
        error=JobError(reason="ref_not_found", sentence="The repository has no branch or tag of this name."),
    )  # fmt: skip
    done = Job(id="j2", remote=URL, ref="HEAD", status="done", progress=Progress(stage="published"))

    assert render.jobs([failed, done]).split("\n") == [
        "JOB  STATUS  STAGE      REPOSITORY",
        "j1   failed  resolve    https://github.com/google/uuid (v9)",
        "    The repository has no branch or tag of this name.",
        "j2   done    published  https://github.com/google/uuid (HEAD)",
    ]


def test_nothing_of_a_repository_steers_the_terminal():
    evil = "\x1b]0;owned\x07\x9b2J\u202e"
    cited = marked(
        symbol=evil, path=evil, remote=f"https://x/{evil}/y", permalink=evil, check=evil, digest=evil,
        staleness=Staleness(note=evil),
    )  # fmt: skip
    hit = Hit(
        kind=evil,
        symbol=evil,
        text=evil,
        score=1,
        citation=cited.citation,
        copies=1,
        copy_places=[Place(path=evil, start_line=1, end_line=1)],
    )
    near = Near(path=evil, start_line=1, end_line=1, kind=evil, symbol=evil, score=1)
    repo = Repo(id=evil, remote=evil, ref=evil, commit=evil, indexed_at=evil)
    job = Job(id=evil, remote=evil, ref=evil, status=evil, error=JobError(reason=evil, sentence=evil))
    texts = [
        render.answer(answered(cited, text=f"[1] {evil}:22-31\n{evil}\r{evil}"), PLAIN),
        render.answer(answered(cited, unmatched_words=[evil]), PLAIN),
        render.answer(Answer(refused=True, reason=evil, detail=evil, nearest=[near]), PLAIN),
        render.hits(Hits(mode=evil, hits=[hit]), PLAIN),
        render.indexed(repo, evil, PLAIN),
        render.repos([repo], datetime.now(UTC)),
        render.jobs([job]),
    ]

    for text in texts:
        assert not {"\x1b", "\x07", "\x9b", "\u202e", "\r"} & set(text)
        assert "\\x1b]0;owned\\x07\\x9b2J\\u202e" in text


def test_a_ref_that_was_looked_up_for_the_answer_is_not_called_unchecked():
    text = render.answer(answered(marked()), Style(), looked_up="v1.6.0")

    assert f"Correct at commit {COMMIT[:7]}: v1.6.0 was looked up for this answer and names it." in text
    assert "has not checked" not in text


NO_FLOOR_NOTE = "The floor refuses nothing (ANSWER_SCORE_FLOOR)"


@pytest.mark.parametrize("floor", [Floor(value=-1), Floor(value=0, quantity="confidence")])
def test_an_answer_without_a_floor_says_so_and_how_near_the_best_match_is(floor):
    reply = answered(marked()).model_copy(update={"floor": floor, "top_score": 0.118})

    text = " ".join(render.answer(reply, Style()).split())

    assert f"The best match has a cosine of 0.12. {NO_FLOOR_NOTE}" in text


@pytest.mark.parametrize(
    "floor",
    [
        Floor(value=0.4, calibrated=True, quantity="confidence"),
        Floor(value=0.01, quantity="confidence"),
        Floor(value=0.0),
        Floor(value=-1, applicable=False),
    ],
    ids=["measured", "set", "a cosine", "not applicable"],
)
def test_an_answer_over_a_floor_or_where_none_applies_does_not_speak_of_one(floor):
    reply = answered(marked()).model_copy(update={"floor": floor, "top_score": 0.118})

    assert "floor" not in render.answer(reply, Style()).lower()


def test_headings_are_bold_on_a_terminal_and_nothing_else_of_the_code_is():
    text = render.answer(
        answered(marked(), text="[1] version7.go:22-31 (NewV7)\n[2] fake.go:1-2\n"), Style(colour=True)
    )

    assert text.startswith("\x1b[1m[1] version7.go:22-31 (NewV7)\x1b[0m\n[2] fake.go:1-2\n")


def test_the_way_to_a_clone_is_safe_to_paste():
    hint = render.clone_hint("https://github.com/o/$(touch x)`id`;'")
    words = subprocess.run(
        ["sh", "-c", f"set -f; git() {{ printf '%s\\n' \"$2\"; }}; {hint.split(' && ')[0]}"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip

    assert words == "https://github.com/o/$(touch x)`id`;'\n"
