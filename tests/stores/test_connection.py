"""The one connection of an environment: bounded, looked at before use, and dropped when it breaks."""

import socket
from collections.abc import Iterator

import psycopg
import pytest

from codetrail.adapters.postgres.connection import Database, signed_conninfo
from codetrail.errors import NotFound, Unavailable
from tests.support.database import DatabaseServer, open_database


def backend(database: Database) -> int:
    with database.session() as connection:
        return connection.info.backend_pid


def answer(database: Database) -> object:
    with database.session() as connection:
        return connection.execute("select 42").fetchall()


def test_the_connection_is_opened_at_first_use_and_used_again(database, connection):
    def opened() -> object:
        return connection.execute(
            "select count(*) from pg_stat_activity"
            " where application_name = 'codetrail' and datname = current_database()"
        ).fetchall()

    assert opened() == [(0,)]
    first = backend(database)
    assert opened() == [(1,)]
    assert backend(database) == first


def test_every_wait_has_an_end(database_url):
    database = open_database(database_url, statement_timeout_ms=3_000)
    with database.session() as connection:
        settings = {
            name: connection.execute("select current_setting(%s)", (name,)).fetchall()[0][0]
            for name in (
                "statement_timeout",
                "lock_timeout",
                "idle_in_transaction_session_timeout",
                "TimeZone",
            )
        }
        parameters = connection.info.get_parameters()
    database.close()

    assert settings["statement_timeout"] == "3s"
    assert settings["lock_timeout"] == "2s"
    assert settings["idle_in_transaction_session_timeout"] == "10s"
    assert (parameters["connect_timeout"], parameters["tcp_user_timeout"], parameters["keepalives"]) == (
        "3", "10000", "1",
    )  # fmt: skip


def test_nothing_is_prepared_on_the_server(database):
    for _ in range(20):
        answer(database)

    with database.session() as connection:
        assert connection.execute("select count(*) from pg_prepared_statements").fetchone() == (0,)


def test_a_server_that_ended_the_session_meanwhile_is_not_noticed_by_the_next_use(database, connection):
    before = backend(database)
    connection.execute("select pg_terminate_backend(%s, 5000)", (before,))

    assert answer(database) == [(42,)]
    assert backend(database) != before


def test_a_session_that_ends_under_a_statement_is_unavailable_and_the_next_use_is_well(database, connection):
    with pytest.raises(Unavailable), database.transaction() as session:
        session.execute("create table half (a int)")
        connection.execute("select pg_terminate_backend(%s, 5000)", (session.info.backend_pid,))
        session.execute("insert into half values (1)")

    assert answer(database) == [(42,)]
    with database.session() as session:
        assert session.execute("select to_regclass('half')").fetchone() == (None,)


def test_a_statement_that_takes_too_long_is_unavailable(database_url):
    database = open_database(database_url, statement_timeout_ms=100)

    with pytest.raises(Unavailable) as failed, database.session() as connection:
        connection.execute("select pg_sleep(600)")

    assert isinstance(failed.value.__cause__, psycopg.errors.QueryCanceled)
    assert answer(database) == [(42,)]
    database.close()


def test_a_lock_that_is_not_let_go_is_unavailable(database, connection):
    with connection.transaction():
        connection.execute("lock table jobs")
        with pytest.raises(Unavailable) as failed, database.session() as session:
            session.execute("select from jobs")

    assert isinstance(failed.value.__cause__, psycopg.errors.LockNotAvailable)


def test_a_server_that_became_read_only_is_left_for_another_connection(database):
    with database.session() as session:
        session.execute("set default_transaction_read_only = on")
    before = backend(database)

    with pytest.raises(Unavailable), database.session() as session:
        session.execute("create table t (a int)")

    assert backend(database) != before
    with database.session() as session:
        session.execute("create table t (a int)")


def test_trouble_of_ours_is_not_the_databases_and_keeps_the_connection(database):
    before = backend(database)

    with pytest.raises(psycopg.errors.UndefinedTable), database.transaction() as session:
        session.execute("select from nowhere")
    with pytest.raises(NotFound), database.transaction() as session:
        session.execute("create table half (a int)")
        raise NotFound("no such thing")

    assert backend(database) == before
    with database.session() as session:
        assert session.execute("select to_regclass('half')").fetchone() == (None,)


def test_a_database_without_a_schema_is_not_ready(database_server: DatabaseServer, database):
    with database_server.fresh(migrated=False) as url:
        empty = open_database(url)
        with pytest.raises(Unavailable, match="not migrated"):
            empty.check()
        empty.close()

    database.check()


@pytest.fixture
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DatabaseServer]:
    server = DatabaseServer(tmp_path_factory.mktemp("own"))
    server.start()
    yield server
    server.stop()


def test_a_server_that_is_away_is_met_once_at_each_use_and_found_again_when_it_is_back(own_server):
    met: list[str] = []

    def conninfo() -> str:
        met.append(own_server.url("postgres"))
        return met[-1]

    database = Database(conninfo, statement_timeout_ms=3_000)
    assert answer(database) == [(42,)]

    own_server.stop()
    for _ in range(3):
        with pytest.raises(Unavailable):
            answer(database)
    assert len(met) == 1 + 3
    own_server.start()

    assert answer(database) == [(42,)]
    database.close()


def test_a_server_that_says_nothing_is_left_at_the_connect_timeout(monkeypatch):
    monkeypatch.setattr("codetrail.adapters.postgres.connection.CONNECT_TIMEOUT_SECONDS", 1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        database = open_database(f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/none")

        with pytest.raises(Unavailable) as failed:
            answer(database)

    assert isinstance(failed.value.__cause__, psycopg.errors.ConnectionTimeout)


def test_a_token_is_signed_for_each_connect_and_the_server_proves_who_it_is(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-a-secret")

    conninfo = signed_conninfo("db.example", "codetrail", "codetrail_edge", "eu-central-1")
    settings = psycopg.conninfo.conninfo_to_dict(conninfo())

    assert (settings["host"], settings["port"], settings["dbname"]) == ("db.example", "5432", "codetrail")
    assert (settings["user"], settings["sslmode"]) == ("codetrail_edge", "verify-full")
    assert settings["sslrootcert"]
    assert str(settings["password"]).startswith("db.example:5432/?Action=connect&DBUser=codetrail_edge")
