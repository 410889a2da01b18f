"""The spans of one repository that best match a question, by meaning, by words and by name."""

import logging
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from codetrail.domain import ranking
from codetrail.domain.bm25 import idf
from codetrail.domain.confidence import Signals, confidence, signals
from codetrail.domain.question import Question
from codetrail.domain.repo import Revision
from codetrail.domain.search import MAX_COPY_PLACES, Copies, Found, Hit, Mode, Query, Searched
from codetrail.domain.span import Span
from codetrail.domain.terms import TermReader
from codetrail.errors import Unavailable, WrongModel
from codetrail.services.ports import (
    INDEXED_ANEW,
    Arms,
    Embedder,
    Ordinals,
    RepoStore,
    SearchStore,
    Stemmer,
    TermPostings,
    TextDigests,
    Vector,
)

# How deep each arm is read. The union of three such lists ranks as well as scoring every span does: within
# 0.005 of its mean reciprocal rank.
ARM_DEPTH = 200
# How much deeper an arm is read when it gave copies of few texts: six times at most, for 100,000 spans.
DEEPER = 4

# A word's rarity tells little in fewer spans: where one is in all that there are, it would be worth next to
# nothing beside one that is in none, and a repository of one file could answer no question.
LEAST_SPANS = 200
# Copies among the best are few: so many more than are asked for are told apart in one look.
SPARE_SPANS = 10

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LexicalArm:
    """A question by its words: the best scores in order, and how to tell any other span's."""

    ranked: list[int]
    scores: npt.NDArray[np.float64]  # by ordinal; 0 for what the filter leaves out
    worth: dict[str, float]  # inverse document frequency of each term that stands anywhere
    postings: list[TermPostings]


@dataclass(frozen=True, slots=True)
class Gathered:
    """The candidates of one question and what speaks for each, in the same order; the ranks by ordinal."""

    evidence: list[ranking.Evidence]
    features: list[ranking.Features]
    scores: list[float]
    signals: Signals
    vector_ranks: dict[int, int]
    lexical_ranks: dict[int, int]


class _Scored(NamedTuple):
    """A span in its place of the ranking, before its text is read."""

    ordinal: int
    score: float
    cosine: float | None
    vector_rank: int
    lexical_rank: int


@dataclass(frozen=True, slots=True)
class _Ranked:
    """What the arms gave, best first; whether one of them was cut; and in hybrid mode the confidence."""

    spans: list[_Scored]
    cut: bool
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class _Sought:
    """A question on its way through the arms, and what it is compared with."""

    question: Question
    vector: Vector  # empty in lexical mode
    reader: TermReader
    revision: Revision
    spans: SearchStore
    among: Ordinals | None  # None: all spans of the revision
    mode: Mode


def search(
    query: Query, *, repos: RepoStore, spans: SearchStore, embedder: Embedder, stemmer: Stemmer, mode: Mode
) -> Found:
    """Return the best spans for *query*, best first, all of one published revision.

    `score` is the cosine in vector mode, BM25F in lexical mode, and in hybrid mode the linear score of
    `domain.ranking`: comparable within one answer, and no measure of quality. Raises NotFound, Gone, and
    WrongModel when the vectors of the revision come from another embedder; lexical mode compares no vectors.
    """
    revision = served(query.repo_id, repos=repos, embedder=embedder, mode=mode)
    reader = TermReader(stemmer.stems)
    found = find(
        query,
        Question.read(query.text, reader),
        revision,
        spans=spans,
        embedder=embedder,
        reader=reader,
        mode=mode,
    )
    repos.used(query.repo_id)
    log.info("searched", extra={"repo": query.repo_id, "mode": str(mode), "hits": len(found.hits)})
    return found


def served(repo_id: str, *, repos: RepoStore, embedder: Embedder, mode: Mode) -> Revision:
    """Return the published revision of *repo_id*. Raises NotFound, Gone, WrongModel."""
    revision = repos.current(repo_id)
    if mode is not Mode.LEXICAL and revision.model != embedder.model:
        raise WrongModel(
            f"this repository was indexed with the embedder {revision.model}, and this process serves"
            f" {embedder.model}: index it again, or serve the embedder that it was indexed with"
        )
    return revision


def find(
    query: Query,
    question: Question,
    revision: Revision,
    *,
    spans: SearchStore,
    embedder: Embedder,
    reader: TermReader,
    mode: Mode,
) -> Found:
    """Return the best spans of *revision* for *query*, which is read as *question*; each text once.

    The filter acts before an arm cuts its candidates, so that none of them is taken up by what it leaves out.
    Document frequencies stay those of the whole revision: a word is as rare in a folder as it is in all.
    """
    eligible = spans.eligible(revision, query.only) if query.only else None
    if eligible is None:
        searched = Searched(files=revision.files_with_spans, spans=revision.stats.spans)
    else:
        searched = Searched(files=eligible.files, spans=len(eligible.ordinals))
    hits: list[Hit] = []
    sure: float | None = None
    if searched.spans:
        vector = np.zeros(0, np.float32) if mode is Mode.LEXICAL else embedder.embed([question.text])[0]
        among = eligible.ordinals if eligible else None
        sought = _Sought(question, vector, reader, revision, spans, among, mode)
        best, sure = _distinct(sought, query.limit)
        hits = _hits(sought, best)
    return Found(
        revision=revision,
        mode=mode,
        hits=tuple(hits),
        top_score=best_cosine(hits),
        confidence=sure,
        searched=searched,
        only=query.only,
    )


def best_cosine(hits: Iterable[Hit]) -> float | None:
    """Return the best cosine of *hits*, or None when none of them has one."""
    return max((hit.vector_score for hit in hits if hit.vector_score is not None), default=None)


def _hits(sought: _Sought, best: dict[TextDigests, _Scored]) -> list[Hit]:
    found = _whole(sought.spans.spans(sought.revision, [one.ordinal for one in best.values()]), best)
    # One more than are shown, since the hit itself may be among them.
    lines = list(dict.fromkeys(digests.lines for digests in best))
    copies = sought.spans.copies(sought.revision, lines, MAX_COPY_PLACES + 1, sought.among)
    return [_hit(one, found[one.ordinal], copies.get(digests.lines)) for digests, one in best.items()]


def _distinct(sought: _Sought, limit: int) -> tuple[dict[TextDigests, _Scored], float | None]:
    """The best *limit* with each text once, where it ranks best, by its digests; and the confidence.

    A text that stands in more places than an arm is deep hides all others, so the arms are read deeper until
    there are enough, or no more.
    """
    rank = {Mode.VECTOR: _by_meaning, Mode.LEXICAL: _by_words, Mode.HYBRID: _by_all}[sought.mode]
    depth = ARM_DEPTH
    while True:
        read = rank(sought, depth)
        ranked = read.spans
        distinct: dict[TextDigests, _Scored] = {}
        for some in _pieces(ranked, limit + SPARE_SPANS):
            digests = _whole(sought.spans.digests(sought.revision, [one.ordinal for one in some]), some)
            for one in some:
                distinct.setdefault(digests[one.ordinal], one)
            if len(distinct) >= limit:
                break
        if len(distinct) >= limit or len(distinct) == len(ranked) or not read.cut:
            return dict(islice(distinct.items(), limit)), read.confidence
        depth *= DEEPER


def _pieces(ranked: Sequence[_Scored], size: int) -> Iterator[Sequence[_Scored]]:
    for at in range(0, len(ranked), size):
        yield ranked[at : at + size]


def _hit(one: _Scored, span: Span, copies: Copies | None) -> Hit:
    elsewhere = [
        place
        for place in (copies.places if copies else ())
        if (place.path, place.start_line) != (span.path, span.start_line)
    ]
    return Hit(
        span=span,
        score=one.score,
        vector_score=one.cosine,
        vector_rank=one.vector_rank,
        lexical_rank=one.lexical_rank,
        copies=copies.count - 1 if copies else 0,
        copy_places=tuple(elsewhere[:MAX_COPY_PLACES]),
    )


def _by_meaning(sought: _Sought, depth: int) -> _Ranked:
    near = sought.spans.nearest(sought.revision, sought.vector, depth, sought.among)
    ranked = [
        _Scored(ordinal, _finite(cosine) or 0.0, _finite(cosine), rank, 0)
        for rank, (ordinal, cosine) in enumerate(near, 1)
    ]
    return _Ranked(ranked, cut=len(near) == depth)


def _by_words(sought: _Sought, depth: int) -> _Ranked:
    lexical = lexical_arm(sought.question, sought.revision, sought.spans, depth, sought.among)
    ranked = [
        _Scored(ordinal, float(lexical.scores[ordinal]), None, 0, rank)
        for rank, ordinal in enumerate(lexical.ranked, 1)
    ]
    return _Ranked(ranked, cut=len(ranked) == depth)


def _by_all(sought: _Sought, depth: int) -> _Ranked:
    gathered = gather(
        sought.question, sought.revision, sought.spans, sought.vector, sought.reader, depth, sought.among
    )
    ranked = [
        _Scored(
            one.ordinal,
            score,
            one.cosine,
            gathered.vector_ranks.get(one.ordinal, 0),
            gathered.lexical_ranks.get(one.ordinal, 0),
        )
        for score, one in sorted(
            zip(gathered.scores, gathered.evidence, strict=True),
            key=lambda pair: (-pair[0], pair[1].ordinal),
        )
    ]
    return _Ranked(
        ranked,
        cut=depth in (len(gathered.vector_ranks), len(gathered.lexical_ranks)),
        confidence=confidence(gathered.signals),
    )


def gather(
    question: Question,
    revision: Revision,
    spans: Arms,
    vector: Vector,
    reader: TermReader,
    depth: int,
    among: Ordinals | None = None,
) -> Gathered:
    """Return the candidates of all three arms, each read *depth* deep, and what speaks for each of them; of
    all spans of the revision, or of those *among*."""
    near = spans.nearest(revision, vector, depth, among)
    lexical = lexical_arm(question, revision, spans, depth, among)
    bearers = {
        name: frozenset(ordinals.tolist() if among is None else np.intersect1d(ordinals, among).tolist())
        for name, ordinals in spans.named(revision, question.names).items()
    }
    cosines = dict(near)
    candidates = list(dict.fromkeys([*cosines, *lexical.ranked, *_first(question.names, bearers, depth)]))
    rest = [ordinal for ordinal in candidates if ordinal not in cosines]
    cosines |= spans.cosines(revision, vector, rest) if rest else {}
    found = spans.candidates(revision, candidates)
    best = lexical.scores[lexical.ranked[0]] if lexical.ranked else 1.0
    shares = lexical.scores[[candidate.ordinal for candidate in found]] / best
    evidence = [
        ranking.Evidence(*candidate, cosine=_finite(cosines.get(candidate.ordinal)), lexical=share)
        for candidate, share in zip(found, shares.tolist(), strict=True)
    ]
    features = ranking.features(question, evidence, worth=lexical.worth, bearers=bearers, reader=reader)
    scores = [ranking.score(one) for one in features]
    matched, known = _shares(question, lexical, max(revision.stats.spans, LEAST_SPANS))
    return Gathered(
        evidence=evidence,
        features=features,
        scores=scores,
        signals=signals(question, features, scores, matched=matched, known=known, bearers=bearers),
        vector_ranks={ordinal: rank for rank, (ordinal, _) in enumerate(near, 1)},
        lexical_ranks={ordinal: rank for rank, ordinal in enumerate(lexical.ranked, 1)},
    )


def lexical_arm(
    question: Question, revision: Revision, spans: Arms, depth: int, among: Ordinals | None = None
) -> LexicalArm:
    """Score the spans by the question's words, and rank the best *depth* of those that hold any; of all spans
    of the revision, or of those *among*."""
    postings = spans.postings(revision, list(question.terms))
    total = revision.stats.spans
    worth = {posting.term: idf(total, len(posting.ordinals)) for posting in postings}
    scores = np.zeros(total, dtype=np.float64)
    for posting in postings:
        scores[posting.ordinals] += posting.weights * (question.terms[posting.term] * worth[posting.term])
    if among is not None:
        left_out = np.ones(total, dtype=np.bool_)
        left_out[among] = False
        scores[left_out] = 0.0
    ranked = _best(scores, depth)
    return LexicalArm(ranked=ranked, scores=scores, worth=worth, postings=postings)


def _shares(question: Question, lexical: LexicalArm, total: int) -> tuple[float, float]:
    """How much of the question's worth the best span says, by BM25F, and how much of it stands in words that
    the repository knows, whatever a filter leaves of it; in a corpus of *total* spans."""
    worth = {one.term: idf(total, len(one.ordinals)) for one in lexical.postings}
    # A word that stands nowhere is worth most, and no span can have it.
    asked = sum(weight * worth.get(term, idf(total, 0)) for term, weight in question.terms.items())
    best = lexical.ranked[0] if lexical.ranked else -1
    said = known = 0.0
    for one in lexical.postings:
        value = question.terms[one.term] * worth[one.term]
        known += value
        at = int(np.searchsorted(one.ordinals, best))
        if at < len(one.ordinals) and one.ordinals[at] == best:
            said += value * float(one.weights[at])
    return (said / asked, known / asked) if asked else (0.0, 0.0)


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


def _whole(found: dict[int, T], wanted: Collection[object]) -> dict[int, T]:
    if len(found) != len(wanted):
        raise Unavailable(INDEXED_ANEW)
    return found


def _finite(cosine: float | None) -> float | None:
    # A stored vector that is not finite must not reach a sort or a response: NaN orders nothing.
    return cosine if cosine is not None and math.isfinite(cosine) else None
