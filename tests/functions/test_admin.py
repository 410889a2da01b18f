"""What an operator asks for in, what was done out."""

import pytest
from pydantic import ValidationError

from codetrail import wiring
from codetrail.adapters.postgres.migrate import DIRECTORY
from codetrail.errors import NotFound
from functions.admin.app import handler
from tests.support.database import DatabaseServer, open_database
from tests.support.events import event
from tests.support.invoke import invoke

REMOTE = "https://github.com/google/uuid"


@pytest.fixture
def empty_database(database_server: DatabaseServer, monkeypatch):
    with database_server.fresh(migrated=False) as url:
        database = open_database(url)
        monkeypatch.setattr(wiring, "database", lambda: database)
        yield
        database.close()


def test_migrating_brings_a_new_database_up_to_date_once(empty_database):
    assert invoke(handler, event("admin")) == {
        "applied": [path.stem for path in sorted(DIRECTORY.glob("*.sql"))]
    }
    assert invoke(handler, event("admin")) == {"applied": []}


def test_removing_a_repository_takes_it_from_its_readers(published):
    repo_id = published.revision.repo_id

    assert invoke(handler, {"action": "rm", "repo_id": repo_id}) == {"removed": repo_id}

    with pytest.raises(NotFound):
        wiring.repos().current(repo_id)
    with pytest.raises(NotFound):
        invoke(handler, {"action": "rm", "repo_id": repo_id})


def test_jobs_are_listed_newest_first():
    older, newer = (wiring.jobs().submit(REMOTE, ref).id for ref in ("HEAD", "v1"))

    assert [job["id"] for job in invoke(handler, {"action": "jobs"})["jobs"]] == [newer, older]
    assert [job["id"] for job in invoke(handler, {"action": "jobs", "limit": 1})["jobs"]] == [newer]


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"action": "drop"},
        {"action": "rm"},
        {"action": "rm", "repo_id": "all"},
        {"action": "jobs", "limit": 0},
    ],
    ids=str,
)
def test_what_is_not_understood_is_refused_and_nothing_is_done(asked, published):
    with pytest.raises(ValidationError):
        invoke(handler, asked)

    assert wiring.repos().current(published.revision.repo_id)
