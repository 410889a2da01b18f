import math

import pytest

from codetrail.adapters.stemmer import SnowballStemmer
from codetrail.domain import ranking
from codetrail.domain.question import Question
from codetrail.domain.ranking import Evidence
from codetrail.domain.terms import TermReader

WORTH = {"pars": 2.0, "uuid": 1.0, "byte": 3.0, "instal": 2.5}
PLAIN = Evidence(ordinal=0, symbol="", kind="func", test=False, name_mass=0.0, cosine=0.0, lexical=0.0)


def scores(text: str, *candidates: Evidence, bearers: dict[str, frozenset[int]] | None = None) -> list[float]:
    reader = TermReader(SnowballStemmer().stems)
    question = Question.read(text, reader)
    said = {term: worth for term, worth in WORTH.items() if term in question.terms}
    found = ranking.features(question, candidates, worth=said, bearers=bearers or {}, reader=reader)
    return [ranking.score(features) for features in found]


def test_the_score_is_the_sum_that_a_hand_adds_up():
    one = Evidence(
        ordinal=7, symbol="ParseBytes", kind="func", test=True, name_mass=5.0, cosine=0.5, lexical=0.8
    )

    (score,) = scores("ParseBytes of bytes", one, bearers={"parsebytes": frozenset([7])})

    # The words parse and bytes are both said: covered 1.
    weight = ranking.WEIGHTS
    by_hand = weight.cosine * 0.5 + weight.lexical * 0.8 + weight.lead + weight.named + weight.covered
    by_hand += weight.test
    assert math.isclose(score, by_hand)


def test_the_lead_word_counts_only_in_its_letter_case():
    right, wrong = scores("parse", PLAIN._replace(symbol="parse"), PLAIN._replace(symbol="Parse"))

    assert math.isclose(right - wrong, ranking.WEIGHTS.lead)


def test_a_qualified_name_does_not_mean_every_other_thing_with_its_last_name():
    one, other = scores(
        "what does Event.Msg do", PLAIN._replace(symbol="Event.Msg"), PLAIN._replace(symbol="Context.Msg")
    )

    assert math.isclose(one - other, ranking.WEIGHTS.lead + ranking.WEIGHTS.covered)


def test_a_whole_name_leads_more_than_the_same_last_name():
    function, method = scores("group", PLAIN._replace(symbol="group"), PLAIN._replace(symbol="Group.group"))

    assert math.isclose(function - method, ranking.WEIGHTS.lead * (1 - ranking.LAST_NAME))


def test_a_package_before_a_name_is_no_hindrance():
    (score,) = scores("what does uuid.Parse do", PLAIN._replace(symbol="Parse"))

    assert score >= ranking.WEIGHTS.lead * ranking.LAST_NAME


def test_only_the_first_word_that_names_anything_is_the_named_one():
    first, second = scores(
        "clock and sequence",
        PLAIN._replace(ordinal=1, symbol="x"),
        PLAIN._replace(ordinal=2, symbol="y"),
        bearers={"sequence": frozenset([2]), "clock": frozenset([1])},
    )

    assert math.isclose(first - second, ranking.WEIGHTS.named)


def test_a_test_is_put_back_unless_the_question_asks_for_tests():
    test, code = scores("byte order", PLAIN._replace(test=True), PLAIN)
    asked_for, same = scores("tests of byte order", PLAIN._replace(test=True), PLAIN)

    assert math.isclose(test - code, ranking.WEIGHTS.test)
    assert asked_for == same


def test_the_name_of_a_section_is_its_last_heading():
    section, other = scores(
        "installing",
        PLAIN._replace(kind="section", symbol="uuid > Install", name_mass=2.5, lexical=1.0),
        PLAIN._replace(kind="section", symbol="Install > uuid", name_mass=1.0, lexical=1.0),
    )

    assert section > other


@pytest.mark.parametrize("cosine", [None, -1.0])
def test_a_candidate_without_a_cosine_stands_as_if_it_were_the_farthest(cosine):
    (score,) = scores("anything", PLAIN._replace(cosine=cosine))

    assert score == -ranking.WEIGHTS.cosine


def test_a_question_that_names_nothing_leaves_meaning_and_words_to_decide():
    near, wordy = scores(
        "quite another thing",
        PLAIN._replace(cosine=0.6, symbol="Parse"),
        PLAIN._replace(lexical=1.0, symbol="UUID"),
    )

    assert math.isclose(near, ranking.WEIGHTS.cosine * 0.6)
    assert math.isclose(wordy, ranking.WEIGHTS.lexical)
