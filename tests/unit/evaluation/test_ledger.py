"""What is committed as measured is what is shipped, and what was refused has no figures."""

import contextlib
import io
import json

import pytest

from codetrail.domain import confidence, ranking
from codetrail_local.stack import ROOT
from tests.evaluation.__main__ import RESULTS, main
from tests.evaluation.corpora import Half, corpora
from tests.evaluation.floors import refused
from tests.evaluation.golden import MAX_LEAK_SHARE
from tests.evaluation.metrics import reciprocal
from tests.evaluation.runs import METHODS

RETRIEVAL = json.loads((RESULTS / "retrieval.json").read_text())
FLOOR = json.loads((RESULTS / "floor.json").read_text())
WEIGHTS = json.loads((RESULTS / "weights.json").read_text())
README = (ROOT / "README.md").read_text()


def rounded(weights):
    return {name: round(weight, 2) for name, weight in weights.items()}


def test_every_corpus_that_is_reported_on_has_a_run_at_the_commit_that_was_named():
    named = {name: one.commit for name, one in corpora().items() if one.half in (Half.REPORT, Half.FRESH)}

    assert {name: one["commit"] for name, one in RETRIEVAL["corpora"].items()} == named


@pytest.mark.parametrize("name", RETRIEVAL["corpora"])
def test_a_corpus_is_refused_when_its_questions_leak_and_then_has_no_figures(name):
    run = RETRIEVAL["corpora"][name]
    made = sum(counts["made"] for counts in run["counts"].values())
    leaking = sum(counts["leaking"] for counts in run["counts"].values())

    assert run["refused"] is (leaking > MAX_LEAK_SHARE * made)
    assert ("sets" in run) is not run["refused"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name, one in RETRIEVAL["corpora"].items() for kind in one.get("sets", ())],
)
def test_every_question_of_a_run_has_a_rank_by_every_way(name, kind):
    one = RETRIEVAL["corpora"][name]["sets"][kind]

    assert len(set(one["ids"])) == len(one["ids"])
    assert {way: len(ranks) for way, ranks in one["ranks"].items()} == dict.fromkeys(METHODS, len(one["ids"]))


def test_google_uuid_has_the_questions_that_the_reference_has():
    uuid = RETRIEVAL["corpora"]["uuid"]["sets"]["prose"]

    assert len(uuid["ids"]) == 74
    assert reciprocal(uuid["ranks"]["ours"]) >= 0.86


def test_the_words_alone_beat_both_full_text_searches_on_every_set():
    for kind in ("prose", "unnamed", "identifier", "wording", "heading"):
        means = {
            way: sum(
                reciprocal(one["sets"][kind]["ranks"][way])
                for one in RETRIEVAL["corpora"].values()
                if not one["refused"]
            )
            for way in ("lexical", "fts5", "ts_rank_cd")
        }
        assert means["lexical"] > max(means["fts5"], means["ts_rank_cd"]), kind


def test_the_weights_that_are_shipped_are_those_that_were_learnt_and_measured():
    shipped = ranking.WEIGHTS._asdict()

    assert rounded(WEIGHTS["weights"]) == shipped
    assert RETRIEVAL["configuration"]["weights"] == shipped
    assert RETRIEVAL["configuration"]["model"] == confidence.MODEL


def test_the_floor_that_is_shipped_is_the_one_that_was_measured():
    assert rounded(FLOOR["weights"]) == confidence.WEIGHTS._asdict()
    assert round(FLOOR["constant"], 2) == confidence.CONSTANT
    assert round(FLOOR["floor"], 2) == confidence.FLOOR


def test_no_corpus_lends_its_questions_to_both_halves():
    lent = {
        learn: {
            sibling
            for one in corpora().values()
            if (one.half is Half.LEARN) is learn
            for sibling in one.siblings
        }
        for learn in (True, False)
    }

    assert lent[True] and lent[True].isdisjoint(lent[False])


def test_nothing_that_is_reported_on_was_learnt_from():
    learnt = {name for name, one in corpora().items() if one.half is Half.LEARN}

    assert set(WEIGHTS["corpora"]) == set(FLOOR["corpora"]["learn"]) == learnt
    assert learnt.isdisjoint(RETRIEVAL["corpora"])
    assert learnt.isdisjoint(FLOOR["corpora"]["report"])


def test_the_readme_of_the_project_prints_figures_of_the_run():
    printed = {
        row[1].strip(): [cell.strip() for cell in row[2:7]]
        for line in README.split("## How well it finds")[1].split("## ")[0].split("\n")
        if len(row := line.split("|")) == 8
    }
    ways = {
        "codetrail": "ours", "its vectors alone": "vectors", "its BM25 alone": "lexical",
        "both by reciprocal rank (RRF)": "rrf", "SQLite FTS5": "fts5", "Postgres `ts_rank_cd`": "ts_rank_cd",
    }  # fmt: skip
    report = [one for one in RETRIEVAL["corpora"].values() if one["half"] == "report" and not one["refused"]]

    for told, way in ways.items():
        means = [
            sum(reciprocal(one["sets"][kind]["ranks"][way]) for one in report) / len(report)
            for kind in ("prose", "unnamed", "identifier", "wording", "heading")
        ]
        assert [cell[:5] for cell in printed[told]] == [f"{mean:.3f}" for mean in means], told


def test_the_readme_of_the_project_names_the_floor_and_what_it_refuses():
    values, told = FLOOR["values"]["report"], " ".join(README.split())
    answerable = [one for kind, some in values.items() if kind.startswith("answerable") for one in some]

    def share(some):
        return 100 * refused(some, FLOOR["floor"])

    assert f"| `ANSWER_SCORE_FLOOR` | {confidence.FLOOR} |" in told
    assert f"At the shipped floor {share(answerable):.1f} % of the answerable questions" in told
    assert f"{share(values['absent offtopic']):.1f} % of everyday prose" in told
    assert f"{share(values['absent other']):.1f} % of questions about other code" in told
    assert f"{share(values['absent sibling']):.1f} % of questions about a library of the same" in told
    assert f"`ANSWER_SCORE_FLOOR`, {confidence.FLOOR} as shipped" in (ROOT / "CHANGELOG.md").read_text()


def test_what_ci_holds_search_to_was_measured_with_the_shipped_weights():
    ci = json.loads((RESULTS / "ci.json").read_text())

    assert ci["configuration"]["weights"] == ranking.WEIGHTS._asdict()


def test_the_tables_of_the_readme_are_those_of_the_runs():
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main(["tables"]) == 0

    readme = (RESULTS.parent / "README.md").read_text()
    told = readme.partition("<!-- tables -->")[2].partition("<!-- /tables -->")[0]
    assert told.strip() == printed.getvalue().strip()
