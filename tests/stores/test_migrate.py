import threading
from pathlib import Path

import psycopg
import pytest

from codetrail.adapters.postgres.migrate import DIRECTORY, MigrationError, migrate, read
from tests.support.database import DatabaseServer, open_database


@pytest.fixture
def empty_url(database_server: DatabaseServer):
    with database_server.fresh(migrated=False) as url:
        yield url


@pytest.fixture
def empty_database(empty_url: str):
    database = open_database(empty_url)
    yield database
    database.close()


def folder(tmp_path: Path, **files: str) -> Path:
    for name, text in files.items():
        (tmp_path / f"{name}.sql").write_text(text)
    return tmp_path


def tables(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute("select tablename from pg_tables where schemaname = 'public'").fetchall()
    return {name for (name,) in rows}


def test_a_new_database_gets_every_migration_once(empty_url, empty_database):
    first = migrate(empty_database)
    second = migrate(empty_database)

    assert first == [path.stem for path in sorted(DIRECTORY.glob("*.sql"))]
    assert second == []
    assert {"repos", "revisions", "spans", "jobs", "vectors_384", "cached_vectors_1024"} <= tables(empty_url)


def test_twenty_starters_at_once_leave_one_ledger(empty_url, tmp_path):
    directory = folder(
        tmp_path,
        m0001_one="create table one (a int)",
        m0002_fill="insert into one select generate_series(1, 2000)",
        m0003_index="-- no transaction\ncreate index concurrently if not exists one_by_a on one (a)",
    )
    for path in list(directory.iterdir()):
        path.rename(path.with_name(path.name[1:]))
    applied: list[list[str]] = []
    failures: list[BaseException] = []
    barrier = threading.Barrier(20)

    def start() -> None:
        database = open_database(empty_url)
        barrier.wait()
        try:
            applied.append(migrate(database, directory=directory))
        except BaseException as error:
            failures.append(error)
        finally:
            database.close()

    threads = [threading.Thread(target=start) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert sorted(applied)[-1] == ["0001_one", "0002_fill", "0003_index"]
    assert sum(map(len, applied)) == 3
    with psycopg.connect(empty_url) as connection:
        assert connection.execute("select count(*) from one").fetchone() == (2000,)
        assert connection.execute("select bool_and(indisvalid) from pg_index").fetchone() == (True,)


def test_a_failed_migration_leaves_nothing_and_the_next_start_goes_on(empty_url, empty_database, tmp_path):
    (tmp_path / "0001_one.sql").write_text("create table one (a int); create table two (a nonsense)")

    with pytest.raises(psycopg.errors.UndefinedObject):
        migrate(empty_database, directory=tmp_path)
    assert tables(empty_url) == {"schema_migrations"}

    (tmp_path / "0001_one.sql").write_text("create table one (a int); create table two (a int)")
    assert migrate(empty_database, directory=tmp_path) == ["0001_one"]


def test_an_index_that_a_killed_build_left_invalid_is_built_again(empty_url, empty_database, tmp_path):
    (tmp_path / "0001_one.sql").write_text("create table one (a int); insert into one values (1), (1)")
    migrate(empty_database, directory=tmp_path)
    with psycopg.connect(empty_url, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("create unique index concurrently one_by_a on one (a)")
        connection.execute("delete from one")

    (tmp_path / "0002_index.sql").write_text(
        "-- no transaction\ncreate unique index concurrently if not exists one_by_a on one (a)"
    )
    migrate(empty_database, directory=tmp_path)

    with psycopg.connect(empty_url) as connection:
        assert connection.execute(
            "select indisvalid from pg_index where indexrelid = 'one_by_a'::regclass"
        ).fetchall() == [(True,)]


def test_a_migration_edited_after_it_was_applied_is_refused(empty_url, empty_database, tmp_path):
    (tmp_path / "0001_one.sql").write_text("create table one (a int)")
    migrate(empty_database, directory=tmp_path)

    (tmp_path / "0001_one.sql").write_text("create table one (a bigint)")

    with pytest.raises(MigrationError, match="0001_one was edited"):
        migrate(empty_database, directory=tmp_path)


def test_a_database_newer_than_the_code_is_refused(empty_url, empty_database, tmp_path):
    (tmp_path / "0001_one.sql").write_text("create table one (a int)")
    (tmp_path / "0002_two.sql").write_text("create table two (a int)")
    migrate(empty_database, directory=tmp_path)

    (tmp_path / "0002_two.sql").unlink()

    with pytest.raises(MigrationError, match="0002_two"):
        migrate(empty_database, directory=tmp_path)


def test_a_migration_numbered_before_an_applied_one_is_refused(empty_url, empty_database, tmp_path):
    (tmp_path / "0002_two.sql").write_text("create table two (a int)")
    migrate(empty_database, directory=tmp_path)

    (tmp_path / "0001_one.sql").write_text("create table one (a int)")

    with pytest.raises(MigrationError, match="0001_one comes before"):
        migrate(empty_database, directory=tmp_path)


@pytest.mark.parametrize("name", ["one.sql", "1_one.sql", "0001-one.sql"])
def test_a_file_without_a_number_is_refused(tmp_path, name):
    (tmp_path / name).write_text("select 1")

    with pytest.raises(MigrationError, match="is named like"):
        read(tmp_path)


def test_a_number_used_twice_is_refused(tmp_path):
    (tmp_path / "0001_one.sql").write_text("select 1")
    (tmp_path / "0001_two.sql").write_text("select 1")

    with pytest.raises(MigrationError, match="used by 0001_one"):
        read(tmp_path)
