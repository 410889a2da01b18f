"""Published revisions, as readers see them."""

from datetime import datetime
from typing import Any, LiteralString

from psycopg.rows import kwargs_row

from codetrail.adapters.postgres.connection import Database
from codetrail.adapters.postgres.search import span_of
from codetrail.domain.remote import remote_key
from codetrail.domain.repo import CorpusStats, Coverage, Revision
from codetrail.domain.span import Span
from codetrail.errors import NotFound

# Several refs may lead to one commit: the one that was asked for is shown, and else the first submission's. A
# reader sees the commit that this ref names by now, when that is another one and published too.
REVISION: LiteralString = """
    select revisions.revision, repos.repo_id, repos.remote, coalesce(%(ref)s, repos.ref) as ref, repos.commit,
           revisions.fingerprint, revisions.model, revisions.dimension, repos.indexed_at, repos.last_used_at,
           revisions.files, revisions.files_with_spans, revisions.spans, revisions.average_length,
           revisions.coverage,
           newer.commit as newer_commit,
           case when newer.commit is not null then named.indexed_at end as newer_indexed_at
    from repos
    join revisions on revisions.revision = repos.current_revision
    left join refs named on named.remote_key = repos.remote_key and named.ref = coalesce(%(ref)s, repos.ref)
    left join repos newer on newer.repo_id = named.repo_id and newer.repo_id <> repos.repo_id
              and newer.current_revision is not null
"""


def _revision(
    *,
    spans: int,
    average_length: float,
    coverage: dict[str, Any],
    **columns: Any,  # noqa: ANN401 - the query names them as the noun does
) -> Revision:
    return Revision(stats=CorpusStats(spans, average_length), coverage=Coverage(**coverage), **columns)


class PostgresRepoStore:
    """RepoStore over repos, revisions and refs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    CURRENT: LiteralString = REVISION + "where repos.repo_id = %(repo_id)s"

    # Told by the rows themselves, and only while a job may still add to them.
    LOADING: LiteralString = """
        select (select count(*) from spans where spans.revision = revisions.revision), revisions.spans
        from repos join revisions on revisions.repo_id = repos.repo_id
        where repos.repo_id = %(repo_id)s and repos.current_revision is null
              and revisions.state = 'loading' and exists (
                  select from jobs
                  where jobs.remote_key = repos.remote_key and jobs.status in ('pending', 'leased'))
        order by revisions.revision desc
        limit 1
    """

    def current(self, repo_id: str) -> Revision:
        """Raises NotFound; while the first revision of it is loaded the message counts its spans."""
        key = {"repo_id": repo_id, "ref": None}
        with self._database.session() as connection:
            cursor = connection.cursor(row_factory=kwargs_row(_revision))
            revision = cursor.execute(self.CURRENT, key).fetchone()
            loading = connection.execute(self.LOADING, key).fetchone() if revision is None else None
        if revision is not None:
            return revision
        if loading is not None:
            stored, spans = loading
            raise NotFound(
                f"this repository is not ready: {stored:,} of its {spans:,} spans are indexed so far;"
                " ask again when its job is done"
            )
        raise NotFound("no such repository")

    USED: LiteralString = """
        update repos set last_used_at = now()
        where repo_id = %(repo_id)s and last_used_at < now() - interval '1 minute'
    """

    def used(self, repo_id: str) -> None:
        """Wind the clock of the last use; writes at most once a minute a repository."""
        with self._database.session() as connection:
            connection.execute(self.USED, {"repo_id": repo_id})

    LIST: LiteralString = (
        REVISION
        + """
        where repos.current_revision is not null
              and (%(remote_key)s::text is null or repos.remote_key = %(remote_key)s)
              and (%(ref)s::text is null or exists (
                  select from refs
                  where refs.remote_key = repos.remote_key and refs.ref = %(ref)s
                        and refs.repo_id = repos.repo_id))
              and (%(indexed_at)s::timestamptz is null
                   or (repos.indexed_at, repos.repo_id) < (%(indexed_at)s, %(repo_id)s))
        order by repos.indexed_at desc, repos.repo_id desc
        limit %(limit)s
        """
    )

    def list(
        self, *, remote: str | None, ref: str | None, after: tuple[datetime, str] | None, limit: int
    ) -> list[Revision]:
        """Newest first by (indexed_at, repo_id), after a place; with a ref, only what it names now, shown as
        that ref's."""
        indexed_at, repo_id = after or (None, None)
        values = {
            "remote_key": remote_key(remote) if remote is not None else None, "ref": ref,
            "indexed_at": indexed_at, "repo_id": repo_id, "limit": limit,
        }  # fmt: skip
        with self._database.session() as connection:
            return connection.cursor(row_factory=kwargs_row(_revision)).execute(self.LIST, values).fetchall()

    SPAN: LiteralString = """
        select ordinal, id, path, kind, symbol, language, start_line, end_line, length, digest, text, test
        from spans where revision = %(revision)s and id = %(id)s
    """

    def span(self, revision: Revision, span_id: str) -> Span:
        """Raises NotFound."""
        with self._database.session() as connection:
            cursor = connection.cursor(row_factory=kwargs_row(span_of))
            span = cursor.execute(self.SPAN, {"revision": revision.revision, "id": span_id}).fetchone()
        if span is None:
            raise NotFound("no such span in this repository")
        return span

    REMOVE_JOBS: LiteralString = """
        delete from jobs where repo_id = %(repo_id)s and status in ('done', 'failed')
    """
    REMOVE: LiteralString = "delete from repos where repo_id = %(repo_id)s"

    def remove(self, repo_id: str) -> None:
        """Remove a repository with all its rows and its finished jobs. Raises NotFound.

        Cached vectors stay: they are kept by the digest of their text and may serve other repositories.
        """
        with self._database.transaction() as connection:
            connection.execute(self.REMOVE_JOBS, {"repo_id": repo_id})
            if not connection.execute(self.REMOVE, {"repo_id": repo_id}).rowcount:
                raise NotFound("no such repository")
