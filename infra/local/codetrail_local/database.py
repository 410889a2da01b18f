"""What an operator does on the local database, as the admin function does on AWS: list jobs, remove.

The database of a stack that runs is used beside it; otherwise Postgres alone is started for it, and nothing
is indexed meanwhile.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from codetrail.adapters.postgres.connection import Database
from codetrail.adapters.postgres.jobs import PostgresJobStore
from codetrail.adapters.postgres.migrate import migrate
from codetrail.adapters.postgres.repos import PostgresRepoStore
from codetrail.api.admin import JobsResponse
from codetrail.api.repos import JobResponse
from codetrail.domain.repo import Revision
from codetrail.errors import CodetrailError
from codetrail.services import repos
from codetrail_local.errors import Trouble
from codetrail_local.home import Home
from codetrail_local.postgres import EmbeddedPostgres

# Removing a large repository is one statement.
STATEMENT_TIMEOUT_MS = 600_000
# More commits of one repository than anybody keeps.
MAX_COMMITS = 1_000


@contextmanager
def database(home: Path) -> Iterator[Database]:
    """Open the database of *home*. Raises AlreadyRunning while a stack starts or stops there."""
    place = Home(home)
    postgres = EmbeddedPostgres(place.postgres)
    if place.running() is not None:
        with place.visit(), _opened(postgres) as opened:
            yield opened
        return
    place.acquire()
    try:
        with _opened(postgres) as opened:
            migrate(opened)
            yield opened
    finally:
        postgres.stop()
        place.release()


def jobs(home: Path, limit: int) -> bytes:
    """The newest jobs, as the admin function answers them."""
    with database(home) as opened:
        listed = repos.list_jobs(limit=limit, jobs=PostgresJobStore(opened))
    return JobsResponse.of(listed).model_dump_json().encode()


def job(home: Path, job_id: str) -> bytes:
    """One job, as the API answers it. Raises Trouble for one that is not there."""
    with database(home) as opened:
        return JobResponse.of(PostgresJobStore(opened).get(job_id)).model_dump_json().encode()


def revisions(home: Path, remote: str) -> Sequence[Revision]:
    """What is published of a remote, newest first."""
    with database(home) as opened:
        return PostgresRepoStore(opened).list(remote=remote, ref=None, after=None, limit=MAX_COMMITS)


def remove(home: Path, repo_ids: Sequence[str]) -> None:
    """Remove repositories and all that is stored of them. Raises Trouble for one that is not there."""
    with database(home) as opened:
        for repo_id in repo_ids:
            repos.remove_repo(repo_id, repos=PostgresRepoStore(opened))


@contextmanager
def _opened(postgres: EmbeddedPostgres) -> Iterator[Database]:
    url = postgres.start()  # of one that runs already it only learns where
    opened = Database(lambda: url, statement_timeout_ms=STATEMENT_TIMEOUT_MS)
    try:
        yield opened
    except CodetrailError as error:
        raise Trouble(str(error)) from error
    finally:
        opened.close()
