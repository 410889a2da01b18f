"""The data folder: whose it is at the moment, and where the stack that runs on it listens.

CODETRAIL_HOME/
  lock          held by the one stack on this folder; the kernel lets go of it however the holder ends
  guests        held, shared, by each command that uses another command's stack
  stack.json    process, start and address of a stack that is ready
  postgres/     the database
  logs/         one log a function, and the stack's own
  scratch/      what functions write to their temporary folders; emptied at each start
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from codetrail_local.errors import AlreadyRunning, LocalError

# A log over this size is set aside when its writer starts again; one older log is kept.
MAX_LOG_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class Running:
    """A stack that is ready. `lasting`: it goes on until it is told to stop (`codetrail up`)."""

    pid: int
    started: float  # seconds since the epoch
    api: str
    lasting: bool

    @property
    def described(self) -> str:
        """Where it is, for a person."""
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.started))
        return f"process {self.pid}, since {since}, at {self.api}"


class Home:
    """One data folder. `acquire` makes it this process's until `release`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.postgres = self.folder / "postgres"
        self.logs = self.folder / "logs"
        self.scratch = self.folder / "scratch"
        self._state = self.folder / "stack.json"
        self._lock: IO[str] | None = None

    def acquire(self) -> None:
        """Take the folder. Raises AlreadyRunning when another stack holds it."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = (self.folder / "lock").open("a+", encoding="utf-8")
        except OSError as error:
            raise LocalError(f"the data folder {self.folder} cannot be used: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read()
            lock.close()
            raise AlreadyRunning(self._already(holder)) from None
        # What a stack that was killed had written means nothing any more.
        self._state.unlink(missing_ok=True)
        lock.seek(0)
        lock.truncate()
        json.dump({"pid": os.getpid(), "started": time.time()}, lock)
        lock.flush()
        self._lock = lock

    def announce(self, api: str, *, lasting: bool) -> None:
        """Tell other commands that the stack is ready."""
        unfinished = self._state.with_suffix(".new")
        unfinished.write_text(json.dumps(asdict(Running(os.getpid(), time.time(), api, lasting))))
        unfinished.replace(self._state)

    def withdraw(self, *, wait_for_guests: bool) -> bool:
        """Tell other commands that the stack is stopping. False: guests are waited for."""
        with (self.folder / "guests").open("a", encoding="utf-8") as guests:
            try:
                # Held while the state goes, so that nobody becomes a guest in between.
                fcntl.flock(guests, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if wait_for_guests:
                    return False
            self._state.unlink(missing_ok=True)
        return True

    def release(self) -> None:
        """Let the folder go; the last thing a stack does."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def running(self) -> Running | None:
        """The ready stack on this folder, if there is one."""
        try:
            said = json.loads(self._state.read_text())
            running = Running(**said)
        except (FileNotFoundError, ValueError, TypeError):
            return None
        return running if self.held() else None

    def held(self) -> bool:
        """Whether some stack holds the folder, ready or not."""
        try:
            with (self.folder / "lock").open("r", encoding="utf-8") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    @contextmanager
    def visit(self) -> Iterator[None]:
        """Be a guest of the stack that runs here: a stack started by a command waits for its guests."""
        with (self.folder / "guests").open("a", encoding="utf-8") as guests:
            fcntl.flock(guests, fcntl.LOCK_SH)
            yield

    def _already(self, holder: str) -> str:
        running = self.running()
        if running is not None:
            return (
                f"codetrail runs on {self.folder} already: {running.described}."
                " Use that one, stop it (codetrail down), or choose another folder (--home)"
            )
        try:
            pid = json.loads(holder)["pid"]
        except (ValueError, KeyError, TypeError):
            return f"another codetrail is starting on {self.folder}"
        return f"another codetrail (process {pid}) is starting or stopping on {self.folder}"


def rotate(log: Path) -> None:
    """Set a log aside that has grown over its size."""
    if log.exists() and log.stat().st_size > MAX_LOG_BYTES:
        log.replace(log.with_suffix(".log.1"))
