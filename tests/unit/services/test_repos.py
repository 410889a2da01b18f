"""Submitting and reading repositories, with jobs and queue in memory."""

import pytest

from codetrail.domain.job import Published
from codetrail.errors import NotAdmitted, NotFound
from codetrail.services.repos import get_job, list_jobs, submit
from tests.support.fakes_jobs import FakeIndexQueue, FakeJobStore

UUID = "https://github.com/google/uuid"
PUBLISHED = Published("0123456789abcdef", "2d3c2a9cc518326daf99a383f07c4d3c44317e4d", "fedcba9876543210")


@pytest.fixture
def jobs() -> FakeJobStore:
    return FakeJobStore()


@pytest.fixture
def queue() -> FakeIndexQueue:
    return FakeIndexQueue()


@pytest.fixture
def send(jobs, queue):
    def submitted(remote: str = UUID, ref: str = "HEAD", *, local: bool = False):
        return submit(
            remote, ref, hosts=("github.com",), local=local, model="fake/256", jobs=jobs, queue=queue
        )

    return submitted


def test_a_submission_is_one_job_and_one_message(send, jobs, queue):
    job = send()

    assert [(message.job_id, message.remote, message.ref) for message in queue.jobs] == [
        (job.id, UUID, "HEAD")
    ]
    assert jobs.due(10) == []
    assert get_job(job.id, jobs=jobs).id == job.id


def test_submitting_again_gives_the_same_job_and_sends_nothing(send, queue):
    first = send()

    assert send("https://github.com/google/uuid.git").id == first.id
    assert len(queue.jobs) == 1


def test_the_message_tells_what_is_published_by_the_model_served(send, jobs, queue):
    jobs.publish(UUID, "HEAD", PUBLISHED, model="fake/256")
    jobs.publish(UUID, "old", PUBLISHED, model="another")

    send()
    send(ref="old")

    assert [message.published for message in queue.jobs] == [PUBLISHED, None]


def test_a_queue_that_does_not_answer_keeps_the_job_for_sweep(send, jobs, queue):
    queue.refuses = True

    job = send()

    assert jobs.due(10) == [job.id]


@pytest.mark.parametrize(
    ("remote", "ref", "rule"),
    [
        ("http://github.com/google/uuid", "HEAD", "scheme"),
        ("https://example.org/google/uuid", "HEAD", "host"),
        ("https://github.com/google", "HEAD", "form"),
        (UUID, "-x", "form"),
        ("/src/uuid", "HEAD", "scheme"),
    ],
)
def test_what_is_not_admitted_makes_no_job(send, jobs, remote, ref, rule):
    with pytest.raises(NotAdmitted) as refused:
        send(remote, ref)

    assert refused.value.rule == rule
    assert list_jobs(limit=10, jobs=jobs) == []


def test_a_local_path_is_admitted_where_local_remotes_are(send):
    assert send("/src/uuid", local=True).remote == "file:///src/uuid"


def test_there_is_no_job_of_an_unknown_id(jobs):
    with pytest.raises(NotFound):
        get_job("0" * 16, jobs=jobs)
