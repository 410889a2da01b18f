"""What reaches the queues, against SQS as moto speaks it, and what becomes of a queue that refuses."""

from collections.abc import Mapping, Sequence

import boto3
import pytest
from botocore.config import Config

from codetrail.adapters.queue import SqsIndexQueue, SqsJobEvents, SqsLoadQueue, sqs
from codetrail.api.index import IndexMessage
from codetrail.api.load import LoadMessage
from codetrail.domain.job import EventKind, FailureReason, IndexJob, JobEvent, LoadBatch, Published, Stage
from codetrail.errors import Unavailable
from tests.support.cloud import loopback_cloud

JOB = IndexJob("job1", 2, "https://github.com/google/uuid", "HEAD", Published("a" * 16, "c" * 40, "f" * 16))


def batch(number: int) -> LoadBatch:
    return LoadBatch("job1", 2, "artifacts/x/y/manifest.json", "d" * 64, number)


@pytest.fixture(scope="module")
def cloud():
    with loopback_cloud() as cloud:
        yield cloud


class Flaky:
    """A queue that refuses some entries of a batch for some rounds."""

    def __init__(self, refusals: int) -> None:
        self.refusals = refusals
        self.sent: list[str] = []
        self.calls = 0

    def send_message(self, **request: object) -> object:
        raise AssertionError("batches are sent by the batch")

    def send_message_batch(self, **request: object) -> Mapping[str, Sequence[Mapping[str, str]]]:
        self.calls += 1
        entries = request["Entries"]
        assert isinstance(entries, list)
        refused = entries[::2] if self.calls <= self.refusals else []
        self.sent += [entry["MessageBody"] for entry in entries if entry not in refused]
        return {"Failed": [{"Id": entry["Id"]} for entry in refused]}


def test_a_job_arrives_as_it_was_sent(cloud):
    url = cloud.queue()
    SqsIndexQueue(sqs(), url).send(JOB)

    (body,) = cloud.drain(url)
    assert body["version"] == 1
    assert IndexMessage.model_validate(body).to_job() == JOB


@pytest.mark.parametrize("count", [0, 1, 10, 23])
def test_each_batch_arrives_however_many_there_are(cloud, count):
    url = cloud.queue()
    batches = [batch(number) for number in range(count)]
    SqsLoadQueue(sqs(), url).send(batches)

    arrived = [LoadMessage.model_validate(body).to_batch() for body in cloud.drain(url)]
    assert sorted(arrived, key=lambda one: one.batch) == batches


def test_an_event_arrives_with_all_that_it_says(cloud):
    url = cloud.queue()
    event = JobEvent(
        "job1",
        2,
        1_000_001,
        EventKind.FAILED,
        Stage.FETCH,
        {"files": 3},
        None,
        FailureReason.MOVED,
        transient=True,
    )
    SqsJobEvents(sqs(), url).send(event)

    assert cloud.drain(url) == [
        {
            "version": 1,
            "job_id": "job1",
            "attempt": 2,
            "sequence": 1_000_001,
            "kind": "failed",
            "stage": "fetch",
            "counts": {"files": 3},
            "repo_id": None,
            "reason": "moved",
            "transient": True,
        }
    ]


def test_entries_that_a_queue_refused_are_sent_again_and_the_others_are_not():
    queue = Flaky(refusals=2)
    SqsLoadQueue(queue, "url").send([batch(number) for number in range(10)])

    assert len(queue.sent) == len(set(queue.sent)) == 10
    assert queue.calls == 3


def test_entries_that_a_queue_goes_on_refusing_are_unavailable():
    with pytest.raises(Unavailable, match="refused"):
        SqsLoadQueue(Flaky(refusals=99), "url").send([batch(0)])


def test_a_queue_that_is_not_there_is_unavailable(cloud):
    gone = cloud.queue()
    cloud.sqs.delete_queue(QueueUrl=gone)

    for send in (
        lambda: SqsIndexQueue(sqs(), gone).send(JOB),
        lambda: SqsLoadQueue(sqs(), gone).send([batch(0)]),
    ):
        with pytest.raises(Unavailable):
            send()


def test_a_server_that_is_not_there_is_unavailable(cloud):
    nobody = boto3.client(
        "sqs",
        endpoint_url="http://127.0.0.1:9",
        config=Config(connect_timeout=1, retries={"total_max_attempts": 1}),
    )

    with pytest.raises(Unavailable):
        SqsIndexQueue(nobody, "http://127.0.0.1:9/1/q").send(JOB)
