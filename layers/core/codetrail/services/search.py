"""The spans of one repository that best match a question, by meaning, by words and by name."""

import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from codetrail.domain import ranking
from codetrail.domain.bm25 import idf
from codetrail.domain.question import Question
from codetrail.domain.repo import Revision
from codetrail.domain.search import Found, Hit, Mode, Query
from codetrail.domain.span import Span
from codetrail.domain.terms import TermReader
from codetrail.errors import Unavailable, WrongModel
from codetrail.services.ports import Embedder, RepoStore, SearchStore, Stemmer, Vector

# How deep each arm is read. The union of three such lists ranks as well as scoring every span does: within
# 0.005 of its mean reciprocal rank.
ARM_DEPTH = 200

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Lexical:
    """The word arm: the revision's best scores in order, and how to tell any other span's."""

    ranked: list[int]
    scores: npt.NDArray[np.float64]  # by ordinal
    worth: ranking.Worth


@dataclass(frozen=True, slots=True)
class Gathered:
    """The candidates of one question and what speaks for each, in the same order; the ranks by ordinal."""

    evidence: list[ranking.Evidence]
    features: list[ranking.Features]
    vector_ranks: dict[int, int]
    lexical_ranks: dict[int, int]


def search(
    query: Query, *, repos: RepoStore, spans: SearchStore, embedder: Embedder, stemmer: Stemmer, mode: Mode
) -> Found:
    """Return the best spans for *query*, best first, all of one published revision.

    `score` is the cosine in vector mode, BM25F in lexical mode, and in hybrid mode the linear score of
    `domain.ranking`: comparable within one answer, and no measure of quality. Raises NotFound, Gone, and
    WrongModel when the vectors of the revision come from another embedder; lexical mode compares no vectors.
    """
    revision = repos.current(query.repo_id)
    if mode is not Mode.LEXICAL and revision.model != embedder.model:
        raise WrongModel(
            f"this repository was indexed with the embedder {revision.model}, and this process serves"
            f" {embedder.model}: index it again, or serve the embedder that it was indexed with"
        )
    reader = TermReader(stemmer.stems)
    question = Question.read(query.text, reader)
    if revision.stats.spans == 0:
        hits: list[Hit] = []
    elif mode is Mode.VECTOR:
        hits = _by_meaning(question, query.limit, revision, spans, embedder)
    elif mode is Mode.LEXICAL:
        hits = _by_words(question, query.limit, revision, spans)
    else:
        hits = _by_all(question, query.limit, revision, spans, embedder, reader)
    repos.used(query.repo_id)
    log.info("searched", extra={"repo": query.repo_id, "mode": str(mode), "hits": len(hits)})
    return Found(revision=revision, mode=mode, hits=tuple(hits), top_score=best_cosine(hits))


def best_cosine(hits: Iterable[Hit]) -> float | None:
    """Return the best cosine of *hits*, or None when none of them has one."""
    return max((hit.vector_score for hit in hits if hit.vector_score is not None), default=None)


def _by_meaning(
    question: Question, limit: int, revision: Revision, spans: SearchStore, embedder: Embedder
) -> list[Hit]:
    near = spans.nearest(revision, _vector(question, embedder), limit)
    found = _texts(spans, revision, [ordinal for ordinal, _ in near])
    return [
        Hit(
            span=found[ordinal],
            score=_finite(cosine) or 0.0,
            vector_score=_finite(cosine),
            vector_rank=rank,
            lexical_rank=0,
        )
        for rank, (ordinal, cosine) in enumerate(near, 1)
    ]


def _by_words(question: Question, limit: int, revision: Revision, spans: SearchStore) -> list[Hit]:
    lexical = _lexical(question, revision, spans, ARM_DEPTH)
    best = lexical.ranked[:limit]
    found = _texts(spans, revision, best)
    return [
        Hit(
            span=found[ordinal],
            score=float(lexical.scores[ordinal]),
            vector_score=None,
            vector_rank=0,
            lexical_rank=rank,
        )
        for rank, ordinal in enumerate(best, 1)
    ]


def _by_all(
    question: Question,
    limit: int,
    revision: Revision,
    spans: SearchStore,
    embedder: Embedder,
    reader: TermReader,
) -> list[Hit]:
    gathered = gather(question, revision, spans, _vector(question, embedder), reader, ARM_DEPTH)
    scored = sorted(
        zip(map(ranking.score, gathered.features), gathered.evidence, strict=True),
        key=lambda pair: (-pair[0], pair[1].ordinal),
    )[:limit]
    found = _texts(spans, revision, [one.ordinal for _, one in scored])
    return [
        Hit(
            span=found[one.ordinal],
            score=score,
            vector_score=one.cosine,
            vector_rank=gathered.vector_ranks.get(one.ordinal, 0),
            lexical_rank=gathered.lexical_ranks.get(one.ordinal, 0),
        )
        for score, one in scored
    ]


def gather(
    question: Question,
    revision: Revision,
    spans: SearchStore,
    vector: Vector,
    reader: TermReader,
    depth: int,
) -> Gathered:
    """Return the candidates of all three arms, each read *depth* deep, and what speaks for each of them."""
    near = spans.nearest(revision, vector, depth)
    lexical = _lexical(question, revision, spans, depth)
    bearers = {
        name: frozenset(ordinals.tolist()) for name, ordinals in spans.named(revision, question.names).items()
    }
    cosines = dict(near)
    candidates = list(dict.fromkeys([*cosines, *lexical.ranked, *_first(question.names, bearers, depth)]))
    rest = [ordinal for ordinal in candidates if ordinal not in cosines]
    cosines |= spans.cosines(revision, vector, rest) if rest else {}
    best = lexical.scores[lexical.ranked[0]] if lexical.ranked else 1.0
    evidence = [
        ranking.Evidence(
            ordinal=candidate.ordinal,
            symbol=candidate.symbol,
            kind=candidate.kind,
            test=candidate.test,
            name_mass=candidate.name_mass,
            cosine=_finite(cosines.get(candidate.ordinal)),
            lexical=float(lexical.scores[candidate.ordinal] / best),
        )
        for candidate in spans.candidates(revision, candidates)
    ]
    return Gathered(
        evidence=evidence,
        features=ranking.features(question, evidence, worth=lexical.worth, bearers=bearers, reader=reader),
        vector_ranks={ordinal: rank for rank, (ordinal, _) in enumerate(near, 1)},
        lexical_ranks={ordinal: rank for rank, ordinal in enumerate(lexical.ranked, 1)},
    )


def _vector(question: Question, embedder: Embedder) -> Vector:
    vector: Vector = embedder.embed([question.text])[0]
    return vector


def _lexical(question: Question, revision: Revision, spans: SearchStore, depth: int) -> _Lexical:
    postings = spans.postings(revision, list(question.terms))
    total = revision.stats.spans
    worth = {posting.term: idf(total, len(posting.ordinals)) for posting in postings}
    scores = np.zeros(total, dtype=np.float64)
    for posting in postings:
        scores[posting.ordinals] += posting.weights * (question.terms[posting.term] * worth[posting.term])
    return _Lexical(
        ranked=_best(scores, depth), scores=scores, worth=ranking.Worth(of=worth, largest=idf(total, 1))
    )


def _best(scores: npt.NDArray[np.float64], depth: int) -> list[int]:
    """The ordinals of the best scores above zero, best first; of equal ones the earlier in the repository."""
    matched = np.flatnonzero(scores > 0)
    if len(matched) > depth:
        # The cut is by score alone; equal ones at its edge are all kept until the sort has settled them.
        edge = np.partition(scores[matched], len(matched) - depth)[len(matched) - depth]
        matched = matched[scores[matched] >= edge]
    ordered = matched[np.lexsort((matched, -scores[matched]))]
    ranked: list[int] = ordered[:depth].tolist()
    return ranked


def _first(names: Sequence[str], bearers: dict[str, frozenset[int]], depth: int) -> list[int]:
    """The name arm: who bears the question's names, in the order of the names, as deep as the other arms."""
    found = [ordinal for name in names for ordinal in sorted(bearers.get(name, ()))]
    return found[:depth]


def _texts(spans: SearchStore, revision: Revision, ordinals: Sequence[int]) -> dict[int, Span]:
    found = spans.spans(revision, ordinals)
    if len(found) != len(ordinals):
        # Published anew and swept in the middle of this request: what is left of it is no whole revision.
        raise Unavailable("the repository was indexed anew during this search; ask again")
    return found


def _finite(cosine: float | None) -> float | None:
    # A stored vector that is not finite must not reach a sort or a response: NaN orders nothing.
    return cosine if cosine is not None and math.isfinite(cosine) else None
