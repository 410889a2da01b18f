import json

import pytest

from codetrail_local.client import ApiError, Client
from codetrail_local.indexing import Interrupted, JobFailed, index
from codetrail_local.replies import Job, UnexpectedReply
from tests.support.recorded_api import Recorded, recorded_api


class Seen:
    def __init__(self) -> None:
        self.stages: list[str] = []

    def step(self, words: str) -> None:
        self.stages.append(words)

    def job(self, job: Job) -> None:
        self.stages.append(job.progress.stage if job.progress else "")

    def done(self) -> None:
        self.stages.append("done")


def body(status="leased", stage="queued", **fields):
    job = {"id": "j", "remote": "https://github.com/a/b", "ref": "HEAD", "status": status, "repo_id": None}
    return json.dumps({**job, "progress": {"stage": stage, "counts": {}}, **fields}).encode()


@pytest.fixture
def api():
    with recorded_api() as api:
        api.answer("POST", "/api/repos", Recorded(body("pending"), 202))
        yield api


def follow(api, watcher=None, wait=lambda seconds: None, clock=lambda: 0.0):
    with Client(api.url, wait=lambda seconds: None) as client:
        return index(
            client, "https://github.com/a/b", "HEAD", watcher or Seen(), lasting=True, wait=wait, clock=clock
        )


def test_a_job_is_followed_to_its_end(api):
    done = body("done", "published", repo_id="9f2c1a7b3d5e4088")
    api.answer("GET", "/api/jobs/j", body(), body(stage="fetch"), body(stage="load"), done)
    seen = Seen()

    followed = follow(api, seen)

    assert followed.repo_id == "9f2c1a7b3d5e4088"
    assert followed.body == done
    assert seen.stages == ["queued", "fetch", "load"]


def test_a_failed_job_gives_its_sentence(api):
    failed = body(
        "failed", "resolve", error={"reason": "empty_repository", "sentence": "It has no commit yet."}
    )
    api.answer("GET", "/api/jobs/j", failed)

    with pytest.raises(JobFailed, match="It has no commit yet") as caught:
        follow(api)

    assert caught.value.body == failed
    assert not caught.value.passing


def test_an_api_that_restarts_is_waited_for(api):
    away = Recorded(b'{"error":"internal error"}', 500)
    api.answer("GET", "/api/jobs/j", body(), away, away, body("done", repo_id="9"))

    assert follow(api).repo_id == "9"


def test_an_api_that_stays_away_is_given_up(api):
    api.answer("GET", "/api/jobs/j", body(), Recorded(b'{"error":"internal error"}', 500))
    seconds = iter(range(0, 1000, 10))

    with pytest.raises(ApiError, match="failed with 500"):
        follow(api, clock=lambda: float(next(seconds)))


def test_a_job_that_is_gone_is_not_waited_for(api):
    api.answer("GET", "/api/jobs/j", Recorded(b'{"error":"no such job"}', 404))

    with pytest.raises(ApiError, match="no such job"):
        follow(api)


def test_polls_grow_rare_and_stay_bearable(api):
    api.answer("GET", "/api/jobs/j", *[body()] * 20, body("done", repo_id="9"))
    waits: list[float] = []

    follow(api, wait=waits.append)

    assert waits[0] < 0.1
    assert waits == sorted(waits)
    assert waits[-1] == 1.0


def test_ctrl_c_says_what_becomes_of_the_job(api):
    api.answer("GET", "/api/jobs/j", body())

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(Interrupted, match=r"the job goes on \(codetrail jobs j\)") as caught:
        follow(api, wait=interrupt)

    assert caught.value.exit_code == 130


@pytest.mark.parametrize("reply", [b"", b"[]", b"{}", b'{"id": 7}', b"<html>", b'{"status":"done"}'])
def test_an_answer_of_something_else_is_said(api, reply):
    api.answer("POST", "/api/repos", reply)

    with pytest.raises(UnexpectedReply, match="no job of codetrail's API"):
        follow(api)


def test_a_done_job_without_a_repository_is_said(api):
    api.answer("GET", "/api/jobs/j", body("done"))

    with pytest.raises(UnexpectedReply, match="names no repository"):
        follow(api)
