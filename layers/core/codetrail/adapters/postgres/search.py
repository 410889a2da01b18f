"""Reading one revision: by meaning, by words, by name, and the spans themselves.

Vectors are compared exactly, up to some ten thousand a revision. An HNSW index over the shared table filters
by revision only after its scan, so a small repository among large ones gets too few rows or none, and an
answer would be refused that is there. Above, one bit a dimension finds candidates, and their order is exact
again. A process keeps what it has read of them for the next question (`kept`).
"""

import re
import struct
from collections.abc import Sequence
from functools import cache
from typing import LiteralString

import numpy as np
import psycopg
from psycopg import sql
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.rows import args_row, kwargs_row

from codetrail.adapters.postgres.connection import Database
from codetrail.adapters.postgres.kept import Shelf, SignBits, UnitRows
from codetrail.domain.repo import Revision
from codetrail.domain.search import Copies, Filter, Place, glob_pieces
from codetrail.domain.span import Kind, Span
from codetrail.errors import Unavailable
from codetrail.services.ports import (
    INDEXED_ANEW,
    Candidate,
    Eligible,
    Ordinals,
    TermPostings,
    TextDigests,
    Vector,
)

# Measured on two cores: an exact scan of 10,000 vectors of 384 dimensions takes about as long as all the rest
# of a search.
EXACT_SPANS = 10_000
# How many vectors one question reads, at most, for the next ones: a quarter of what the scan of 10,000 takes.
# To read all of these takes five times as long as to scan them, and there may be no next question.
READ_SPANS = 500
# How many of the nearest by sign are compared exactly. Of the true 200 nearest among 100,000 vectors of the
# default model, 800 hold 0.85, 2,400 hold 0.955 and 5,000 hold 0.985.
SIGN_CANDIDATES = 5_000

DIMENSIONS = (256, 384, 512, 768, 1024)

# Ordinals come as one value: a row for each would cost more than finding them.
ELIGIBLE = """
    with kept as materialized (
        select ordinal, place
          from spans
         where revision = %(revision)s
           and (%(language)s::text = '' or language = %(language)s)
           and (%(kind)s::text = '' or kind = %(kind)s)
           and not (test and %(exclude_tests)s)
           and (%(path)s::text = '' or place in (
                   select md5(path)::uuid
                     from files
                    where revision = %(revision)s and spans > 0 and path ~ %(path)s
               ))
    )
    select (select count(*) from (select distinct place from kept) as places),
           (select coalesce(string_agg(int4send(ordinal), ''), '') from kept)
"""

# `+ 0` hides the order from any index on distance, now or later: the scan must stay exact. Cosines are told
# outside, since one select would compute every distance twice.
NEAREST = """
    select ordinal, 1 - distance as cosine
      from (
        select ordinal, (embedding <=> %(vector)s::halfvec) + 0 as distance
          from {vectors}
         where revision = %(revision)s and (%(among)s::int[] is null or ordinal = any(%(among)s::int[]))
         order by distance, ordinal
         limit %(limit)s
      ) as nearest
     order by distance, ordinal
"""

# One value each, since a row for each would cost more than finding them.
VECTORS = """
    select count(*), coalesce(string_agg(halfvec_send(embedding), '' order by ordinal), '')
      from {vectors}
     where revision = %(revision)s and ordinal >= %(first)s and ordinal < %(end)s
"""

SIGNS = """
    select count(*), coalesce(string_agg(bit_send(signs), '' order by ordinal), '')
      from {signs}
     where revision = %(revision)s
"""

COSINES = """
    select ordinal, 1 - (embedding <=> %(vector)s::halfvec) as cosine
      from {vectors}
     where revision = %(revision)s and ordinal = any(%(ordinals)s)
"""

POSTINGS = """
    select term, ordinals, weights
      from postings
     where revision = %(revision)s and term = any(%(terms)s)
     order by term
"""

NAMED = "select name, ordinals from names where revision = %(revision)s and name = any(%(names)s)"

CANDIDATES = """
    select ordinal, symbol, kind, test, name_mass
      from spans
     where revision = %(revision)s and ordinal = any(%(ordinals)s)
     order by ordinal
"""

DIGESTS = """
    select ordinal, digest, md5(text)
      from spans
     where revision = %(revision)s and ordinal = any(%(ordinals)s)
"""

SPANS = """
    select ordinal, id, path, kind, symbol, language, start_line, end_line, length, digest, text, test
      from spans
     where revision = %(revision)s and ordinal = any(%(ordinals)s)
"""

COPIES = """
    select digest, id, path, start_line, end_line, copies
      from (
        select digest, ordinal, id, path, start_line, end_line, count(*) over of_digest as copies,
               row_number() over (of_digest order by ordinal) as number
          from (
            select distinct on (digest, place, start_line) digest, ordinal, id, path, start_line, end_line
              from spans
             where revision = %(revision)s and digest = any(%(digests)s)
                   and (%(among)s::int[] is null or ordinal = any(%(among)s::int[]))
             order by digest, place, start_line, ordinal
          ) as places
        window of_digest as (partition by digest)
      ) as numbered
     where number <= %(limit)s
     order by digest, ordinal
"""


class PostgresSearchStore:
    """One revision's rows, read a statement a question; its vectors, as far as they are kept, without any."""

    def __init__(
        self,
        database: Database,
        shelf: Shelf | None = None,
        *,
        exact_spans: int = EXACT_SPANS,
        read_spans: int = READ_SPANS,
        sign_candidates: int = SIGN_CANDIDATES,
    ) -> None:
        self._database = database
        self._shelf = shelf or Shelf()
        self._exact_spans = exact_spans
        self._read_spans = read_spans
        self._sign_candidates = sign_candidates

    def eligible(self, revision: Revision, only: Filter) -> Eligible:
        """The spans that the filter leaves."""
        values = {
            "revision": revision.revision,
            "path": expression(only.path) if only.path else "",
            "language": only.language,
            "kind": only.kind.value if only.kind else "",
            "exclude_tests": only.exclude_tests,
        }
        with self._database.session() as connection, connection.cursor(binary=True) as cursor:
            ((files, ordinals),) = cursor.execute(ELIGIBLE, values).fetchall()
        return Eligible(np.sort(np.frombuffer(ordinals, dtype=">i4").astype("<i4")), files)

    def nearest(
        self, revision: Revision, vector: Vector, limit: int, among: Ordinals | None = None
    ) -> list[tuple[int, float]]:
        """(ordinal, cosine), best first, of all spans or of those *among*; exact, or re-ranked exactly where
        there are more than `EXACT_SPANS` of them. Raises Unavailable when rows of the revision are gone."""
        if revision.stats.spans <= self._exact_spans:
            rows = self._rows(revision)
            if rows.whole:
                return rows.nearest(vector, limit, among)
        elif among is None or len(among) > self._exact_spans:
            among = self._signs(revision).nearest(vector, max(self._sign_candidates, limit), among)
        values = {
            "revision": revision.revision,
            "vector": Halfvec.of(vector),
            "limit": limit,
            "among": None if among is None else Int4Array.of(among),
        }
        with self._database.session() as connection, connection.cursor(binary=True) as cursor:
            near = cursor.execute(_of_dimension(NEAREST, revision.dimension), values).fetchall()
        if len(near) != min(limit, revision.stats.spans if among is None else len(among)):
            raise Unavailable(INDEXED_ANEW)
        return near

    def cosines(self, revision: Revision, vector: Vector, ordinals: Sequence[int]) -> dict[int, float]:
        """The exact cosine of each span named."""
        rows = self._shelf.find(revision, UnitRows)
        if rows is not None and rows.whole:
            return rows.cosines(vector, ordinals)
        values = {
            "revision": revision.revision,
            "vector": Halfvec.of(vector),
            "ordinals": Int4Array.of(ordinals),
        }
        with self._database.session() as connection, connection.cursor(binary=True) as cursor:
            return dict(cursor.execute(_of_dimension(COSINES, revision.dimension), values).fetchall())

    def _rows(self, revision: Revision) -> UnitRows:
        """The vectors of *revision*, or the first of them: each question reads some of what is missing."""
        rows = self._shelf.find(revision, UnitRows) or UnitRows(revision.stats.spans, revision.dimension)
        if not rows.whole:
            end = min(rows.read + self._read_spans, revision.stats.spans)
            values = {"revision": revision.revision, "first": rows.read, "end": end}
            rows.add(self._all_of(end - rows.read, VECTORS, revision, values))
            self._shelf.keep(revision, rows)
        return rows

    def _signs(self, revision: Revision) -> SignBits:
        """The signs of all vectors of *revision*."""
        signs = self._shelf.find(revision, SignBits)
        if signs is None:
            sent = self._all_of(revision.stats.spans, SIGNS, revision, {"revision": revision.revision})
            signs = SignBits(sent, revision.dimension)
            self._shelf.keep(revision, signs)
        return signs

    def _all_of(
        self, count: int, statement: LiteralString, revision: Revision, values: dict[str, int]
    ) -> bytes:
        """The one value of *count* rows. Raises Unavailable when there are not so many."""
        with self._database.session() as connection, connection.cursor(binary=True) as cursor:
            ((found, sent),) = cursor.execute(_of_dimension(statement, revision.dimension), values).fetchall()
        if found != count:
            raise Unavailable(INDEXED_ANEW)
        rows: bytes = sent
        return rows

    def postings(self, revision: Revision, terms: Sequence[str]) -> list[TermPostings]:
        """The postings of the terms that the revision holds."""
        values = {"revision": revision.revision, "terms": list(terms)}
        with self._database.session() as connection, connection.cursor(binary=True) as cursor:
            return [
                TermPostings(term, _ordinals(ordinals), np.frombuffer(weights, dtype="<f4"))
                for term, ordinals, weights in cursor.execute(POSTINGS, values)
            ]

    def named(self, revision: Revision, names: Sequence[str]) -> dict[str, Ordinals]:
        """Which spans bear which casefolded name."""
        values = {"revision": revision.revision, "names": list(names)}
        with self._database.session() as connection, connection.cursor(binary=True) as cursor:
            return {name: _ordinals(ordinals) for name, ordinals in cursor.execute(NAMED, values)}

    def candidates(self, revision: Revision, ordinals: Sequence[int]) -> list[Candidate]:
        """What ranking needs of these spans, in the order of the ordinals."""
        values = {"revision": revision.revision, "ordinals": Int4Array.of(ordinals)}
        with (
            self._database.session() as connection,
            connection.cursor(binary=True, row_factory=args_row(Candidate)) as cursor,
        ):
            return cursor.execute(CANDIDATES, values).fetchall()

    def digests(self, revision: Revision, ordinals: Sequence[int]) -> dict[int, TextDigests]:
        """The digests of each span named."""
        values = {"revision": revision.revision, "ordinals": Int4Array.of(ordinals)}
        with self._database.session() as connection, connection.cursor(binary=True) as cursor:
            return {
                ordinal: TextDigests(lines, text) for ordinal, lines, text in cursor.execute(DIGESTS, values)
            }

    def spans(self, revision: Revision, ordinals: Sequence[int]) -> dict[int, Span]:
        """The spans themselves, by ordinal."""
        values = {"revision": revision.revision, "ordinals": Int4Array.of(ordinals)}
        with (
            self._database.session() as connection,
            connection.cursor(binary=True, row_factory=kwargs_row(span_of)) as cursor,
        ):
            return {span.ordinal: span for span in cursor.execute(SPANS, values)}

    def copies(
        self, revision: Revision, digests: Sequence[str], limit: int, among: Ordinals | None = None
    ) -> dict[str, Copies]:
        """Where the texts of these digests stand, *limit* places of each."""
        values = {
            "revision": revision.revision,
            "digests": list(digests),
            "limit": limit,
            "among": None if among is None else Int4Array.of(among),
        }
        counts: dict[str, int] = {}
        places: dict[str, list[Place]] = {}
        with self._database.session() as connection, connection.cursor(binary=True) as cursor:
            for digest, span_id, path, start_line, end_line, copies in cursor.execute(COPIES, values):
                counts[digest] = copies
                places.setdefault(digest, []).append(Place(span_id, path, start_line, end_line))
        return {digest: Copies(count, tuple(places[digest])) for digest, count in counts.items()}


def span_of(
    *, ordinal: int, id: str, path: str, kind: str, symbol: str, language: str, start_line: int,
    end_line: int, length: int, digest: str, text: str, test: bool,
) -> Span:  # fmt: skip
    """Return the span that a row tells."""
    return Span(
        ordinal=ordinal, id=id, path=path, kind=Kind(kind), symbol=symbol, language=language,
        start_line=start_line, end_line=end_line, length=length, digest=digest, text=text, test=test,
    )  # fmt: skip


def expression(glob: str) -> str:
    """Return *glob* as a regular expression of Postgres, anchored at both ends.

    It has no group that captures and no reference to one, so Postgres runs it as a finite automaton: once
    over each path, never back.
    """
    return "^" + "".join(_literal(text) + _MEANS[wildcard] for text, wildcard in glob_pieces(glob)) + "$"


_MEANS = {"": "", "?": "[^/]", "*": "[^/]*", "**": ".*", "**/": "(?:.*/)?"}


def _literal(text: str) -> str:
    # A backslash makes any ASCII sign itself; before a letter or a digit it would mean something.
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", text)


_INT4 = psycopg.adapters.types["int4"].oid
_INT4_ARRAY = psycopg.adapters.types["int4"].array_oid
_ARRAY = struct.Struct(">iiI")  # dimensions, whether any element is null, type of the elements
_DIMENSION = struct.Struct(">ii")  # elements, the first one's index


class Halfvec(bytes):
    """A vector in pgvector's binary form: a parameter whose type the statement tells."""

    @classmethod
    def of(cls, vector: Vector) -> "Halfvec":
        """Return *vector* rounded to halves."""
        # Two bytes of width, two that are unused, then the halves, all big-endian.
        return cls(len(vector).to_bytes(2, "big") + b"\0\0" + vector.astype(">f2").tobytes())


class Int4Array(bytes):
    """An array of int4 in Postgres' binary form: psycopg would convert each number by itself."""

    @classmethod
    def of(cls, numbers: Sequence[int] | Ordinals) -> "Int4Array":
        """Return *numbers* in one dimension; an array of none has no dimension at all."""
        if not len(numbers):
            return cls(_ARRAY.pack(0, 0, _INT4))
        elements = np.empty(len(numbers), dtype=[("length", ">i4"), ("value", ">i4")])
        elements["length"] = elements.itemsize // 2
        elements["value"] = numbers
        return cls(_ARRAY.pack(1, 0, _INT4) + _DIMENSION.pack(len(numbers), 1) + elements.tobytes())


class _AsIs(Dumper):
    format = Format.BINARY

    def dump(self, obj: bytes) -> bytes:
        return obj


class _Int4ArrayDumper(_AsIs):
    oid = _INT4_ARRAY


psycopg.adapters.register_dumper(Halfvec, _AsIs)
psycopg.adapters.register_dumper(Int4Array, _Int4ArrayDumper)


def halfvec(vector: Vector) -> str:
    """Return pgvector's text form of *vector*."""
    return "[" + ",".join(map(repr, vector.tolist())) + "]"


def _ordinals(data: bytes) -> Ordinals:
    return np.frombuffer(data, dtype="<i4")


def table(name: LiteralString, dimension: int) -> sql.Identifier:
    """Return the name of one of the tables that there is one of for each dimension."""
    if dimension not in DIMENSIONS:
        raise ValueError(f"there is no table of {dimension} dimensions")
    return sql.Identifier(f"{name}_{dimension}")


@cache
def _of_dimension(statement: LiteralString, dimension: int) -> bytes:
    composed = sql.SQL(statement).format(vectors=table("vectors", dimension), signs=table("signs", dimension))
    return composed.as_bytes()
