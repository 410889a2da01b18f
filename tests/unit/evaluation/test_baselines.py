"""What search is compared with, on cases whose order is plain."""

import pytest

from codetrail.domain.bm25 import WEIGHTS
from codetrail.domain.span import Kind
from tests.evaluation.baselines import Fts5, minmax, rrf
from tests.support.revisions import span

SPANS = [
    span(0, "func Parse(s string) (UUID, error) {\n\treturn decode(s)\n}", symbol="Parse"),
    span(1, "func NewV7() (UUID, error) {\n\treturn clock(now)\n}", symbol="NewV7"),
    span(2, "Install with go get.", symbol="uuid > Install", kind=Kind.SECTION, path="README.md"),
    span(3, "func lint_all() {\n\tabs(team)\n}", symbol="lint_all"),
]
# What questions hold that a query language would act on, and the spans that their words are in.
OPERATORS = [
    ("team:foobar", [3]),
    ("'abs", [3]),
    ('"\'":*', []),
    ("clock(now*", [1]),
    ("John <j@p.com>", []),
    ("decode|clock", [0, 1]),
    ("symbol : clock", [1]),
    ("NEAR(clock now)", [1]),
    ("{symbol path} : lint", [3]),
    ("^lint -lint + lint NOT all", [3]),
    ("lint\\", [3]),
    ("???", []),
    ("", []),
]


def test_fts5_puts_the_span_of_the_questions_words_first():
    fts5 = Fts5(SPANS)

    assert fts5.ranked("where is the clock of NewV7", 10)[0] == 1
    assert fts5.ranked("how do I install it", 10) == [2]


def test_fts5_does_not_see_the_parts_of_a_camel_case_name():
    assert Fts5([span(0, "x", symbol="ParseBytes")]).ranked("bytes", 10) == []


def test_fts5_finds_no_more_than_it_is_asked_for_and_the_earlier_of_equals():
    equal = [span(at, "the same words", path="same.go") for at in range(5)]

    assert Fts5(equal).ranked("same words", 3) == [0, 1, 2]


@pytest.mark.parametrize(("question", "found"), OPERATORS)
def test_fts5_reads_an_operator_as_text(question, found):
    assert sorted(Fts5(SPANS).ranked(question, 10)) == found


def test_fts5_reads_a_question_of_thousands_of_words():
    assert Fts5(SPANS).ranked("clock " * 5_000, 10) == [1]


# Each holds one of two words in one field: where that field alone weighs, it is first.
ONE_A_FIELD = {
    "symbol": span(1, "x", symbol="lantern", path="a", kind=Kind.FILE),
    "path": span(2, "x", path="lantern", kind=Kind.FILE),
    "signature": span(3, "func lantern()", path="a"),
    "body": span(4, "lantern", path="a", kind=Kind.FILE),
    "kind": span(5, "x", path="a", kind=Kind.TYPE),
}


@pytest.mark.parametrize("field", WEIGHTS)
def test_fts5_weighs_a_word_by_the_field_that_it_stands_in(field):
    spans = [span(0, "a longer one", path="lantern/of/others.txt", kind=Kind.FILE), *ONE_A_FIELD.values()]
    nothing = dict.fromkeys(WEIGHTS, 0.0)

    with_all = Fts5(spans).ranked("lantern interface", 10)
    alone = Fts5(spans, weights={**nothing, field: WEIGHTS[field]}).ranked("lantern interface", 10)
    without = Fts5(spans, weights={**WEIGHTS, field: 0.0}).ranked("lantern interface", 10)

    assert alone[0] == ONE_A_FIELD[field].ordinal
    assert without != with_all
    assert without.index(ONE_A_FIELD[field].ordinal) > with_all.index(ONE_A_FIELD[field].ordinal)


def test_rrf_puts_first_what_both_rankings_hold():
    assert rrf([[1, 2, 3], [4, 2]]) == [2, 1, 4, 3]


def test_rrf_with_a_small_k_lets_the_first_of_one_ranking_win():
    rankings = [[1, 5, 2], [6, 7, 2]]

    assert rrf(rankings)[0] == 2
    assert rrf(rankings, k=0)[0] == 1


def test_minmax_adds_the_shares_of_the_stretched_scores():
    assert minmax({1: 0.9, 2: 0.8, 3: 0.5}, {2: 40.0, 4: 30.0, 3: 10.0}) == [2, 1, 4, 3]


def test_minmax_turns_with_the_shares():
    meaning, words = {1: 0.9, 2: 0.1}, {2: 7.0, 1: 3.0}

    assert minmax(meaning, words) == [1, 2]
    assert minmax(meaning, words, (0.3, 0.7)) == [2, 1]


def test_minmax_takes_arms_that_found_one_span_or_none():
    assert minmax({}, {3: 5.0}) == [3]
    assert minmax({}, {}) == []
