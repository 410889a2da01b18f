"""The weights of the linear score, learnt from questions with known answers.

The loss is the negative log-likelihood of the right spans under a softmax over a question's candidates
(ListNet's top-one loss; Cao et al., 2007), with a small ridge. Every set of every corpus counts alike,
however many questions it has. So few numbers are right for Newton's method, which needs no step to be
chosen.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from codetrail.domain.ranking import WEIGHTS, Features
from tests.evaluation.judging import Judged

RIDGE = 1e-3
MAX_STEPS = 40
# Less gain than this in one step, and the loss is at its least.
SETTLED = 1e-7
MIN_STEP = 1e-4

Array = npt.NDArray[np.float64]


class Item(NamedTuple):
    """One question: the features of its candidates, which of them are right, and how much it counts."""

    features: Array
    gold: npt.NDArray[np.bool_]
    share: float


def learn(groups: Sequence[Sequence[Judged]], start: Features = WEIGHTS) -> Features:
    """Return the weights that rank *groups* best, each of which is one set of one corpus."""
    items = list(_items(groups))
    weights = np.array(start, dtype=np.float64)
    loss = _loss(items, weights)
    for _ in range(MAX_STEPS):
        gradient, curvature = _slopes(items, weights)
        step, size = np.linalg.solve(curvature, gradient), 1.0
        while (lower := _loss(items, weights - size * step)) >= loss and size > MIN_STEP:
            size /= 2
        if lower >= loss:
            break
        weights, gain, loss = weights - size * step, loss - lower, lower
        if gain < SETTLED:
            break
    return Features(*(float(weight) for weight in weights))


def _items(groups: Sequence[Sequence[Judged]]) -> Iterable[Item]:
    # A question whose answer is no candidate teaches nothing about their order.
    useful = [[one for one in group if one.gold.any()] for group in groups]
    useful = [group for group in useful if group]
    for group in useful:
        for one in group:
            yield Item(one.features.astype(np.float64), one.gold, 1 / len(group) / len(useful))


def _loss(items: Sequence[Item], weights: Array) -> float:
    total = 0.5 * RIDGE * float(weights @ weights)
    for item in items:
        scores = item.features @ weights
        total += item.share * (_log_sum(scores) - _log_sum(scores[item.gold]))
    return total


def _log_sum(scores: Array) -> float:
    top = float(scores.max())
    return top + float(np.log(np.exp(scores - top).sum()))


def _slopes(items: Sequence[Item], weights: Array) -> tuple[Array, Array]:
    """The gradient, and the part of the second derivative that is never negative."""
    gradient, curvature = RIDGE * weights, RIDGE * np.eye(len(weights))
    for item in items:
        scores = item.features @ weights
        every = np.exp(scores - scores.max())
        every /= every.sum()
        right = np.where(item.gold, every, 0.0)
        mean = every @ item.features
        gradient = gradient + item.share * (mean - right @ item.features / right.sum())
        spread = (item.features * every[:, None]).T @ item.features - np.outer(mean, mean)
        curvature = curvature + item.share * spread
    return gradient, curvature
