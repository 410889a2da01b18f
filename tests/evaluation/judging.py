"""What each way of searching makes of each question: the rank of the first right span, and why it has it.

Everything is computed once, by the product's own code over the product's own spans and vectors: the features
of the shipped score for every candidate of the three arms and, for some questions, for every span of the
corpus. Weights and ablations are then a matter of arithmetic.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from codetrail.adapters.stemmer import SnowballStemmer
from codetrail.domain.confidence import Signals
from codetrail.domain.question import Question
from codetrail.domain.ranking import WEIGHTS, Features
from codetrail.domain.repo import Revision
from codetrail.domain.terms import TermReader
from codetrail.services.ports import Candidate, Embedder, Ordinals, TermPostings, Vector
from codetrail.services.search import ARM_DEPTH, Gathered, gather
from tests.evaluation.golden import Case
from tests.support.revisions import Contents

# Scoring every span of a corpus takes many times as long as scoring the candidates.
WHOLE_EVERY = 5

Matrix = npt.NDArray[np.float32]
Ranks = npt.NDArray[np.int32]


class MemoryStore:
    """One revision behind the port that the arms read by. Exact, as the tests' fake is, but by index: it is
    asked ten thousand questions."""

    def __init__(self, held: Contents) -> None:
        self._held = held
        self._postings = {
            one.term: TermPostings(
                one.term, np.frombuffer(one.ordinals, dtype="<i4"), np.frombuffer(one.weights, dtype="<f4")
            )
            for one in held.postings
        }
        self._names = {one.name: np.frombuffer(one.ordinals, dtype="<i4") for one in held.names}
        self._candidates = [
            Candidate(one.ordinal, one.symbol, one.kind, one.test, mass)
            for one, mass in zip(held.spans, held.masses, strict=True)
        ]

    def nearest(
        self, revision: Revision, vector: Vector, limit: int, among: Ordinals | None = None
    ) -> list[tuple[int, float]]:
        """Every span compared, or those *among*."""
        cosines = self._held.vectors @ vector
        compared = np.arange(len(cosines)) if among is None else among
        order = compared[np.lexsort((compared, -cosines[compared]))][:limit]
        return [(int(ordinal), float(cosines[ordinal])) for ordinal in order]

    def cosines(self, revision: Revision, vector: Vector, ordinals: Sequence[int]) -> dict[int, float]:
        """The cosine of each span named."""
        found = self._held.vectors[list(ordinals)] @ vector
        return {ordinal: float(cosine) for ordinal, cosine in zip(ordinals, found, strict=True)}

    def postings(self, revision: Revision, terms: Sequence[str]) -> list[TermPostings]:
        """The postings of the terms that the revision holds."""
        return [self._postings[term] for term in sorted(set(terms)) if term in self._postings]

    def named(self, revision: Revision, names: Sequence[str]) -> dict[str, Ordinals]:
        """Which spans bear which name."""
        return {name: self._names[name] for name in names if name in self._names}

    def candidates(self, revision: Revision, ordinals: Sequence[int]) -> list[Candidate]:
        """What ranking needs of these spans."""
        return [self._candidates[ordinal] for ordinal in sorted(ordinals)]


@dataclass(frozen=True, slots=True)
class Everything:
    """All spans of a corpus against one question."""

    ordinals: Ranks
    features: Matrix
    gold: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Judged:
    """One question. The arrays run over its candidates, as the arms give them at the shipped depth."""

    case: Case
    ordinals: Ranks
    features: Matrix  # a row a candidate, a column a feature
    gold: npt.NDArray[np.bool_]
    vector_ranks: Ranks  # from 1; 0 where the arm did not return the span
    lexical_ranks: Ranks
    signals: Signals
    whole: Everything | None  # every span of the corpus, for one question in `WHOLE_EVERY`


class Judge:
    """Asks one corpus, in one variant."""

    def __init__(self, held: Contents, embedder: Embedder) -> None:
        self._held = held
        self._store = MemoryStore(held)
        self._embedder = embedder
        self._reader = TermReader(SnowballStemmer().stems)

    def judge(self, cases: Sequence[Case]) -> list[Judged]:
        """Ask each question."""
        vectors = self._embedder.embed([case.question for case in cases])
        return [
            self._one(case, vector, whole=at % WHOLE_EVERY == 0)
            for at, (case, vector) in enumerate(zip(cases, vectors, strict=True))
        ]

    def _one(self, case: Case, vector: Vector, *, whole: bool) -> Judged:
        question = Question.read(case.question, self._reader)
        shipped = self._gather(question, vector, ARM_DEPTH)
        ordinals = np.array([one.ordinal for one in shipped.evidence], dtype=np.int32)
        return Judged(
            case=case,
            ordinals=ordinals,
            features=_matrix(shipped),
            gold=np.isin(ordinals, case.gold),
            vector_ranks=np.array([shipped.vector_ranks.get(int(one), 0) for one in ordinals], np.int32),
            lexical_ranks=np.array([shipped.lexical_ranks.get(int(one), 0) for one in ordinals], np.int32),
            signals=shipped.signals,
            whole=self._whole(case, question, vector) if whole else None,
        )

    def _whole(self, case: Case, question: Question, vector: Vector) -> Everything:
        every = self._gather(question, vector, len(self._held.spans))
        ordinals = np.array([one.ordinal for one in every.evidence], dtype=np.int32)
        return Everything(ordinals, _matrix(every), np.isin(ordinals, case.gold))

    def _gather(self, question: Question, vector: Vector, depth: int) -> Gathered:
        return gather(question, self._held.revision, self._store, vector, self._reader, depth)


def _matrix(gathered: Gathered) -> Matrix:
    return np.array(gathered.features, dtype=np.float32).reshape(-1, len(WEIGHTS))


def rank(judged: Judged, weights: Features = WEIGHTS) -> int:
    """Return where the linear score puts the best right span among the candidates."""
    return first_right(_scored(judged.features, weights), judged.gold, judged.ordinals)


def whole_rank(whole: Everything, weights: Features = WEIGHTS) -> int:
    """Return where the linear score puts it when every span is scored."""
    return first_right(_scored(whole.features, weights), whole.gold, whole.ordinals)


def _scored(features: Matrix, weights: Features) -> Matrix:
    scores: Matrix = features @ np.array(weights, dtype=np.float32)
    return scores


def arm_rank(judged: Judged, ranks: Ranks) -> int:
    """Return where one arm puts it; 0 when it did not return it."""
    right = ranks[judged.gold & (ranks > 0)]
    return int(right.min()) if len(right) else 0


def fused_rank(judged: Judged, k: int) -> int:
    """Return where reciprocal rank fusion of the two arms puts it."""
    arms = (judged.vector_ranks, judged.lexical_ranks)
    scores = sum(np.where(arm > 0, 1 / (k + arm), 0.0) for arm in arms)
    return first_right(np.asarray(scores), judged.gold, judged.ordinals, least=0.0)


def first_right(
    scores: npt.NDArray[np.floating], gold: npt.NDArray[np.bool_], ordinals: Ranks, *, least: float = -np.inf
) -> int:
    """Return the rank, from 1, of the best right span by *scores*; of equal ones the earlier in the corpus is
    first. 0 when none of them is above *least*."""
    if not gold.any() or scores[gold].max() <= least:
        return 0
    best = scores[gold].max()
    at = ordinals[gold & (scores == best)].min()
    return int((scores > best).sum() + ((scores == best) & (ordinals < at)).sum() + 1)
