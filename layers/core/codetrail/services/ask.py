"""An answer made of whole spans, each with a marker and a citation, or a refusal that says why."""

import logging
from dataclasses import dataclass, field, replace

from codetrail.domain import confidence
from codetrail.domain.answer import Answer, Floor, Marked, Quantity, Refusal
from codetrail.domain.picking import ContentWords, pick
from codetrail.domain.question import Question
from codetrail.domain.repo import Revision
from codetrail.domain.search import Found, Hit, Mode, Query, Searched
from codetrail.domain.span import Span
from codetrail.domain.terms import TermReader
from codetrail.domain.words import runs
from codetrail.services.ports import Embedder, RepoStore, SearchStore, Stemmer
from codetrail.services.search import best_cosine, find, served

# The bottom of the cosine's range: it refuses nothing. Where vectors alone rank, nobody has measured a better
# number.
COSINE_FLOOR = -1.0
# Spans that overlap better ones are passed over, and of the rest those that say more of the question come
# first, so more are looked at than are asked for.
SPARE_HITS = 2

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

    `domain.picking` says which spans are quoted. In hybrid mode the floor is compared with the confidence,
    for which it was measured; in vector mode with the best cosine, for which it was not; in lexical mode
    there is no number that means the same in two repositories, and no floor applies.
    """
    revision = served(query.repo_id, repos=repos, embedder=embedder, mode=mode)
    reader = TermReader(stemmer.stems)
    question = Question.read(query.text, reader)
    applied = _floor(mode, floor, embedder.model, filtered=bool(query.only))
    if not _has_subject(query.text, revision, spans, reader):
        nothing = Found(revision, mode, (), None, Searched(files=0, spans=0), only=query.only)
        return _asked(Answer(found=nothing, floor=applied, refusal=Refusal.NO_SUBJECT), repos)
    deeper = replace(query, limit=query.limit * SPARE_HITS)
    pool = find(deeper, question, revision, spans=spans, embedder=embedder, reader=reader, mode=mode)
    hits = pool.hits[: query.limit]
    found = replace(pool, hits=hits, top_score=best_cosine(hits))
    refusal = _refusal(found, applied)
    if refusal:
        return _asked(Answer(found=found, floor=applied, refusal=refusal), repos)
    page = _Page(max_spans, max_characters)
    content = ContentWords.of(question, stemmer.stems, reader)
    unmatched = pick(pool.hits, question, content, page.take, query.limit)
    answer = Answer(
        found=found,
        floor=applied,
        text="\n\n".join(page.pieces),
        marked=tuple(page.marked),
        dropped=page.dropped,
        unmatched=unmatched,
    )
    return _asked(answer, repos)


def _floor(mode: Mode, value: float | None, model: str, *, filtered: bool) -> Floor:
    """The floor of the process's mode. One that an operator set was not measured, whatever its value, and the
    shipped one neither for another embedder than it was learnt with nor for a part of a repository."""
    if mode is Mode.HYBRID:
        shipped, quantity = confidence.FLOOR, Quantity.CONFIDENCE
    else:
        shipped, quantity = COSINE_FLOOR, Quantity.COSINE
    return Floor(
        value=shipped if value is None else value,
        calibrated=(value is None and mode is Mode.HYBRID and model == confidence.MODEL and not filtered),
        applicable=mode is not Mode.LEXICAL,
        quantity=quantity,
    )


def _asked(answer: Answer, repos: RepoStore) -> Answer:
    found = answer.found
    repos.used(found.revision.repo_id)
    told = {"repo": found.revision.repo_id, "refused": str(answer.refusal or ""), "hits": len(found.hits)}
    log.info("asked", extra=told)
    return answer


def _has_subject(text: str, revision: Revision, spans: SearchStore, reader: TermReader) -> bool:
    """Whether the question holds more than words of grammar, or one of these is a name here, such as `Do`."""
    return bool(reader.terms(text)) or bool(spans.named(revision, [run.casefold() for run in runs(text)]))


def _refusal(found: Found, floor: Floor) -> Refusal | None:
    if not found.hits:
        return Refusal.NO_SPANS
    if not floor.applicable:
        return None
    measured = found.confidence if floor.quantity is Quantity.CONFIDENCE else found.top_score
    if found.top_score is None or measured is None:
        return Refusal.UNSCORED
    return Refusal.BELOW_FLOOR if measured < floor.value else None


@dataclass(slots=True)
class _Page:
    """Whole spans under their markers, as many as fit. The best one is quoted even when it alone is too long:
    an answer that leaves out what it found is none."""

    max_spans: int
    max_characters: int
    pieces: list[str] = field(default_factory=list)
    marked: list[Marked] = field(default_factory=list)
    dropped: int = 0
    length: int = 0

    def take(self, hit: Hit) -> bool:
        """Quote *hit* if it fits, else count it; return whether it was quoted."""
        piece = _piece(len(self.marked) + 1, hit.span)
        longer = self.length + len(piece) + (2 if self.pieces else 0)
        if len(self.marked) == self.max_spans or (longer > self.max_characters and self.marked):
            self.dropped += 1
            return False
        self.pieces.append(piece)
        self.marked.append(Marked(marker=len(self.marked) + 1, hit=hit))
        self.length = longer
        return True


def _piece(marker: int, span: Span) -> str:
    name = f" ({span.symbol})" if span.symbol else ""
    return f"[{marker}] {span.path}:{span.start_line}-{span.end_line}{name}\n{span.text}"
