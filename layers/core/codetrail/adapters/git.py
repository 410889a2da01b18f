"""Strangers' repositories through the `git` program.

Every git command of codetrail is made by one function, `_Git.start`: environment built from nothing, no
configuration but ours, one protocol, no prompt, no redirect, no hook, limits on time, memory and output, and
a process group that is killed whole. Nothing is ever checked out: trees and blobs are read out of the object
database, so that no filter, link, submodule or path of a stranger can act. The library bindings were turned
down: each has had its own holes, and none can be killed.
"""

import ctypes
import fcntl
import ipaddress
import logging
import os
import re
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from codetrail.domain.job import FailureReason, IndexingFailed
from codetrail.domain.paths import MAX_PATH_BYTES, to_text
from codetrail.domain.remote import local_path
from codetrail.services.ports import TreeEntry

log = logging.getLogger(__name__)

MAX_REFS = 100_000
MAX_REF_BYTES = 16_777_216
# Enough for git's last words; a server can make it say megabytes.
_STDERR_BYTES = 1_024
# git maps packs into memory; with the windows set below it stays far under this.
_MEMORY_BYTES = 1_073_741_824
# A look-up maps none, and holds as many refs as the server likes.
_RESOLVE_MEMORY_BYTES = 268_435_456
_OPEN_FILES = 256
_COPY_BYTES = 1_048_576
# On Linux a child goes when we are killed, whatever it is doing. Loaded here: a child may only make calls.
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_PR_SET_PDEATHSIG = 1
_FETCH = (
    "fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules",
    "--no-auto-gc",
)  # fmt: skip
# Where the fetched commit is kept: one name of our own, so that nothing of the remote's can collide.
_FETCHED = "refs/codetrail/commit"


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


def public_addresses(host: str, port: int) -> list[str]:
    """Return the addresses of *host*, all of them public. Raises IndexingFailed when one is not.

    git is told to use these and asks no resolver again, so that a name cannot change its meaning in between.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        log.warning("host not resolved", extra={"host": host, "trouble": str(error)})
        raise IndexingFailed(FailureReason.UNREACHABLE) from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not addresses or not all(is_public(address) for address in addresses):
        log.warning("host refused for its addresses", extra={"host": host, "addresses": addresses})
        raise IndexingFailed(FailureReason.UNREACHABLE)
    return addresses


def is_public(address: str) -> bool:
    """Return whether *address* is a global unicast one, looking through addresses that carry another."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif ip in ipaddress.ip_network("64:ff9b::/96"):  # NAT64: the last 32 bits are where it goes
            ip = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        elif ip.sixtofour is not None or ip.teredo is not None:
            return False
    return ip.is_global and not ip.is_multicast


class GitProgram:
    """Resolves and fetches remotes by running git.

    `scratch` is a folder of ours; what an earlier job left there is removed when the next begins. `protocols`
    are the schemes that git may speak: production says https alone, a local stack adds file.
    """

    def __init__(
        self,
        *,
        scratch: Path,
        limits: Limits | None = None,
        protocols: Sequence[str] = ("https",),
        addresses: Callable[[str, int], list[str]] = public_addresses,
        ca_file: Path | None = None,
    ) -> None:
        self._scratch = scratch
        self._limits = limits or Limits()
        self._protocols = tuple(protocols)
        self._addresses = addresses
        self._ca_file = ca_file
        self._git = _Git(self._limits)

    def resolve(self, remote: str, ref: str) -> str:
        """Return the one commit id that *ref* names in full. Raises IndexingFailed."""
        with _Job(self._scratch) as job:
            commit = self._head(remote, job) if ref == "HEAD" else self._named(remote, ref, job)
            if commit is None:
                raise IndexingFailed(self._why_not_there(remote, job))
            return commit

    def fetch(self, remote: str, commit: str) -> "FetchedCommit":
        """Fetch that commit alone, depth 1, without blobs over the file cap. Raises IndexingFailed."""
        job = _Job(self._scratch)
        try:
            try:
                folder = self._fetch_into(job.folder / "objects.git", remote, commit, filtered=True)
            except IndexingFailed as failed:
                if failed.reason is not FailureReason.FSCK:
                    raise
                # Beside a filter, git 2.39 forgets which old mistakes it was told to let through.
                folder = self._fetch_into(job.folder / "again.git", remote, commit, filtered=False)
        except BaseException:
            job.close()
            raise
        return FetchedCommit(commit, folder, self._git, self._limits, job)

    def _fetch_into(self, folder: Path, remote: str, commit: str, *, filtered: bool) -> Path:
        kind = "sha256" if len(commit) == 64 else "sha1"
        self._git.output(
            ["init", "--quiet", "--bare", "--template=", f"--object-format={kind}", str(folder)],
            cwd=folder.parent, seconds=self._limits.resolve_seconds,
        )  # fmt: skip
        settings, environment = self._network(remote, folder.parent)
        narrow = [f"--filter=blob:limit={self._limits.file_bytes + 1}"] if filtered else []
        try:
            self._git.output(
                [*settings, f"--git-dir={folder}", *_FETCH, *narrow, "--", remote, f"+{commit}:{_FETCHED}"],
                cwd=folder.parent, seconds=self._limits.fetch_seconds, environment=environment,
            )  # fmt: skip
        except IndexingFailed as failed:
            # The child that writes the pack dies of its limit without a word.
            packs = (folder / "objects" / "pack").iterdir()
            if any(pack.stat().st_size >= self._limits.repo_bytes for pack in packs):
                raise IndexingFailed(FailureReason.TOO_LARGE) from failed
            raise
        _forget_remote(folder, kind)
        self._verify(folder, commit)
        return folder

    def clone(self, folder: Path) -> "Clone":
        """Return the repository in *folder* as it lies there, to read it; nothing is fetched."""
        return Clone(folder, self._git, self._limits)

    def _head(self, remote: str, job: "_Job") -> str | None:
        # A pattern of git's is a tail match: it only shortens the answer, which is read by full name.
        named, _ = self._advertised(remote, [], ["HEAD"], {b"HEAD"}, job)
        return named.get(b"HEAD")

    def _named(self, remote: str, ref: str, job: "_Job") -> str | None:
        branch, tag = _full_names(ref)
        # Asked for by prefix, so that a forge's many refs of pull requests are not sent.
        kinds = [option for option, name in (("--heads", branch), ("--tags", tag)) if name]
        # An annotated tag is an object of its own; its peeled line names the commit.
        peeled = tag + b"^{}" if tag else b""
        wanted = {name for name in (branch, tag, peeled) if name}
        named, _ = self._advertised(remote, kinds, [], wanted, job)
        if branch in named and tag in named:
            raise IndexingFailed(FailureReason.REF_AMBIGUOUS)
        return named.get(peeled) or named.get(tag) or named.get(branch)

    def _why_not_there(self, remote: str, job: "_Job") -> FailureReason:
        """Tell an empty repository from one without that ref. Raises for a remote that is no repository."""
        packets = job.folder / "packets"
        tracing = {"GIT_TRACE_PACKET": str(packets)}
        _, count = self._advertised(remote, ["--heads", "--tags"], [], set(), job, tracing)
        if count:
            return FailureReason.REF_NOT_FOUND
        # Any page may look like an old server's list without refs; only git's protocol comes in packets.
        if not packets.exists() or not packets.stat().st_size:
            raise IndexingFailed(FailureReason.UNREACHABLE)
        return FailureReason.EMPTY

    def _advertised(
        self,
        remote: str,
        options: list[str],
        patterns: list[str],
        wanted: set[bytes],
        job: "_Job",
        tracing: Mapping[str, str] | None = None,
    ) -> tuple[dict[bytes, str], int]:
        """Return the ids of the *wanted* full names, and how many refs there were."""
        settings, environment = self._network(remote, job.folder)
        named: dict[bytes, str] = {}
        count = size = 0
        arguments = [*settings, "ls-remote", "--quiet", *options, "--", remote, *patterns]
        with self._git.start(
            arguments,
            cwd=job.folder,
            seconds=self._limits.resolve_seconds,
            environment={**environment, **(tracing or {})},
            memory=_RESOLVE_MEMORY_BYTES,
        ) as child:
            for line in child.records(b"\n"):
                count, size = count + 1, size + len(line) + 1
                if count > MAX_REFS or size > MAX_REF_BYTES:
                    raise IndexingFailed(FailureReason.TOO_MANY_REFS)
                identity, _, name = line.partition(b"\t")
                if name in wanted:
                    named[name] = _object_id(identity)
            child.finish(out_of_memory=FailureReason.TOO_MANY_REFS)
        return named, count

    def _network(self, remote: str, folder: Path) -> tuple[list[str], dict[str, str]]:
        """Return the settings and the environment for a command that meets *remote*, and only that one."""
        address = urlsplit(remote)
        if address.scheme not in self._protocols:
            log.error("protocol refused", extra={"protocol": address.scheme})
            raise IndexingFailed(FailureReason.INTERNAL)
        environment = {"GIT_ALLOW_PROTOCOL": address.scheme}
        settings = ["-c", f"protocol.{address.scheme}.allow=always"]
        path = local_path(remote)
        if path is not None:
            if not os.path.isdir(path):  # noqa: PTH112 - a Path raises for a name that is too long
                raise IndexingFailed(FailureReason.NO_FOLDER)
            # Not `-c`: git takes that away from the process that serves a local repository.
            environment["GIT_CONFIG_GLOBAL"] = str(_local_config(folder / "config", Path(path)))
            return settings, environment
        if address.hostname is None:
            raise IndexingFailed(FailureReason.INTERNAL)
        port = address.port or (443 if address.scheme == "https" else 80)
        addresses = self._addresses(address.hostname, port)
        if not any(_connects(one, port, self._limits.connect_seconds / len(addresses)) for one in addresses):
            # No answer, which would be worth another attempt: whoever waits is told now.
            log.warning("host not reached", extra={"host": address.hostname, "addresses": addresses})
            raise IndexingFailed(FailureReason.UNREACHABLE)
        settings += ["-c", f"http.curloptResolve={address.hostname}:{port}:{','.join(addresses)}"]
        if self._ca_file is not None:
            settings += ["-c", f"http.sslCAInfo={self._ca_file}"]
        return settings, environment

    def _verify(self, folder: Path, commit: str) -> None:
        """Raise unless what was fetched is that very object, and a commit."""
        checked = self._git.output(
            [f"--git-dir={folder}", "for-each-ref", "--format=%(objectname) %(objecttype)", _FETCHED],
            cwd=folder, seconds=self._limits.resolve_seconds,
        )  # fmt: skip
        identity, _, kind = checked.decode().strip().partition(" ")
        if identity != commit:
            log.error("fetched another object", extra={"wanted": commit, "fetched": identity})
            raise IndexingFailed(FailureReason.INTERNAL)
        if kind != "commit":  # a tag may name a tree or a blob
            raise IndexingFailed(FailureReason.REF_NOT_FOUND)


class Clone:
    """A repository on this machine, read only."""

    def __init__(self, folder: Path, git: "_Git", limits: Limits) -> None:
        self._folder = folder
        self._git = git
        self._limits = limits

    def blob(self, commit: str, path: bytes) -> bytes | None:
        """Return the bytes of the file at *path* in *commit*; None where there is no such file here."""
        name = os.fsencode(commit) + b":" + path
        with self._git.start(
            ["-c", "safe.bareRepository=all", "cat-file", "blob", name],
            cwd=self._folder,
            seconds=self._limits.read_seconds,
            environment=self._trust(),
        ) as child:
            content = child.read()
            return content if child.wait() == 0 else None

    def check(self, command: str) -> str:
        """Return what the shell line *command* prints when `sh` runs it inside the clone."""
        with self._git.sh(
            command, cwd=self._folder, seconds=self._limits.read_seconds, environment=self._trust()
        ) as child:
            printed = child.read()
            child.wait()
            return printed.decode("ascii", "replace")

    def _trust(self) -> dict[str, str]:
        """Let git open this one repository although it may be another user's: the caller named it."""
        folders = _repository_folders(self._folder)
        pairs = {f"GIT_CONFIG_KEY_{n}": "safe.directory" for n in range(len(folders))}
        pairs |= {f"GIT_CONFIG_VALUE_{n}": str(folder) for n, folder in enumerate(folders)}
        # The folder may also lie within a work tree, as it may for the person who pastes the line.
        return {"GIT_CONFIG_COUNT": str(len(folders)), "GIT_CEILING_DIRECTORIES": "", **pairs}


class FetchedCommit(Clone):
    """One fetched commit in a folder of its own, which is removed at the end of the block."""

    def __init__(self, commit: str, folder: Path, git: "_Git", limits: Limits, job: "_Job") -> None:
        super().__init__(folder, git, limits)
        self.commit = commit
        self._job = job
        self._sizes: dict[str, int | None] = {}

    def __enter__(self) -> "FetchedCommit":
        return self

    def __exit__(self, *exception: object) -> None:
        self._job.close()

    def entries(self) -> list[TreeEntry]:
        """Every leaf of the tree, in git's order. Raises IndexingFailed over a cap, and for a path that no
        file can have."""
        entries: list[TreeEntry] = []
        with self._start(["ls-tree", "-r", "-z", "--full-tree", self.commit]) as child:
            for record in child.records(b"\0"):
                if len(entries) == self._limits.repo_files:
                    raise IndexingFailed(FailureReason.TOO_MANY_FILES)
                entries.append(_entry(record))
            child.finish()
        sizes = self._measure(entry.blob for entry in entries if entry.mode != "160000")
        if sum(size or 0 for size in sizes.values()) > self._limits.repo_bytes:
            raise IndexingFailed(FailureReason.TOO_LARGE)
        return entries

    def blobs(self, ids: Sequence[str]) -> Iterator[tuple[str, int, bytes | None]]:
        """(id, size, bytes) of each distinct blob, in order of first mention; None where it is over the file
        cap, with size 0 where it was not even fetched."""
        sizes = self._measure(ids)
        present = [blob for blob in dict.fromkeys(ids) if self._is_read(sizes[blob])]
        with self._start(["cat-file", "--batch", "--buffer"], _lines(present)) as child:
            for blob in dict.fromkeys(ids):
                size = sizes[blob]
                if size is None or not self._is_read(size):
                    yield blob, size or 0, None
                    continue
                header = child.stdout.readline().split()
                if header != [blob.encode(), b"blob", str(size).encode()]:
                    raise IndexingFailed(FailureReason.INTERNAL)
                content = child.stdout.read(size)
                if len(content) != size or child.stdout.read(1) != b"\n":
                    raise IndexingFailed(FailureReason.INTERNAL)
                yield blob, len(content), content
            child.finish()

    def _is_read(self, size: int | None) -> bool:
        return size is not None and size <= self._limits.file_bytes

    def _measure(self, ids: Iterable[str]) -> dict[str, int | None]:
        """Return the size of each blob; None for one that the filter left out."""
        unknown = [blob for blob in dict.fromkeys(ids) if blob not in self._sizes]
        with self._start(["cat-file", "--batch-check", "--buffer"], _lines(unknown)) as child:
            # A git that ends early says why in `finish`, so the records may be fewer.
            for blob, line in zip(unknown, child.records(b"\n"), strict=False):
                words = line.split()
                if words == [blob.encode(), b"missing"]:
                    self._sizes[blob] = None
                elif words[:2] == [blob.encode(), b"blob"]:
                    self._sizes[blob] = int(words[2])
                else:  # the tree calls a blob what is none
                    raise IndexingFailed(FailureReason.FSCK)
            child.finish()
        if not self._sizes.keys() >= set(unknown):
            raise IndexingFailed(FailureReason.INTERNAL)
        return self._sizes

    def _start(self, arguments: list[str | bytes], stdin: bytes = b"") -> "_Child":
        return self._git.start(
            [f"--git-dir={self._folder}", *arguments],
            cwd=self._folder, seconds=self._limits.read_seconds, stdin=stdin,
        )  # fmt: skip


class _Git:
    """The one place that starts git."""

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
    ) -> "_Child":
        """Start `git ARGUMENTS`."""
        settings = [word for setting in self._SETTINGS for word in ("-c", setting)]
        command = [self._program, *settings, *arguments]
        return self._start(command, cwd, seconds, environment or {}, stdin, memory)

    def sh(self, command: str, *, cwd: Path, seconds: float, environment: Mapping[str, str]) -> "_Child":
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
    ) -> "_Child":
        return _Child(
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


class _Child:
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
                # Makes only system calls in the child. A launcher in between would cost each command 20 ms.
                preexec_fn=_confine(bounds),  # noqa: PLW1509
            )
        self._process = process
        assert process.stdout is not None and process.stderr is not None  # noqa: S101  # for the type checker
        self.stdout: IO[bytes] = process.stdout
        self._listener = threading.Thread(target=self._listen, args=(process.stderr,), daemon=True)
        self._listener.start()
        self._clock = threading.Timer(seconds, self._expire)
        self._clock.daemon = True
        self._clock.start()

    def __enter__(self) -> "_Child":
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


class _Job:
    """A folder for one job, locked while the job lives; what dead jobs left beside it is removed first."""

    def __init__(self, scratch: Path) -> None:
        scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        # In a folder that everybody may write to, somebody may have been here first.
        found = scratch.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise PermissionError(f"{scratch} is not a folder of this user")
        with (scratch / ".lock").open("wb") as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)
            for folder in scratch.glob("job-*"):
                _remove_if_dead(folder)
            self.folder = Path(tempfile.mkdtemp(prefix="job-", dir=scratch))
            self._lock = (self.folder / ".lock").open("wb")
            fcntl.flock(self._lock, fcntl.LOCK_EX)

    def __enter__(self) -> "_Job":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder and let go of its lock."""
        shutil.rmtree(self.folder, ignore_errors=True)  # what stays is removed when the next job begins
        self._lock.close()


def _remove_if_dead(folder: Path) -> None:
    """Remove a job's folder unless a living process holds its lock."""
    try:
        with (folder / ".lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        return
    except FileNotFoundError:  # its owner died, or is ending, between two steps
        shutil.rmtree(folder, ignore_errors=True)


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


def _connects(address: str, port: int, seconds: float) -> bool:
    """Return whether *address* accepts a connection within that time."""
    try:
        with socket.create_connection((address, port), timeout=seconds):
            return True
    except OSError:
        return False


def _full_names(ref: str) -> tuple[bytes, bytes]:
    """Return the branch and the tag that *ref* may mean, each by full name or empty."""
    if ref.startswith("refs/heads/"):
        return ref.encode(), b""
    if ref.startswith("refs/tags/"):
        return b"", ref.encode()
    return f"refs/heads/{ref}".encode(), f"refs/tags/{ref}".encode()


def _object_id(text: bytes) -> str:
    if not re.fullmatch(rb"[0-9a-f]{40}|[0-9a-f]{64}", text):
        raise IndexingFailed(FailureReason.UNREACHABLE)
    return text.decode("ascii")


def _entry(record: bytes) -> TreeEntry:
    """Read one record of `ls-tree -z`. Raises IndexingFailed for a path that no working tree may have, and
    for one that no row could hold: shortened, it would name no file."""
    about, _, path = record.partition(b"\t")
    mode, _, blob = about.decode("ascii").split(" ")
    parts = path.split(b"/")
    # git's object check refused these at the fetch; a second look costs nothing.
    strange = any(part in (b"", b".", b"..") or part.lower() == b".git" for part in parts)
    if strange or len(to_text(path).encode()) > MAX_PATH_BYTES:
        raise IndexingFailed(FailureReason.FSCK)
    return TreeEntry(path, mode, blob)


def _lines(ids: Sequence[str]) -> bytes:
    return "".join(f"{blob}\n" for blob in ids).encode()


def _forget_remote(folder: Path, kind: str) -> None:
    """Write the repository's configuration anew, so that git knows of no place to get missing blobs from."""
    version, extra = ("1", "[extensions]\n\tobjectFormat = sha256\n") if kind == "sha256" else ("0", "")
    (folder / "config").write_text(f"[core]\n\trepositoryFormatVersion = {version}\n\tbare = true\n{extra}")


def _repository_folders(path: Path) -> list[Path]:
    """Return the folders by which git may call the repository at *path*: itself, its .git, and where that
    points in a linked work tree."""
    folders = [path, path / ".git"]
    if (path / ".git").is_file():
        pointer = (path / ".git").read_bytes()[:4_096].removeprefix(b"gitdir: ").rstrip(b"\n")
        folders.append(path / os.fsdecode(pointer))
    return list(dict.fromkeys([*folders, *(folder.resolve() for folder in folders)]))


def _local_config(file: Path, repository: Path) -> Path:
    """Write what the process that serves a local repository must be told: that it may be read although
    another user owns it, that blobs may be left out, and that a commit may be asked for by its id."""
    trusted = "".join(
        f"\tdirectory = {_config_value(folder)}\n" for folder in _repository_folders(repository)
    )
    serving = "[uploadpack]\n\tallowFilter = true\n\tallowAnySHA1InWant = true\n"
    file.write_bytes(os.fsencode(f"[safe]\n{trusted}{serving}"))
    return file


def _config_value(folder: Path) -> str:
    escaped = str(folder).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


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
