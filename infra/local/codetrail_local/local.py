"""The codetrail of this machine: run it, stop it, say how it is."""

import os
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from codetrail_local.client import ApiError, Client
from codetrail_local.errors import LocalError, Trouble
from codetrail_local.home import Home
from codetrail_local.postgres import EmbeddedPostgres
from codetrail_local.progress import watching
from codetrail_local.replies import Jobs, Repos, read
from codetrail_local.session import Place, checked_settings
from codetrail_local.terminal import Terminal, visible_line

# A stack may have a job to set aside, sessions to end and a database to close.
STOP_SECONDS = 60.0
POLL_SECONDS = 0.1
PAGE = 50


def up(terminal: Terminal, place: Place, port: int) -> int:
    """Serve the API on this machine until told to stop."""
    from codetrail_local.stack import LocalStack  # noqa: PLC0415 - no other command here needs it, and it is slow

    with watching(terminal.err, quiet=terminal.quiet) as watcher:
        stack = LocalStack(
            place.home, port=port, lasting=True, settings=checked_settings(), step=watcher.step
        )
        stack.start()
    try:
        terminal.say(_welcome(stack.api, place.home))
        terminal.out.flush()
        stack.wait()
        terminal.note("Stopping.")
    finally:
        stack.stop()
    return 0


def down(terminal: Terminal, place: Place) -> int:
    """Stop what `up` started, and a database that a killed one left behind."""
    home = Home(place.home)
    running = home.running()
    if running is None:
        return _sweep_up(terminal, home)
    if not running.lasting:
        raise Trouble(
            f"another command uses codetrail here (process {running.pid}); it stops when that is done."
        )
    with suppress(ProcessLookupError):  # it may have gone just now
        os.kill(running.pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while home.held():
        if time.monotonic() > deadline:
            raise Trouble(f"process {running.pid} does not stop. What it does is in {home.logs}.")
        time.sleep(POLL_SECONDS)
    terminal.say("Stopped.")
    return 0


def status(terminal: Terminal, place: Place) -> int:
    """Say what runs where, and what it holds."""
    if place.api:
        return _status_of(terminal, place)
    home = Home(place.home)
    running = home.running()
    database = EmbeddedPostgres(home.postgres).pid
    if running is None:
        terminal.say(f"codetrail is {'starting or stopping' if home.held() else 'not running'}.")
    else:
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(running.started))
        terminal.say(f"codetrail runs at {running.api}")
        terminal.say(
            f"  process   {running.pid}, since {since}{'' if running.lasting else ', for one command'}"
        )
    terminal.say(f"  data      {visible_line(str(home.folder))}, {megabytes(folder_bytes(home.folder))}")
    terminal.say(f"  postgres  {f'process {database}' if database else 'not running'}")
    if running is not None:
        with Client(running.api) as client:
            terminal.say(f"  api       {'ready' if client.ready() else 'not ready'}")
            terminal.say(f"  holds     {_corpus(client)}")
        terminal.say(f"  jobs      {_jobs(place.home)}")
    return 0


def folder_bytes(folder: Path) -> int:
    """How much *folder* takes; what disappears or may not be read while we look is not counted."""
    total = 0
    for base, _, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(f"{base}/{name}").st_blocks * 512
            except OSError:
                continue
    return total


def megabytes(size: int) -> str:
    """A size for a person."""
    return f"{size / 1024**2:,.0f} MB"


def _welcome(api: str, home: Path) -> str:
    return f"""\
The API is at {api}

  codetrail ask https://github.com/google/uuid "how is a v7 UUID generated"
  curl {api}/api/repos

Data lie in {visible_line(str(home))}. Ctrl-C stops everything."""


def _sweep_up(terminal: Terminal, home: Home) -> int:
    if home.held():
        raise Trouble("codetrail is starting or stopping just now; try again in a moment.")
    postgres = EmbeddedPostgres(home.postgres)
    if postgres.running():
        postgres.stop()
        terminal.say("Stopped a database that a killed codetrail had left behind.")
    else:
        terminal.say("Nothing runs.")
    return 0


def _status_of(terminal: Terminal, place: Place) -> int:
    with Client(place.api, place.key) as client:
        if not client.ready():
            raise Trouble(f"the API at {client.url} is not ready.")
        terminal.say(f"The API at {client.url} is ready.")
        terminal.say(f"  holds     {_corpus(client)}")
    return 0


def _corpus(client: Client) -> str:
    try:
        page = read(Repos, client.repos(limit=PAGE))
    except ApiError as error:
        return f"unknown: {error}"
    number = len(page.repos)
    return f"{number}{' or more' if page.next else ''} {'repository' if number == 1 else 'repositories'}"


def _jobs(home: Path) -> str:
    from codetrail_local import database  # noqa: PLC0415 - its drivers are slow to import

    try:
        listed = read(Jobs, database.jobs(home, 200)).jobs
    except LocalError as error:
        return f"unknown: {error}"
    counts = Counter(job.status for job in listed)
    return (
        ", ".join(f"{number} {visible_line(status)}" for status, number in counts.most_common()) or "none yet"
    )
