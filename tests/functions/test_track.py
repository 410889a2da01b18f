"""SQS events of the job-events queue and of dead letters in; what a job's caller sees out."""

import json

import pytest

from codetrail import wiring
from codetrail.domain.job import JobStatus, Stage
from functions.track.app import handler
from tests.support.events import Event, event
from tests.support.invoke import invoke

REMOTE = "https://github.com/google/uuid"


@pytest.fixture
def job_id() -> str:
    return wiring.jobs().submit(REMOTE, "HEAD").id


def of(job_id: str, sample: Event, /, **changes: object) -> Event:
    """The sample's messages, about this job and with these fields changed."""
    for record in sample["Records"]:
        record["body"] = json.dumps(json.loads(record["body"]) | {"job_id": job_id} | changes)
    return sample


def failed(response: Event) -> list[str]:
    return [failure["itemIdentifier"] for failure in response["batchItemFailures"]]


def test_reports_become_what_the_caller_sees(job_id):
    assert failed(invoke(handler, of(job_id, event("track")))) == []

    job = wiring.jobs().get(job_id)
    assert (job.status, job.stage) == (JobStatus.LEASED, Stage.LOAD)
    assert job.counts == {"files": 29, "files_done": 12, "spans": 216, "loaded": 0}


def test_reports_that_come_backwards_and_twice_end_in_the_same(job_id):
    sample = of(job_id, event("track"))
    sample["Records"] = [*reversed(sample["Records"]), *sample["Records"]]

    assert failed(invoke(handler, sample)) == []

    job = wiring.jobs().get(job_id)
    assert (job.stage, job.counts) == (Stage.LOAD, {"files": 29, "spans": 216, "loaded": 0})


def test_a_report_of_a_job_that_nobody_knows_is_consumed():
    assert failed(invoke(handler, event("track"))) == []


def test_a_dead_letter_of_the_index_queue_ends_its_attempt(job_id):
    assert failed(invoke(handler, of(job_id, event("track.dead_letter")))) == []

    job = wiring.jobs().get(job_id)
    assert (job.status, job.attempt, job.failures) == (JobStatus.PENDING, 2, 1)


def test_a_dead_letter_of_the_load_queue_ends_its_attempt_once(job_id):
    dead = of(job_id, event("load"))

    assert failed(invoke(handler, dead)) == []
    assert failed(invoke(handler, dead)) == []

    job = wiring.jobs().get(job_id)
    assert (job.status, job.attempt, job.failures) == (JobStatus.PENDING, 2, 1)


def test_a_dead_letter_that_nobody_understands_does_not_go_round_for_ever(job_id):
    dead = event("track.dead_letter")
    dead["Records"][0]["body"] = "not JSON"

    assert failed(invoke(handler, dead)) == []
    assert wiring.jobs().get(job_id).failures == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 2},
        {"kind": "published"},
        {"stage": "lost"},
        {"attempt": 0},
        {"sequence": 2**70},
        {"counts": {"spans": -1}},
        {"counts": {"drop table jobs": 1}},
        {"counts": {f"c{'x' * number}": 1 for number in range(21)}},
        {"kind": "failed"},
        {"kind": "failed", "reason": "because"},
        {"reason": "crashed"},
        {"kind": "unchanged", "repo_id": None},
        {"repo_id": "../../etc"},
        {"job_id": "x" * 65},
        {"extra": True},
        {"transient": "yes"},
    ],
    ids=lambda changes: " ".join(f"{name} {str(value)[:20]}" for name, value in changes.items()),
)
def test_a_report_outside_its_bounds_goes_back_and_changes_nothing(job_id, changes):
    before = wiring.jobs().get(job_id)
    sample = of(job_id, event("track"), **changes)
    sample["Records"] = sample["Records"][:1]

    assert len(failed(invoke(handler, sample))) == 1
    assert wiring.jobs().get(job_id) == before
