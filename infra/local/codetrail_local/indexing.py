"""Getting a repository into the index and waiting until it is there."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from codetrail_local.client import ApiError, Client
from codetrail_local.errors import Trouble
from codetrail_local.progress import Watcher
from codetrail_local.replies import Job, Repo, Repos, UnexpectedReply, read

# A small repository is done in under a second; a large one needs no poll more often than this.
FIRST_POLL_SECONDS = 0.05
LAST_POLL_SECONDS = 1.0
# How long the API may be away while a job is followed: a restart takes less.
ABSENCE_SECONDS = 30.0

# Failures that say nothing about the repository: what is indexed already is as good as before.
_PASSING = frozenset({"host_unreachable", "deadline", "crashed", "internal"})


@dataclass(frozen=True, slots=True)
class Followed:
    """A job that has ended well, its body as it came, and the repository that it made or found."""

    job: Job
    body: bytes
    repo_id: str


class JobFailed(Trouble):
    """The job ended badly; it says why."""

    def __init__(self, job: Job, body: bytes) -> None:
        super().__init__(job.why, body=body)
        self.job = job

    @property
    def passing(self) -> bool:
        """Whether the trouble lies outside the repository and may be over later."""
        return self.job.error is not None and self.job.error.reason in _PASSING


class Interrupted(Trouble):
    """Somebody pressed Ctrl-C while a job was followed. `lasting`: the API that works on it goes on."""

    exit_code = 130

    def __init__(self, job: Job, *, lasting: bool) -> None:
        after = f"goes on (codetrail jobs {job.id})" if lasting else "is kept and goes on when you ask again"
        super().__init__(f"stopped; the job {after}.")


def index(
    client: Client, remote: str, ref: str, watcher: Watcher, *, lasting: bool,
    wait: Callable[[float], None] = time.sleep, clock: Callable[[], float] = time.monotonic,
) -> Followed:  # fmt: skip
    """Submit *remote* at *ref* and follow the job to its end. Raises JobFailed, ApiError, Interrupted."""
    job = read(Job, client.submit(remote, ref))
    try:
        return _follow(client, job, watcher, wait, clock)
    except KeyboardInterrupt as error:
        raise Interrupted(job, lasting=lasting) from error


def published(client: Client, remote: str, ref: str) -> Repo | None:
    """Return what is indexed of *remote* at *ref* already, newest first."""
    found = read(Repos, client.repos(remote=remote, ref=ref, limit=1)).repos
    return found[0] if found else None


def _follow(
    client: Client, job: Job, watcher: Watcher, wait: Callable[[float], None], clock: Callable[[], float]
) -> Followed:
    pause, heard = FIRST_POLL_SECONDS, clock()
    while True:
        try:
            body = client.job(job.id)
        except ApiError as error:
            if 0 < error.status < 500 or clock() - heard > ABSENCE_SECONDS:
                raise
            wait(LAST_POLL_SECONDS)
            continue
        job, heard = read(Job, body), clock()
        if job.status == "failed":
            raise JobFailed(job, body)
        if job.status == "done":
            if not job.repo_id:
                raise UnexpectedReply("the job is done and names no repository: is this codetrail's API?")
            return Followed(job, body, job.repo_id)
        watcher.job(job)
        wait(pause)
        pause = min(pause * 1.5, LAST_POLL_SECONDS)
