"""The embedded Postgres and everything that may lie in its way."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from codetrail_local.errors import PostgresError, WrongMajor
from codetrail_local.postgres import EmbeddedPostgres
from tests.support.local_stack import until
from tests.support.supervised import alive

ROOT = Path(__file__).parents[2]


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[EmbeddedPostgres]:
    # Quotes, spaces and a dollar in the path; a parent that only its owner may enter.
    parent = tmp_path / 'it\'s "$HOME" `here`'
    parent.mkdir(mode=0o700)
    postgres = EmbeddedPostgres(parent / "home", durable=False)
    yield postgres
    postgres.stop()


def one(url: str, question: str = "select 1") -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        answer = connection.execute(question.encode())
        row = answer.fetchone() if answer.description else None
    return row[0] if row else None


def start_in_a_process(home: Path, path: str) -> subprocess.CompletedProcess[str]:
    code = (
        "import sys; from pathlib import Path; from codetrail_local.postgres import EmbeddedPostgres as E;"
        "from codetrail_local.errors import LocalError\n"
        "try: E(Path(sys.argv[1]), durable=False).start()\n"
        "except LocalError as error: sys.exit(str(error))"
    )
    return subprocess.run(
        [sys.executable, "-c", code, str(home)],
        env={"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_starts_stops_and_keeps_what_was_written_in_any_folder(postgres: EmbeddedPostgres) -> None:
    url = postgres.start()
    one(url, "create table kept as select 42 as number")
    pid = postgres.pid
    assert pid is not None

    postgres.stop()

    assert not alive(pid)
    assert one(postgres.start(), "select number from kept") == 42
    assert one(postgres.url, "select count(*) from pg_available_extensions where name = 'vector'") == 1


def test_it_listens_on_loopback_only_and_asks_for_the_password(postgres: EmbeddedPostgres) -> None:
    url = postgres.start()

    assert one(url, "show listen_addresses") == "127.0.0.1"
    with pytest.raises(psycopg.OperationalError, match="password"):
        one(url.replace(url.split(":")[2].split("@")[0], "guess"))


def test_a_server_that_runs_already_is_taken_over(postgres: EmbeddedPostgres) -> None:
    url = postgres.start()

    other = EmbeddedPostgres(postgres.home, durable=False)

    assert other.start() == url
    assert other.pid == postgres.pid
    other.stop()
    assert not postgres.running()


def test_after_a_kill_it_starts_again_on_the_same_port_with_all_that_was_committed(tmp_path: Path) -> None:
    postgres = EmbeddedPostgres(tmp_path / "home")
    url = postgres.start()
    one(url, "create table kept as select 42 as number")
    assert postgres.pid is not None
    os.kill(postgres.pid, signal.SIGKILL)
    until(lambda: not postgres.running())

    assert postgres.start() == url
    assert one(url, "select number from kept") == 42
    postgres.stop()


def test_a_stale_number_that_is_somebody_elses_process_by_now_is_no_hindrance(
    postgres: EmbeddedPostgres,
) -> None:
    postgres.start()
    stale = (postgres.data / "postmaster.pid").read_text()
    postgres.stop()
    (postgres.data / "postmaster.pid").write_text("\n".join([str(os.getpid()), *stale.split("\n")[1:]]))

    assert not postgres.running()
    assert one(postgres.start()) == 1
    assert postgres.pid != os.getpid()


def test_what_a_crash_during_the_making_left_is_removed(postgres: EmbeddedPostgres) -> None:
    left = postgres.home / "cluster.new-dead"
    (left / "data").mkdir(parents=True)
    (left / "data" / "PG_VERSION").write_text("18\n")

    assert one(postgres.start()) == 1
    assert not left.exists()


def test_a_data_folder_of_another_major_is_named_with_both_and_the_way_out(
    postgres: EmbeddedPostgres,
) -> None:
    postgres.start()
    postgres.stop()
    (postgres.data / "PG_VERSION").write_text("16\n")

    with pytest.raises(WrongMajor) as caught:
        postgres.start()

    message = str(caught.value)
    assert "Postgres 16" in message
    assert "Postgres 18" in message
    assert "codetrail doctor --remake" in message
    postgres.remake()
    assert one(postgres.start()) == 1


def test_a_folder_that_is_no_data_folder_is_said_with_the_way_out(postgres: EmbeddedPostgres) -> None:
    postgres.cluster.mkdir(parents=True)

    with pytest.raises(PostgresError, match="codetrail doctor --remake"):
        postgres.start()


def test_the_end_of_its_log_is_in_the_error(postgres: EmbeddedPostgres) -> None:
    postgres.start()
    postgres.stop()
    with (postgres.data / "postgresql.conf").open("a") as settings:
        settings.write("no_such_setting = 1\n")

    with pytest.raises(PostgresError, match="no_such_setting"):
        postgres.start()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root needs another user's name")
def test_without_unshare_root_is_told_to_be_somebody_else(tmp_path: Path) -> None:
    done = start_in_a_process(tmp_path / "home", path=str(tmp_path))

    assert done.returncode == 1
    assert "`unshare`" in done.stderr
    assert "ordinary user" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root needs another user's name")
def test_where_user_namespaces_are_forbidden_root_is_told_to_be_somebody_else(tmp_path: Path) -> None:
    refusing = tmp_path / "unshare"
    refusing.write_text("#!/bin/sh\necho 'unshare failed: Operation not permitted' >&2\nexit 1\n")
    refusing.chmod(0o755)

    done = start_in_a_process(tmp_path / "home", path=f"{tmp_path}:/usr/bin:/bin")

    assert done.returncode == 1
    assert "user namespaces" in done.stderr
    assert "Operation not permitted" in done.stderr
    assert "Traceback" not in done.stderr
