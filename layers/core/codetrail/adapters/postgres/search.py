"""Reading one revision: by meaning, by words, by name, and the spans themselves.

Vectors are compared exactly, up to some ten thousand a revision by a scan of all of them. An HNSW index over
the shared table filters by revision only after its scan, so a small repository among large ones gets too few
rows or none, and an answer would be refused that is there. Above, a scan of one bit a dimension finds
candidates, and their order is exact again.
"""

from collections.abc import Sequence
from typing import LiteralString

import numpy as np
from psycopg import sql
from psycopg.rows import class_row, kwargs_row

from codetrail.adapters.postgres.connection import Database
from codetrail.domain.repo import Revision
from codetrail.domain.span import Kind, Span
from codetrail.services.ports import Candidate, Ordinals, TermPostings, Vector

# Measured on two cores: an exact scan of 10,000 vectors of 384 dimensions takes about as long as all the rest
# of a search.
EXACT_SPANS = 10_000
# How many of the nearest by sign are compared exactly. Of the true 200 nearest among 100,000 vectors of the
# default model, 800 hold 0.85, 2,400 hold 0.955 and 5,000 hold 0.985.
SIGN_CANDIDATES = 5_000

DIMENSIONS = (256, 384, 512, 768, 1024)

# `+ 0` hides the order from any index on distance, now or later: the scan must stay exact.
NEAREST = """
    select ordinal, 1 - (embedding <=> %(vector)s::halfvec) as cosine
      from {vectors}
     where revision = %(revision)s
     order by (embedding <=> %(vector)s::halfvec) + 0, ordinal
     limit %(limit)s
"""

# The candidates reach the second scan as an array: as a join the planner would read every vector after all.
NEAREST_BY_SIGNS = """
    select ordinal, 1 - (embedding <=> %(vector)s::halfvec) as cosine
      from {vectors}
     where revision = %(revision)s and ordinal = any (array(
               select ordinal
                 from {signs}
                where revision = %(revision)s
                order by (signs <~> binary_quantize(%(vector)s::halfvec)::bit({dimension})) + 0
                limit %(candidates)s
           ))
     order by (embedding <=> %(vector)s::halfvec) + 0, ordinal
     limit %(limit)s
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

SPANS = """
    select ordinal, id, path, kind, symbol, language, start_line, end_line, length, digest, text, test
      from spans
     where revision = %(revision)s and ordinal = any(%(ordinals)s)
"""


class PostgresSearchStore:
    """One revision's rows, read a statement a question."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def nearest(self, revision: Revision, vector: Vector, limit: int) -> list[tuple[int, float]]:
        """(ordinal, cosine), best first; exact, or re-ranked exactly above `EXACT_SPANS` spans."""
        statement = NEAREST if revision.stats.spans <= EXACT_SPANS else NEAREST_BY_SIGNS
        values = {
            "revision": revision.revision,
            "vector": halfvec(vector),
            "limit": limit,
            "candidates": SIGN_CANDIDATES,
        }
        with self._database.session() as connection, connection.cursor(binary=True) as cursor:
            return cursor.execute(_of_dimension(statement, revision.dimension), values).fetchall()

    def cosines(self, revision: Revision, vector: Vector, ordinals: Sequence[int]) -> dict[int, float]:
        """The exact cosine of each span named."""
        values = {"revision": revision.revision, "vector": halfvec(vector), "ordinals": list(ordinals)}
        with self._database.session() as connection, connection.cursor(binary=True) as cursor:
            return dict(cursor.execute(_of_dimension(COSINES, revision.dimension), values).fetchall())

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
        values = {"revision": revision.revision, "ordinals": list(ordinals)}
        with (
            self._database.session() as connection,
            connection.cursor(binary=True, row_factory=class_row(Candidate)) as cursor,
        ):
            return cursor.execute(CANDIDATES, values).fetchall()

    def spans(self, revision: Revision, ordinals: Sequence[int]) -> dict[int, Span]:
        """The spans themselves, by ordinal."""
        values = {"revision": revision.revision, "ordinals": list(ordinals)}
        with (
            self._database.session() as connection,
            connection.cursor(binary=True, row_factory=kwargs_row(span_of)) as cursor,
        ):
            return {span.ordinal: span for span in cursor.execute(SPANS, values)}


def span_of(
    *, ordinal: int, id: str, path: str, kind: str, symbol: str, language: str, start_line: int,
    end_line: int, length: int, digest: str, text: str, test: bool,
) -> Span:  # fmt: skip
    """Return the span that a row tells."""
    return Span(
        ordinal=ordinal, id=id, path=path, kind=Kind(kind), symbol=symbol, language=language,
        start_line=start_line, end_line=end_line, length=length, digest=digest, text=text, test=test,
    )  # fmt: skip


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


def _of_dimension(statement: LiteralString, dimension: int) -> sql.Composed:
    return sql.SQL(statement).format(
        vectors=table("vectors", dimension), signs=table("signs", dimension), dimension=sql.Literal(dimension)
    )
