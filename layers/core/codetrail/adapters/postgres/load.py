"""Writing a revision's rows, and switching readers over to it in one transaction.

Loaders run side by side, on batches of one revision or on one batch twice. All write the same tables in the
same order, and the rows of each by key, so that whoever meets a row of another waits and none wait in a ring.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import LiteralString

from psycopg import errors, sql
from psycopg.rows import args_row, scalar_row
from psycopg.types.json import Jsonb

from codetrail.adapters.postgres.connection import Connection, Database
from codetrail.adapters.postgres.jobs import CONFIRM_REF
from codetrail.adapters.postgres.search import halfvec, table
from codetrail.domain.manifest import BatchKind, IndexedSpan, Manifest, Name, Posting, Row
from codetrail.domain.remote import remote_key
from codetrail.domain.repo import SourceFile
from codetrail.errors import ArtifactRejected, NotFound, Unavailable
from codetrail.services.ports import Vector


class PostgresLoadStore:
    """LoadStore over revisions and the tables that carry their number."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # One that was published, and is or was read, has all its rows.
    OPENED: LiteralString = """
        select revision, state <> 'loading' from revisions
        where repo_id = %(repo_id)s and fingerprint = %(fingerprint)s and model = %(model)s
              and contents = %(contents)s
    """
    OPEN_REPO: LiteralString = """
        insert into repos (repo_id, remote, remote_key, ref, commit)
        values (%(repo_id)s, %(remote)s, %(remote_key)s, %(ref)s, %(commit)s)
        on conflict (repo_id) do nothing
    """
    OPEN: LiteralString = """
        insert into revisions (repo_id, fingerprint, model, contents, dimension, spans, files, postings,
                               names, files_with_spans, average_length, coverage)
        values (%(repo_id)s, %(fingerprint)s, %(model)s, %(contents)s, %(dimension)s, %(spans)s, %(files)s,
                %(postings)s, %(names)s, %(files_with_spans)s, %(average_length)s, %(coverage)s)
        on conflict (repo_id, fingerprint, model, contents) do nothing
    """

    def open(self, manifest: Manifest, *, model: str, dimension: int) -> tuple[int, bool]:
        """Return the number of the revision that these contents fill, made when there is none yet, and
        whether all its rows are there."""
        values = {
            "repo_id": manifest.repo_id, "remote": manifest.remote,
            "remote_key": remote_key(manifest.remote), "ref": manifest.ref, "commit": manifest.commit,
            "fingerprint": manifest.fingerprint, "model": model, "contents": manifest.contents,
            "dimension": dimension, "spans": manifest.spans, "files": manifest.files,
            "postings": manifest.postings, "names": manifest.names,
            "files_with_spans": sum(manifest.coverage.languages.values()),
            "average_length": manifest.stats.average_length, "coverage": Jsonb(asdict(manifest.coverage)),
        }  # fmt: skip
        with self._database.session() as connection:
            cursor = connection.cursor(row_factory=args_row(_opened))
            opened = cursor.execute(self.OPENED, values).fetchone()
            if opened is None:
                with connection.transaction():
                    cursor.execute(self.OPEN_REPO, values)
                    cursor.execute(self.OPEN, values)
                opened = cursor.execute(self.OPENED, values).fetchone()
        if opened is None:
            raise Unavailable("the revision went away while it was opened; try again")
        return opened

    MISSING: LiteralString = """
        select wanted.position::int - 1
        from unnest(%(keys)s::bytea[]) with ordinality as wanted (key, position)
        where not exists (select from {cache} where {cache}.key = wanted.key)
    """

    def missing(self, dimension: int, keys: Sequence[bytes]) -> set[int]:
        """Positions of the cache keys that have no vector yet."""
        query = sql.SQL(self.MISSING).format(cache=table("cached_vectors", dimension))
        with self._database.session() as connection:
            return set(
                connection.cursor(row_factory=scalar_row).execute(query, {"keys": list(keys)}).fetchall()
            )

    def store(
        self,
        revision: int,
        kind: BatchKind,
        rows: Sequence[Row],
        *,
        dimension: int,
        keys: Sequence[bytes],
        fresh: dict[bytes, Vector],
    ) -> None:
        """Write the rows of one batch, vectors copied from the cache; a row that is there stays as it is.

        Raises ArtifactRejected for rows that no table takes, and Unavailable when the revision was removed.
        """
        with self._database.transaction() as connection, _rows_at_fault():
            match kind:
                case BatchKind.SPANS:
                    spans = [row for row in rows if isinstance(row, IndexedSpan)]
                    self._cache(connection, dimension, fresh)
                    self._spans(connection, revision, spans)
                    self._vectors(connection, revision, dimension, [row.span.ordinal for row in spans], keys)
                case BatchKind.FILES:
                    self._files(connection, revision, [row for row in rows if isinstance(row, SourceFile)])
                case BatchKind.POSTINGS:
                    self._postings(connection, revision, [row for row in rows if isinstance(row, Posting)])
                case BatchKind.NAMES:
                    self._names(connection, revision, [row for row in rows if isinstance(row, Name)])

    CACHE: LiteralString = """
        insert into {cache} (key, embedding)
        select key, embedding::halfvec
        from unnest(%(keys)s::bytea[], %(embeddings)s::text[]) as fresh (key, embedding)
        order by key
        on conflict (key) do nothing
    """

    def _cache(self, connection: Connection, dimension: int, fresh: Mapping[bytes, Vector]) -> None:
        if not fresh:
            return
        values = {"keys": list(fresh), "embeddings": [halfvec(vector) for vector in fresh.values()]}
        connection.execute(sql.SQL(self.CACHE).format(cache=table("cached_vectors", dimension)), values)

    SPANS: LiteralString = """
        insert into spans (revision, ordinal, id, path, kind, symbol, language, start_line, end_line, length,
                           digest, text, test, name_mass)
        select %(revision)s, rows.*
        from unnest(%(ordinal)s::int[], %(id)s::text[], %(path)s::text[], %(kind)s::text[],
                    %(symbol)s::text[], %(language)s::text[], %(start_line)s::int[], %(end_line)s::int[],
                    %(length)s::int[], %(digest)s::text[], %(text)s::text[], %(test)s::bool[],
                    %(name_mass)s::real[])
             as rows (ordinal, id, path, kind, symbol, language, start_line, end_line, length, digest, text,
                      test, name_mass)
        order by ordinal
        on conflict (revision, ordinal) do nothing
    """

    def _spans(self, connection: Connection, revision: int, rows: Sequence[IndexedSpan]) -> None:
        spans = [row.span for row in rows]
        values = {
            "revision": revision,
            "ordinal": [span.ordinal for span in spans], "id": [span.id for span in spans],
            "path": [span.path for span in spans], "kind": [span.kind.value for span in spans],
            "symbol": [span.symbol for span in spans], "language": [span.language for span in spans],
            "start_line": [span.start_line for span in spans], "end_line": [span.end_line for span in spans],
            "length": [span.length for span in spans], "digest": [span.digest for span in spans],
            "text": [span.text for span in spans], "test": [span.test for span in spans],
            "name_mass": [row.name_mass for row in rows],
        }  # fmt: skip
        connection.execute(self.SPANS, values)

    VECTORS: LiteralString = """
        with wanted as (
            select ordinal, embedding
            from unnest(%(ordinals)s::int[], %(keys)s::bytea[]) as wanted (ordinal, key)
            left join {cache} using (key)
        ), vectors as (
            insert into {vectors} (revision, ordinal, embedding)
            select %(revision)s, ordinal, embedding from wanted where embedding is not null order by ordinal
            on conflict (revision, ordinal) do nothing
        ), signs as (
            insert into {signs} (revision, ordinal, signs)
            select %(revision)s, ordinal, binary_quantize(embedding) from wanted
            where embedding is not null order by ordinal
            on conflict (revision, ordinal) do nothing
        )
        select count(*) from wanted where embedding is null
    """

    def _vectors(
        self,
        connection: Connection,
        revision: int,
        dimension: int,
        ordinals: Sequence[int],
        keys: Sequence[bytes],
    ) -> None:
        query = sql.SQL(self.VECTORS).format(
            cache=table("cached_vectors", dimension), vectors=table("vectors", dimension),
            signs=table("signs", dimension),
        )  # fmt: skip
        values = {"revision": revision, "ordinals": list(ordinals), "keys": list(keys)}
        if connection.cursor(row_factory=scalar_row).execute(query, values).fetchone():
            raise Unavailable("a cached vector went away while it was needed; try again")

    FILES: LiteralString = """
        insert into files (revision, path, blob, size, language, outcome, reason, spans, dropped)
        select %(revision)s, rows.*
        from unnest(%(path)s::text[], %(blob)s::text[], %(size)s::bigint[], %(language)s::text[],
                    %(outcome)s::text[], %(reason)s::text[], %(spans)s::int[], %(dropped)s::int[])
             as rows (path, blob, size, language, outcome, reason, spans, dropped)
        order by md5(path)
        on conflict (revision, md5(path)) do nothing
    """

    def _files(self, connection: Connection, revision: int, rows: Sequence[SourceFile]) -> None:
        values = {
            "revision": revision,
            "path": [row.path for row in rows], "blob": [row.blob for row in rows],
            "size": [row.size for row in rows], "language": [row.language for row in rows],
            "outcome": [row.outcome.value for row in rows],
            "reason": [row.reason.value if row.reason else None for row in rows],
            "spans": [row.spans for row in rows], "dropped": [row.dropped for row in rows],
        }  # fmt: skip
        connection.execute(self.FILES, values)

    # Binary parameters: as text, each byte of an array would travel as two digits.
    POSTINGS: LiteralString = """
        insert into postings (revision, term, ordinals, weights)
        select %(revision)s, rows.*
        from unnest(%(term)s::text[], %(ordinals)b::bytea[], %(weights)b::bytea[])
             as rows (term, ordinals, weights)
        order by term collate "C"
        on conflict (revision, term) do nothing
    """

    def _postings(self, connection: Connection, revision: int, rows: Sequence[Posting]) -> None:
        values = {
            "revision": revision, "term": [row.term for row in rows],
            "ordinals": [row.ordinals for row in rows], "weights": [row.weights for row in rows],
        }  # fmt: skip
        connection.execute(self.POSTINGS, values)

    NAMES: LiteralString = """
        insert into names (revision, name, ordinals)
        select %(revision)s, rows.*
        from unnest(%(name)s::text[], %(ordinals)b::bytea[]) as rows (name, ordinals)
        order by name collate "C"
        on conflict (revision, name) do nothing
    """

    def _names(self, connection: Connection, revision: int, rows: Sequence[Name]) -> None:
        values = {
            "revision": revision,
            "name": [row.name for row in rows], "ordinals": [row.ordinals for row in rows],
        }  # fmt: skip
        connection.execute(self.NAMES, values)

    ABANDON: LiteralString = "delete from revisions where revision = %(revision)s and state = 'loading'"

    def abandon(self, revision: int) -> None:
        """Remove a revision that was never published, and its rows."""
        with self._database.session() as connection:
            connection.execute(self.ABANDON, {"revision": revision})

    # Publishers of one job take turns: each sees the rows of those before it, and progress never runs back.
    LOCK_JOB: LiteralString = "select job_order from jobs where id = %(job_id)s for no key update"
    SPANS_STORED: LiteralString = """
        select state <> 'loading', dimension,
               (select count(*) from spans where spans.revision = revisions.revision)
        from revisions where revision = %(revision)s and repo_id = %(repo_id)s
    """
    PROGRESS: LiteralString = """
        update jobs set status = 'leased', stage = 'load', counts = counts || %(counts)s, updated_at = now()
        where id = %(job_id)s and attempt = %(attempt)s and status in ('pending', 'leased')
    """
    DONE: LiteralString = """
        update jobs set status = 'done', stage = 'published', repo_id = %(repo_id)s,
                        counts = counts || %(counts)s, outbox_at = null, updated_at = now(),
                        finished_at = now()
        where id = %(job_id)s and status in ('pending', 'leased')
    """

    def publish(self, revision: int, manifest: Manifest, job_id: str, attempt: int) -> bool:
        """Under the job's lock: when all rows that the manifest counts are there, publish and mark the job
        done in one transaction; else record the progress. Return whether they were all there.

        Rows that are complete are right whoever sent them, so a stale attempt publishes too; but neither
        readers nor a ref are led back behind a later job. Raises NotFound for a job or revision that is gone.
        """
        key = {"revision": revision, "repo_id": manifest.repo_id, "job_id": job_id, "attempt": attempt}
        with self._database.transaction() as connection:
            job = connection.execute(self.LOCK_JOB, key).fetchone()
            stored = connection.execute(self.SPANS_STORED, key).fetchone()
            if job is None or stored is None:
                raise NotFound("the job or its revision was removed while it was loaded")
            (job_order,), (complete, dimension, spans) = job, stored
            counted = key | {"counts": Jsonb({"spans": manifest.spans, "loaded": spans})}
            complete = complete or (
                spans == manifest.spans and self._complete(connection, manifest, revision, dimension)
            )
            if not complete:
                connection.execute(self.PROGRESS, counted)
                return False
            self._switch(connection, revision, manifest.repo_id, job_order)
            connection.execute(CONFIRM_REF, key)
            connection.execute(self.DONE, counted)
        return True

    ROWS_STORED: LiteralString = """
        select (select count(*) from {vectors} where revision = %(revision)s),
               (select count(*) from {signs} where revision = %(revision)s),
               (select count(*) from files where revision = %(revision)s),
               (select count(*) from postings where revision = %(revision)s),
               (select count(*) from names where revision = %(revision)s)
    """

    def _complete(self, connection: Connection, manifest: Manifest, revision: int, dimension: int) -> bool:
        query = sql.SQL(self.ROWS_STORED).format(
            vectors=table("vectors", dimension), signs=table("signs", dimension)
        )
        counted = (manifest.spans, manifest.spans, manifest.files, manifest.postings, manifest.names)
        return connection.execute(query, {"revision": revision}).fetchone() == counted

    # Jobs of two refs may fill one revision, and two revisions may be of one repository.
    LOCK_REPO: LiteralString = "select from repos where repo_id = %(repo_id)s for no key update"
    PLACE: LiteralString = """
        select repos.current_revision, revisions.job_order
        from repos left join revisions on revisions.revision = repos.current_revision
        where repos.repo_id = %(repo_id)s
    """
    RETIRE: LiteralString = """
        update revisions set state = 'retired' where repo_id = %(repo_id)s and state = 'published'
    """
    PUBLISH: LiteralString = """
        update revisions set state = 'published', published_at = now(), job_order = %(job_order)s
        where revision = %(revision)s
    """
    SWITCH: LiteralString = """
        update repos set current_revision = %(revision)s, indexed_at = now(), last_used_at = now()
        where repo_id = %(repo_id)s
    """
    # Later jobs that found the revision published keep it from being replaced by messages older than theirs.
    CONFIRM: LiteralString = """
        update revisions set job_order = %(job_order)s
        where revision = %(revision)s and job_order < %(job_order)s
    """

    def _switch(self, connection: Connection, revision: int, repo_id: str, job_order: int) -> None:
        key = {"revision": revision, "repo_id": repo_id, "job_order": job_order}
        connection.execute(self.LOCK_REPO, key)
        current, order = (
            connection.cursor(row_factory=args_row(_place)).execute(self.PLACE, key).fetchall()[0]
        )
        if current == revision:
            connection.execute(self.CONFIRM, key)
        elif order <= job_order:
            for statement in (self.RETIRE, self.PUBLISH, self.SWITCH):
                connection.execute(statement, key)


def _opened(revision: int, complete: bool) -> tuple[int, bool]:
    return revision, complete


def _place(current: int | None, job_order: int | None) -> tuple[int | None, int]:
    return current, job_order or 0


@contextmanager
def _rows_at_fault() -> Iterator[None]:
    try:
        yield
    except errors.ForeignKeyViolation as error:
        raise Unavailable("the revision was removed while it was loaded; try again") from error
    except (
        errors.IntegrityError,
        errors.DataError,
        errors.ProgramLimitExceeded,
        UnicodeEncodeError,
    ) as error:
        raise ArtifactRejected(f"a row cannot be stored: {type(error).__name__}") from error
