"""The one place that starts git.

Every git command of codetrail is made by one function, `Commands.start`: environment built from nothing, no
configuration but ours, one protocol, no prompt, no redirect, no hook, limits on time, memory and output, and
a process group that is killed whole. The library bindings were turned down: each has had its own holes, and
none can be killed.
"""

import ctypes
import logging
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from codetrail.domain.job import FailureReason, IndexingFailed

log = logging.getLogger(__name__)

# Enough for git's last words; a server can make it say megabytes.
_STDERR_BYTES = 1_024
# git maps packs into memory; with the windows set below it stays far under this.
_MEMORY_BYTES = 1_073_741_824
_OPEN_FILES = 256
_COPY_BYTES = 1_048_576
# On Linux a child goes when we are killed, whatever it is doing. Loaded here: a child may only make calls.
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Limits:
    """Ceilings of one job. Going over one ends the job with its reason."""

    repo_bytes: int = 268_435_456  # of the pack on disk, and of all blobs unpacked
    repo_files: int = 20_000
    file_bytes: int = 1_048_576
    # Of all addresses together; git has no such bound. A lost packet goes again after 1, 3 and 7 seconds.
    connect_seconds: float = 10.0
    resolve_seconds: int = 30
    fetch_seconds: int = 240
    read_seconds: int = 900  # reading waits for whoever chunks what was read


class Commands:
    """Starts git, under the limits of one job."""

    # Protocols are allowed one command at a time; whatever is not named here is git's default, since no
    # configuration of the machine or of a user is read.
    _SETTINGS = (
        "protocol.allow=never", "protocol.version=2",
        "http.followRedirects=false", "http.proxy=", "http.lowSpeedLimit=1000", "http.lowSpeedTime=20",
        "credential.helper=", "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.symlinks=false",
        "core.protectNTFS=true", "core.protectHFS=true", "safe.bareRepository=explicit",
        "submodule.recurse=false", "fetch.recurseSubmodules=no",
        "transfer.bundleURI=false", "fetch.uriProtocols=",
        # Old mistakes in honest repositories; the rest of git's object check stays on.
        "transfer.fsckObjects=true", "fetch.fsckObjects=true", "fetch.fsck.badTimezone=ignore",
        "fetch.fsck.missingSpaceBeforeDate=ignore", "fetch.fsck.zeroPaddedFilemode=ignore",
        # One pack as the server sent it: its size is what RLIMIT_FSIZE watches.
        "fetch.unpackLimit=1", "fetch.writeCommitGraph=false", "gc.auto=0", "maintenance.auto=false",
        "pack.threads=1", "core.bigFileThreshold=1m",
        "core.packedGitWindowSize=16m", "core.packedGitLimit=64m",
    )  # fmt: skip

    def __init__(self, limits: Limits) -> None:
        program = shutil.which("git")
        if program is None:
            raise FileNotFoundError("git is not installed, or not on PATH")
        self._program = program
        self._limits = limits

    def output(
        self,
        arguments: Sequence[str | bytes],
        *,
        cwd: Path,
        seconds: float,
        environment: Mapping[str, str] | None = None,
    ) -> bytes:
        """Run git to its end and return what it printed. Raises IndexingFailed when it failed."""
        with self.start(arguments, cwd=cwd, seconds=seconds, environment=environment) as child:
            printed = child.read()
            child.finish()
        return printed

    def start(
        self,
        arguments: Sequence[str | bytes],
        *,
        cwd: Path,
        seconds: float,
        environment: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        memory: int = _MEMORY_BYTES,
    ) -> "Child":
        """Start `git ARGUMENTS`."""
        settings = [word for setting in self._SETTINGS for word in ("-c", setting)]
        command = [self._program, *settings, *arguments]
        return self._start(command, cwd, seconds, environment or {}, stdin, memory)

    def sh(self, command: str, *, cwd: Path, seconds: float, environment: Mapping[str, str]) -> "Child":
        """Start `sh -c COMMAND`, for a command of ours that starts git in its turn."""
        return self._start(["sh", "-c", command], cwd, seconds, environment, b"", _MEMORY_BYTES)

    def _start(
        self,
        command: Sequence[str | bytes],
        cwd: Path,
        seconds: float,
        environment: Mapping[str, str],
        stdin: bytes,
        memory: int,
    ) -> "Child":
        return Child(
            command,
            cwd=cwd,
            environment={**self._environment(cwd), **environment},
            seconds=seconds,
            stdin=stdin,
            bounds={
                resource.RLIMIT_AS: memory,
                resource.RLIMIT_CPU: int(seconds) + 1,
                resource.RLIMIT_FSIZE: self._limits.repo_bytes,
                resource.RLIMIT_NOFILE: _OPEN_FILES,
                resource.RLIMIT_CORE: 0,
            },
        )

    def _environment(self, cwd: Path) -> dict[str, str]:
        return {
            "PATH": f"{Path(self._program).parent}:/usr/bin:/bin",
            "HOME": "/nonexistent",
            "XDG_CONFIG_HOME": "/nonexistent",
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_SYSTEM": "/dev/null",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "/bin/false",
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_PROTOCOL_FROM_USER": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_LFS_SKIP_SMUDGE": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            # git looks for a repository from here upward, and must not find one in a parent of ours.
            "GIT_CEILING_DIRECTORIES": str(cwd.resolve().parent),
        }


class Child:
    """A process in a group of its own. At its deadline, and at the end of the block, the group is killed."""

    def __init__(
        self,
        command: Sequence[str | bytes],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        seconds: float,
        stdin: bytes,
        bounds: Mapping[int, int],
    ) -> None:
        self._arguments = command
        self._late = False
        self._stderr = b""
        with tempfile.TemporaryFile() as given:
            given.write(stdin)
            given.seek(0)
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=environment,
                stdin=given if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=_COPY_BYTES,
                start_new_session=True,
                # A launcher in between would cost each command 20 ms.
                preexec_fn=_confine(bounds),  # noqa: PLW1509 - it makes only system calls in the child
            )
        self._process = process
        assert process.stdout is not None and process.stderr is not None  # noqa: S101  # for the type checker
        self.stdout: IO[bytes] = process.stdout
        self._listener = threading.Thread(target=self._listen, args=(process.stderr,), daemon=True)
        self._listener.start()
        self._clock = threading.Timer(seconds, self._expire)
        self._clock.daemon = True
        self._clock.start()

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *exception: object) -> None:
        self._end()

    def read(self) -> bytes:
        """Return all that is left of the output."""
        return self.stdout.read()

    def records(self, end: bytes) -> Iterator[bytes]:
        """Yield the output in pieces that end at *end*, without it."""
        rest = b""
        while part := os.read(self.stdout.fileno(), _COPY_BYTES):
            *whole, rest = (rest + part).split(end)
            yield from whole
            if len(rest) > _COPY_BYTES:
                raise IndexingFailed(FailureReason.FSCK)
        if rest:
            yield rest

    def wait(self) -> int:
        """Wait for the end, close everything, and return the exit code."""
        self._process.wait()
        self._end()
        return self._process.returncode

    def finish(self, *, out_of_memory: FailureReason = FailureReason.TOO_LARGE) -> None:
        """Wait for the end. Raises IndexingFailed when the process failed."""
        code = self.wait()
        if code == 0 and not self._late:
            return
        # Data from a stranger: kept short and escaped, for the log alone.
        words = self._stderr.decode("utf-8", "backslashreplace")
        log.warning(
            "git failed",
            extra={"git": self._subcommand(), "code": code, "late": self._late, "stderr": ascii(words)},
        )
        if self._late or code == -signal.SIGXCPU:
            raise IndexingFailed(FailureReason.DEADLINE, transient=True)
        if code == -signal.SIGXFSZ:
            raise IndexingFailed(FailureReason.TOO_LARGE)
        reason, transient = _reason(words, out_of_memory)
        raise IndexingFailed(reason, transient=transient)

    def _subcommand(self) -> str:
        words = [word for word in self._arguments[1:] if isinstance(word, str)]
        return next((word for word in words if re.fullmatch(r"[a-z]+(-[a-z]+)*", word)), "")

    def _listen(self, stderr: IO[bytes]) -> None:
        while part := os.read(stderr.fileno(), 4_096):
            self._stderr = (self._stderr + part)[-_STDERR_BYTES:]

    def _expire(self) -> None:
        self._late = True
        self._kill()

    def _kill(self) -> None:
        # ESRCH: the whole group has ended. macOS says EPERM where only a zombie is left of it.
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return

    def _end(self) -> None:
        self._clock.cancel()
        self._kill()
        self._process.wait()
        self._listener.join()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


def _confine(bounds: Mapping[int, int]) -> Callable[[], None]:
    """Return what a child does before it becomes another program."""
    limits = []
    for what, wanted in bounds.items():
        _, hard = resource.getrlimit(what)
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        limits.append((what, (most, most)))

    def confine() -> None:
        if _LIBC is not None:
            _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        for what, pair in limits:
            resource.setrlimit(what, pair)

    return confine


# git's own words in the C locale, first match first. A URL that we made holds no space, so none of these can
# come out of a repository's name; lines that the server wrote are left out before.
_REASONS: tuple[tuple[str, FailureReason, bool], ...] = (
    (r"fsck error", FailureReason.FSCK, False),
    (r"died of signal 25|File too large", FailureReason.TOO_LARGE, False),
    (r"died of signal 24", FailureReason.DEADLINE, True),
    (r"The requested URL returned error: 3\d\d", FailureReason.MOVED, False),
    (r"The requested URL returned error: (401|403|404|410|451)\b", FailureReason.NOT_FOUND, False),
    (r"could not read (Username|Password)|Authentication failed", FailureReason.NOT_FOUND, False),
    (r"^fatal: repository '.*' not found", FailureReason.NOT_FOUND, False),
    (r"does not appear to be a git repository", FailureReason.NO_REPOSITORY, False),
    # Gone between the look-up and the fetch: the next look-up finds what is there now.
    (r"not our ref|unadvertised object|couldn't find remote ref", FailureReason.REF_NOT_FOUND, True),
    (r"did not send all necessary objects|did not receive expected object", FailureReason.INCOMPLETE, False),
    (r"SSL certificate problem|certificate verification failed", FailureReason.UNREACHABLE, False),
    (r"dumb http transport|not valid: is this a git repository", FailureReason.UNREACHABLE, False),
    (r"No space left on device", FailureReason.INTERNAL, True),
)


def _reason(words: str, out_of_memory: FailureReason) -> tuple[FailureReason, bool]:
    """Return why git failed, out of its last words, and whether another try may end differently."""
    # These few words of the server's are believed: nothing but a reason comes of them.
    if re.search(r"^(remote|fatal): .*aborting due to possible repository corruption", words, re.MULTILINE):
        return FailureReason.INCOMPLETE, False
    ours = "\n".join(line for line in words.split("\n") if not line.startswith("remote: "))
    if re.search(r"[Oo]ut of memory|Cannot allocate memory|too large to fit into virtual memory", ours):
        return out_of_memory, False
    for pattern, reason, transient in _REASONS:
        if re.search(pattern, ours, re.MULTILINE):
            return reason, transient
    return FailureReason.UNREACHABLE, True
