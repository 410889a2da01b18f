"""Strangers' repositories: which commit a ref names, and that commit fetched."""

import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from codetrail.adapters.git.addresses import connects, public_addresses
from codetrail.adapters.git.commands import Commands, Limits
from codetrail.adapters.git.folders import JobFolder
from codetrail.adapters.git.objects import Clone, FetchedCommit, repository_folders
from codetrail.domain.job import FailureReason, IndexingFailed
from codetrail.domain.remote import local_path

log = logging.getLogger(__name__)

MAX_REFS = 100_000
MAX_REF_BYTES = 16_777_216
# A look-up maps no packs, and holds as many refs as the server likes.
_RESOLVE_MEMORY_BYTES = 268_435_456
_FETCH = (
    "fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules",
    "--no-auto-gc",
)  # fmt: skip
# Where the fetched commit is kept: one name of our own, so that nothing of the remote's can collide.
_FETCHED = "refs/codetrail/commit"


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
        self._git = Commands(self._limits)

    def resolve(self, remote: str, ref: str) -> str:
        """Return the one commit id that *ref* names in full. Raises IndexingFailed."""
        with JobFolder(self._scratch) as job:
            commit = self._head(remote, job) if ref == "HEAD" else self._named(remote, ref, job)
            if commit is None:
                raise IndexingFailed(self._why_not_there(remote, job))
            return commit

    def fetch(self, remote: str, commit: str) -> FetchedCommit:
        """Fetch that commit alone, depth 1, without blobs over the file cap. Raises IndexingFailed."""
        job = JobFolder(self._scratch)
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

    def clone(self, folder: Path) -> Clone:
        """Return the repository in *folder* as it lies there, to read it; nothing is fetched."""
        return Clone(folder, self._git, self._limits)

    def _head(self, remote: str, job: JobFolder) -> str | None:
        # A pattern of git's is a tail match: it only shortens the answer, which is read by full name.
        named, _ = self._advertised(remote, [], ["HEAD"], {b"HEAD"}, job)
        return named.get(b"HEAD")

    def _named(self, remote: str, ref: str, job: JobFolder) -> str | None:
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

    def _why_not_there(self, remote: str, job: JobFolder) -> FailureReason:
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
        job: JobFolder,
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
        if not any(connects(one, port, self._limits.connect_seconds / len(addresses)) for one in addresses):
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


def _forget_remote(folder: Path, kind: str) -> None:
    """Write the repository's configuration anew, so that git knows of no place to get missing blobs from."""
    version, extra = ("1", "[extensions]\n\tobjectFormat = sha256\n") if kind == "sha256" else ("0", "")
    (folder / "config").write_text(f"[core]\n\trepositoryFormatVersion = {version}\n\tbare = true\n{extra}")


def _local_config(file: Path, repository: Path) -> Path:
    """Write what the process that serves a local repository must be told: that it may be read although
    another user owns it, that blobs may be left out, and that a commit may be asked for by its id."""
    trusted = "".join(f"\tdirectory = {_config_value(folder)}\n" for folder in repository_folders(repository))
    serving = "[uploadpack]\n\tallowFilter = true\n\tallowAnySHA1InWant = true\n"
    file.write_bytes(os.fsencode(f"[safe]\n{trusted}{serving}"))
    return file


def _config_value(folder: Path) -> str:
    escaped = str(folder).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'
