import pytest

from codetrail.adapters.stemmer import SnowballStemmer
from codetrail.domain import confidence
from codetrail.domain.confidence import NOTHING, Signals
from codetrail.domain.question import Question
from codetrail.domain.ranking import Features, score
from codetrail.domain.terms import TermReader

PLAIN = Features(cosine=0.3, lexical=0.0, lead=0.0, named=0.0, covered=0.0, test=0.0)


def told(text: str, *found: Features, bearers: dict[str, frozenset[int]] | None = None) -> Signals:
    question = Question.read(text, TermReader(SnowballStemmer().stems))
    return confidence.signals(
        question, found, [score(one) for one in found], matched=0.4, known=0.6, bearers=bearers or {}
    )


def test_nothing_found_is_worth_less_than_the_floor():
    assert told("anything at all") == NOTHING
    assert confidence.confidence(NOTHING) < confidence.FLOOR


@pytest.mark.parametrize("signal", [name for name in Signals._fields if name != "foreign"])
def test_the_confidence_grows_with_each_signal_and_stays_between_none_and_all(signal):
    less = confidence.confidence(NOTHING)
    more = confidence.confidence(NOTHING._replace(**{signal: 1.0}))

    assert 0.0 < less < more < 1.0


def test_a_name_that_names_nothing_here_lowers_it():
    assert confidence.confidence(NOTHING._replace(foreign=1.0)) < confidence.confidence(NOTHING)


def test_the_nearest_and_the_first_are_told_apart():
    signals = told("a question", PLAIN._replace(cosine=0.8, test=1.0), PLAIN._replace(lexical=1.0))

    assert (signals.cosine, signals.first) == (0.8, 0.3)


def test_words_that_look_like_code_are_foreign_where_nothing_bears_them():
    bearers = {"parsebytes": frozenset([1])}

    signals = told("how do ParseBytes and NewThing differ", PLAIN, bearers=bearers)

    assert signals.foreign == 0.5


def test_any_segment_of_a_qualified_word_makes_it_known():
    assert told("what does uuid.Parse do", PLAIN, bearers={"parse": frozenset([1])}).foreign == 0.0
