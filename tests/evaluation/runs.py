"""A run: what every way of searching made of every question of a corpus, and by which code and weights.

What is written down are ranks, a list a way of searching, in the order of the questions' ids: any figure can
be computed from them again, without an embedder and without a clone. What took long (vectors, candidates and
their features) waits in a cache folder, under a key of all the code that has a part in it.
"""

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg

import codetrail.domain
import codetrail.services.search
from codetrail.domain.bm25 import K1, B
from codetrail.domain.bm25 import WEIGHTS as FIELD_WEIGHTS
from codetrail.domain.ranking import WEIGHTS, Features
from codetrail.services.ports import Embedder
from codetrail.services.search import ARM_DEPTH
from tests.evaluation import absent, corpora, golden, judging
from tests.evaluation.absent import Absent
from tests.evaluation.baselines import RRF_K, Fts5, TsRankCd
from tests.evaluation.corpora import Corpus, Half, Variant
from tests.evaluation.golden import VARIANTS, Case, Golden, Set
from tests.evaluation.judging import Judge, Judged
from tests.evaluation.metrics import DEPTH
from tests.evaluation.sealing import Sealed

OURS, VECTORS, LEXICAL, RRF, FTS5, TS_RANK_CD = "ours", "vectors", "lexical", "rrf", "fts5", "ts_rank_cd"
METHODS = (OURS, VECTORS, LEXICAL, RRF, FTS5, TS_RANK_CD)
REFERENCE = {"vectors": 0.749, "lexical": 0.164, "rrf": 0.402}
"""What the system that codetrail is compared with reports for its own three modes, over the prose questions
of google/uuid: 768-dimension vectors, full text search, and both fused by rank."""

_INDEXED = (Variant.PLAIN, Variant.UNCOMMENTED, Variant.UNTITLED)

Ranks = dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class Judgement:
    """One corpus, judged: each set's questions, and what the baselines made of them."""

    sets: list[Golden]
    refused: bool
    judged: dict[Set, list[Judged]]
    baselines: dict[Set, Ranks]


class Workshop:
    """Where clones lie and where what took long is kept."""

    def __init__(self, clones: Path, cache: Path, embedder: Embedder) -> None:
        self._clones = clones
        self._cache = cache
        self._cache.mkdir(parents=True, exist_ok=True)
        self.embedder = corpora.VectorCache(cache / "vectors.sqlite", embedder)
        self._indexed, self._compared, self._ranked = _keys()

    def sealed(self, corpus: Corpus) -> dict[Variant, Sealed]:
        """Index the corpus in the three variants that questions are asked of."""

        def make() -> dict[Variant, Sealed]:
            clone = corpora.clone_of(corpus, self._clones)
            return {variant: corpora.sealed(corpus, clone, variant) for variant in _INDEXED}

        found: dict[Variant, Sealed] = self._kept(f"{corpus.name}.sealed", self._indexed, make)
        return found

    def windows(self, corpus: Corpus) -> Sealed:
        """Index the corpus in windows."""

        def make() -> Sealed:
            return corpora.sealed(corpus, corpora.clone_of(corpus, self._clones), Variant.WINDOWS)

        found: Sealed = self._kept(f"{corpus.name}.windows", self._indexed, make)
        return found

    def golden(self, corpus: Corpus) -> list[Golden]:
        """Return the questions that are made of the corpus."""

        def make() -> list[Golden]:
            found = self.sealed(corpus)
            return golden.golden(*(found[variant] for variant in _INDEXED))

        sets: list[Golden] = self._kept(f"{corpus.name}.golden", self._indexed, make)
        return sets

    def judgement(self, corpus: Corpus, connection: psycopg.Connection) -> Judgement:
        """Ask every question of the corpus in every way; none where too many leak."""

        def make() -> Judgement:
            sets = self.golden(corpus)
            if golden.refused(sets):
                return Judgement(sets, refused=True, judged={}, baselines={})
            found = self.sealed(corpus)
            judges = {
                variant: Judge(corpora.embedded(corpus, one, self.embedder), self.embedder)
                for variant, one in found.items()
            }
            return Judgement(
                sets,
                refused=False,
                judged={one.kind: judges[VARIANTS[one.kind]].judge(one.cases) for one in sets},
                # What weights are learnt on is not reported, and Postgres takes its time.
                baselines={} if corpus.half is Half.LEARN else self._baselines(corpus, connection),
            )

        judgement: Judgement = self._kept(f"{corpus.name}.judged", self._ranked, make)
        return judgement

    def _baselines(self, corpus: Corpus, connection: psycopg.Connection) -> dict[Set, Ranks]:
        def make() -> dict[Set, Ranks]:
            return _baselines(self.golden(corpus), self.sealed(corpus), connection)

        ranks: dict[Set, Ranks] = self._kept(f"{corpus.name}.baselines", self._compared, make)
        return ranks

    def unanswered(self, corpus: Corpus, every: Mapping[str, Corpus]) -> list[tuple[Absent, Judged]]:
        """Ask the corpus, as shipped, what it does not answer."""

        def make() -> list[tuple[Absent, Judged]]:
            found = self.sealed(corpus)[Variant.PLAIN]
            sources = {name: self.golden(one) for name, one in every.items()}
            questions = absent.absent(corpus, found, sources, every)
            judge = Judge(corpora.embedded(corpus, found, self.embedder), self.embedder)
            cases = [Case(str(at), Set.PROSE, one.question, ()) for at, one in enumerate(questions)]
            return list(zip(questions, judge.judge(cases), strict=True))

        asked: list[tuple[Absent, Judged]] = self._kept(f"{corpus.name}.absent", self._ranked, make)
        return asked

    def _kept(self, name: str, key: str, make: Callable[[], Any]) -> Any:
        path = self._cache / f"{name}-{key}.pickle"
        if path.exists():
            return pickle.loads(path.read_bytes())  # noqa: S301 - written by this class, a few lines below
        made = make()
        path.with_suffix(".part").write_bytes(pickle.dumps(made))
        path.with_suffix(".part").rename(path)
        return made


# Of the core, what ranks and answers and has no part in what is indexed.
_ASKING = ("answer.py", "confidence.py", "picking.py", "question.py", "ranking.py", "search.py")


def _keys() -> tuple[str, str, str]:
    """Return digests of all code and data that decide what is indexed and asked, of that and what it is
    compared with, and of that and what ranks."""
    core = Path(codetrail.domain.__path__[0])
    parsers = core.parent / "adapters" / "treesitter"
    here = Path(__file__).parent
    indexed = [
        *(path for path in core.glob("*.py") if path.name not in _ASKING),
        *parsers.rglob("*.py"),
        *parsers.rglob("*.scm"),
        *(core.parent / "adapters" / "git").glob("*.py"),
        core.parent / "adapters" / "artifact.py",
        core.parent / "adapters" / "stemmer.py",
        core.parent / "services" / "index.py",
        core.parent / "services" / "ports.py",
        *(
            here / name
            for name in ("corpora.py", "sealing.py", "golden.py", "repos.json", "ci.json", "wordings.json")
        ),
    ]
    ranked = [
        *indexed,
        *(core / name for name in _ASKING),
        Path(codetrail.services.search.__file__),
        *(here / name for name in ("absent.py", "judging.py", "offtopic.json")),
    ]
    return _digest(indexed), _digest([*indexed, here / "baselines.py"]), _digest(ranked)


def _digest(parts: Sequence[Path]) -> str:
    digest = sha256()
    for part in sorted(parts):
        digest.update(f"{part.name}\0".encode() + part.read_bytes())
    return digest.hexdigest()[:16]


def _baselines(
    sets: Sequence[Golden], found: Mapping[Variant, Sealed], connection: psycopg.Connection
) -> dict[Set, Ranks]:
    ranks: dict[Set, Ranks] = {}
    for variant in _INDEXED:
        ways: dict[str, Fts5 | TsRankCd] = {
            FTS5: Fts5(found[variant].spans),
            TS_RANK_CD: TsRankCd(found[variant].spans, connection),
        }
        for one in sets:
            if VARIANTS[one.kind] is variant:
                ranks[one.kind] = {
                    name: [_rank(way.ranked(case.question, DEPTH), case) for case in one.cases]
                    for name, way in ways.items()
                }
    return ranks


def _rank(ranked: Sequence[int], case: Case) -> int:
    return next((at for at, ordinal in enumerate(ranked, 1) if ordinal in case.gold), 0)


def ranks(judgement: Judgement, kind: Set, weights: Features = WEIGHTS) -> Ranks:
    """Return the ranks of the right answers of one set, a list a way of searching."""
    those = judgement.judged[kind]
    return {
        OURS: [judging.rank(one, weights) for one in those],
        VECTORS: [judging.arm_rank(one, one.vector_ranks) for one in those],
        LEXICAL: [judging.arm_rank(one, one.lexical_ranks) for one in those],
        RRF: [judging.fused_rank(one, RRF_K) for one in those],
        **judgement.baselines[kind],
    }


def configuration(model: str) -> dict[str, object]:
    """Return what a run depends on beside its corpora."""
    return {
        "model": model,
        "weights": WEIGHTS._asdict(),
        "bm25": {"k1": K1, "b": B, "fields": FIELD_WEIGHTS},
        "candidates": ARM_DEPTH,
        "rrf": RRF_K,
        "depth": DEPTH,
    }


def record(corpus: Corpus, judgement: Judgement) -> dict[str, object]:
    """Return what is written down of one corpus."""
    counts = {
        one.kind.value: {"made": one.made, "leaking": one.leaking, "duplicate": one.duplicate}
        for one in judgement.sets
    }
    told: dict[str, object] = {"commit": corpus.commit, "half": corpus.half.value, "counts": counts}
    if judgement.refused:
        return told | {"refused": True}
    sets = {
        kind.value: {"ids": [one.case.id for one in those], "ranks": ranks(judgement, kind)}
        for kind, those in judgement.judged.items()
        if kind is not Set.ASKED
    }
    wholes = [
        (judging.rank(one), judging.whole_rank(one.whole))
        for those in judgement.judged.values()
        for one in those
        if one.whole is not None
    ]
    return told | {"refused": False, "sets": sets, "every_span": [list(pair) for pair in wholes]}
