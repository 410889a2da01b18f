"""What a person types for a repository: a URL as it is, a path as the repository around it."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from codetrail.domain.remote import admit, local_path
from codetrail.errors import NotAdmitted
from codetrail_local.errors import Misused

STATUS_TIMEOUT_SECONDS = 20


class RemoteError(Misused):
    """What was given names no repository; the message says what would."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A repository as the API takes it, and, where it lies on this machine, its folder."""

    url: str
    folder: Path | None = None


def remote_of(text: str) -> Remote:
    """Return what *text* names. Raises RemoteError for what can be neither a URL nor a repository here.

    What is wrong with a URL is for admission to say: it knows which hosts are allowed.
    """
    if not text.strip():
        raise RemoteError("REMOTE is empty: give a URL such as https://github.com/google/uuid, or a path")
    if text.startswith("file:"):
        return _local(_path_of(text), text)
    path = Path(text)
    if "://" in text or (_like_scp(text) and not path.exists()):
        return Remote(text)
    return _local(path, text)


def uncommitted(folder: Path) -> int | None:
    """Return how many files of the working tree differ from the commit; None where git does not say.

    git's own ownership check stays on: in somebody else's repository a filter could run a command.
    """
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(folder), "status", "--porcelain=v1", "-z"]
    try:
        done = subprocess.run(
            [*command, "--ignore-submodules=all"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=STATUS_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode:
        return None
    entries, renamed = 0, False
    for entry in done.stdout.split(b"\0"):
        if renamed:  # a rename's old name follows it
            renamed = False
            continue
        if entry:
            entries += 1
            renamed = entry[:1] in (b"R", b"C")
    return entries


def _like_scp(text: str) -> bool:
    """Whether *text* looks like git@host:owner/name."""
    before, colon, _ = text.partition(":")
    return bool(colon) and "/" not in before


def _path_of(url: str) -> Path:
    try:
        folder = local_path(admit(url, hosts=(), local=True))
    except NotAdmitted as error:
        raise RemoteError(str(error)) from error
    return Path(folder or "/")


def _local(path: Path, text: str) -> Remote:
    if not path.exists():
        hint = ""
        if text.count("/") == 1 and not text.startswith((".", "/", "~")):
            hint = f" If you mean the one on GitHub: https://github.com/{text}"
        raise RemoteError(f"{text!r} is neither a URL nor a folder that exists here.{hint}")
    found = _repository(path.resolve())
    if found is None:
        raise RemoteError(
            f"{text!r} is not inside a git repository: give another path, or git init and commit there."
        )
    return Remote(f"file://{quote(os.fsencode(found))}", found)


def _repository(path: Path) -> Path | None:
    """The repository that *path* is, or lies in."""
    for folder in (path, *path.parents):
        if (folder / ".git").exists():
            return folder
        if folder.name != ".git" and all((folder / part).exists() for part in ("HEAD", "objects", "refs")):
            return folder
    return None
