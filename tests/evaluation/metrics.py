"""Figures over ranks. A rank is that of the first right span, from 1; 0 means that it was not found."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

# Ranks beyond it count as not found: nobody reads on.
DEPTH = 10
RESAMPLES = 1_000
SEED = 2026


def reciprocal(ranks: Sequence[int]) -> float:
    """Return the mean reciprocal rank at `DEPTH` (MRR@10)."""
    return float(np.mean([1 / rank if 0 < rank <= DEPTH else 0.0 for rank in ranks])) if ranks else 0.0


def hits(ranks: Sequence[int], at: int) -> float:
    """Return the share of questions whose answer stands among the first *at* (hit@k)."""
    return float(np.mean([0 < rank <= at for rank in ranks])) if ranks else 0.0


def sigma(groups: Sequence[Sequence[int]], figure: Callable[[Sequence[int]], float] = reciprocal) -> float:
    """Return the bootstrap standard error of the mean over *groups* of *figure*: questions are drawn anew
    within each group, with replacement, `RESAMPLES` times (Efron, 1979)."""
    random = np.random.default_rng(SEED)
    drawn = [
        np.mean([figure(_resampled(ranks, random)) for ranks in groups if len(ranks)])
        for _ in range(RESAMPLES)
    ]
    return float(np.std(drawn))


def sigma_of_difference(one: Sequence[Sequence[int]], other: Sequence[Sequence[int]]) -> float:
    """Return the bootstrap standard error of the difference of two mean reciprocal ranks over the same
    questions, which are drawn in pairs."""
    random = np.random.default_rng(SEED)
    drawn = []
    for _ in range(RESAMPLES):
        differences = []
        for a, b in zip(one, other, strict=True):
            at = random.integers(0, len(a), len(a))
            differences.append(reciprocal([a[i] for i in at]) - reciprocal([b[i] for i in at]))
        drawn.append(np.mean(differences))
    return float(np.std(drawn))


def macro(by_corpus: Mapping[str, Sequence[int]]) -> float:
    """Return the mean over corpora of their mean reciprocal ranks."""
    return float(np.mean([reciprocal(ranks) for ranks in by_corpus.values() if ranks])) if by_corpus else 0.0


def _resampled(ranks: Sequence[int], random: np.random.Generator) -> Sequence[int]:
    return [ranks[at] for at in random.integers(0, len(ranks), len(ranks))]
