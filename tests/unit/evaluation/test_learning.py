"""Weights out of questions whose answers are known, on problems small enough to see through."""

import numpy as np
import pytest

from codetrail.domain.confidence import NOTHING
from codetrail.domain.ranking import WEIGHTS, Features
from tests.evaluation import judging
from tests.evaluation.golden import Case, Set
from tests.evaluation.judging import Judged
from tests.evaluation.learning import RIDGE, learn

NONE = Features(*[0.0] * len(Features._fields))


def judged(*rows: tuple[float, float], right: int) -> Judged:
    """A question with a candidate a row: its cosine and its lexical score, all else alike."""
    features = [NONE._replace(cosine=cosine, lexical=lexical) for cosine, lexical in rows]
    nowhere = np.zeros(len(rows), dtype=np.int32)
    return Judged(
        case=Case("1", Set.PROSE, "q", (right,)),
        ordinals=np.arange(len(rows), dtype=np.int32),
        features=np.array(features, dtype=np.float32),
        gold=np.arange(len(rows)) == right,
        vector_ranks=nowhere,
        lexical_ranks=nowhere,
        signals=NOTHING,
        whole=None,
    )


def loss(groups, weights):
    """By the definition: what each question's right span is short of all chance, and the ridge."""
    of_groups = []
    for group in groups:
        shares = []
        for one in group:
            chances = np.exp(one.features.astype(float) @ np.array(weights))
            shares.append(-np.log(chances[one.gold].sum() / chances.sum()))
        of_groups.append(np.mean(shares))
    return np.mean(of_groups) + RIDGE / 2 * np.square(weights).sum()


# Only words tell what is right; meaning misleads.
WORDS = [
    judged((0.9, 0.1), (0.2, 0.8), (0.5, 0.0), right=1),
    judged((0.1, 0.3), (0.7, 0.9), (0.8, 0.5), right=1),
    judged((0.3, 0.6), (0.6, 0.2), right=0),
]
# Not all of them can be right at once.
MIXED = [*WORDS, judged((0.9, 0.2), (0.1, 0.9), right=0)]


def test_the_order_that_the_answers_have_is_learnt():
    weights = learn([WORDS], NONE)

    assert [judging.rank(one, weights) for one in WORDS] == [1, 1, 1]
    assert weights.lexical > 0


def test_a_feature_that_never_differs_is_worth_nothing():
    assert learn([WORDS], NONE)._replace(cosine=0.0, lexical=0.0) == NONE


@pytest.mark.parametrize(
    "start", [NONE, WEIGHTS, Features(*[-20.0] * len(NONE)), Features(*[20.0] * len(NONE))]
)
def test_the_same_weights_are_learnt_wherever_it_starts_and_never_worse_ones(start):
    weights = learn([MIXED], start)

    assert loss([MIXED], weights) <= loss([MIXED], start)
    assert weights == pytest.approx(learn([MIXED], NONE), abs=0.05)


def test_no_step_to_any_side_makes_it_better():
    weights = learn([MIXED], NONE)

    for name in NONE._fields:
        for step in (-0.5, 0.5):
            moved = weights._replace(**{name: getattr(weights, name) + step})
            assert loss([MIXED], moved) > loss([MIXED], weights)


def test_a_set_counts_once_however_many_questions_it_has():
    few = [judged((0.9, 0.2), (0.1, 0.9), right=0)]

    assert learn([few * 50, WORDS], NONE) == pytest.approx(learn([few, WORDS], NONE), abs=0.01)


def test_a_question_whose_answer_is_no_candidate_teaches_nothing():
    lost = judged((0.9, 0.2), (0.1, 0.9), right=7)

    assert learn([[*WORDS, lost]], NONE) == learn([WORDS], NONE)
