"""How people search code today: full text search as SQLite and Postgres offer it, and the usual ways to join
two rankings.

Each ranks the very spans that the evaluation indexes. What is asked is text: it is cut into runs of letters
and digits, and no operator in it reaches a query language.
"""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from itertools import count

import psycopg
from psycopg import sql

from codetrail.domain.bm25 import WEIGHTS, Fields
from codetrail.domain.span import Span
from codetrail.domain.words import split_identifier

# Postgres's own, for the labels D, C, B and A.
TS_WEIGHTS = (0.1, 0.2, 0.4, 1.0)
# Of the paper that reciprocal rank fusion comes from (Cormack, Clarke and Büttcher, 2009).
RRF_K = 60

_RUN = re.compile(r"[^\W_]+")

_TS_TABLE = """
    create temporary table {table} (
        ordinal integer primary key,
        symbol  text not null,
        body    text not null,
        words   tsvector generated always as (
                        setweight(to_tsvector('simple', symbol), 'A')
                        || setweight(to_tsvector('simple', body), 'B')
                    ) stored
    )
"""

_TS_RANKED = """
    select ordinal
      from {table}, cast(%(terms)s as tsquery) as asked
     where words @@ asked
     order by ts_rank_cd(%(weights)s::real[], words, asked) desc, ordinal
     limit %(limit)s
"""


class Fts5:
    """SQLite's FTS5 with its default tokenizer: a column a field, ranked by bm25()."""

    def __init__(
        self, spans: Sequence[Span], *, weights: Mapping[str, float] = WEIGHTS, database: str = ":memory:"
    ) -> None:
        """Index *spans* in *database*, a path at which there is no file yet, or memory."""
        columns = ", ".join(Fields._fields)
        marks = ", ".join("?" * len(Fields._fields))
        numbers = ", ".join(str(float(weights[field])) for field in Fields._fields)
        self._ranked = (
            f"select rowid from spans where spans match ?"  # noqa: S608 - only numbers
            f" order by bm25(spans, {numbers}), rowid limit ?"
        )
        self._connection = sqlite3.connect(database)
        with self._connection:
            self._connection.execute(
                f"create virtual table spans using fts5({columns}, tokenize='unicode61')"
            )
            self._connection.executemany(
                f"insert into spans (rowid, {columns}) values (?, {marks})",  # noqa: S608 - only field names
                ((span.ordinal, *Fields.of(span)) for span in spans),
            )
            self._connection.execute("insert into spans (spans) values ('optimize')")

    def ranked(self, question: str, limit: int) -> list[int]:
        """Return the ordinals of the best spans, best first, of equal ones the earlier first."""
        asked = " OR ".join(f'"{run}"' for run in _RUN.findall(question))
        return (
            [ordinal for (ordinal,) in self._connection.execute(self._ranked, (asked, limit))]
            if asked
            else []
        )

    def close(self) -> None:
        """Close the database; in memory, it is gone."""
        self._connection.close()


class TsRankCd:
    """Postgres full text search: the symbol at weight A, the text at weight B, ranked by ts_rank_cd."""

    _numbers = count(1)

    def __init__(
        self,
        spans: Sequence[Span],
        connection: psycopg.Connection,
        *,
        weights: Sequence[float] = TS_WEIGHTS,
    ) -> None:
        """Index *spans* in a table that ends with *connection*; weights are of the labels D, C, B and A."""
        table = sql.Identifier(f"spans_{next(self._numbers)}")
        connection.execute(sql.SQL(_TS_TABLE).format(table=table))
        into = sql.SQL("copy {} (ordinal, symbol, body) from stdin").format(table)
        with connection.cursor() as cursor, cursor.copy(into) as copy:
            for span in spans:
                copy.write_row((span.ordinal, span.symbol, span.text))
        connection.execute(sql.SQL("create index on {} using gin (words)").format(table))
        connection.execute(sql.SQL("analyze {}").format(table))
        self._ranked = sql.SQL(_TS_RANKED).format(table=table)
        self._weights = list(weights)
        self._connection = connection

    def ranked(self, question: str, limit: int) -> list[int]:
        """Return the ordinals of the best spans, best first, of equal ones the earlier first."""
        terms = dict.fromkeys(
            term for run in _RUN.findall(question) for term in (run.lower(), *split_identifier(run))
        )
        if not terms:
            return []
        values = {
            "terms": " | ".join(f"'{term}'" for term in terms),
            "weights": self._weights,
            "limit": limit,
        }
        return [ordinal for (ordinal,) in self._connection.execute(self._ranked, values)]
