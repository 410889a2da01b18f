"""Full text search of Postgres, as search is compared with it."""

import pytest

from tests.evaluation.baselines import TS_WEIGHTS, TsRankCd
from tests.support.revisions import span
from tests.unit.evaluation.test_baselines import OPERATORS, SPANS


def test_ts_rank_cd_puts_the_span_of_the_questions_words_first(connection):
    postgres = TsRankCd(SPANS, connection)

    assert postgres.ranked("where is the clock of NewV7", 10)[0] == 1
    assert postgres.ranked("how do I install it", 10) == [2]


def test_ts_rank_cd_asks_for_the_parts_of_a_camel_case_name_too(connection):
    postgres = TsRankCd([span(0, "parse the bytes"), span(1, "ParseBytes"), span(2, "else")], connection)

    assert sorted(postgres.ranked("ParseBytes", 10)) == [0, 1]
    assert postgres.ranked("bytes", 10) == [0]


@pytest.mark.parametrize(("question", "found"), OPERATORS)
def test_ts_rank_cd_reads_an_operator_as_text(connection, question, found):
    assert sorted(TsRankCd(SPANS, connection).ranked(question, 10)) == found


def test_ts_rank_cd_weighs_a_name_above_a_text(connection):
    spans = [span(0, "lantern x lantern"), span(1, "x", symbol="lantern")]
    d, c, b, _ = TS_WEIGHTS

    assert TsRankCd(spans, connection).ranked("lantern", 10) == [1, 0]
    assert TsRankCd(spans, connection, weights=(d, c, b, b)).ranked("lantern", 10) == [0, 1]


def test_ts_rank_cd_finds_no_more_than_it_is_asked_for_and_the_earlier_of_equals(connection):
    postgres = TsRankCd([span(at, "the same words") for at in range(5)], connection)

    assert postgres.ranked("same words", 3) == [0, 1, 2]


def test_two_corpora_on_one_connection_are_searched_apart(connection):
    first, second = TsRankCd(SPANS, connection), TsRankCd([span(0, "decode")], connection)

    assert first.ranked("clock", 10) == [1]
    assert second.ranked("clock", 10) == []
