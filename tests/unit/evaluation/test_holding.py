"""A change is held to the committed run of ci.json: to its questions, and to what is found of them."""

import json
from copy import deepcopy
from typing import Any

import pytest

from tests.evaluation.__main__ import RESULTS
from tests.evaluation.corpora import CI_LIST, corpora
from tests.evaluation.holding import TOLERANCE, table, worse

# Of 200 questions one at the second rank costs 0.0025.
COMMITTED: dict[str, Any] = {
    "click": {
        "commit": "c1",
        "refused": False,
        "counts": {"prose": {"made": 200, "leaking": 0, "duplicate": 0}},
        "sets": {
            "prose": {"ids": list(range(200)), "ranks": {"ours": [1] * 200}},
            "heading": {"ids": [1, 2], "ranks": {"ours": [1, 1]}},
        },
    }
}


@pytest.fixture
def measured():
    return deepcopy(COMMITTED)


def test_the_same_run_is_not_worse(measured):
    assert list(worse(COMMITTED, measured)) == []


def test_what_falls_by_less_than_the_tolerance_is_let_through_and_more_is_not(measured):
    ranks = measured["click"]["sets"]["prose"]["ranks"]["ours"]

    ranks[:7] = [2] * 7
    assert list(worse(COMMITTED, measured)) == []

    ranks[:9] = [2] * 9
    assert list(worse(COMMITTED, measured)) == ["click, prose: MRR@10 0.978, and 1.000 is committed"]


def test_better_figures_are_not_worse(measured):
    before = deepcopy(COMMITTED)
    before["click"]["sets"]["prose"]["ranks"]["ours"] = [9] * 200

    assert list(worse(before, measured)) == []


def test_a_set_in_which_one_question_is_more_than_the_tolerance_is_held_to_its_questions_alone(measured):
    measured["click"]["sets"]["heading"]["ranks"]["ours"] = [1, 0]
    assert list(worse(COMMITTED, measured)) == []

    measured["click"]["sets"]["heading"]["ids"] = [1]
    assert list(worse(COMMITTED, measured)) == ["click, heading: 1 questions where 2 were"]


def test_other_questions_are_told_before_figures_that_mean_nothing(measured):
    measured["click"]["counts"]["prose"]["made"] = 199
    measured["click"]["sets"]["prose"]["ranks"]["ours"] = [0] * 200

    [told] = worse(COMMITTED, measured)

    assert told.startswith("click: other questions are made")


@pytest.mark.parametrize("missing", ["no corpus", "another commit", "refused"])
def test_a_corpus_that_was_not_measured_is_worse(measured, missing):
    if missing == "no corpus":
        del measured["click"]
    elif missing == "another commit":
        measured["click"]["commit"] = "c2"
    else:
        measured["click"]["refused"] = True

    assert len(list(worse(COMMITTED, measured))) == 1


def test_the_table_shows_both_figures_of_each_set(measured):
    measured["click"]["sets"]["prose"]["ranks"]["ours"] = [2] * 200

    assert "| click | prose | 200 | 1.000 | 0.500 |" in list(table(COMMITTED, measured))
    assert "| click | prose | 200 | – | 0.500 |" in list(table({}, measured))


def test_what_ci_holds_search_to_is_committed_for_the_corpora_that_it_asks():
    committed = json.loads((RESULTS / "ci.json").read_text())["corpora"]

    assert {name: one["commit"] for name, one in committed.items()} == {
        name: one.commit for name, one in corpora(CI_LIST).items()
    }
    held = [
        kind for one in committed.values() for kind, those in one["sets"].items()
        if len(those["ids"]) * TOLERANCE >= 1
    ]  # fmt: skip
    assert sorted(held) == ["identifier", "prose", "unnamed", "wording"]
