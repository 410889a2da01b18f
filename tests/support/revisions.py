"""A small revision made of spans: its postings, names, masses and vectors, by the product's own rules."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import LiteralString

import numpy as np
import psycopg
from psycopg import sql

from codetrail.adapters.postgres.search import Halfvec
from codetrail.adapters.stemmer import SnowballStemmer
from codetrail.domain.bm25 import Corpus
from codetrail.domain.manifest import Name, Posting
from codetrail.domain.remote import remote_key
from codetrail.domain.repo import Coverage, Outcome, Revision, repo_id
from codetrail.domain.span import Kind, Span, embedded_text
from codetrail.domain.terms import TermReader
from codetrail.services.ports import Embedder, Vectors

COMMIT = "2d3c2a9cc518326daf99a383f07c4d3c44317e4d"
INDEXED_AT = datetime(2026, 11, 30, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Contents:
    """All that search reads of one revision."""

    revision: Revision
    spans: tuple[Span, ...]
    masses: tuple[float, ...]
    postings: tuple[Posting, ...]
    names: tuple[Name, ...]
    vectors: Vectors


def span(
    ordinal: int,
    text: str,
    *,
    symbol: str = "",
    kind: Kind = Kind.FUNC,
    path: str = "uuid.go",
    start_line: int | None = None,
    digest: str = "",
    test: bool = False,
    language: str = "go",
) -> Span:
    """A span of *text*; its lines are its own unless *start_line* says where it stands."""
    start = start_line or 100 * ordinal + 1
    return Span(
        ordinal=ordinal,
        id=f"{ordinal:016x}",
        path=path,
        kind=kind,
        symbol=symbol,
        language=language,
        start_line=start,
        end_line=start + text.count("\n"),
        length=len(text.encode()),
        digest=digest or sha256(f"{ordinal}\0{text}".encode()).hexdigest(),
        text=text,
        test=test,
    )


def contents(
    spans: Sequence[Span],
    embedder: Embedder,
    *,
    number: int = 1,
    remote: str = "https://github.com/google/uuid",
) -> Contents:
    """Index *spans*, whose ordinals must count from 0."""
    reader = TermReader(SnowballStemmer().stems)
    corpus = Corpus(reader)
    for one in spans:
        corpus.add(one)
    postings = tuple(corpus.weigh([corpus.drain()]))
    texts = [embedded_text(one.path, one.symbol, one.text) for one in spans]
    return Contents(
        revision=Revision(
            revision=number,
            repo_id=repo_id(remote, COMMIT),
            remote=remote,
            ref="HEAD",
            commit=COMMIT,
            fingerprint="0123456789abcdef",
            model=embedder.model,
            dimension=embedder.dimension,
            indexed_at=INDEXED_AT,
            last_used_at=INDEXED_AT,
            files=1,
            files_with_spans=len({one.path for one in spans}),
            stats=corpus.stats,
            coverage=Coverage(indexed=1),
        ),
        spans=tuple(spans),
        masses=tuple(corpus.name_mass(one) for one in spans),
        postings=postings,
        names=tuple(corpus.names()),
        vectors=embedder.embed(texts) if texts else np.zeros((0, embedder.dimension), dtype=np.float32),
    )


def write(connection: psycopg.Connection, held: Contents) -> Revision:
    """Store *held* as a published revision, by plain inserts; return it with the number that it got."""
    revision = held.revision
    connection.execute(
        "insert into repos (repo_id, remote, remote_key, ref, commit, indexed_at)"
        " values (%s, %s, %s, %s, %s, %s)",
        (
            revision.repo_id,
            revision.remote,
            remote_key(revision.remote),
            revision.ref,
            revision.commit,
            revision.indexed_at,
        ),
    )
    row = connection.execute(
        "insert into revisions (repo_id, fingerprint, model, dimension, state, spans, files, postings, names,"
        " files_with_spans, average_length, coverage)"
        " values (%s, %s, %s, %s, 'published', %s, 1, %s, %s, %s, %s, '{}')"
        " returning revision",
        (
            revision.repo_id, revision.fingerprint, revision.model, revision.dimension, len(held.spans),
            len(held.postings), len(held.names), revision.files_with_spans, revision.stats.average_length,
        ),
    ).fetchone()  # fmt: skip
    assert row is not None
    number: int = row[0]
    connection.execute(
        "update repos set current_revision = %s where repo_id = %s", (number, revision.repo_id)
    )
    _copy(
        connection,
        "spans (revision, ordinal, id, path, kind, symbol, language, start_line, end_line, length, digest,"
        " text, test, name_mass)",
        [
            (
                number, one.ordinal, one.id, one.path, one.kind, one.symbol, one.language, one.start_line,
                one.end_line, one.length, one.digest, one.text, one.test, mass,
            )
            for one, mass in zip(held.spans, held.masses, strict=True)
        ],
    )  # fmt: skip
    _copy(
        connection,
        "files (revision, path, blob, size, language, outcome, spans, dropped)",
        [
            (number, path, "", 0, one.language, Outcome.INDEXED, 1, 0)
            for path, one in {one.path: one for one in held.spans}.items()
        ],
    )
    _copy(
        connection,
        "postings (revision, term, ordinals, weights)",
        [(number, one.term, one.ordinals, one.weights) for one in held.postings],
    )
    _copy(
        connection,
        "names (revision, name, ordinals)",
        [(number, one.name, one.ordinals) for one in held.names],
    )
    vectors = sql.Identifier(f"vectors_{revision.dimension}")
    _copy_vectors(connection, vectors, number, held.vectors)
    connection.execute(
        sql.SQL(
            "insert into {} (revision, ordinal, signs) select revision, ordinal, binary_quantize(embedding)"
            " from {} where revision = %s"
        ).format(sql.Identifier(f"signs_{revision.dimension}"), vectors),
        (number,),
    )
    return replace(revision, revision=number)


def _copy(connection: psycopg.Connection, target: LiteralString, rows: Iterable[tuple[object, ...]]) -> None:
    statement = sql.SQL("copy {} from stdin").format(sql.SQL(target))
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def _copy_vectors(
    connection: psycopg.Connection, table: sql.Identifier, number: int, vectors: Vectors
) -> None:
    # By hand: a binary row tells no types, so psycopg has none to choose for a halfvec.
    statement = sql.SQL("copy {} (revision, ordinal, embedding) from stdin (format binary)").format(table)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
        for ordinal, vector in enumerate(vectors):
            fields = (number.to_bytes(8, "big"), ordinal.to_bytes(4, "big"), Halfvec.of(vector))
            row = b"".join(len(field).to_bytes(4, "big") + field for field in fields)
            copy.write(len(fields).to_bytes(2, "big") + row)
        copy.write(b"\xff\xff")
