"""Published revisions, as readers see them in Postgres."""

from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from codetrail.adapters.embedder.fake import FakeEmbedder
from codetrail.adapters.postgres.connection import Database
from codetrail.adapters.postgres.repos import PostgresRepoStore
from codetrail.domain.answer import staleness_note
from codetrail.domain.repo import Revision
from codetrail.errors import NotFound
from tests.support.database import counted
from tests.support.revisions import contents, span, write

EMBEDDER = FakeEmbedder(256)
UUID = "https://github.com/google/uuid"


@pytest.fixture
def repos(database: Database) -> PostgresRepoStore:
    return PostgresRepoStore(database)


def publish(
    connection: psycopg.Connection, remote: str, ref: str = "HEAD", *, minutes_ago: int = 0
) -> Revision:
    """A published repository that *ref* names, indexed some minutes ago."""
    held = contents([span(0, "func Parse()", symbol="Parse")], EMBEDDER, remote=remote)
    revision = write(connection, held)
    connection.execute(
        "update repos set indexed_at = now() - make_interval(mins => %s), remote_key = lower(remote),"
        " ref = %s where repo_id = %s",
        (minutes_ago, ref, revision.repo_id),
    )
    connection.execute(
        "insert into refs (remote_key, ref, repo_id, job_order, attempt) values (%s, %s, %s, 1, 1)",
        (remote.casefold(), ref, revision.repo_id),
    )
    return revision


def ids(revisions: list[Revision]) -> list[str]:
    return [revision.repo_id for revision in revisions]


def test_a_repository_that_nobody_indexed_is_not_found(repos):
    with pytest.raises(NotFound, match="no such repository"):
        repos.current("0123456789abcdef")


def test_a_repository_that_is_still_loading_is_not_found(repos, connection):
    revision = publish(connection, UUID)
    connection.execute("update repos set current_revision = null, indexed_at = null")

    with pytest.raises(NotFound):
        repos.current(revision.repo_id)
    assert repos.list(remote=UUID, ref="HEAD", after=None, limit=10) == []


def test_a_span_is_found_by_its_id_in_its_own_revision_alone(repos, connection):
    one = publish(connection, UUID)
    other = publish(connection, "https://github.com/other/one")
    connection.execute("update spans set id = %s where revision = %s", ("f" * 16, other.revision))

    assert repos.span(one, "0" * 16).symbol == "Parse"
    with pytest.raises(NotFound, match="no such span"):
        repos.span(one, "f" * 16)


def test_the_corpus_is_listed_newest_first_and_page_by_page(repos, connection):
    published = [
        publish(connection, f"https://github.com/o/r{age}", minutes_ago=age) for age in (3, 1, 2, 5, 4)
    ]
    connection.execute(
        "update repos set indexed_at = (select min(indexed_at) from repos) where remote like '%r3'"
    )
    newest_first = ids(repos.list(remote=None, ref=None, after=None, limit=10))

    pages, after = [], None
    while page := repos.list(remote=None, ref=None, after=after, limit=2):
        pages.append(ids(page))
        after = (page[-1].indexed_at, page[-1].repo_id)

    assert sorted(newest_first) == sorted(ids(published))
    assert [len(page) for page in pages] == [2, 2, 1]
    assert [id_ for page in pages for id_ in page] == newest_first


def test_repositories_are_listed_by_remote_however_it_is_spelt(repos, connection):
    one = publish(connection, UUID)
    publish(connection, "https://github.com/google/other")

    assert ids(repos.list(remote="https://github.com/Google/UUID", ref=None, after=None, limit=10)) == [
        one.repo_id
    ]
    assert repos.list(remote="https://github.com/google/uui", ref=None, after=None, limit=10) == []


def test_a_ref_lists_what_it_names_now(repos, connection):
    one = publish(connection, UUID, "master")

    assert ids(repos.list(remote=UUID, ref="master", after=None, limit=10)) == [one.repo_id]
    assert repos.list(remote=UUID, ref="Master", after=None, limit=10) == []
    assert repos.list(remote=UUID, ref="HEAD", after=None, limit=10) == []


def test_a_commit_that_several_refs_name_is_shown_by_the_one_that_was_asked_for(repos, connection):
    one = publish(connection, UUID, "HEAD")
    for ref in ("main", "refs/tags/v1"):
        connection.execute(
            "insert into refs (remote_key, ref, repo_id, job_order, attempt) values (%s, %s, %s, 2, 1)",
            (UUID, ref, one.repo_id),
        )

    for ref in ("HEAD", "main", "refs/tags/v1"):
        (found,) = repos.list(remote=UUID, ref=ref, after=None, limit=10)
        assert (found.repo_id, found.ref) == (one.repo_id, ref)
        assert staleness_note(found, datetime.now(UTC)).endswith(f"whether {ref} has moved since.")
    assert repos.current(one.repo_id).ref == "HEAD"


def test_a_ref_that_stayed_is_not_said_to_have_moved_with_the_first_one(repos, connection):
    old = publish(connection, UUID, "HEAD", minutes_ago=5)
    connection.execute(
        "insert into refs (remote_key, ref, repo_id, job_order, attempt) values (%s, 'v1', %s, 1, 1)",
        (UUID, old.repo_id),
    )
    other = publish(connection, "https://github.com/google/other", "HEAD")
    connection.execute("update repos set commit = %s where repo_id = %s", ("f" * 40, other.repo_id))
    connection.execute(
        "update refs set repo_id = %s where remote_key = %s and ref = 'HEAD'", (other.repo_id, UUID)
    )

    (stayed,) = repos.list(remote=UUID, ref="v1", after=None, limit=10)

    assert (stayed.repo_id, stayed.newer_commit) == (old.repo_id, None)
    assert repos.current(old.repo_id).newer_commit == "f" * 40


def test_the_clock_of_the_last_use_is_wound_at_most_once_a_minute(repos, connection):
    revision = publish(connection, UUID)
    connection.execute("update repos set last_used_at = now() - interval '2 minutes'")
    before = repos.current(revision.repo_id).last_used_at

    repos.used(revision.repo_id)
    wound = repos.current(revision.repo_id).last_used_at
    repos.used(revision.repo_id)

    assert wound - before > timedelta(minutes=1)
    assert repos.current(revision.repo_id).last_used_at == wound


def test_reading_takes_one_statement_each(repos, database, connection):
    revision = publish(connection, UUID)

    with counted(database) as statements:
        repos.current(revision.repo_id)
        repos.span(revision, "0" * 16)
        repos.list(remote=UUID, ref="HEAD", after=None, limit=10)
        repos.used(revision.repo_id)

    assert len(statements) == 4
