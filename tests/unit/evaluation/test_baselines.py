"""What search is compared with, on cases whose order is plain."""

import pytest

from codetrail.domain.bm25 import WEIGHTS
from codetrail.domain.span import Kind
from tests.evaluation.baselines import Fts5
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
