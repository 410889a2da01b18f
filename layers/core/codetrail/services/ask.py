"""An answer made of whole spans, each with a marker and a citation, or a refusal that says why."""

import logging
from collections.abc import Iterable
from dataclasses import replace

from codetrail.domain.answer import Answer, Floor, Marked, Refusal
from codetrail.domain.search import Found, Hit, Mode, Query
from codetrail.domain.span import Span
from codetrail.services.ports import Embedder, RepoStore, SearchStore, Stemmer
from codetrail.services.search import best_cosine, search

# The bottom of the cosine's range: it refuses nothing. Nobody has measured a better number yet.
SHIPPED_FLOOR = -1.0
# Spans that repeat others are folded, so more are looked at than are asked for.
SPARE_HITS = 2
# Neighbouring windows share a quarter of their lines and both have something to say; a class and its method
# share all of the method.
SHARED_LINES = 0.5

log = logging.getLogger(__name__)


def ask(
    query: Query,
    *,
    repos: RepoStore,
    spans: SearchStore,
    embedder: Embedder,
    stemmer: Stemmer,
    mode: Mode,
    floor: float | None,
    max_spans: int,
    max_characters: int,
) -> Answer:
    """Return an extractive answer to *query*, or a refusal. Raises what `search` raises.

    The floor is compared with the best cosine of the hits, which is the one number here that says how near a
    match is; in lexical mode there is none and no floor applies.
    """
    deeper = replace(query, limit=query.limit * SPARE_HITS)
    found = search(deeper, repos=repos, spans=spans, embedder=embedder, stemmer=stemmer, mode=mode)
    hits = tuple(_folded(found.hits)[: query.limit])
    found = replace(found, hits=hits, top_score=best_cosine(hits))
    applied = Floor(
        value=SHIPPED_FLOOR if floor is None else floor,
        calibrated=False,
        applicable=mode is not Mode.LEXICAL,
    )
    refusal = _refusal(found, applied)
    log.info("asked", extra={"repo": query.repo_id, "refused": str(refusal or ""), "hits": len(hits)})
    if refusal:
        return Answer(found=found, floor=applied, refusal=refusal)
    return _quoted(found, applied, max_spans=max_spans, max_characters=max_characters)


def _refusal(found: Found, floor: Floor) -> Refusal | None:
    if not found.hits:
        return Refusal.NO_SPANS
    if not floor.applicable:
        return None
    if found.top_score is None:
        return Refusal.UNSCORED
    return Refusal.BELOW_FLOOR if found.top_score < floor.value else None


def _folded(hits: Iterable[Hit]) -> list[Hit]:
    """Leave out each hit whose lines or bytes a better one has shown already."""
    kept: list[Hit] = []
    for hit in hits:
        if not any(_repeats(hit.span, better.span) for better in kept):
            kept.append(hit)
    return kept


def _repeats(span: Span, better: Span) -> bool:
    if span.digest == better.digest:
        return True
    if span.path != better.path:
        return False
    shared = min(span.end_line, better.end_line) - max(span.start_line, better.start_line) + 1
    shorter = min(span.end_line - span.start_line, better.end_line - better.start_line) + 1
    return shared >= SHARED_LINES * shorter


def _quoted(found: Found, floor: Floor, *, max_spans: int, max_characters: int) -> Answer:
    """Quote whole spans in order, as many as fit. The best one is quoted even when it alone is too long: an
    answer that leaves out what it found is none."""
    pieces: list[str] = []
    marked: list[Marked] = []
    length = 0
    for hit in found.hits:
        piece = _piece(len(marked) + 1, hit.span)
        longer = length + len(piece) + (2 if pieces else 0)
        if len(marked) < max_spans and (longer <= max_characters or not marked):
            pieces.append(piece)
            marked.append(Marked(marker=len(marked) + 1, hit=hit))
            length = longer
    return Answer(
        found=found,
        floor=floor,
        text="\n\n".join(pieces),
        marked=tuple(marked),
        dropped=len(found.hits) - len(marked),
    )


def _piece(marker: int, span: Span) -> str:
    name = f" ({span.symbol})" if span.symbol else ""
    return f"[{marker}] {span.path}:{span.start_line}-{span.end_line}{name}\n{span.text}"
