"""Events of POST …/search in, responses out."""

import json

import pytest

from codetrail import wiring
from codetrail.adapters.embedder.fake import FakeEmbedder
from codetrail.domain import confidence
from codetrail.domain.repo import repo_id
from tests.functions.conftest import EMBEDDER
from tests.support.events import event
from tests.support.revisions import COMMIT, contents, span, write

REPO = repo_id("https://github.com/google/uuid", COMMIT)


def search(repo=REPO, **body):
    return event("search", body={"q": "how is a NewV7 made", **body}, repo=repo)


def test_hits_come_best_first_each_with_its_ranks_and_its_citation(call, published):
    answer = call(search())

    assert answer.status == 200
    found = answer.json
    assert found.keys() == {"repo_id", "mode", "top_score", "searched", "count", "hits"}
    assert (found["repo_id"], found["mode"], found["count"]) == (REPO, "hybrid", 4)
    best = found["hits"][0]
    assert best.keys() == {
        "span_id", "path", "kind", "symbol", "start_line", "end_line", "text", "truncated", "score",
        "vector_score", "vector_rank", "lexical_rank", "citation", "copies", "copy_places",
    }  # fmt: skip
    assert best["symbol"] == "NewV7"
    assert found["top_score"] == max(hit["vector_score"] for hit in found["hits"])


def test_no_hit_is_an_empty_list_and_no_score(call, published, setting):
    setting("RETRIEVAL_MODE", "lexical")

    found = call(search(q="zzz")).json

    assert (found["hits"], found["count"], found["top_score"], found["mode"]) == ([], 0, None, "lexical")


def test_the_sample_event_asks_a_part_of_the_repository(call, published):
    sample = event("search")
    body = json.loads(sample["body"])

    found = call(sample).json

    assert (body["path"], body["exclude_tests"]) == ("**/*.go", True)
    assert {hit["path"] for hit in found["hits"]} == {"uuid.go"}
    assert found["searched"] == {"files": 1, "spans": 3}


@pytest.mark.parametrize("mode", ["hybrid", "vector", "lexical"])
@pytest.mark.parametrize(
    ("only", "symbols"),
    [
        ({"path": "docs/"}, {"uuid > Install"}),
        ({"path": "*.go"}, {"NewV7", "Parse", "names"}),
        ({"kind": "section"}, {"uuid > Install"}),
        ({"kind": "func", "language": "go"}, {"NewV7", "Parse"}),
        ({"language": "rust"}, set()),
    ],
)
def test_only_what_a_filter_leaves_is_found(call, published, setting, mode, only, symbols):
    setting("RETRIEVAL_MODE", mode)

    found = call(search(q="install a NewV7, parse the names", **only)).json

    assert {hit["symbol"] for hit in found["hits"]} == symbols
    assert found["searched"]["spans"] == len(symbols)


@pytest.mark.parametrize(
    ("only", "told"),
    [
        ({"language": "golang"}, ["language: it must be one of bash, c,", "go,", "zig"]),
        ({"kind": "function"}, ["kind: it must be one of const, file, func, package, section, type, var"]),
        ({"exclude_tests": "yes"}, ["exclude_tests: it must be true or false"]),
        ({"path": "x" * 201}, ["path: it is over 200 bytes"]),
        ({"path": ""}, ["path: it is empty"]),
        ({"path": 1}, ["path must be a string"]),
    ],
)
def test_a_value_that_a_filter_does_not_take_is_refused_with_those_that_it_takes(call, published, only, told):
    answer = call(search(**only))

    assert (answer.status, answer.json["rule"]) == (400, "form")
    assert all(words in answer.json["error"] for words in told)


def test_copies_of_one_text_are_one_hit_with_the_places_of_the_others(call, connection):
    texts = [
        span(at, "func Clock() {}", symbol="Clock", path=f"v{at}/clock.go", digest="c" * 64)
        for at in range(3)
    ]
    write(connection, contents([*texts, span(3, "a clock", path="d.go")], EMBEDDER))

    first, second = call(search(q="Clock", limit=2)).json["hits"]

    assert (first["copies"], second["copies"], second["copy_places"]) == (2, 0, [])
    assert first["copy_places"] == [
        {"span_id": one.id, "path": one.path, "start_line": one.start_line, "end_line": one.end_line}
        for one in texts
        if one.id != first["span_id"]
    ]


def test_limit_is_how_many(call, published):
    assert call(search(limit=2)).json["count"] == 2


@pytest.mark.parametrize("limit", [0, -1, 51, 10.0, 10.5, "10", True, None, [10], 10**30])
def test_a_limit_outside_its_bounds_is_refused_and_not_clamped(call, published, limit):
    answer = call(search(limit=limit))

    assert (answer.status, answer.json["rule"]) == (400, "form")
    assert "whole number" in answer.json["error"]


@pytest.mark.parametrize("field", ["mode", "k", "w_vector", "w_lexical", "answerer"])
@pytest.mark.parametrize("value", ["hybrid", None, 1])
def test_a_field_that_would_change_nothing_is_refused_by_name(call, published, field, value):
    answer = call(search(**{field: value}))

    assert answer.status == 400
    assert field in answer.json["error"]


@pytest.mark.parametrize(
    "q", ["", " \t\n", "???", "!\u2026\u200b", "x" * 1_001, "é" * 501, None, 1, ["x"], {}]
)
def test_what_is_no_question_is_refused(call, published, q):
    answer = call(search(q=q))

    assert (answer.status, answer.json["rule"]) == (400, "form")
    assert answer.json["error"].startswith("q")


@pytest.mark.parametrize(
    "q", [" " * 5_000 + "x" + " " * 5_000, "x" * 1_000, "é" * 500, "7", "中", "the of and"]
)
def test_a_question_is_measured_after_trimming(call, published, q):
    assert call(search(q=q)).status == 200


@pytest.mark.parametrize(
    "q",
    [
        "team:foobar", "'abs", "alice::bob", "'\":*x", "x(tw:*", "John <j@p.com>", "auth|admin", "a & & b",
        "-" * 900 + "x", "x; drop table spans; --", "%s %(x)s {} \\", "NEAR(a b)", "a\tb\nc", "\ufdd0x",
        "🦀 crab", "x" + "́" * 400,
    ],
)  # fmt: skip
def test_operators_of_every_query_language_are_text(call, published, q):
    assert call(search(q=q)).status == 200


def test_another_embedder_than_the_index_is_a_conflict_that_names_both(call, published, monkeypatch):
    monkeypatch.setattr(wiring, "embedder", lambda: FakeEmbedder(384))

    answer = call(search())

    assert answer.status == 409
    assert confidence.MODEL in answer.json["error"] and "fake/384" in answer.json["error"]


def test_an_unknown_repository_is_404(call):
    assert call(search()).json == {"error": "no such repository"}
