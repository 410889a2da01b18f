"""Sweeping and tracking, with jobs and queue in memory."""

import pytest

from codetrail.domain.job import (
    EventKind,
    FailureReason,
    IndexJob,
    JobError,
    JobEvent,
    JobStatus,
    LoadBatch,
    Stage,
)
from codetrail.errors import Unavailable
from codetrail.services.sweep import SILENCE_SECONDS, Swept, sweep
from codetrail.services.track import bury, track
from tests.support.fakes_jobs import FakeIndexQueue, FakeJobStore

UUID = "https://github.com/google/uuid"


@pytest.fixture
def jobs() -> FakeJobStore:
    return FakeJobStore()


@pytest.fixture
def queue() -> FakeIndexQueue:
    return FakeIndexQueue()


def run(jobs: FakeJobStore, queue: FakeIndexQueue, **more: bool) -> Swept:
    return sweep(model="fake/256", jobs=jobs, queue=queue, **more)


def test_every_stage_that_a_live_job_may_be_in_has_a_limit():
    assert set(SILENCE_SECONDS) == set(Stage) - {Stage.PUBLISHED}


def test_a_job_that_was_not_sent_is_sent_once(jobs, queue):
    job = jobs.submit(UUID, "HEAD")

    assert run(jobs, queue) == Swept(woken=0, silent=0, sent=1)
    assert run(jobs, queue) == Swept(woken=0, silent=0, sent=0)

    assert [message.job_id for message in queue.jobs] == [job.id]


def test_a_queue_that_does_not_answer_leaves_everything_due(jobs, queue):
    jobs.submit(UUID, "HEAD")
    jobs.submit(UUID, "v1")
    queue.refuses = True

    with pytest.raises(Unavailable):
        run(jobs, queue)

    queue.refuses = False
    assert run(jobs, queue).sent == 2


@pytest.mark.parametrize("stage", [Stage.RESOLVE, Stage.FETCH, Stage.CHUNK, Stage.SEAL, Stage.LOAD])
def test_an_attempt_that_stopped_without_a_word_is_tried_again_and_at_last_given_up(jobs, queue, stage):
    job = jobs.submit(UUID, "HEAD")
    for attempt in (1, 2, 3):
        run(jobs, queue)
        assert queue.jobs[-1].attempt == attempt
        track(JobEvent(job.id, attempt, 1, EventKind.PROGRESS, stage), jobs=jobs)
        jobs.age(SILENCE_SECONDS[stage])
        assert run(jobs, queue).silent == 0
        jobs.age(1)
        assert run(jobs, queue).silent == 1
        jobs.age(60)

    job = jobs.get(job.id)
    assert (job.status, job.error) == (JobStatus.FAILED, JobError(FailureReason.CRASHED))
    assert run(jobs, queue) == Swept(woken=0, silent=0, sent=0)
    assert len(queue.jobs) == 3


def test_a_job_that_only_waits_in_a_long_queue_is_sent_again_without_a_failure(jobs, queue):
    job = jobs.submit(UUID, "HEAD")
    run(jobs, queue)
    jobs.age(SILENCE_SECONDS[Stage.QUEUED] + 1)

    assert run(jobs, queue) == Swept(woken=0, silent=1, sent=1)

    assert [(message.job_id, message.attempt) for message in queue.jobs] == [(job.id, 1), (job.id, 2)]
    assert jobs.get(job.id).failures == 0


def test_waking_all_sends_every_live_job_again(jobs, queue):
    jobs.submit(UUID, "HEAD")
    run(jobs, queue)

    assert run(jobs, queue, wake_all=True) == Swept(woken=1, silent=0, sent=1)
    assert [message.attempt for message in queue.jobs] == [1, 2]


def test_a_dead_letter_ends_its_own_attempt_and_no_other(jobs):
    job = jobs.submit(UUID, "HEAD")

    bury(IndexJob(job.id, 1, UUID, "HEAD"), jobs=jobs)
    bury(LoadBatch(job.id, 1, "artifacts/…", "0" * 64, 3), jobs=jobs)
    bury(IndexJob("0" * 16, 1, UUID, "HEAD"), jobs=jobs)

    job = jobs.get(job.id)
    assert (job.status, job.attempt, job.failures) == (JobStatus.PENDING, 2, 1)
