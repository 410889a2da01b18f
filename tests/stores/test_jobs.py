"""One contract of job rows, held by the fake and by Postgres alike; then what only a database can break."""

import threading
from dataclasses import replace
from typing import Any, Protocol

import psycopg
import pytest

from codetrail.adapters.postgres.connection import Database
from codetrail.adapters.postgres.jobs import PostgresJobStore
from codetrail.domain.job import (
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
from codetrail.errors import NotFound
from codetrail.services.ports import JobStore
from tests.support.database import counted, open_database
from tests.support.fakes_jobs import FakeJobStore

UUID = "https://github.com/google/uuid"
MODEL = "fake/256"
PUBLISHED = Published("0123456789abcdef", "2d3c2a9cc518326daf99a383f07c4d3c44317e4d", "fedcba9876543210")


class World(Protocol):
    """What a test may do to the world around a store: let time pass, and have something published."""

    def age(self, seconds: float) -> None: ...

    def publish(self, remote: str, ref: str, published: Published, *, model: str) -> None: ...


class PostgresWorld:
    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def age(self, seconds: float) -> None:
        self._connection.execute(
            "update jobs set updated_at = updated_at - make_interval(secs => %(s)s),"
            " outbox_at = outbox_at - make_interval(secs => %(s)s)",
            {"s": seconds},
        )

    def publish(self, remote: str, ref: str, published: Published, *, model: str) -> None:
        self._connection.execute(
            """
            with repo as (
                insert into repos (repo_id, remote, remote_key, ref, commit, indexed_at)
                values (%(repo_id)s, %(remote)s, %(key)s, %(ref)s, %(commit)s, now()) returning repo_id
            ), revision as (
                insert into revisions (repo_id, fingerprint, model, dimension, state, spans, files, postings,
                                       names, average_length, coverage)
                select repo_id, %(fingerprint)s, %(model)s, 256, 'published', 0, 0, 0, 0, 0, '{}' from repo
            )
            insert into refs (remote_key, ref, repo_id, job_order, attempt)
            select %(key)s, %(ref)s, repo_id, 0, 1 from repo
            """,
            {
                "repo_id": published.repo_id, "remote": remote, "key": remote.casefold(), "ref": ref,
                "commit": published.commit, "fingerprint": published.fingerprint, "model": model,
            },
        )  # fmt: skip
        self._connection.execute(
            "update repos set current_revision = revision from revisions"
            " where revisions.repo_id = repos.repo_id and repos.repo_id = %s",
            (published.repo_id,),
        )


@pytest.fixture(params=["fake", "postgres"])
def jobs_and_world(request) -> tuple[JobStore, World]:
    if request.param == "fake":
        store = FakeJobStore()
        return store, store
    world = PostgresWorld(request.getfixturevalue("connection"))
    return PostgresJobStore(request.getfixturevalue("database")), world


@pytest.fixture
def jobs(jobs_and_world: tuple[JobStore, World]) -> JobStore:
    return jobs_and_world[0]


@pytest.fixture
def world(jobs_and_world: tuple[JobStore, World]) -> World:
    return jobs_and_world[1]


def event(job: Job, sequence: int, kind: EventKind = EventKind.PROGRESS, **more) -> JobEvent:
    return replace(JobEvent(job.id, job.attempt, sequence, kind, Stage.CHUNK), **more)


def test_a_new_job_is_pending_and_due(jobs):
    job = jobs.submit(UUID, "HEAD")

    assert (job.remote, job.ref, job.status, job.stage) == (UUID, "HEAD", JobStatus.PENDING, Stage.QUEUED)
    assert (job.attempt, job.failures, job.counts) == (1, 0, {})
    assert (job.repo_id, job.error, job.finished_at) == (None, None, None)
    assert jobs.get(job.id) == job
    assert jobs.due(10) == [job.id]
    assert jobs.message(job.id, model=MODEL) == IndexJob(job.id, 1, UUID, "HEAD")


def test_a_repository_and_ref_have_one_live_job_however_the_remote_is_spelt(jobs):
    job = jobs.submit(UUID, "HEAD")

    assert jobs.submit("https://github.com/Google/UUID", "HEAD") == job
    assert jobs.submit(UUID, "master").id != job.id
    assert jobs.submit(UUID, "head").id != job.id


def test_paths_that_differ_in_case_are_two_repositories(jobs):
    assert jobs.submit("file:///src/A", "HEAD").id != jobs.submit("file:///src/a", "HEAD").id


def test_a_repository_may_be_submitted_again_once_its_job_has_ended(jobs):
    first = jobs.submit(UUID, "HEAD")
    jobs.fail_attempt(first.id, 1, FailureReason.NOT_FOUND, transient=False)

    second = jobs.submit(UUID, "HEAD")

    assert second.id != first.id
    assert [job.id for job in jobs.recent(10)] == [second.id, first.id]
    assert [job.id for job in jobs.recent(1)] == [second.id]


def test_there_is_no_job_of_an_unknown_id(jobs):
    with pytest.raises(NotFound):
        jobs.get("0000000000000000")
    with pytest.raises(NotFound):
        jobs.message("0000000000000000", model=MODEL)


def test_a_message_that_is_sent_is_not_due_any_more(jobs):
    job = jobs.submit(UUID, "HEAD")

    jobs.sent(job.id, job.attempt)

    assert jobs.due(10) == []
    assert jobs.message(job.id, model=MODEL) is None


def test_word_of_an_older_attempts_message_leaves_the_newer_one_due(jobs):
    job = jobs.submit(UUID, "HEAD")
    jobs.wake(job.id, 1)

    jobs.sent(job.id, 1)

    assert jobs.due(10) == [job.id]


def test_messages_are_due_oldest_first(jobs, world):
    first = jobs.submit(UUID, "HEAD")
    world.age(5)
    second = jobs.submit(UUID, "master")

    assert jobs.due(10) == [first.id, second.id]
    assert jobs.due(1) == [first.id]


def test_a_message_tells_what_is_published_for_the_ref_by_the_model_served(jobs, world):
    world.publish(UUID, "HEAD", PUBLISHED, model=MODEL)
    job = jobs.submit("https://github.com/Google/uuid", "HEAD")
    other = jobs.submit(UUID, "master")

    assert jobs.message(job.id, model=MODEL) == IndexJob(job.id, 1, job.remote, "HEAD", PUBLISHED)
    assert jobs.message(job.id, model="another") == IndexJob(job.id, 1, job.remote, "HEAD")
    assert jobs.message(other.id, model=MODEL) == IndexJob(other.id, 1, UUID, "master")


def test_progress_leases_the_job_and_adds_to_its_counts(jobs):
    job = jobs.submit(UUID, "HEAD")

    assert jobs.apply(event(job, 1, stage=Stage.FETCH, counts={"files": 9}))
    assert jobs.apply(event(job, 2, stage=Stage.CHUNK, counts={"spans": 40}))

    job = jobs.get(job.id)
    assert (job.status, job.stage, job.counts) == (JobStatus.LEASED, Stage.CHUNK, {"files": 9, "spans": 40})
    assert jobs.due(10) == []


def test_a_late_or_doubled_report_changes_nothing(jobs):
    job = jobs.submit(UUID, "HEAD")
    jobs.apply(event(job, 5, stage=Stage.CHUNK, counts={"spans": 40}))
    before = jobs.get(job.id)

    assert not jobs.apply(event(job, 5, stage=Stage.CHUNK, counts={"spans": 40}))
    assert not jobs.apply(event(job, 4, stage=Stage.FETCH, counts={"spans": 1}))
    assert not jobs.apply(event(job, 4, EventKind.FAILED, reason=FailureReason.DEADLINE))
    assert not jobs.apply(event(job, 4, EventKind.UNCHANGED, repo_id=PUBLISHED.repo_id))

    assert jobs.get(job.id) == before


def test_reports_of_another_attempt_change_nothing(jobs):
    job = jobs.submit(UUID, "HEAD")
    jobs.wake(job.id, 1)
    before = jobs.get(job.id)

    assert not jobs.apply(event(job, 9_000_001, EventKind.FAILED, attempt=1, reason=FailureReason.DEADLINE))
    assert not jobs.apply(event(job, 1, attempt=3))
    assert not jobs.fail_attempt(job.id, 1, FailureReason.CRASHED, transient=True)

    assert jobs.get(job.id) == before
    assert jobs.apply(event(job, 1, attempt=2))


def test_reports_of_a_job_that_nobody_knows_change_nothing(jobs):
    job = jobs.submit(UUID, "HEAD")

    assert not jobs.apply(JobEvent("0000000000000000", 1, 1, EventKind.PROGRESS, Stage.FETCH))
    assert not jobs.fail_attempt("0000000000000000", 1, FailureReason.CRASHED, transient=True)
    assert jobs.get(job.id) == job


def test_a_job_that_is_sealed_waits_for_its_load_and_no_late_word_leads_back(jobs):
    job = jobs.submit(UUID, "HEAD")

    jobs.apply(event(job, 1, EventKind.SEALED, stage=Stage.SEAL, repo_id="f" * 16, counts={"spans": 40}))
    jobs.apply(event(job, 1_000_001, stage=Stage.RESOLVE))

    job = jobs.get(job.id)
    assert (job.status, job.stage, job.repo_id) == (JobStatus.LEASED, Stage.LOAD, None)


def test_a_transient_failure_comes_again_after_half_a_minute_and_then_a_minute(jobs, world):
    job = jobs.submit(UUID, "HEAD")
    for attempt, delay in ((1, 30), (2, 60)):
        jobs.apply(event(job, 1, attempt=attempt, stage=Stage.FETCH, counts={"files": 1}))

        assert jobs.apply(
            event(job, 2, EventKind.FAILED, attempt=attempt, reason=FailureReason.UNREACHABLE, transient=True)
        )

        now = jobs.get(job.id)
        assert (now.status, now.stage, now.attempt) == (JobStatus.PENDING, Stage.QUEUED, attempt + 1)
        assert (now.failures, now.counts, now.error) == (attempt, {}, None)
        world.age(delay - 5)
        assert jobs.due(10) == []
        assert jobs.message(job.id, model=MODEL) is None
        world.age(6)
        assert jobs.due(10) == [job.id]


def test_the_third_failure_ends_the_job_with_its_reason(jobs):
    job = jobs.submit(UUID, "HEAD")
    for attempt in (1, 2, 3):
        assert jobs.fail_attempt(job.id, attempt, FailureReason.CRASHED, transient=True)

    job = jobs.get(job.id)
    assert (job.status, job.attempt, job.failures) == (JobStatus.FAILED, 3, 3)
    assert job.error == JobError(FailureReason.CRASHED)
    assert job.finished_at is not None
    assert jobs.due(10) == []
    assert not jobs.fail_attempt(job.id, 3, FailureReason.CRASHED, transient=True)


def test_a_lasting_failure_ends_the_job_at_once(jobs):
    job = jobs.submit(UUID, "HEAD")

    assert jobs.apply(event(job, 1, EventKind.FAILED, reason=FailureReason.REF_NOT_FOUND))

    job = jobs.get(job.id)
    assert (job.status, job.error) == (JobStatus.FAILED, JobError(FailureReason.REF_NOT_FOUND))
    assert not jobs.apply(event(job, 2))


def test_what_is_unchanged_is_done(jobs, world):
    world.publish(UUID, "HEAD", PUBLISHED, model=MODEL)
    job = jobs.submit(UUID, "HEAD")

    assert jobs.apply(event(job, 1, EventKind.UNCHANGED, repo_id=PUBLISHED.repo_id))

    job = jobs.get(job.id)
    assert (job.status, job.stage, job.repo_id) == (JobStatus.DONE, Stage.PUBLISHED, PUBLISHED.repo_id)
    assert job.finished_at is not None
    assert not jobs.apply(event(job, 2))


def test_what_is_unchanged_but_gone_meanwhile_is_indexed_in_earnest(jobs):
    job = jobs.submit(UUID, "HEAD")

    assert jobs.apply(event(job, 1, EventKind.UNCHANGED, repo_id=PUBLISHED.repo_id))

    job = jobs.get(job.id)
    assert (job.status, job.attempt, job.failures) == (JobStatus.PENDING, 2, 0)
    assert jobs.message(job.id, model=MODEL) == IndexJob(job.id, 2, UUID, "HEAD")


def test_a_job_is_silent_when_its_stage_has_said_nothing_for_its_limit(jobs, world):
    limits = {Stage.QUEUED: 100, Stage.FETCH: 10}
    queued, fetching, loading = (jobs.submit(UUID, ref) for ref in ("HEAD", "v1", "v2"))
    jobs.sent(queued.id, 1)
    jobs.apply(event(fetching, 1, stage=Stage.FETCH))
    jobs.apply(event(loading, 1, EventKind.SEALED, stage=Stage.SEAL))

    assert jobs.silent(limits, 10) == []
    world.age(11)
    assert jobs.silent(limits, 10) == [(fetching.id, 1, Stage.FETCH)]
    world.age(90)
    assert {one[0] for one in jobs.silent(limits, 10)} == {queued.id, fetching.id}
    assert len(jobs.silent(limits, 1)) == 1
    jobs.apply(event(fetching, 2, stage=Stage.FETCH))
    assert jobs.silent(limits, 10) == [(queued.id, 1, Stage.QUEUED)]


def test_a_job_whose_message_waits_to_be_sent_is_not_silent(jobs, world):
    jobs.submit(UUID, "HEAD")
    world.age(1_000)

    assert jobs.silent({Stage.QUEUED: 100}, 10) == []


def test_a_job_that_is_woken_begins_anew_without_a_failure(jobs):
    job = jobs.submit(UUID, "HEAD")
    jobs.sent(job.id, 1)
    jobs.apply(event(job, 7, counts={"spans": 4}))

    assert jobs.wake(job.id, 1)
    assert not jobs.wake(job.id, 1)

    job = jobs.get(job.id)
    assert (job.status, job.stage, job.attempt) == (JobStatus.PENDING, Stage.QUEUED, 2)
    assert (job.failures, job.counts) == (0, {})
    assert jobs.due(10) == [job.id]


def test_waking_all_wakes_the_live_and_no_other(jobs):
    pending, leased, failed = (jobs.submit(UUID, ref) for ref in ("HEAD", "v1", "v2"))
    jobs.sent(pending.id, 1)
    jobs.apply(event(leased, 1))
    jobs.fail_attempt(failed.id, 1, FailureReason.MOVED, transient=False)

    assert jobs.wake_all() == 2

    assert set(jobs.due(10)) == {pending.id, leased.id}
    assert [jobs.get(job.id).attempt for job in (pending, leased, failed)] == [2, 2, 1]


def test_fifty_submissions_at_once_make_one_job(database_url, connection):
    ids: list[str] = []
    barrier = threading.Barrier(50)

    def submit() -> None:
        database = open_database(database_url)
        store = PostgresJobStore(database)
        with database.session():
            barrier.wait()
        ids.append(store.submit(UUID, "HEAD").id)
        database.close()

    threads = [threading.Thread(target=submit) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(ids) == 50
    assert len(set(ids)) == 1
    assert connection.execute("select count(*) from jobs").fetchone() == (1,)


def test_a_job_that_ends_between_the_two_looks_of_a_submission_makes_room_for_another(database, connection):
    jobs = PostgresJobStore(database)
    first = jobs.submit(UUID, "HEAD")

    class EndsIt(psycopg.Cursor[Any]):
        def execute(self, query, *arguments, **options):
            if query == PostgresJobStore.LIVE:
                connection.execute("update jobs set status = 'failed' where id = %s", (first.id,))
            return super().execute(query, *arguments, **options)

    with database.session() as own:
        own.cursor_factory = EndsIt
    second = jobs.submit(UUID, "HEAD")

    assert second.id != first.id
    assert second.status is JobStatus.PENDING


def test_reports_that_race_are_applied_once_and_in_order(database_url, database):
    job = PostgresJobStore(database).submit(UUID, "HEAD")
    applied: list[int] = []
    barrier = threading.Barrier(8)

    def report(number: int) -> None:
        own = open_database(database_url)
        store = PostgresJobStore(own)
        barrier.wait()
        for sequence in range(1, 40):
            if store.apply(event(job, sequence, counts={"spans": sequence})):
                applied.append(sequence)
        own.close()

    threads = [threading.Thread(target=report, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(applied) == len(set(applied))
    assert PostgresJobStore(database).get(job.id).counts == {"spans": 39}


def test_a_report_that_a_ref_is_unchanged_keeps_older_jobs_from_leading_it_away(database, connection):
    PostgresWorld(connection).publish(UUID, "HEAD", PUBLISHED, model=MODEL)
    store = PostgresJobStore(database)
    job = store.submit(UUID, "HEAD")

    store.apply(event(job, 1, EventKind.UNCHANGED, repo_id=PUBLISHED.repo_id))

    orders = connection.execute(
        "select refs.job_order = jobs.job_order, refs.attempt from refs, jobs"
    ).fetchall()
    assert orders == [(True, 1)]


def test_the_hot_paths_take_few_statements(database: Database):
    store = PostgresJobStore(database)
    with counted(database) as submitting:
        job = store.submit(UUID, "HEAD")
    with counted(database) as again:
        store.submit(UUID, "HEAD")
    with counted(database) as sending:
        store.message(job.id, model=MODEL)
        store.sent(job.id, 1)
    with counted(database) as polling:
        store.get(job.id)
    with counted(database) as reporting:
        store.apply(event(job, 1))
    with counted(database) as late:
        store.apply(event(job, 1))

    counts = [len(statements) for statements in (submitting, again, sending, polling, reporting, late)]
    assert counts == [1, 2, 2, 1, 2, 1]
