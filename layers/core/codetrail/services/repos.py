"""Repositories for their callers: submit one, follow its job, list them, look at one and at its spans."""

import logging
from collections.abc import Collection
from datetime import datetime

from codetrail.domain.job import Job
from codetrail.domain.remote import admit, admit_ref
from codetrail.domain.repo import Revision
from codetrail.domain.span import Span
from codetrail.errors import Unavailable
from codetrail.services.outbox import deliver
from codetrail.services.ports import IndexQueue, JobStore, RepoStore

log = logging.getLogger(__name__)


def submit(
    remote: str,
    ref: str = "HEAD",
    *,
    hosts: Collection[str],
    local: bool,
    model: str,
    jobs: JobStore,
    queue: IndexQueue,
) -> Job:
    """Return the one live job of (*remote*, *ref*), on its way to the indexer. Raises NotAdmitted.

    A queue that does not answer is no trouble of the caller's: the job is kept, and sweep sends it.
    """
    job = jobs.submit(admit(remote, hosts, local), admit_ref(ref))
    try:
        deliver(job.id, model=model, jobs=jobs, queue=queue)
    except Unavailable:
        log.warning("left to sweep", extra={"job": job.id}, exc_info=True)
    return job


def get_job(job_id: str, *, jobs: JobStore) -> Job:
    """Return the job as it stands. Raises NotFound."""
    return jobs.get(job_id)


def list_jobs(*, limit: int, jobs: JobStore) -> list[Job]:
    """Return the newest jobs."""
    return jobs.recent(limit)


def list_repos(
    *,
    limit: int,
    hosts: Collection[str],
    local: bool,
    repos: RepoStore,
    remote: str | None = None,
    ref: str | None = None,
    after: tuple[datetime, str] | None = None,
) -> list[Revision]:
    """Return published repositories, newest first. With *remote*, only its own; with *ref* as well, what that
    ref named when it was last indexed here, whichever ref brought it here first. Raises NotAdmitted for a
    remote or ref that could not be."""
    return repos.list(
        remote=admit(remote, hosts, local) if remote is not None else None,
        ref=admit_ref(ref) if ref is not None else None,
        after=after,
        limit=limit,
    )


def get_repo(repo_id: str, *, repos: RepoStore) -> Revision:
    """Return what is published under *repo_id*. Raises NotFound or Gone."""
    return repos.current(repo_id)


def get_span(repo_id: str, span_id: str, *, repos: RepoStore) -> tuple[Revision, Span]:
    """Return a span and the revision that it is cited from. Raises NotFound or Gone."""
    revision = repos.current(repo_id)
    span = repos.span(revision, span_id)
    repos.used(repo_id)
    return revision, span


def remove_repo(repo_id: str, *, repos: RepoStore) -> None:
    """Remove a repository and all that is stored of it. Raises NotFound."""
    repos.remove(repo_id)
    log.info("removed", extra={"repo": repo_id})
