"""SQS events of the load queue in, partial batch responses out."""

import json
import time

import pytest

from codetrail import wiring
from codetrail.adapters.bucket import S3Artifacts
from codetrail.adapters.postgres.load import PostgresLoadStore
from codetrail.domain.job import JobStatus
from functions.load.app import handler
from tests.functions.conftest import EMBEDDER, SPANS
from tests.support.bucket import Sealed, seal
from tests.support.events import Event, event
from tests.support.fakes_index import MemoryS3
from tests.support.invoke import invoke
from tests.support.revisions import COMMIT, contents

REMOTE = "https://github.com/google/uuid"


@pytest.fixture
def s3() -> MemoryS3:
    return MemoryS3()


@pytest.fixture(autouse=True)
def inside(database, s3, monkeypatch) -> None:
    monkeypatch.setattr(wiring, "loads", lambda: PostgresLoadStore(database))
    monkeypatch.setattr(wiring, "artifacts", lambda: S3Artifacts(s3, "artifacts"))


@pytest.fixture
def sealed(s3: MemoryS3) -> Sealed:
    held = contents(SPANS, EMBEDDER)
    return seal(S3Artifacts(s3, "artifacts"), held, remote=REMOTE, commit=COMMIT)


def deliver(sealed: Sealed, job_id: str, *numbers: int) -> Event:
    """The event of these batches, each in the shape of the sample."""
    sample = event("load")
    (record,) = sample["Records"]
    body = json.loads(record["body"]) | {
        "job_id": job_id,
        "manifest_key": sealed.key,
        "manifest_sha256": sealed.sha256,
    }
    sample["Records"] = [
        record | {"messageId": f"message-{number}", "body": json.dumps(body | {"batch": number})}
        for number in numbers
    ]
    return sample


def failed(response: Event) -> list[str]:
    return [failure["itemIdentifier"] for failure in response["batchItemFailures"]]


def test_the_messages_of_an_artifact_end_in_a_published_repository(sealed):
    job = wiring.jobs().submit(REMOTE, "HEAD")

    for number in range(len(sealed.manifest.batches)):
        assert invoke(handler, deliver(sealed, job.id, number)) == {"batchItemFailures": []}

    assert wiring.jobs().get(job.id).status is JobStatus.DONE
    assert wiring.repos().current(sealed.manifest.repo_id).commit == COMMIT


def test_a_batch_that_nobody_needs_any_more_is_consumed(sealed):
    assert failed(invoke(handler, event("load"))) == []


def test_only_the_message_that_is_not_understood_goes_back(sealed):
    job = wiring.jobs().submit(REMOTE, "HEAD")
    events = deliver(sealed, job.id, 0, 1, 2, 3)
    events["Records"][1]["body"] = "not JSON"
    events["Records"][2]["body"] = events["Records"][2]["body"].replace('"version": 1', '"version": 2')

    assert failed(invoke(handler, events)) == ["message-1", "message-2"]
    assert wiring.jobs().get(job.id).status is JobStatus.LEASED


def test_a_bucket_that_stays_away_sends_the_message_back(sealed, s3, monkeypatch):
    job = wiring.jobs().submit(REMOTE, "HEAD")
    s3.down = True
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)

    assert failed(invoke(handler, deliver(sealed, job.id, 0))) == ["message-0"]
    assert sum(waited) == 10
    assert wiring.jobs().get(job.id).status is JobStatus.PENDING
