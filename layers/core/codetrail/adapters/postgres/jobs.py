"""Job rows: one live job a repository and ref, fenced by attempt, ordered by (attempt, sequence)."""

import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import LiteralString

from psycopg.rows import args_row, kwargs_row, scalar_row
from psycopg.types.json import Jsonb

from codetrail.adapters.postgres.connection import Connection, Database
from codetrail.domain.job import (
    MAX_FAILURES,
    RETRY_DELAYS_SECONDS,
    EventKind,
    FailureReason,
    IndexJob,
    Job,
    JobError,
    JobEvent,
    JobStatus,
    Published,
    Stage,
)
from codetrail.domain.remote import remote_key
from codetrail.errors import NotFound, Unavailable

# A round that finds neither room for a job nor a live one saw a job end in between.
SUBMIT_ROUNDS = 5

COLUMNS: LiteralString = """
    id, remote, ref, status, stage, attempt, failures, counts, submitted_at, updated_at, finished_at, repo_id,
    reason
"""


# The ref of a job leads to a repository now, unless a later job or attempt has led it elsewhere. What a
# message says of its attempt is bounded by the row's, or it could keep all later ones out.
CONFIRM_REF: LiteralString = """
    insert into refs (remote_key, ref, repo_id, job_order, attempt)
    select remote_key, ref, %(repo_id)s, job_order, least(attempt, %(attempt)s)
    from jobs where id = %(job_id)s
    on conflict (remote_key, ref) do update
    set repo_id = excluded.repo_id, job_order = excluded.job_order, attempt = excluded.attempt,
        indexed_at = case when refs.repo_id = excluded.repo_id then refs.indexed_at else now() end
    where (refs.job_order, refs.attempt) <= (excluded.job_order, excluded.attempt)
"""


def _job(
    *,
    id: str,
    remote: str,
    ref: str,
    status: str,
    stage: str,
    attempt: int,
    failures: int,
    counts: dict[str, int],
    submitted_at: datetime,
    updated_at: datetime,
    finished_at: datetime | None,
    repo_id: str | None,
    reason: str | None,
) -> Job:
    return Job(
        id=id, remote=remote, ref=ref, status=JobStatus(status), stage=Stage(stage), attempt=attempt,
        failures=failures, counts=counts, submitted_at=submitted_at, updated_at=updated_at,
        finished_at=finished_at, repo_id=repo_id, error=JobError(FailureReason(reason)) if reason else None,
    )  # fmt: skip


class PostgresJobStore:
    """JobStore over the table jobs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    INSERT: LiteralString = """
        insert into jobs (id, remote, remote_key, ref, outbox_at)
        values (%(id)s, %(remote)s, %(remote_key)s, %(ref)s, now())
        on conflict (remote_key, ref) where status in ('pending', 'leased') do nothing
        returning id, remote, ref, status, stage, attempt, failures, counts, submitted_at, updated_at,
                  finished_at, repo_id, reason
    """
    LIVE: LiteralString = (
        "select"
        + COLUMNS
        + "from jobs where remote_key = %(remote_key)s and ref = %(ref)s and status in ('pending', 'leased')"
    )

    def submit(self, remote: str, ref: str) -> Job:
        """Return the live job of (*remote*, *ref*), made now with its outbox mark when there is none."""
        new = {"id": secrets.token_hex(16), "remote": remote, "remote_key": remote_key(remote), "ref": ref}
        with self._database.session() as connection:
            cursor = connection.cursor(row_factory=kwargs_row(_job))
            for _ in range(SUBMIT_ROUNDS):
                job = cursor.execute(self.INSERT, new).fetchone() or cursor.execute(self.LIVE, new).fetchone()
                if job:
                    return job
        raise Unavailable("jobs of this repository come and go; try again in a moment")

    GET: LiteralString = "select" + COLUMNS + "from jobs where id = %(id)s"

    def get(self, job_id: str) -> Job:
        """Raises NotFound."""
        with self._database.session() as connection:
            job = connection.cursor(row_factory=kwargs_row(_job)).execute(self.GET, {"id": job_id}).fetchone()
        if job is None:
            raise NotFound("no such job")
        return job

    RECENT: LiteralString = "select" + COLUMNS + "from jobs order by job_order desc limit %(limit)s"

    def recent(self, limit: int) -> list[Job]:
        """Newest first."""
        with self._database.session() as connection:
            return (
                connection.cursor(row_factory=kwargs_row(_job))
                .execute(self.RECENT, {"limit": limit})
                .fetchall()
            )

    MESSAGE: LiteralString = """
        select jobs.status = 'pending' and jobs.outbox_at <= now(), jobs.attempt, jobs.remote, jobs.ref,
               repos.repo_id, repos.commit, revisions.fingerprint
        from jobs
        left join refs on refs.remote_key = jobs.remote_key and refs.ref = jobs.ref
        left join repos on repos.repo_id = refs.repo_id
        left join revisions on revisions.revision = repos.current_revision and revisions.model = %(model)s
        where jobs.id = %(id)s
    """

    def message(self, job_id: str, *, model: str) -> IndexJob | None:
        """What to send for a job that is pending and due, or None. Raises NotFound."""
        with self._database.session() as connection:
            row = connection.execute(self.MESSAGE, {"id": job_id, "model": model}).fetchone()
        if row is None:
            raise NotFound("no such job")
        due, attempt, remote, ref, repo_id, commit, fingerprint = row
        if not due:
            return None
        published = Published(repo_id, commit, fingerprint) if fingerprint is not None else None
        return IndexJob(job_id, attempt, remote, ref, published)

    SENT: LiteralString = "update jobs set outbox_at = null where id = %(id)s and attempt = %(attempt)s"

    def sent(self, job_id: str, attempt: int) -> None:
        """Clear the outbox mark of that attempt."""
        with self._database.session() as connection:
            connection.execute(self.SENT, {"id": job_id, "attempt": attempt})

    def apply(self, event: JobEvent) -> bool:
        """Apply a report when it is newer than the last; return whether it was."""
        with self._database.transaction() as connection:
            if not self._newer(connection, event):
                return False
            match event.kind:
                case EventKind.FAILED:
                    reason = event.reason or FailureReason.INTERNAL
                    self._end(connection, event.job_id, event.attempt, reason, transient=event.transient)
                case EventKind.UNCHANGED:
                    self._unchanged(connection, event)
                case EventKind.PROGRESS | EventKind.SEALED:
                    self._progress(connection, event)
        return True

    NEWER: LiteralString = """
        update jobs set sequence = %(sequence)s, outbox_at = null, updated_at = now()
        where id = %(id)s and attempt = %(attempt)s and sequence < %(sequence)s
              and status in ('pending', 'leased')
    """

    def _newer(self, connection: Connection, event: JobEvent) -> bool:
        key = {"id": event.job_id, "attempt": event.attempt, "sequence": event.sequence}
        return connection.execute(self.NEWER, key).rowcount == 1

    # Once batches of an attempt are being loaded, a late word of its indexer does not lead back.
    PROGRESS: LiteralString = """
        update jobs set status = 'leased', counts = counts || %(counts)s,
                        stage = case stage when 'load' then 'load' else %(stage)s end
        where id = %(id)s
    """

    def _progress(self, connection: Connection, event: JobEvent) -> None:
        stage = Stage.LOAD if event.kind is EventKind.SEALED else event.stage
        connection.execute(
            self.PROGRESS, {"id": event.job_id, "stage": stage.value, "counts": Jsonb(event.counts)}
        )

    # The repository's row is locked: what is said of it here stays true until the end of the transaction.
    CURRENT: LiteralString = """
        select true from repos where repo_id = %(repo_id)s and current_revision is not null for share
    """
    UNCHANGED: LiteralString = """
        update jobs set status = 'done', stage = 'published', repo_id = %(repo_id)s,
                        counts = counts || %(counts)s, finished_at = now()
        where id = %(job_id)s
    """

    def _unchanged(self, connection: Connection, event: JobEvent) -> None:
        key = {
            "job_id": event.job_id, "attempt": event.attempt, "repo_id": event.repo_id,
            "counts": Jsonb(event.counts),
        }  # fmt: skip
        if connection.execute(self.CURRENT, key).fetchone():
            connection.execute(CONFIRM_REF, key)
            connection.execute(self.UNCHANGED, key)
        else:  # evicted or removed since the message left: index it in earnest
            self._wake(connection, event.job_id, event.attempt)

    def fail_attempt(self, job_id: str, attempt: int, reason: FailureReason, *, transient: bool) -> bool:
        """End an attempt badly, whoever noticed; return whether that attempt was still the current one."""
        with self._database.transaction() as connection:
            return self._end(connection, job_id, attempt, reason, transient=transient)

    RETRY: LiteralString = """
        update jobs set status = 'pending', stage = 'queued', attempt = attempt + 1, failures = failures + 1,
                        sequence = 0, counts = '{}', updated_at = now(),
                        outbox_at = now() + make_interval(secs => (%(delays)s::int[])[failures + 1])
        where id = %(id)s and attempt = %(attempt)s and status in ('pending', 'leased')
              and %(transient)s and failures + 1 < %(max_failures)s
    """
    FAIL: LiteralString = """
        update jobs set status = 'failed', failures = failures + 1, reason = %(reason)s, outbox_at = null,
                        updated_at = now(), finished_at = now()
        where id = %(id)s and attempt = %(attempt)s and status in ('pending', 'leased')
    """

    def _end(
        self, connection: Connection, job_id: str, attempt: int, reason: FailureReason, *, transient: bool
    ) -> bool:
        key = {
            "id": job_id, "attempt": attempt, "reason": reason.value, "transient": transient,
            "delays": list(RETRY_DELAYS_SECONDS), "max_failures": MAX_FAILURES,
        }  # fmt: skip
        return any(connection.execute(statement, key).rowcount for statement in (self.RETRY, self.FAIL))

    DUE: LiteralString = """
        select id from jobs where status = 'pending' and outbox_at <= now() order by outbox_at limit %(limit)s
    """

    def due(self, limit: int) -> list[str]:
        """Ids of pending jobs whose message is due and not known to be sent, oldest first."""
        with self._database.session() as connection:
            return connection.cursor(row_factory=scalar_row).execute(self.DUE, {"limit": limit}).fetchall()

    SILENT: LiteralString = """
        select jobs.id, jobs.attempt, jobs.stage
        from jobs join unnest(%(stages)s::text[], %(seconds)s::int[]) as limits (stage, seconds) using (stage)
        where jobs.status in ('pending', 'leased') and jobs.outbox_at is null
              and jobs.updated_at < now() - make_interval(secs => limits.seconds)
        order by jobs.updated_at limit %(limit)s
    """

    def silent(self, limits: Mapping[Stage, int], limit: int) -> list[tuple[str, int, Stage]]:
        """(id, attempt, stage) of live jobs that have said nothing for their stage's limit in seconds."""
        values = {
            "stages": [stage.value for stage in limits],
            "seconds": list(limits.values()),
            "limit": limit,
        }
        with self._database.session() as connection:
            cursor = connection.cursor(row_factory=args_row(_silent))
            return cursor.execute(self.SILENT, values).fetchall()

    # A new attempt, due now, that begins from nothing; its failures stay as they are.
    WAKE: LiteralString = """
        update jobs set status = 'pending', stage = 'queued', attempt = attempt + 1, sequence = 0,
                        counts = '{}', outbox_at = now(), updated_at = now()
        where id = %(id)s and attempt = %(attempt)s and status in ('pending', 'leased')
    """

    def wake(self, job_id: str, attempt: int) -> bool:
        """Mark a live job due under a new attempt; return whether *attempt* was still the current one."""
        with self._database.session() as connection:
            return self._wake(connection, job_id, attempt)

    def _wake(self, connection: Connection, job_id: str, attempt: int) -> bool:
        return connection.execute(self.WAKE, {"id": job_id, "attempt": attempt}).rowcount == 1

    WAKE_ALL: LiteralString = """
        update jobs set status = 'pending', stage = 'queued', attempt = attempt + 1, sequence = 0,
                        counts = '{}', outbox_at = now(), updated_at = now()
        where status in ('pending', 'leased')
    """

    def wake_all(self) -> int:
        """Mark every live job due under a new attempt, its failures unchanged. Return how many."""
        with self._database.session() as connection:
            return connection.execute(self.WAKE_ALL).rowcount


def _silent(job_id: str, attempt: int, stage: str) -> tuple[str, int, Stage]:
    return job_id, attempt, Stage(stage)
