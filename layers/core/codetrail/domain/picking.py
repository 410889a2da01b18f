"""Which spans an answer quotes, so that together they say as much of the question as they can.

    1. The best span comes first; where the question names a symbol, the definition of it does.
    2. Then each time the best of those left that says a word of the question which none quoted so far says;
       when none does, the best of those left.
    3. No span that shares a line with one that is quoted is a second fact: not a method beside its class, not
       a window beside the one that it overlaps.

Rank alone was turned down: the runners-up of a good first span tend to say the same again.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from codetrail.domain.question import Question
from codetrail.domain.search import Hit
from codetrail.domain.span import Kind, Span, names
from codetrail.domain.terms import Stems, TermReader
from codetrail.domain.words import words

_DECLARATIONS = (Kind.FUNC, Kind.TYPE, Kind.CONST, Kind.VAR)
# As people join names; the question's own forms have a dot for each.
_JOINT = r"(?:\.|::|#|->)"


@dataclass(frozen=True, slots=True)
class ContentWords:
    """The words of a question that carry its subject, as they are written, in order."""

    written: tuple[str, ...]
    _stems: tuple[tuple[frozenset[str], ...], ...]  # of each: the sets of stems of which one is enough
    _reader: TermReader

    @classmethod
    def of(cls, question: Question, stems: Stems, reader: TermReader) -> "ContentWords":
        """Read the words of *question* by the rules of the index."""
        runs = [forms[0] for forms in question.words]
        return cls(
            written=tuple(_as_written(run, question.text) for run in runs),
            _stems=tuple(_ways_to_say(run, stems, reader) for run in runs),
            _reader=reader,
        )

    def said(self, span: Span) -> frozenset[str]:
        """Return those that *span* says in its lines, its name or its path: in any form of the word, and an
        identifier of several words whole or in parts."""
        text = f"{span.path}\n{span.symbol}\n{span.text}"
        terms = self._reader.terms(text, keep_function_words=True).keys()
        return frozenset(
            word
            for word, ways in zip(self.written, self._stems, strict=True)
            if any(way <= terms for way in ways)
        )


def pick(
    hits: Sequence[Hit], question: Question, content: ContentWords, take: Callable[[Hit], bool], limit: int
) -> tuple[str, ...]:
    """Offer *limit* of the ranked *hits* to *take*, in the order of the rules above, and return the content
    words that none of those taken says. What is not taken says nothing and stands in nobody's way."""
    waiting = _definition_first(hits, question)
    unsaid = dict.fromkeys(content.written)
    said: dict[str, frozenset[str]] = {}

    def adds(hit: Hit) -> bool:
        if hit.span.id not in said:
            said[hit.span.id] = content.said(hit.span)
        return not said[hit.span.id].isdisjoint(unsaid)

    for offered in range(min(limit, len(waiting))):
        if not waiting:
            break
        # The first is the best, whatever it says.
        hit = next(filter(adds, waiting), waiting[0]) if offered and unsaid else waiting[0]
        waiting.remove(hit)
        if take(hit):
            waiting = [other for other in waiting if not overlap(hit.span, other.span)]
            adds(hit)
            unsaid = {word: None for word in unsaid if word not in said[hit.span.id]}
    return tuple(unsaid)


def overlap(one: Span, other: Span) -> bool:
    """Return whether the two share a line."""
    return one.path == other.path and one.start_line <= other.end_line and other.start_line <= one.end_line


def _definition_first(hits: Sequence[Hit], question: Question) -> list[Hit]:
    """The hits with the definition of the first symbol that the question names before all others."""
    # Capitals alone are as often an acronym of the subject (`UUID`, `JSON`) as a name.
    named = (forms for forms in question.code if not forms[0].isupper())
    for form in chain(question.lead, *named):
        for hit in hits:
            if _defines(hit.span, form) and (question.tests or not hit.span.test):
                return [hit, *(other for other in hits if other is not hit)]
    return list(hits)


def _defines(span: Span, name: str) -> bool:
    # Letter case included: people ask for what they name.
    return span.kind in _DECLARATIONS and any(
        symbol == name or symbol.endswith(f".{name}") for symbol in names(span.symbol)
    )


def _as_written(run: str, text: str) -> str:
    found = re.search(_JOINT.join(map(re.escape, run.split("."))), text)
    return found.group() if found else run


def _ways_to_say(run: str, stems: Stems, reader: TermReader) -> tuple[frozenset[str], ...]:
    whole = frozenset(stems([word for word, is_whole in words(run) if is_whole]))
    parts = frozenset(reader.name(run))
    # A word that is too long for the index is said by nothing.
    return tuple(way for way in (whole, parts) if way)
