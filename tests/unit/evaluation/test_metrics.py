import math

import numpy as np

from tests.evaluation import metrics
from tests.evaluation.judging import first_right


def test_the_reciprocal_rank_counts_nothing_beyond_the_tenth_and_nothing_for_what_is_not_found():
    assert metrics.reciprocal([1, 2, 10, 11, 0]) == (1 + 1 / 2 + 1 / 10) / 5


def test_hits_are_those_up_to_a_rank():
    assert metrics.hits([1, 5, 6, 0], 5) == 0.5


def test_a_mean_over_corpora_counts_each_of_them_once():
    assert metrics.macro({"large": [1] * 100, "small": [2]}) == 0.75


def test_the_bootstrap_is_the_same_in_each_run_and_near_the_standard_error():
    ranks = [1, 0] * 50

    assert metrics.sigma([ranks]) == metrics.sigma([ranks])
    assert math.isclose(metrics.sigma([ranks]), 0.5 / math.sqrt(100), rel_tol=0.1)


def test_a_ranking_compared_with_itself_does_not_differ():
    assert metrics.sigma_of_difference([[1, 3, 0]], [[1, 3, 0]]) == 0.0


def test_of_equal_scores_the_earlier_span_is_first_whether_right_or_wrong():
    scores = np.array([2.0, 1.0, 1.0])
    ordinals = np.array([5, 9, 7], dtype=np.int32)

    assert first_right(scores, np.array([False, True, False]), ordinals) == 3
    assert first_right(scores, np.array([False, False, True]), ordinals) == 2


def test_nothing_right_among_the_candidates_is_no_rank():
    assert first_right(np.array([1.0]), np.array([False]), np.array([0], dtype=np.int32)) == 0
