"""What a repository on this machine holds. Nothing is ever checked out: trees and blobs are read out of the
object database, so that no filter, link, submodule or path of a stranger can act."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from codetrail.adapters.git.commands import Child, Commands, Limits
from codetrail.adapters.git.folders import JobFolder
from codetrail.domain.job import FailureReason, IndexingFailed
from codetrail.domain.paths import MAX_PATH_BYTES, to_text
from codetrail.services.ports import TreeEntry


class Clone:
    """A repository on this machine, read only."""

    def __init__(self, folder: Path, git: Commands, limits: Limits) -> None:
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
        folders = repository_folders(self._folder)
        pairs = {f"GIT_CONFIG_KEY_{n}": "safe.directory" for n in range(len(folders))}
        pairs |= {f"GIT_CONFIG_VALUE_{n}": str(folder) for n, folder in enumerate(folders)}
        # The folder may also lie within a work tree, as it may for the person who pastes the line.
        return {"GIT_CONFIG_COUNT": str(len(folders)), "GIT_CEILING_DIRECTORIES": "", **pairs}


class FetchedCommit(Clone):
    """One fetched commit in a folder of its own, which is removed at the end of the block."""

    def __init__(self, commit: str, folder: Path, git: Commands, limits: Limits, job: JobFolder) -> None:
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

    def _start(self, arguments: list[str | bytes], stdin: bytes = b"") -> Child:
        return self._git.start(
            [f"--git-dir={self._folder}", *arguments],
            cwd=self._folder, seconds=self._limits.read_seconds, stdin=stdin,
        )  # fmt: skip


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


def repository_folders(path: Path) -> list[Path]:
    """Return the folders by which git may call the repository at *path*: itself, its .git, and where that
    points in a linked work tree."""
    folders = [path, path / ".git"]
    if (path / ".git").is_file():
        pointer = (path / ".git").read_bytes()[:4_096].removeprefix(b"gitdir: ").rstrip(b"\n")
        folders.append(path / os.fsdecode(pointer))
    return list(dict.fromkeys([*folders, *(folder.resolve() for folder in folders)]))
