"""One contract of published revisions, held by the fake and by Postgres alike; then what only rows tell."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

import psycopg
import pytest

from codetrail.adapters.embedder.fake import FakeEmbedder
from codetrail.adapters.postgres.connection import Database
from codetrail.adapters.postgres.repos import PostgresRepoStore
from codetrail.domain.answer import staleness_note
from codetrail.domain.remote import remote_key
from codetrail.domain.repo import Revision
from codetrail.errors import NotFound
from codetrail.services.ports import RepoStore
from tests.support.database import counted
from tests.support.fakes_search import FakeRepoStore
from tests.support.revisions import COMMIT, INDEXED_AT, Contents, contents, span, write

EMBEDDER = FakeEmbedder(256)
UUID = "https://github.com/google/uuid"


class World(Protocol):
    """What a test may do to the world around a store: have a repository published that *ref* names."""

    def publish(
        self, remote: str, ref: str = "HEAD", *, minutes_ago: int = 0, span_id: str = "0" * 16
    ) -> Revision: ...


def made(remote: str, ref: str, minutes_ago: int, span_id: str) -> Contents:
    one = replace(span(0, "func Parse()", symbol="Parse"), id=span_id)
    held = contents([one], EMBEDDER, remote=remote)
    indexed_at = INDEXED_AT - timedelta(minutes=minutes_ago)
    return replace(held, revision=replace(held.revision, ref=ref, indexed_at=indexed_at))


class FakeWorld:
    def __init__(self, store: FakeRepoStore) -> None:
        self._store = store

    def publish(
        self, remote: str, ref: str = "HEAD", *, minutes_ago: int = 0, span_id: str = "0" * 16
    ) -> Revision:
        held = made(remote, ref, minutes_ago, span_id)
        self._store.publish(held)
        return held.revision


class PostgresWorld:
    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def publish(
        self, remote: str, ref: str = "HEAD", *, minutes_ago: int = 0, span_id: str = "0" * 16
    ) -> Revision:
        revision = write(self._connection, made(remote, ref, minutes_ago, span_id))
        self._connection.execute(
            "insert into refs (remote_key, ref, repo_id, job_order, attempt) values (%s, %s, %s, 1, 1)",
            (remote_key(remote), ref, revision.repo_id),
        )
        return revision


@pytest.fixture(params=["fake", "postgres"])
def store_and_world(request) -> tuple[RepoStore, World]:
    if request.param == "fake":
        store = FakeRepoStore()
        return store, FakeWorld(store)
    return PostgresRepoStore(request.getfixturevalue("database")), PostgresWorld(
        request.getfixturevalue("connection")
    )


@pytest.fixture
def store(store_and_world: tuple[RepoStore, World]) -> RepoStore:
    return store_and_world[0]


@pytest.fixture
def world(store_and_world: tuple[RepoStore, World]) -> World:
    return store_and_world[1]


@pytest.fixture
def repos(database: Database) -> PostgresRepoStore:
    return PostgresRepoStore(database)


def publish(
    connection: psycopg.Connection, remote: str, ref: str = "HEAD", *, minutes_ago: int = 0
) -> Revision:
    return PostgresWorld(connection).publish(remote, ref, minutes_ago=minutes_ago)


def ids(revisions: list[Revision]) -> list[str]:
    return [revision.repo_id for revision in revisions]


def test_a_published_repository_is_found_by_its_id(store, world):
    one = world.publish(UUID)
    world.publish("https://github.com/other/one")

    found = store.current(one.repo_id)

    assert (found.remote, found.ref, found.commit, found.indexed_at) == (UUID, "HEAD", COMMIT, INDEXED_AT)
    assert (found.revision, found.stats) == (one.revision, one.stats)


def test_a_repository_that_nobody_indexed_is_not_found(store):
    with pytest.raises(NotFound, match="no such repository"):
        store.current("0123456789abcdef")
    with pytest.raises(NotFound, match="no such repository"):
        store.remove("0123456789abcdef")


def test_a_span_is_found_by_its_id_in_its_own_revision_alone(store, world):
    one = world.publish(UUID)
    world.publish("https://github.com/other/one", span_id="f" * 16)

    assert store.span(one, "0" * 16).symbol == "Parse"
    with pytest.raises(NotFound, match="no such span"):
        store.span(one, "f" * 16)


def test_the_corpus_is_listed_newest_first_and_page_by_page(store, world):
    # Two of the same moment: their ids tell them apart, and neither is shown twice or lost between pages.
    published = [world.publish(f"https://github.com/o/r{n}", minutes_ago=n) for n in (5, 1, 2, 4)]
    published.append(world.publish("https://github.com/o/twin", minutes_ago=5))
    newest_first = sorted(published, key=lambda one: (one.indexed_at, one.repo_id), reverse=True)

    pages, after = [], None
    while page := store.list(remote=None, ref=None, after=after, limit=2):
        pages.append(ids(page))
        after = (page[-1].indexed_at, page[-1].repo_id)

    assert ids(store.list(remote=None, ref=None, after=None, limit=10)) == ids(newest_first)
    assert [len(page) for page in pages] == [2, 2, 1]
    assert [id_ for page in pages for id_ in page] == ids(newest_first)


def test_repositories_are_listed_by_remote_however_it_is_spelt(store, world):
    one = world.publish(UUID)
    world.publish("https://github.com/google/other")

    assert ids(store.list(remote="https://github.com/Google/UUID", ref=None, after=None, limit=10)) == [
        one.repo_id
    ]
    assert store.list(remote="https://github.com/google/uui", ref=None, after=None, limit=10) == []


def test_a_ref_lists_what_it_names_now(store, world):
    one = world.publish(UUID, "master")

    assert ids(store.list(remote=UUID, ref="master", after=None, limit=10)) == [one.repo_id]
    assert store.list(remote=UUID, ref="Master", after=None, limit=10) == []
    assert store.list(remote=UUID, ref="HEAD", after=None, limit=10) == []


def test_a_repository_that_was_removed_is_in_no_list_and_the_others_stay(store, world):
    one, other = world.publish(UUID), world.publish("https://github.com/google/other")

    store.remove(one.repo_id)

    assert ids(store.list(remote=None, ref=None, after=None, limit=10)) == [other.repo_id]
    with pytest.raises(NotFound, match="no such repository"):
        store.current(one.repo_id)


# Rows


def test_a_repository_that_is_still_loading_is_not_found(repos, connection):
    revision = publish(connection, UUID)
    connection.execute("update repos set current_revision = null, indexed_at = null")

    with pytest.raises(NotFound):
        repos.current(revision.repo_id)
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
