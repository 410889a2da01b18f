"""BM25F: what a span's words weigh, and what a word is worth in a corpus.

    weight(term, span) = t / (K1 + t)
    t                  = sum over fields of WEIGHTS * count / (1 - B + B * length / average)
    idf(term)          = ln(1 + (spans - df + 0.5) / (df + 0.5))

The index stores weights without the inverse document frequency, so that a question over several revisions can
sum document frequencies first. A length is a field's sum of counts, an average is over all spans.

Averages are known only at the end, so counting and weighing are two steps: `Corpus.add` counts,
`Corpus.drain` hands over what was counted so far as a run sorted by term, and `Corpus.weigh` merges the runs.
Whoever calls keeps the runs where there is room, which is what bounds the memory of a large repository.
"""

import re
import struct
from array import array
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import groupby
from math import log
from operator import itemgetter
from typing import NamedTuple

from codetrail.domain.manifest import Name, Posting
from codetrail.domain.repo import CorpusStats
from codetrail.domain.span import Kind, Span
from codetrail.domain.span import names as symbol_names
from codetrail.domain.terms import TermReader

K1 = 1.2
B = 0.75
# All alike: the weights of the linear score in domain/ranking.py were learnt over these.
WEIGHTS = {"symbol": 1.0, "path": 1.0, "signature": 1.0, "body": 1.0, "kind": 1.0}

# What people call a kind when they ask for one.
KIND_WORDS = {
    Kind.FUNC: "function method",
    Kind.TYPE: "type class struct interface",
    Kind.CONST: "constant",
    Kind.VAR: "variable",
    Kind.FILE: "file",
    Kind.SECTION: "section documentation",
    Kind.PACKAGE: "package module documentation",
}

SIGNATURE_LINES = 3
# A longer name is nobody's question, and an index entry of Postgres ends at 2,704 bytes.
MAX_NAME_BYTES = 512

HEADING_SEPARATOR = " > "

# Ordinal, then each field's count in halves: a part and a pair count 0.5, so halves are exact.
_RECORD = struct.Struct("<i5H")
_MAX_HALVES = 65_535

Counted = tuple[str, bytes]
"""A term and its records, ascending by ordinal."""


def idf(spans: int, frequency: int) -> float:
    """Return what a term is worth that stands in *frequency* of *spans* spans; never negative."""
    return log(1 + (spans - frequency + 0.5) / (frequency + 0.5))


class Fields(NamedTuple):
    """The texts of a span that are counted apart."""

    symbol: str
    path: str
    signature: str
    body: str
    kind: str

    @classmethod
    def of(cls, span: Span) -> "Fields":
        """Return the fields of *span*."""
        return cls(span.symbol, span.path, signature(span), span.text, KIND_WORDS[span.kind])


_DECLARATIONS = (Kind.FUNC, Kind.TYPE, Kind.CONST, Kind.VAR)
# Comments, decorators and attributes stand before a declaration; a macro is one, though it begins with #.
_BEFORE_DECLARATION = re.compile(r"\s*(//|/\*|\*|--|;|@|\[|#(?!\s*define\b)|\"\"\"|'''|<!--|$)")


def signature(span: Span) -> str:
    """Return the first lines of a declaration, from the line that tells its name, comments and decorators
    left out; empty for what is not a declaration."""
    if span.kind not in _DECLARATIONS:
        return ""
    lines = [line for line in span.text.split("\n") if not _BEFORE_DECLARATION.match(line)]
    name = next(iter(symbol_names(span.symbol)), "").rpartition(".")[2]
    first = next((at for at, line in enumerate(lines) if name in line), 0)
    told = lines[first : first + SIGNATURE_LINES]
    for at, line in enumerate(told):
        if line.rstrip().endswith(("{", ":", ";", "=>")):
            return "\n".join(told[: at + 1])
    return "\n".join(told)


def names(span: Span) -> tuple[str, ...]:
    """Return what *span* may be called, casefolded: each of its symbol's names and the last segment of each;
    of a section the whole path of headings and the last heading."""
    separator = HEADING_SEPARATOR if span.kind is Kind.SECTION else "."
    wholes = [span.symbol] if span.kind is Kind.SECTION else symbol_names(span.symbol)
    called = [name for whole in wholes for name in (whole, whole.rpartition(separator)[2])]
    distinct = dict.fromkeys(name.strip().casefold() for name in called)
    return tuple(name for name in distinct if name and len(name.encode()) <= MAX_NAME_BYTES)


def own_name(kind: str, symbol: str) -> str:
    """Return the part of *symbol* whose words are the span's name: of a section its own heading."""
    return symbol.rpartition(HEADING_SEPARATOR)[2] if kind == Kind.SECTION else symbol


class Corpus:
    """The words of one revision's spans, counted. Spans are added in the order of their ordinals, from 0."""

    def __init__(self, reader: TermReader) -> None:
        self._reader = reader
        self._spans = 0
        self._counted: dict[str, bytearray] = {}
        self._lengths = {field: array("f") for field in WEIGHTS}
        self._names: dict[str, array[int]] = {}
        self._frequencies: dict[str, int] = {}  # of the words of names only
        self.held = 0

    @property
    def stats(self) -> CorpusStats:
        """How many spans were added, and their average length over all fields."""
        total = sum(sum(lengths) for lengths in self._lengths.values())
        return CorpusStats(spans=self._spans, average_length=total / self._spans if self._spans else 0.0)

    def add(self, span: Span) -> None:
        """Count the words of *span*. Raises ValueError when its ordinal is not the next one."""
        if span.ordinal != self._spans:
            raise ValueError(f"span {span.ordinal} is added where {self._spans} is next")
        self._spans += 1
        halves: dict[str, int] = {}  # one number a term, a field's count in each sixteen bits of it
        for column, (field, text) in enumerate(Fields.of(span)._asdict().items()):
            # A symbol may be a function word (`With`), and then nothing else can find it.
            counts = self._reader.terms(text, keep_function_words=field == "symbol")
            self._lengths[field].append(sum(counts.values()))
            shift = 16 * column
            for term, count in counts.items():
                halves[term] = halves.get(term, 0) + (min(int(count * 2), _MAX_HALVES) << shift)
        ordinal = span.ordinal.to_bytes(4, "little")
        counted = self._counted
        for term, row in halves.items():
            record = ordinal + row.to_bytes(10, "little")
            if term in counted:
                counted[term] += record
            else:
                counted[term] = bytearray(record)
        self.held += len(halves)
        for called in names(span):
            self._names.setdefault(called, array("i")).append(span.ordinal)
        for word in self._reader.name(own_name(span.kind, span.symbol)):
            self._frequencies[word] = 0

    def drain(self) -> Iterator[Counted]:
        """Return what was counted since the last call, sorted by term, and forget it as it is read."""
        counted, self._counted = self._counted, {}
        self.held = 0
        return ((term, bytes(counted.pop(term))) for term in sorted(counted))

    def weigh(self, runs: Iterable[Iterable[Counted]]) -> Iterator[Posting]:
        """Yield the postings of all *runs*, which come as they were drained, in the order of their terms."""
        symbol, path, head, body, kind = (self._factors(field) for field in WEIGHTS)
        # heapq.merge is stable, so one term's records stay ascending by ordinal.
        for term, pieces in groupby(merge(*runs, key=itemgetter(0)), key=itemgetter(0)):
            ordinals, weights = array("i"), array("f")
            for _, records in pieces:
                for at, a, b, c, d, e in _RECORD.iter_unpack(records):
                    t = a * symbol[at] + b * path[at] + c * head[at] + d * body[at] + e * kind[at]
                    ordinals.append(at)
                    weights.append(t / (K1 + t))
            if term in self._frequencies:
                self._frequencies[term] = len(ordinals)
            yield Posting(term, _little_endian(ordinals), _little_endian(weights))

    def names(self) -> Iterator[Name]:
        """Yield each name and the spans that bear it, in the order of the names."""
        for name in sorted(self._names):
            yield Name(name, _little_endian(self._names[name]))

    def name_mass(self, span: Span) -> float:
        """Return the sum of the inverse document frequencies of the words of the span's name. Known only once
        `weigh` is exhausted."""
        words = self._reader.name(own_name(span.kind, span.symbol))
        return sum(idf(self._spans, self._frequencies[word]) for word in words)

    def _factors(self, field: str) -> "array[float]":
        # What a count in halves is multiplied by, for each ordinal.
        lengths = self._lengths[field]
        average = sum(lengths) / len(lengths) if lengths else 0.0
        norms = (1 - B + B * length / average if average else 1.0 for length in lengths)
        return array("d", (WEIGHTS[field] / norm / 2 for norm in norms))


def _little_endian(values: "array[int] | array[float]") -> bytes:
    if struct.pack("=H", 1) != struct.pack("<H", 1):
        values = values[:]
        values.byteswap()
    return values.tobytes()
