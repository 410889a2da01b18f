"""Text to terms: what the index counts and what a question looks up, by the same rules.

A term is a stem. An identifier of several words gives itself whole, each dotted segment that has several
words of its own, and its parts; two neighbouring words give a pair, written with one space between (`random
uuid`), which no single word can hold. Function words are dropped, in an identifier as well as in prose, and
do not part their neighbours: `version of a uuid` holds the pair `version uuid`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from codetrail.domain.words import MAX_WORD_CHARACTERS, runs, split_identifier, words

# Part of the index's fingerprint: another rule here makes other terms.
RULES_VERSION = "1"

PART_WEIGHT = 0.5
PAIR_WEIGHT = 0.5
QUESTION_PAIR_WEIGHT = 1.0

# A longer term is nobody's word; the same rule on both sides, so that neither waits for the other.
MAX_TERM_BYTES = 64
# Identifiers read from one text. Past this a text is data, and its first words name it well enough.
MAX_RUNS = 8_000
# Distinct identifiers remembered by one reader; real repositories of 100,000 spans have fewer.
_MAX_REMEMBERED = 200_000

# English words that carry grammar and no subject. Words that programs are made of ("get", "new", "all",
# "first", "last", "up", "down", "out", "set") are not here.
_FUNCTION_WORDS = """
a about an and any are aren as at be because been being both but by can cannot could couldn did didn do
does doesn doing don each either else every few for from had hadn has hasn have haven having he her here
hers him his how i if in into is isn it its itself just let ll may me might more most much must my
neither no nor not of off on once one or other our ours own per rather re s same shall she should
shouldn since so some such t than that the their theirs them then there these they this those though
through thus to too us ve very via was wasn we were weren what whatever when where whether which while
who whom whose why will with within without won would wouldn yet you your yours
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())

Stems = Callable[[Sequence[str]], Sequence[str]]


@dataclass(frozen=True, slots=True)
class _Read:
    """One identifier, read: its terms with their weights, and its smallest words in order."""

    terms: tuple[tuple[str, float], ...]
    function_terms: tuple[tuple[str, float], ...]
    words: tuple[str, ...]
    function_free: tuple[str, ...]
    pairs: bool


class TermReader:
    """Reads texts into weighted terms. It remembers identifiers, so one job's reader is not another's."""

    def __init__(self, stems: Stems) -> None:
        self._stems = stems
        self._remembered: dict[str, _Read] = {}

    def terms(
        self, text: str, *, pair_weight: float = PAIR_WEIGHT, keep_function_words: bool = False
    ) -> dict[str, float]:
        """Return each term of *text* with the sum of its weights, in the order of first appearance."""
        counts: dict[str, float] = {}
        before = ""
        for read in self._read(text):
            for term, weight in read.terms:
                counts[term] = counts.get(term, 0.0) + weight
            if keep_function_words:
                for term, weight in read.function_terms:
                    counts[term] = counts.get(term, 0.0) + weight
            if not read.pairs:
                before = ""
                continue
            for word in read.words if keep_function_words else read.function_free:
                if before:
                    pair = f"{before} {word}"
                    if len(pair) <= MAX_TERM_BYTES and (pair.isascii() or _fits(pair)):
                        counts[pair] = counts.get(pair, 0.0) + pair_weight
                before = word
        return counts

    def question(self, text: str) -> dict[str, float]:
        """Return the terms of a question. One of function words only is taken as typed: the index holds them
        where they are a symbol's name."""
        return self.terms(text, pair_weight=QUESTION_PAIR_WEIGHT) or self.terms(
            text, pair_weight=QUESTION_PAIR_WEIGHT, keep_function_words=True
        )

    def name(self, symbol: str) -> tuple[str, ...]:
        """Return the distinct stems of the words of a name, in order, without function words unless it has no
        other: what the mass of a name and a question's share of it are summed over."""
        read = list(self._read(symbol))
        told = [word for run in read for word in run.function_free]
        return tuple(dict.fromkeys(told or [word for run in read for word in run.words]))

    def names(self, symbols: Sequence[str]) -> list[tuple[str, ...]]:
        """Return `name` of each, several times faster: a search reads hundreds of names, all new to it."""
        parts = {
            symbol: split_identifier(symbol)
            for symbol in symbols
            # Of a plain short identifier the smallest words are its parts; others are read by all the rules.
            if symbol.isascii() and len(symbol) <= MAX_WORD_CHARACTERS
        }
        distinct = list(dict.fromkeys(part for said in parts.values() for part in said))
        stems = dict(zip(distinct, self._stems(distinct), strict=True))
        return [
            tuple(dict.fromkeys(stems[part] for part in _told(parts[symbol])))
            if symbol in parts
            else self.name(symbol)
            for symbol in symbols
        ]

    def _read(self, text: str) -> Iterator[_Read]:
        for count, run in enumerate(runs(text)):
            if count == MAX_RUNS:
                return
            read = self._remembered.get(run)
            if read is None:
                read = self._read_run(run)
                if len(self._remembered) < _MAX_REMEMBERED:
                    self._remembered[run] = read
            yield read

    def _read_run(self, run: str) -> _Read:
        found = [(word, 1.0 if whole else PART_WEIGHT) for word, whole in words(run)]
        parts = [word for word, whole in words(run) if not whole]
        smallest = parts or [word for word, _ in found]
        if parts and "." in run:
            segments = [segment for segment in run.split(".") if len(split_identifier(segment)) > 1]
            found += [(segment.lower(), PART_WEIGHT) for segment in segments]
        stems = self._stems([word for word, _ in found] + smallest)
        terms: tuple[list[tuple[str, float]], list[tuple[str, float]]] = ([], [])
        for stem, (word, weight) in zip(stems, found, strict=False):
            if _fits(stem):
                terms[word in FUNCTION_WORDS].append((stem, weight))
        atoms = [
            (stem, word) for stem, word in zip(stems[len(found) :], smallest, strict=True) if _fits(stem)
        ]
        return _Read(
            terms=tuple(terms[False]),
            function_terms=tuple(terms[True]),
            words=tuple(stem for stem, _ in atoms),
            function_free=tuple(stem for stem, word in atoms if word not in FUNCTION_WORDS),
            pairs=bool(parts) or len(found) == 1,  # CJK comes as bigrams, which are pairs already
        )


def _told(parts: list[str]) -> list[str]:
    return [part for part in parts if part not in FUNCTION_WORDS] or parts


def _fits(term: str) -> bool:
    return len(term) <= MAX_TERM_BYTES and (term.isascii() or len(term.encode()) <= MAX_TERM_BYTES)
