"""Tables from what runs wrote down: no embedder, no clone, no database."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.evaluation.golden import Set
from tests.evaluation.metrics import hits, macro, reciprocal, sigma
from tests.evaluation.runs import METHODS, OURS, REFERENCE

SETS = (Set.PROSE, Set.UNNAMED, Set.IDENTIFIER, Set.WORDING, Set.HEADING)
UUID = "uuid"

Run = Mapping[str, Any]


def uuid(run: Run) -> Iterator[str]:
    """The prose questions of google/uuid, beside what the reference reports for them."""
    those = run["corpora"][UUID]["sets"][Set.PROSE.value]
    count = len(those["ids"])
    yield f"google/uuid at {run['corpora'][UUID]['commit'][:7]}, {count} prose questions, comments stripped"
    yield ""
    yield "| way | MRR@10 | σ | hit@1 | hit@5 | hit@10 | reference |"
    yield "|---|---|---|---|---|---|---|"
    for name in METHODS:
        found = those["ranks"][name]
        told = f"{REFERENCE[name]:.3f}" if name in REFERENCE else "–"
        figures = " | ".join(f"{hits(found, at):.3f}" for at in (1, 5, 10))
        yield f"| {name} | {reciprocal(found):.3f} | {sigma([found]):.3f} | {figures} | {told} |"


def half(run: Run, which: str) -> Iterator[str]:
    """Every set over the corpora of one half: the mean of their MRR@10, a corpus counting as one."""
    names = [
        name for name, one in run["corpora"].items() if one["half"] == which and not one.get("refused", False)
    ]
    yield f"{which}: {', '.join(names)}"
    yield ""
    yield "| way | " + " | ".join(SETS) + " |"
    yield "|---|" + "---|" * len(SETS)
    for name in METHODS:
        cells = []
        for kind in SETS:
            groups = _groups(run, names, kind, name)
            cells.append(f"{macro(groups):.3f} ± {sigma(list(groups.values())):.3f}")
        yield f"| {name} | " + " | ".join(cells) + " |"
    counts = [sum(len(found) for found in _groups(run, names, kind, OURS).values()) for kind in SETS]
    yield "| questions | " + " | ".join(map(str, counts)) + " |"


def corpora(run: Run) -> Iterator[str]:
    """What became of each corpus: its questions, those that leak, and whether it is used."""
    yield "| corpus | half | prose | unnamed | identifier | wording | heading | leaking of made | used |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name, one in run["corpora"].items():
        made = sum(counts["made"] for counts in one["counts"].values())
        leaking = sum(counts["leaking"] for counts in one["counts"].values())
        used = not one["refused"]
        cells = [
            f"{reciprocal(one['sets'][kind.value]['ranks'][OURS]):.3f}" if used else "–" for kind in SETS
        ]
        yield (
            f"| {name} | {one['half']} | {' | '.join(cells)} | {leaking} of {made} |"
            f" {'yes' if used else 'refused'} |"
        )


def every_span(run: Run) -> Iterator[str]:
    """What it costs to score the candidates alone and not every span."""
    pairs = [pair for one in run["corpora"].values() for pair in one.get("every_span", ())]
    some, all_ = reciprocal([one for one, _ in pairs]), reciprocal([one for _, one in pairs])
    yield (
        f"{len(pairs)} questions: MRR@10 {some:.4f} over the candidates, {all_:.4f} over every span"
        f" (difference {some - all_:+.4f})"
    )


def _groups(run: Run, names: Sequence[str], kind: Set, method: str) -> dict[str, list[int]]:
    found = {name: run["corpora"][name]["sets"].get(kind.value) for name in names}
    return {name: one["ranks"][method] for name, one in found.items() if one and one["ids"]}
