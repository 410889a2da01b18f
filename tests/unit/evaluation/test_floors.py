"""The floor: told from questions with and without an answer, and set by what it may cost."""

import pytest

from codetrail.domain.confidence import NOTHING
from tests.evaluation.floors import MAX_FALSE_REFUSALS, Asked, calibrated, fit, quantile, refused, show


def asked(kind: str, cosine: float, *, answerable: bool, corpus: str = "one") -> Asked:
    return Asked(corpus, kind, answerable, NOTHING._replace(cosine=cosine, first=0.0))


ANSWERABLE = [asked("prose", 0.5 + at / 1_000, answerable=True) for at in range(200)]
ABSENT = [asked("sibling", at / 1_000, answerable=False) for at in range(200)]


def test_a_floor_refuses_what_lies_under_it():
    values = [0.1, 0.2, 0.3, 0.4, 0.5]

    assert quantile(values, 0.5) == 0.3
    assert refused(values, 0.3) == 0.4


def test_no_value_is_no_refusal():
    assert refused([], 0.5) == 0.0


def test_the_signal_that_tells_them_apart_gets_the_weight():
    weights = dict(zip([*NOTHING._fields, "constant"], fit([*ANSWERABLE, *ABSENT]), strict=True))

    assert weights.pop("cosine") > 0 > weights.pop("constant")
    assert weights == pytest.approx(dict.fromkeys(weights, 0.0))


def test_a_kind_counts_once_however_many_questions_it_has():
    overlapping = [asked("unnamed", 0.3, answerable=True)]
    found = fit([*ANSWERABLE, *overlapping * 200, *ABSENT])

    assert found == pytest.approx(fit([*ANSWERABLE, *overlapping, *ABSENT]), abs=1e-6)


def test_the_floor_costs_the_learn_half_what_was_accepted_and_is_told_of_the_other():
    other = [
        asked("prose", 0.5, answerable=True, corpus="two"),
        asked("other", 0.0, answerable=False, corpus="two"),
    ]

    written = calibrated([*ANSWERABLE, *ABSENT], other)

    learnt = written["values"]["learn"]
    assert refused(learnt["answerable prose"], written["floor"]) == pytest.approx(MAX_FALSE_REFUSALS)
    assert refused(learnt["absent sibling"], written["floor"]) == 1.0
    assert written["corpora"] == {"learn": ["one"], "report": ["two"]}
    assert written["values"]["report"].keys() == {"answerable prose", "absent other"}


def test_what_is_reported_on_moves_neither_weights_nor_floor():
    one = calibrated([*ANSWERABLE, *ABSENT], ABSENT)
    other = calibrated([*ANSWERABLE, *ABSENT], ANSWERABLE)

    assert (one["weights"], one["constant"], one["floor"]) == (
        other["weights"], other["constant"], other["floor"],
    )  # fmt: skip


def test_the_table_tells_each_kind_with_its_count_and_its_share(capsys):
    show(calibrated([*ANSWERABLE, *ABSENT], [*ANSWERABLE, *ABSENT]))

    printed = capsys.readouterr().out
    assert printed.count("| absent sibling | 200 | 100.0% |") == 2
    assert printed.count("| answerable, all | 200 | 5.0% |") == 2
