"""Job rows in memory, and a queue that remembers: what services reach jobs by, without a database."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count

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

LIVE = (JobStatus.PENDING, JobStatus.LEASED)


@dataclass
class Kept:
    """A job and what of its row a caller does not see."""

    job: Job
    sequence: int = 0
    outbox_at: datetime | None = None


class FakeJobStore:
    """JobStore over a dictionary. Time stands still until `age` moves it."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 30, 12, tzinfo=UTC)
        self.readable: dict[tuple[str, str], tuple[Published, str]] = {}
        self._kept: dict[str, Kept] = {}
        self._ids = count(1)

    def age(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)

    def publish(self, remote: str, ref: str, published: Published, *, model: str) -> None:
        """Make *published* what readers see for (*remote*, *ref*)."""
        self.readable[remote_key(remote), ref] = (published, model)

    def submit(self, remote: str, ref: str) -> Job:
        for kept in self._kept.values():
            job = kept.job
            if (remote_key(job.remote), job.ref) == (remote_key(remote), ref) and job.status in LIVE:
                return job
        job = Job(
            id=f"{next(self._ids):016x}", remote=remote, ref=ref, status=JobStatus.PENDING,
            stage=Stage.QUEUED, attempt=1, failures=0, counts={}, submitted_at=self.now, updated_at=self.now,
        )  # fmt: skip
        self._kept[job.id] = Kept(job, outbox_at=self.now)
        return job

    def get(self, job_id: str) -> Job:
        return self._find(job_id).job

    def recent(self, limit: int) -> list[Job]:
        return [kept.job for kept in reversed(self._kept.values())][:limit]

    def message(self, job_id: str, *, model: str) -> IndexJob | None:
        kept = self._find(job_id)
        job = kept.job
        if job.status is not JobStatus.PENDING or kept.outbox_at is None or kept.outbox_at > self.now:
            return None
        published = self._published(job.remote, job.ref, model=model)
        return IndexJob(job.id, job.attempt, job.remote, job.ref, published)

    def sent(self, job_id: str, attempt: int) -> None:
        kept = self._kept.get(job_id)
        if kept and kept.job.attempt == attempt:
            kept.outbox_at = None

    def apply(self, event: JobEvent) -> bool:
        kept = self._current(event.job_id, event.attempt)
        if kept is None or event.sequence <= kept.sequence:
            return False
        kept.sequence, kept.outbox_at = event.sequence, None
        match event.kind:
            case EventKind.FAILED:
                reason = event.reason or FailureReason.INTERNAL
                return self.fail_attempt(event.job_id, event.attempt, reason, transient=event.transient)
            case EventKind.UNCHANGED:
                self._unchanged(kept, event)
            case EventKind.PROGRESS | EventKind.SEALED:
                stage = Stage.LOAD if event.kind is EventKind.SEALED else event.stage
                if kept.job.stage is Stage.LOAD:
                    stage = Stage.LOAD
                counts = kept.job.counts | event.counts
                self._change(kept, status=JobStatus.LEASED, stage=stage, counts=counts)
        return True

    def fail_attempt(self, job_id: str, attempt: int, reason: FailureReason, *, transient: bool) -> bool:
        kept = self._current(job_id, attempt)
        if kept is None:
            return False
        failures = kept.job.failures + 1
        if transient and failures < MAX_FAILURES:
            self._restart(kept, delay=RETRY_DELAYS_SECONDS[failures - 1], failures=failures)
        else:
            kept.outbox_at = None
            self._change(
                kept, status=JobStatus.FAILED, failures=failures, error=JobError(reason), finished_at=self.now
            )
        return True

    def due(self, limit: int) -> list[str]:
        due = [
            (kept.outbox_at, kept.job.id)
            for kept in self._kept.values()
            if kept.job.status is JobStatus.PENDING and kept.outbox_at and kept.outbox_at <= self.now
        ]
        return [job_id for _, job_id in sorted(due)][:limit]

    def silent(self, limits: Mapping[Stage, int], limit: int) -> list[tuple[str, int, Stage]]:
        silent = [
            (kept.job.updated_at, kept.job.id, kept.job.attempt, kept.job.stage)
            for kept in self._kept.values()
            if kept.job.status in LIVE and kept.outbox_at is None and kept.job.stage in limits
            and kept.job.updated_at < self.now - timedelta(seconds=limits[kept.job.stage])
        ]  # fmt: skip
        return [(job_id, attempt, stage) for _, job_id, attempt, stage in sorted(silent)][:limit]

    def wake(self, job_id: str, attempt: int) -> bool:
        kept = self._current(job_id, attempt)
        if kept:
            self._restart(kept)
        return kept is not None

    def wake_all(self) -> int:
        live = [kept for kept in self._kept.values() if kept.job.status in LIVE]
        for kept in live:
            self._restart(kept)
        return len(live)

    def _published(self, remote: str, ref: str, *, model: str) -> Published | None:
        published, of = self.readable.get((remote_key(remote), ref), (None, model))
        return published if of == model else None

    def _find(self, job_id: str) -> Kept:
        if job_id not in self._kept:
            raise NotFound("no such job")
        return self._kept[job_id]

    def _current(self, job_id: str, attempt: int) -> Kept | None:
        kept = self._kept.get(job_id)
        return kept if kept and kept.job.attempt == attempt and kept.job.status in LIVE else None

    def _unchanged(self, kept: Kept, event: JobEvent) -> None:
        if any(published.repo_id == event.repo_id for published, _ in self.readable.values()):
            self._change(
                kept, status=JobStatus.DONE, stage=Stage.PUBLISHED, repo_id=event.repo_id,
                counts=kept.job.counts | event.counts, finished_at=self.now,
            )  # fmt: skip
        else:
            self._restart(kept)

    def _restart(self, kept: Kept, *, delay: int = 0, failures: int | None = None) -> None:
        kept.sequence, kept.outbox_at = 0, self.now + timedelta(seconds=delay)
        self._change(
            kept, status=JobStatus.PENDING, stage=Stage.QUEUED, attempt=kept.job.attempt + 1, counts={},
            failures=kept.job.failures if failures is None else failures,
        )  # fmt: skip

    def _change(self, kept: Kept, **changes: object) -> None:
        kept.job = replace(kept.job, updated_at=self.now, **changes)  # type: ignore[arg-type] # names of Job's fields


class FakeIndexQueue:
    """An index queue that keeps what it is sent, until it is told to refuse."""

    def __init__(self) -> None:
        self.jobs: list[IndexJob] = []
        self.refuses = False

    def send(self, job: IndexJob) -> None:
        if self.refuses:
            raise Unavailable("the queue is not answering")
        self.jobs.append(job)
