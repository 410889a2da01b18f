"""What a change must not do to search: find less than the committed run of the corpora of `ci.json`."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.evaluation.golden import Set
from tests.evaluation.metrics import reciprocal
from tests.evaluation.runs import OURS

# Two machines round differently, and a change for the better may cost a question or two.
TOLERANCE = 0.02

Corpora = Mapping[str, Mapping[str, Any]]


def worse(committed: Corpora, measured: Corpora) -> Iterator[str]:
    """Yield in a sentence each what *measured* lacks of *committed*: a corpus, a commit, a question, or more
    than `TOLERANCE` of a set's MRR@10. A set in which one question alone weighs more than that is not held to
    its figure."""
    for name, before in committed.items():
        now = measured.get(name)
        if now is None or now["commit"] != before["commit"]:
            yield f"{name} was not measured at {before['commit']}"
            continue
        if now["counts"] != before["counts"] or now["refused"] != before["refused"]:
            yield f"{name}: other questions are made: {now['counts']} where {before['counts']} were"
            continue
        for kind, those in before.get("sets", {}).items():
            yield from _lower(f"{name}, {kind}", those, now["sets"][kind])


def _lower(place: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    count = len(before["ids"])
    if len(now["ids"]) != count:
        yield f"{place}: {len(now['ids'])} questions where {count} were"
        return
    was, found = reciprocal(before["ranks"][OURS]), reciprocal(now["ranks"][OURS])
    if count * TOLERANCE >= 1 and found < was - TOLERANCE:
        yield f"{place}: MRR@10 {found:.3f}, and {was:.3f} is committed"


def table(committed: Corpora, measured: Corpora) -> Iterator[str]:
    """Yield the figures of both, side by side."""
    yield "| corpus | set | questions | committed | measured |"
    yield "|---|---|---|---|---|"
    for name, one in measured.items():
        for kind in Set:
            now = one.get("sets", {}).get(kind.value)
            before = committed.get(name, {}).get("sets", {}).get(kind.value)
            if now is not None:
                was = f"{reciprocal(before['ranks'][OURS]):.3f}" if before else "–"
                yield (
                    f"| {name} | {kind} | {len(now['ids'])} | {was} | {reciprocal(now['ranks'][OURS]):.3f} |"
                )
