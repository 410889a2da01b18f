"""Measure search: python -m tests.evaluation COMMAND [--clones FOLDER] [--cache FOLDER] [NAMES]

    run       ask every question in every way; writes results/retrieval.json and prints its tables
    learn     learn the score's weights on the learn half; writes results/weights.json
    ablate    leave out one feature at a time; writes results/ablation.json
    floor     find where the floor lies on the learn half, and what it does on the report half; floor.json
    chunking  compare declarations with windows of 40 lines, on uuid; writes results/chunking.json
    ci        ask the corpus of ci.json, in under two minutes; writes results/ci.json, or with --check
              writes nothing and fails where less is found than it says
    tables    print the tables of what was written, without clones or an embedder

With NAMES only those corpora are measured, and nothing is written. Nothing is fetched: clones lie under
--clones, each by the name, the commit and the remote of repos.json or ci.json.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import psycopg

from codetrail.adapters.embedder.onnx import OnnxEmbedder
from codetrail.domain.ranking import WEIGHTS, Features
from tests.evaluation import corpora, floors, golden, holding, judging, tables
from tests.evaluation.corpora import Corpus, Half, Variant
from tests.evaluation.golden import Set
from tests.evaluation.judging import Judge, Judged
from tests.evaluation.learning import learn
from tests.evaluation.metrics import macro, reciprocal, sigma, sigma_of_difference
from tests.evaluation.runs import Judgement, Workshop, configuration, record
from tests.support.database import DatabaseServer

RESULTS = Path(__file__).with_name("results")
# People ask by name in more ways than two, so the other wordings count twice.
LEARNT_SETS = (Set.PROSE, Set.UNNAMED, Set.IDENTIFIER, Set.ASKED, Set.ASKED, Set.HEADING)
CHUNKED_WAYS = ("ours", "vectors", "lexical")
REPORTED = (Set.PROSE, Set.UNNAMED, Set.IDENTIFIER, Set.WORDING, Set.HEADING)


class Bench:
    """The corpora that are asked for, and what judges them."""

    def __init__(self, options: argparse.Namespace, connection: psycopg.Connection) -> None:
        listed = corpora.CI_LIST if options.command == "ci" else corpora.LIST
        self.every = corpora.corpora(listed)
        unknown = set(options.names) - set(self.every)
        if unknown:
            raise SystemExit(f"not in {listed.name}: {', '.join(sorted(unknown))}")
        self.check = options.check
        self._names = options.names
        self.whole = not options.names
        self._connection = connection
        self.workshop = Workshop(Path(options.clones), Path(options.cache), OnnxEmbedder())

    def of(self, *halves: Half) -> list[Corpus]:
        """Return the corpora of *halves*, or those named in the command."""
        if self._names:
            return [self.every[name] for name in self._names]
        return [one for one in self.every.values() if one.half in halves]

    def judgements(self, *halves: Half, only: str = "") -> Iterator[tuple[Corpus, Judgement]]:
        """Judge each of them in turn, or the one called *only*, saying so."""
        for corpus in self.of(*halves):
            if only not in ("", corpus.name):
                continue
            print(f"judging {corpus.name}", file=sys.stderr, flush=True)
            yield corpus, self.workshop.judgement(corpus, self._connection)

    def judged(self, *halves: Half) -> dict[str, dict[Set, list[Judged]]]:
        """Return what was judged, by corpus; those that leak left out."""
        return {corpus.name: one.judged for corpus, one in self.judgements(*halves) if not one.refused}


def run(bench: Bench) -> None:
    """Ask every question in every way."""
    found = {corpus.name: record(corpus, one) for corpus, one in bench.judgements(Half.REPORT, Half.FRESH)}
    written = {"configuration": configuration(bench.workshop.embedder.model), "corpora": found}
    _write(bench, "retrieval.json", written)
    _print_run(written)


def _print_run(written: Mapping[str, Any]) -> None:
    halves = {one["half"] for one in written["corpora"].values()}
    parts: list[Iterator[str]] = [tables.uuid(written)] if tables.UUID in written["corpora"] else []
    parts += [tables.half(written, half) for half in ("report", "fresh") if half in halves]
    for part in [*parts, tables.corpora(written), tables.every_span(written)]:
        print("\n".join(part), end="\n\n")


def learn_weights(bench: Bench) -> None:
    """Learn the weights, and say what they are worth where they were not learnt: one corpus left out at a
    time."""
    found = bench.judged(Half.LEARN)
    weights = learn(_groups(found, found))
    left_out = _left_one_out(found)
    shipped = {kind: _figures(found, kind, lambda _: WEIGHTS) for kind in REPORTED}
    written = {
        "corpora": sorted(found),
        "sets": [kind.value for kind in LEARNT_SETS],
        "weights": weights._asdict(),
        "left_one_out": {kind.value: macro(ranks) for kind, ranks in left_out.items()},
        "shipped": {kind.value: macro(ranks) for kind, ranks in shipped.items()},
        "sigma_of_difference": {
            kind.value: sigma_of_difference(list(left_out[kind].values()), list(shipped[kind].values()))
            for kind in REPORTED
        },
    }
    _write(bench, "weights.json", written)
    print(json.dumps(written, indent=1))


def _groups(
    found: Mapping[str, Mapping[Set, list[Judged]]],
    names: Iterator[str] | Sequence[str] | Mapping[str, object],
) -> list[list[Judged]]:
    return [found[name][kind] for name in names for kind in LEARNT_SETS if found[name].get(kind)]


def _left_one_out(
    found: Mapping[str, Mapping[Set, list[Judged]]], without: frozenset[str] = frozenset()
) -> dict[Set, dict[str, list[int]]]:
    """The ranks of each corpus by weights that were learnt on the others."""
    weights = {
        name: learn(_groups(_without(found, without), [other for other in found if other != name]))
        for name in found
    }
    dropped = _without(found, without)
    return {kind: _figures(dropped, kind, lambda name: weights[name]) for kind in REPORTED}


def _figures(
    found: Mapping[str, Mapping[Set, list[Judged]]], kind: Set, weights: Callable[[str], Features]
) -> dict[str, list[int]]:
    return {
        name: [judging.rank(one, weights(name)) for one in those[kind]]
        for name, those in found.items()
        if those.get(kind)
    }


def _without(
    found: Mapping[str, Mapping[Set, list[Judged]]], features: frozenset[str]
) -> dict[str, dict[Set, list[Judged]]]:
    kept = np.array([field not in features for field in Features._fields], dtype=np.float32)
    return {
        name: {
            kind: [replace(one, features=one.features * kept) for one in those]
            for kind, those in sets.items()
        }
        for name, sets in found.items()
    }


def ablate(bench: Bench) -> None:
    """Leave out each feature, learn the others anew, and compare: on the learn half, one corpus left out at a
    time, and on the report half."""
    found, report = bench.judged(Half.LEARN), bench.judged(Half.REPORT)
    rows = {}
    for features in ((), *((one,) for one in Features._fields)):
        gone = frozenset(features)
        weights = learn(_groups(_without(found, gone), found))
        left_out = _left_one_out(found, gone)
        reported = {
            kind: _figures(_without(report, gone), kind, dict.fromkeys(report, weights).__getitem__)
            for kind in REPORTED
        }
        rows["".join(features) or "none"] = {
            half: {kind.value: macro(ranks) for kind, ranks in those.items()}
            for half, those in (("learn", left_out), ("report", reported))
        } | {"weights": weights._asdict()}
        print("".join(features) or "none", rows["".join(features) or "none"], file=sys.stderr, flush=True)
    _write(bench, "ablation.json", {"corpora": [sorted(found), sorted(report)], "without": rows})
    _print_ablation({"without": rows})


def _print_ablation(written: Mapping[str, Any]) -> None:
    print("| without | half | " + " | ".join(REPORTED) + " | mean |")
    print("|---|---|" + "---|" * (len(REPORTED) + 1))
    for name, row in written["without"].items():
        for half in ("learn", "report"):
            figures = [row[half][kind.value] for kind in REPORTED]
            cells = " | ".join(f"{figure:.3f}" for figure in [*figures, float(np.mean(figures))])
            print(f"| {name} | {half} | {cells} |")
    print()


def chunking(bench: Bench) -> None:
    """Compare spans by declaration with windows of 40 lines, over the prose questions."""
    rows = {
        corpus.name: _chunked(bench.workshop, corpus, judgement)
        for corpus, judgement in bench.judgements(Half.REPORT, only=tables.UUID if bench.whole else "")
        if not judgement.refused
    }
    _write(bench, "chunking.json", rows)
    _print_chunking(rows)


def _chunked(workshop: Workshop, corpus: Corpus, judgement: Judgement) -> dict[str, dict[str, list[int]]]:
    spans = workshop.sealed(corpus)[Variant.UNCOMMENTED].spans
    windows = workshop.windows(corpus)
    judge = Judge(corpora.embedded(corpus, windows, workshop.embedder), workshop.embedder)
    cases = next(one.cases for one in judgement.sets if one.kind is Set.PROSE)
    told = {"declarations": judgement.judged[Set.PROSE]}
    for rule, chosen in (("windows, lenient", golden.sharing), ("windows, strict", golden.holding_most)):
        told[rule] = judge.judge(
            [
                replace(case, gold=chosen([spans[ordinal] for ordinal in case.gold], windows.spans))
                for case in cases
            ]
        )
    return {
        rule: {
            "ours": [judging.rank(one) for one in those],
            "vectors": [judging.arm_rank(one, one.vector_ranks) for one in those],
            "lexical": [judging.arm_rank(one, one.lexical_ranks) for one in those],
        }
        for rule, those in told.items()
    }


def _print_chunking(rows: Mapping[str, Any]) -> None:
    print(f"| corpus | cut by | {' | '.join(CHUNKED_WAYS)} |\n|---|---|---|---|---|")
    for name, row in rows.items():
        for rule, ways in row.items():
            found = [ways[way] for way in CHUNKED_WAYS]
            cells = [f"{reciprocal(ranks):.3f} ± {sigma([ranks]):.3f}" for ranks in found]
            print(f"| {name} | {rule} | {' | '.join(cells)} |")
    print()


def floor(bench: Bench) -> None:
    """Find the floor on the learn half; say what it does on the report half."""
    halves = {half: _asked(bench, half) for half in (Half.LEARN, Half.REPORT)}
    written = floors.calibrated(halves[Half.LEARN], halves[Half.REPORT])
    _write(bench, "floor.json", written)
    floors.show(written)


def _asked(bench: Bench, half: Half) -> list[floors.Asked]:
    found = []
    for corpus, judgement in bench.judgements(half):
        if judgement.refused:
            continue
        for kind, those in judgement.judged.items():
            if kind is not Set.ASKED:
                found += [floors.Asked(corpus.name, kind.value, True, one.signals) for one in those]
        for question, one in bench.workshop.unanswered(corpus, bench.every):
            found.append(floors.Asked(corpus.name, question.third.value, False, one.signals))
    return found


def ci(bench: Bench) -> None:
    """Ask the corpus of `ci.json`, and compare with what is committed, or write that anew. Raises SystemExit
    where less is found."""
    found = {corpus.name: record(corpus, one) for corpus, one in bench.judgements(Half.CI)}
    path = RESULTS / "ci.json"
    # Without a committed run there is nothing to fall short of, and a check of nothing would pass.
    committed = json.loads(path.read_text())["corpora"] if bench.check or path.exists() else {}
    print("\n".join(holding.table(committed, found)))
    if bench.check:
        wrong = list(holding.worse(committed, found))
        if wrong:
            raise SystemExit("\n".join(["search finds less than results/ci.json says:", *wrong]))
    else:
        written = {"configuration": configuration(bench.workshop.embedder.model), "corpora": found}
        _write(bench, path.name, written)


def show() -> None:
    """Print what was written, again."""
    printers: dict[str, Callable[[Any], None]] = {
        "retrieval.json": _print_run,
        "ablation.json": _print_ablation,
        "chunking.json": _print_chunking,
        "floor.json": floors.show,
    }
    for name, printer in printers.items():
        if (RESULTS / name).exists():
            printer(json.loads((RESULTS / name).read_text()))


def _write(bench: Bench, name: str, written: object) -> None:
    if not bench.whole:
        print(f"{name} stays as it is: a part of the corpora is no run", file=sys.stderr)
        return
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / name).write_text(json.dumps(written, separators=(",", ":"), sort_keys=True) + "\n")


COMMANDS: dict[str, Callable[[Bench], None]] = {
    "run": run,
    "learn": learn_weights,
    "ablate": ablate,
    "floor": floor,
    "chunking": chunking,
    "ci": ci,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Do one command."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.evaluation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=[*COMMANDS, "tables"])
    parser.add_argument("names", nargs="*", help="corpora of the list; default: all that it is for")
    parser.add_argument("--clones", default="clones", help="folder of the clones (default: ./clones)")
    parser.add_argument("--cache", default=".evaluation", help="what took long (default: ./.evaluation)")
    parser.add_argument(
        "--check", action="store_true", help="of ci: write nothing, and fail where less is found"
    )
    options = parser.parse_args(arguments)
    if options.command == "tables":
        show()
        return 0
    with _database() as connection:
        COMMANDS[options.command](Bench(options, connection))
    return 0


@contextmanager
def _database() -> Iterator[psycopg.Connection]:
    with TemporaryDirectory() as folder:
        server = DatabaseServer(Path(folder))
        server.start()
        try:
            with server.fresh(migrated=False) as url, psycopg.connect(url, autocommit=True) as connection:
                yield connection
        finally:
            server.stop()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        # Whoever read the tables has seen enough; what is left to write has no reader.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
