"""Starting, stopping, and what is left when something is killed."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psycopg
import pytest

from codetrail_local.errors import AlreadyRunning
from codetrail_local.home import Home
from codetrail_local.postgres import EmbeddedPostgres
from codetrail_local.stack import borrowed
from tests.support.local_stack import toy_checkout, until
from tests.support.supervised import Supervised, alive

Start = Callable[..., Supervised]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    root = tmp_path / "root"
    root.mkdir()
    toy_checkout(root)
    started: list[Supervised] = []

    def begin(port: int = 0) -> Supervised:
        started.append(Supervised(tmp_path / "home", root=root, port=port))
        return started[-1]

    yield begin
    for one in started:
        one.stop()
    EmbeddedPostgres(tmp_path / "home" / "postgres").stop()


def everyone(stack: Supervised) -> set[int]:
    return {pid for pids in stack.processes().values() for pid in pids}


def answers(database: str) -> bool:
    try:
        with psycopg.connect(database) as connection:
            return connection.execute("select 1").fetchone() == (1,)
    except psycopg.OperationalError:
        return False


def ask(stack: Supervised, path: str = "/echo") -> httpx.Response:
    return httpx.get(f"{stack.api}{path}", trust_env=False, timeout=30)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_stack_that_is_told_to_stop_leaves_no_process_behind(start: Start, number: signal.Signals) -> None:
    stack = start().ready()
    assert ask(stack).status_code == 200
    processes = everyone(stack)
    assert len(processes) >= 3  # the supervisor, Postgres, the function that answered

    code = stack.stop(number)

    assert code == 0
    assert [pid for pid in processes if alive(pid)] == []
    assert Home(stack.home).running() is None
    assert stack.said() == ""


def test_stopping_goes_from_the_front_to_the_back(start: Start) -> None:
    """A request that runs is answered before its function, and the function's database, are gone."""
    stack = start().ready()
    ask(stack)
    database = stack.processes()["postgres"][0]
    seen: list[str] = []
    with socket.create_connection(("127.0.0.1", int(stack.api.rpartition(":")[2])), timeout=20) as connection:
        connection.sendall(b"GET /echo?sleep=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        until(lambda: "a handler that sleeps" in (stack.home / "logs" / "echo.log").read_text())
        stack.process.send_signal(signal.SIGTERM)
        if connection.recv(12) == b"HTTP/1.1 200":
            seen.append("answered")
        seen.append("Postgres up" if alive(database) else "Postgres gone")

    stack.stop()

    assert seen == ["answered", "Postgres up"]
    assert not alive(database)


def test_a_second_ctrl_c_ends_the_wait_for_what_runs_and_still_stops_everything(start: Start) -> None:
    stack = start().ready()
    ask(stack)
    processes = everyone(stack)
    with socket.create_connection(("127.0.0.1", int(stack.api.rpartition(":")[2])), timeout=20) as connection:
        connection.sendall(b"GET /echo?sleep=60 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        until(lambda: "a handler that sleeps" in (stack.home / "logs" / "echo.log").read_text())
        stack.process.send_signal(signal.SIGINT)
        until(lambda: Home(stack.home).running() is None)

        code = stack.stop(signal.SIGINT)

    assert code == 0
    assert [pid for pid in processes if alive(pid)] == []


# Waits again and again, nearly always in the few instructions at a wait's begin and end.
WAIT_OFTEN = """
import os, signal, sys
from pathlib import Path
from codetrail_local import stack

def tell(*_):
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:  # it does not wait yet
        signal.setitimer(signal.ITIMER_REAL, 0.0003)
    else:
        os.kill(os.getpid(), signal.SIGTERM)

stack.WATCH_SECONDS = 1e-6
signal.signal(signal.SIGALRM, tell)
for _ in range(500):
    waiting = stack.LocalStack(Path(sys.argv[1]), settings={})
    signal.setitimer(signal.ITIMER_REAL, 0.0003)
    waiting.wait()
    waiting.stop()
"""


def test_a_signal_to_stop_is_taken_at_whatever_moment_it_comes(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", WAIT_OFTEN, str(tmp_path / "home")], check=False, timeout=60)

    assert done.returncode == 0


def test_a_second_stack_says_where_the_first_one_runs_and_leaves_it_alone(start: Start) -> None:
    first = start().ready()

    second = start()
    code = second.process.wait(20)

    assert code == 1
    assert f"process {first.process.pid}" in second.said()
    assert first.api in second.said()
    assert "Traceback" not in second.said()
    assert ask(first).status_code == 200


def test_a_port_in_use_is_named_and_nothing_is_started(start: Start, tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        stack = start(port=port)
        code = stack.process.wait(20)

    assert code == 1
    assert f"port {port} is in use" in stack.said()
    assert "--port" in stack.said()
    assert "Traceback" not in stack.said()
    assert not (tmp_path / "home" / "postgres").exists()


def test_after_a_kill_the_functions_and_what_they_started_die_and_the_next_stack_adopts_postgres(
    start: Start,
) -> None:
    stack = start().ready()
    ask(stack)
    before = stack.processes()
    children = [
        pid for name, pids in before.items() if name not in ("supervisor", "postgres") for pid in pids
    ]
    assert children

    os.kill(stack.process.pid, signal.SIGKILL)
    stack.process.wait()

    until(lambda: not any(alive(pid) for pid in children))
    assert alive(before["postgres"][0])
    again = start().ready()
    assert again.processes()["postgres"] == before["postgres"]
    assert ask(again).status_code == 200


def test_a_child_of_a_function_dies_with_a_supervisor_that_is_killed(start: Start, tmp_path: Path) -> None:
    root = tmp_path / "root" / "functions" / "echo" / "app.py"
    root.write_text(
        "import subprocess, sys, time\n"
        "def handler(event, context):\n"
        "    child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"    open({str(tmp_path / 'child')!r}, 'w').write(str(child.pid))\n"
        "    while True: pass\n"
    )
    stack = start().ready()
    with socket.create_connection(("127.0.0.1", int(stack.api.rpartition(":")[2])), timeout=20) as connection:
        connection.sendall(b"GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n")
        until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text())
        child = int((tmp_path / "child").read_text())
        (worker,) = stack.processes()["echo"]
        assert alive(child)

        os.kill(stack.process.pid, signal.SIGKILL)

        until(lambda: not alive(child) and not alive(worker))


def test_what_a_killed_stack_left_in_its_scratch_folder_is_removed(start: Start) -> None:
    stack = start().ready()
    ask(stack)
    os.kill(stack.process.pid, signal.SIGKILL)
    stack.process.wait()
    left = set((stack.home / "scratch").iterdir())
    assert left

    again = start().ready()

    assert not left & set((again.home / "scratch").glob("*"))


def test_a_postgres_that_is_killed_is_started_again_where_the_functions_look_for_it(start: Start) -> None:
    stack = start().ready()
    url = ask(stack).json()["variables"]["DATABASE_URL"]
    (first,) = stack.processes()["postgres"]

    os.kill(first, signal.SIGKILL)

    until(lambda: answers(url), seconds=15)
    assert stack.processes()["postgres"] not in ([], [first])


def test_a_function_that_is_killed_is_started_again_at_the_next_request(start: Start) -> None:
    stack = start().ready()
    first = ask(stack).json()["pid"]

    os.kill(first, signal.SIGKILL)
    until(lambda: not alive(first))

    second = ask(stack)
    assert second.status_code == 200
    assert second.json()["pid"] != first


HOLD = """
import sys, time
from pathlib import Path
from codetrail_local.stack import borrowed

home, root, let_go = map(Path, sys.argv[1:])
with borrowed(home, root=root, settings={}) as found:
    print(found.api, found.lasting, flush=True)
    while not let_go.exists():
        time.sleep(0.02)
"""


def test_two_commands_at_once_share_one_stack_that_stays_until_both_are_done(
    start: Start, tmp_path: Path
) -> None:
    home, root = tmp_path / "home", tmp_path / "root"
    signals = [tmp_path / "first", tmp_path / "second"]
    commands = [
        subprocess.Popen(
            [sys.executable, "-c", HOLD, str(home), str(root), str(let_go)], stdout=subprocess.PIPE, text=True
        )
        for let_go in signals
    ]
    said = [one.stdout.readline().split() for one in commands if one.stdout is not None]
    assert said[0] == said[1]
    assert said[0][1] == "False"
    running = Home(home).running()
    assert running is not None
    owner = next(number for number, one in enumerate(commands) if one.pid == running.pid)

    signals[owner].touch()  # the one that started it is done first
    assert httpx.get(f"{said[0][0]}/echo", trust_env=False, timeout=30).status_code == 200
    signals[1 - owner].touch()

    assert [one.wait(30) for one in commands] == [0, 0]
    for one in commands:
        assert one.stdout is not None
        one.stdout.close()
    assert not EmbeddedPostgres(home / "postgres").running()
    assert not Home(home).held()


def test_a_command_that_needs_a_stack_of_its_own_waits_for_another_ones_to_be_gone(
    start: Start, tmp_path: Path
) -> None:
    home, root, let_go = tmp_path / "home", tmp_path / "root", tmp_path / "let go"
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home), str(root), str(let_go)], stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    assert other.stdout.readline().split()[1:] == ["False"]

    def alone() -> int:
        with borrowed(home, root=root, settings={}, alone=True):
            running = Home(home).running()
            assert running is not None
            return running.pid

    with ThreadPoolExecutor(1) as beside:
        waiting = beside.submit(alone)
        let_go.touch()
        assert waiting.result(60) == os.getpid()

    assert other.wait(30) == 0
    other.stdout.close()


def test_a_stack_of_ones_own_is_refused_at_once_beside_one_that_lasts(start: Start, tmp_path: Path) -> None:
    stack = start().ready()

    with (
        pytest.raises(AlreadyRunning, match=f"process {stack.process.pid}"),
        borrowed(stack.home, root=tmp_path / "root", settings={}, alone=True),
    ):
        pass


def test_a_command_uses_the_stack_that_runs_and_leaves_it_running(start: Start) -> None:
    stack = start().ready()

    with borrowed(stack.home) as found:
        assert (found.api, found.lasting) == (stack.api, True)

    assert ask(stack).status_code == 200
