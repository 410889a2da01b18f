"""Citations out of JSON, and what becomes of each."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256

import pytest

from codetrail.domain.answer import Citation
from codetrail.domain.job import SENTENCES, FailureReason, IndexingFailed
from codetrail.errors import InvalidRequest, NotAdmitted
from codetrail.services.verify import Claim, Clone, Outcome, citations_in, verify
from tests.support.clones import MemoryClone

COMMIT = "a" * 40
BLOB = b"one\ntwo\nthree"
CITED = Citation(
    repo_id="0" * 16,
    remote="https://github.com/a/b",
    commit=COMMIT,
    ref="HEAD",
    path="file.txt",
    start_line=2,
    end_line=3,
    digest=sha256(b"two\nthree").hexdigest(),
    length=9,
)


@dataclass
class Clones:
    """Opens the one clone, and counts how often."""

    clone: MemoryClone = field(default_factory=lambda: MemoryClone({(COMMIT, b"file.txt"): BLOB}))
    opened: list[tuple[str, str]] = field(default_factory=list)
    closed: int = 0

    @contextmanager
    def open(self, remote: str, commit: str) -> Iterator[Clone]:
        self.opened.append((remote, commit))
        yield self.clone
        self.closed += 1


def as_json(citation: Citation = CITED, **more: object) -> dict[str, object]:
    names = ("repo_id", "remote", "commit", "ref", "path", "start_line", "end_line", "digest", "length")
    return {name: getattr(citation, name) for name in names} | {"check": citation.check} | more


# Reading


def test_one_citation_alone_is_read():
    assert citations_in(as_json()) == [Claim(CITED, CITED.check)]


def test_a_list_of_citations_is_read_in_order():
    other = replace(CITED, path="other.txt")

    claims = citations_in([as_json(), as_json(other)])

    assert [claim.citation.path for claim in claims] == ["file.txt", "other.txt"]


def test_the_citations_of_an_answer_are_read_out_of_it():
    answer = {
        "repo_id": "0" * 16,
        "refused": False,
        "answer": "[1] file.txt:2-3\ntwo\nthree",
        "floor": {"value": -1},
        "citations": [
            {
                "marker": 1,
                "span_id": "b" * 16,
                "kind": "func",
                "symbol": "x",
                "citation": as_json(permalink=""),
            }
        ],
    }

    assert [claim.citation for claim in citations_in(answer)] == [CITED]


def test_the_citations_of_a_search_are_read_out_of_its_hits():
    hits = [
        {
            "span_id": "b" * 16,
            "path": "file.txt",
            "start_line": 2,
            "end_line": 3,
            "score": 1.0,
            "citation": as_json(),
        }
    ] * 2

    assert [claim.citation for claim in citations_in({"hits": hits, "count": 2})] == [CITED, CITED]


@pytest.mark.parametrize(
    "document", [{"refused": True, "reason": "no_spans"}, [], {}, None, 7, "text", {"hits": []}]
)
def test_a_document_without_citations_has_none(document):
    assert citations_in(document) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("commit", "main"),
        ("commit", "a" * 39),
        ("commit", COMMIT + "\n"),
        ("commit", 7),
        ("commit", "-" + "a" * 39),
        ("digest", ""),
        ("digest", "A" * 64),
        ("digest", None),
        ("start_line", 0),
        ("start_line", -1),
        ("start_line", "2"),
        ("start_line", True),
        ("start_line", 2.0),
        ("start_line", 4),
        ("start_line", 2**40),
        ("end_line", 1),
        ("end_line", None),
        ("length", -1),
        ("length", None),
        ("length", "9; touch x"),
        ("path", ""),
        ("path", "a\0b"),
        ("path", 7),
        ("path", "x" * 9_000),
        ("remote", ""),
        ("remote", "a b"),
        ("ref", "a b"),
        ("repo_id", "xyz"),
        ("check", 7),
    ],
)
def test_a_citation_that_is_not_whole_is_refused(key, value):
    with pytest.raises(InvalidRequest, match="citation"):
        citations_in(as_json() | {key: value})


@pytest.mark.parametrize("key", ["length", "path", "remote", "start_line", "end_line"])
def test_a_citation_without_one_of_its_parts_is_refused(key):
    entry = as_json()
    del entry[key]

    with pytest.raises(InvalidRequest, match=key):
        citations_in(entry)


def test_deep_nesting_is_read_without_recursion():
    document: object = as_json()
    for _ in range(50_000):
        document = [document]

    assert len(citations_in(document)) == 1


def test_more_citations_than_an_answer_can_have_are_refused():
    with pytest.raises(InvalidRequest, match="more than 10000"):
        citations_in([as_json()] * 10_001)


# Checking


def outcomes(*claims: Claim, clones: Clones | None = None) -> list[Outcome]:
    return [verdict.outcome for verdict in verify(claims, (clones or Clones()).open)]


def test_a_citation_whose_lines_are_there_matches():
    [verdict] = verify([Claim(CITED, CITED.check)], Clones().open)

    assert verdict.outcome is Outcome.MATCHES
    assert verdict.printed == CITED.digest


@pytest.mark.parametrize(
    "changed",
    [
        replace(CITED, digest="0" * 64),
        replace(CITED, start_line=1),
        replace(CITED, end_line=2),
        replace(CITED, end_line=4),
        replace(CITED, start_line=9, end_line=9),
        replace(CITED, length=8),
        replace(CITED, length=10),
        replace(CITED, path="other.txt"),
        replace(CITED, commit="b" * 40),
    ],
)
def test_a_citation_that_was_changed_differs(changed):
    assert outcomes(Claim(changed)) == [Outcome.DIFFERS]


def test_a_command_that_was_changed_differs_and_is_not_run():
    clones = Clones()

    assert outcomes(Claim(CITED, "touch canary"), clones=clones) == [Outcome.DIFFERS]
    assert clones.clone.commands == []


def test_only_our_own_command_is_run():
    clones = Clones()

    outcomes(Claim(CITED, CITED.check), Claim(CITED), clones=clones)

    assert clones.clone.commands == [CITED.check, CITED.check]


def test_lines_that_are_right_by_count_but_not_by_the_command_differ():
    clones = Clones(MemoryClone({(COMMIT, b"file.txt"): BLOB}, lying="0" * 64 + "  -\n"))

    assert outcomes(Claim(CITED), clones=clones) == [Outcome.DIFFERS]


def test_lines_that_are_right_by_the_command_but_not_by_count_differ():
    clones = Clones(MemoryClone({(COMMIT, b"file.txt"): b"one\ntwo\nfour"}, lying=CITED.digest + "  -\n"))

    assert outcomes(Claim(CITED), clones=clones) == [Outcome.DIFFERS]


def test_each_commit_is_opened_once_and_closed_and_verdicts_keep_their_order():
    other = replace(CITED, remote="https://github.com/c/d")
    clones = Clones()

    verdicts = verify([Claim(CITED), Claim(other), Claim(CITED)], clones.open)

    assert [verdict.citation for verdict in verdicts] == [CITED, other, CITED]
    assert clones.opened == [(CITED.remote, COMMIT), (other.remote, COMMIT)]
    assert clones.closed == 2


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (IndexingFailed(FailureReason.NOT_FOUND), SENTENCES[FailureReason.NOT_FOUND]),
        (NotAdmitted("evil.example is not an allowed host", "host"), "evil.example is not an allowed host"),
    ],
)
def test_a_clone_that_cannot_be_had_leaves_its_citations_unchecked(error, sentence):
    @contextmanager
    def fail(remote: str, commit: str) -> Iterator[Clone]:
        if remote == CITED.remote:
            raise error
        yield MemoryClone({(COMMIT, b"file.txt"): BLOB})

    verdicts = verify([Claim(CITED), Claim(replace(CITED, remote="https://github.com/c/d"))], fail)

    assert [verdict.outcome for verdict in verdicts] == [Outcome.UNCHECKED, Outcome.MATCHES]
    assert verdicts[0].detail == sentence


def test_no_citation_opens_no_clone():
    clones = Clones()

    assert verify([], clones.open) == []
    assert clones.opened == []
