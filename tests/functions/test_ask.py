"""Events of POST …/ask in, responses out."""

from pathlib import Path

import pytest

from codetrail.domain.repo import repo_id
from tests.support.events import event
from tests.support.revisions import COMMIT

REPO = repo_id("https://github.com/google/uuid", COMMIT)


def ask(repo=REPO, **body):
    return event("ask", body={"q": "how is a NewV7 made", **body}, repo=repo)


def test_an_answer_quotes_spans_and_cites_each(call, published):
    answer = call(ask(limit=2))

    assert answer.status == 200
    given = answer.json
    assert given.keys() == {
        "repo_id", "refused", "answered_by", "answer", "citations", "dropped", "unmatched_words",
        "searched", "mode", "top_score", "confidence", "floor",
    }  # fmt: skip
    assert (given["refused"], given["answered_by"], given["mode"]) == (False, "extractive", "hybrid")
    assert given["answer"].startswith("[1] uuid.go:1-3 (NewV7)\nfunc NewV7()")
    first = given["citations"][0]
    assert (first["marker"], first["kind"], first["symbol"]) == (1, "func", "NewV7")
    assert first["citation"]["path"] == "uuid.go"
    assert (first["copies"], first["copy_places"]) == (0, [])
    assert given["searched"] == {"files": 2, "spans": 4}
    floor = given["floor"]
    assert floor.keys() == {"value", "calibrated", "calibration", "applicable", "quantity"}
    assert (floor["calibrated"], floor["quantity"]) == (True, "confidence")
    assert Path(floor["calibration"]).is_file()
    assert floor["value"] <= given["confidence"] <= 1.0


def test_spans_that_do_not_fit_are_dropped_whole_and_counted(call, published):
    given = call(ask(limit=4)).json

    assert given["dropped"] + len(given["citations"]) == 4
    assert given["dropped"] >= 1


def test_nothing_found_is_a_refusal_that_says_what_was_searched(call, published, setting):
    setting("RETRIEVAL_MODE", "lexical")

    answer = call(ask(q="zzz"))

    assert answer.status == 200
    refused = answer.json
    assert refused.keys() == {
        "repo_id", "refused", "answered_by", "reason", "detail", "searched", "coverage", "nearest", "mode",
        "top_score", "confidence", "floor",
    }  # fmt: skip
    assert (refused["refused"], refused["reason"], refused["top_score"]) == (True, "no_spans", None)
    assert refused["detail"] == "Nothing in this repository's index matched the question."
    assert refused["floor"]["applicable"] is False
    assert refused["coverage"]["reasons"] == {}
    assert (refused["searched"], refused["nearest"]) == ({"files": 2, "spans": 4}, [])


def test_a_best_match_under_the_floor_is_a_refusal_that_names_the_floor(call, published, setting):
    setting("ANSWER_SCORE_FLOOR", "0.99")

    refused = call(ask()).json

    assert (refused["refused"], refused["reason"]) == (True, "below_floor")
    assert "0.99" in refused["detail"]
    assert "no evaluation has chosen this number" in refused["detail"]
    assert (refused["floor"]["value"], refused["floor"]["calibrated"]) == (0.99, False)


def test_a_question_about_something_else_is_refused_by_the_measured_floor(call, published):
    refused = call(ask(q="which mushrooms may be eaten raw")).json

    assert (refused["refused"], refused["reason"]) == (True, "below_floor")
    assert refused["confidence"] < refused["floor"]["value"]
    assert f"An evaluation chose that floor: {refused['floor']['calibration']}." in refused["detail"]
    assert refused["nearest"]


def test_in_vector_mode_the_floor_is_a_cosine_that_nobody_measured(call, published, setting):
    setting("RETRIEVAL_MODE", "vector")

    given = call(ask(q="which mushrooms may be eaten raw")).json

    assert (given["refused"], given["confidence"]) == (False, None)
    assert given["floor"] == {
        "value": -1.0, "calibrated": False, "calibration": "", "applicable": True, "quantity": "cosine",
    }  # fmt: skip


def test_a_refusal_tells_what_came_near_and_quotes_nothing_of_it(call, published, setting):
    setting("ANSWER_SCORE_FLOOR", "0.99")

    refused = call(ask())

    nearest = refused.json["nearest"]
    assert (len(nearest), nearest[0]["symbol"]) == (3, "NewV7")
    assert nearest[0].keys() == {
        "span_id", "path", "start_line", "end_line", "kind", "symbol", "score", "vector_score",
    }  # fmt: skip
    assert nearest[0]["vector_score"] == refused.json["top_score"]
    assert "makeV7" not in refused.text


def test_words_that_no_cited_span_says_are_told_as_they_are_written(call, published):
    assert call(ask(q="how is a NewV7 PARSED in Zanzibar")).json["unmatched_words"] == ["Zanzibar"]
    assert call(ask(q="NewV7")).json["unmatched_words"] == []


def test_a_question_may_be_about_a_part_of_the_repository(call, published, setting):
    setting("ANSWER_SCORE_FLOOR", "0")

    given = call(ask(path="docs/**")).json

    assert [one["citation"]["path"] for one in given["citations"]] == ["docs/dïr ñ.md"]
    assert given["searched"] == {"files": 1, "spans": 1}


@pytest.mark.parametrize(
    ("only", "named"),
    [
        ({"path": "src/"}, "path src/**"),
        ({"path": "docs/*", "kind": "func", "language": "go"}, "path docs/*, language go, kind func"),
        ({"language": "python", "exclude_tests": True}, "language python, without tests"),
    ],
)
def test_a_filter_that_leaves_nothing_is_named_in_the_refusal(call, published, only, named):
    refused = call(ask(**only)).json

    assert (refused["reason"], refused["searched"]) == ("no_spans", {"files": 0, "spans": 0})
    assert refused["detail"] == f"The filter leaves nothing of this repository's index to search: {named}."


def test_what_a_filter_leaves_may_match_nothing(call, published, setting):
    setting("RETRIEVAL_MODE", "lexical")

    refused = call(ask(q="Parse", path="docs/**")).json

    assert refused["detail"] == (
        "Nothing that the filter leaves of this repository's index matched: path docs/**."
    )
    assert refused["searched"] == {"files": 1, "spans": 1}


def test_the_extractive_answerer_may_be_named(call, published):
    assert call(ask(answerer="extractive")).json["answered_by"] == "extractive"


def test_a_language_model_is_refused_where_none_is_configured_and_not_replaced(call, published):
    answer = call(ask(answerer="llm"))

    assert answer.status == 400
    assert "no language model provider is configured" in answer.json["error"]


@pytest.mark.parametrize(
    "body",
    [
        {"answerer": "gpt"}, {"answerer": None}, {"mode": "hybrid"}, {"k": 60}, {"w_vector": 1},
        {"w_lexical": 1}, {"limit": 0}, {"limit": 51}, {"q": "?"}, {"temperature": 0},
    ],
)  # fmt: skip
def test_what_ask_does_not_take_is_refused(call, published, body):
    answer = call(ask(**body))

    assert (answer.status, answer.json["rule"]) == (400, "form")


def test_an_unknown_repository_is_404(call):
    assert call(ask()).json == {"error": "no such repository"}
