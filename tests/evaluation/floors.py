"""Where the floor lies, and what it costs.

The weights are learnt by logistic regression of answered or not over the signals of a question, on the learn
half; the floor is the value under which `MAX_FALSE_REFUSALS` of its answerable questions lie. On the report
half it is told how many absent questions of each third are refused, how many answerable ones of each set, and
the same at other floors (the curve).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from codetrail.domain.answer import Quantity
from codetrail.domain.confidence import Signals
from tests.evaluation.learning import RIDGE

MAX_FALSE_REFUSALS = 0.05
# Answerable questions that a right floor refuses at most, for which the curve is printed.
CURVE = (0.01, 0.02, 0.05, 0.10, 0.15, 0.20, 0.30)
MAX_STEPS = 50
SETTLED = 1e-9

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of one corpus: its set, or its third where the corpus does not answer it."""

    corpus: str
    kind: str
    answerable: bool
    signals: Signals


def fit(asked: Sequence[Asked]) -> tuple[float, ...]:
    """Return the weight of each signal and, last, the constant. Answerable and absent questions count alike
    in sum, and so do the kinds of either."""
    rows = np.array([[*one.signals, 1.0] for one in asked], dtype=np.float64)
    right = np.array([one.answerable for one in asked], dtype=np.float64)
    share = _shares(asked)
    weights = np.zeros(rows.shape[1])
    for _ in range(MAX_STEPS):
        chance = 1 / (1 + np.exp(-rows @ weights))
        gradient = rows.T @ (share * (chance - right)) + RIDGE * weights
        curvature = (rows * (share * chance * (1 - chance))[:, None]).T @ rows + RIDGE * np.eye(len(weights))
        step = np.linalg.solve(curvature, gradient)
        weights = weights - step
        if float(np.abs(step).max()) < SETTLED:
            break
    return tuple(float(weight) for weight in weights)


def _shares(asked: Sequence[Asked]) -> Array:
    groups: dict[tuple[bool, str, str], int] = {}
    for one in asked:
        key = (one.answerable, one.kind, one.corpus)
        groups[key] = groups.get(key, 0) + 1
    of_side = {side: sum(key[0] is side for key in groups) for side in (True, False)}
    return np.array(
        [1 / groups[one.answerable, one.kind, one.corpus] / of_side[one.answerable] for one in asked]
    )


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value under which *share* of *values* lie."""
    return float(np.quantile(np.array(values), share))


def refused(values: Sequence[float], floor: float) -> float:
    """Return the share of *values* under *floor*."""
    return float(np.mean(np.array(values) < floor)) if values else 0.0


def by_kind(asked: Sequence[Asked], values: Sequence[float]) -> Mapping[tuple[bool, str], list[float]]:
    """Return the values of each set and each third."""
    found: dict[tuple[bool, str], list[float]] = {}
    for one, value in zip(asked, values, strict=True):
        found.setdefault((one.answerable, one.kind), []).append(value)
    return found


def calibrated(learnt: Sequence[Asked], reported: Sequence[Asked]) -> dict[str, Any]:
    """Return the weights and the floor that the learn half gives, and what both do on the report half."""
    weights = fit(learnt)
    values = {half: _confidence(asked, weights) for half, asked in (("learn", learnt), ("report", reported))}
    answerable = [value for one, value in zip(learnt, values["learn"], strict=True) if one.answerable]
    floor = quantile(answerable, MAX_FALSE_REFUSALS)
    return {
        "quantity": Quantity.CONFIDENCE.value,
        "weights": dict(zip(Signals._fields, weights[:-1], strict=True)),
        "constant": weights[-1],
        "floor": floor,
        "corpora": {
            half: sorted({one.corpus for one in asked})
            for half, asked in (("learn", learnt), ("report", reported))
        },
        "values": {
            half: {
                f"{'answerable' if answerable else 'absent'} {kind}": [round(value, 4) for value in found]
                for (answerable, kind), found in by_kind(asked, values[half]).items()
            }
            for half, asked in (("learn", learnt), ("report", reported))
        },
    }


def _confidence(asked: Sequence[Asked], weights: Sequence[float]) -> list[float]:
    rows = np.array([[*one.signals, 1.0] for one in asked], dtype=np.float64)
    chances: list[float] = (1 / (1 + np.exp(-rows @ np.array(weights)))).tolist()
    return chances


def show(written: Mapping[str, Any]) -> None:
    """Print what the floor does, and the curve."""
    for half, values in written["values"].items():
        print(f"{half}: {', '.join(written['corpora'][half])}; floor {written['floor']:.3f} of confidence\n")
        print("| questions | count | refused |\n|---|---|---|")
        for kind, found in sorted(values.items()):
            print(f"| {kind} | {len(found)} | {refused(found, written['floor']):.1%} |")
        answerable = [
            value for kind, found in values.items() if kind.startswith("answerable") for value in found
        ]
        print(f"| answerable, all | {len(answerable)} | {refused(answerable, written['floor']):.1%} |\n")
        absent = sorted(kind for kind in values if kind.startswith("absent"))
        print("| answerable refused | floor | " + " | ".join(f"{kind} refused" for kind in absent) + " |")
        print("|---|---|" + "---|" * len(absent))
        for share in CURVE:
            floor = quantile(answerable, share)
            cells = [f"{refused(values[kind], floor):.1%}" for kind in absent]
            print(f"| {share:.0%} | {floor:.3f} | {' | '.join(cells)} |")
        print()
