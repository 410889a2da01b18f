"""One contract of a forge and of a clone, held by the fakes that other tests use and by git itself."""

from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path

import pytest

from codetrail.adapters.git.commands import Limits
from codetrail.adapters.git.program import GitProgram
from codetrail.domain.answer import check_command
from codetrail.services.ports import Git
from codetrail.services.verify import Clone
from tests.support.clones import MemoryClone
from tests.support.fakes_index import MemoryGit, blob_id
from tests.support.gitrepos import Repository, executable, symlink

FILE_BYTES = 100
# Out of git's order, which is by bytes with a folder's slash among them; two of them are one blob.
FILES = {
    b"b/file": b"one\ntwo\nthree",
    b"b-file": b"the same\n",
    b"B": b"the same\n",
    b"b.file": b"",
    b"a/deep/er": b"x" * FILE_BYTES,
    b"large": b"y" * (FILE_BYTES + 1),
    b"caf\xe9": b"latin\n",
}
TOOL, LINK = b"#!/bin/sh\n", b"b/file"


@pytest.fixture
def source(tmp_path: Path) -> Repository:
    repo = Repository.create(tmp_path / "source.git")
    repo.branch("main", repo.commit({**FILES, b"tool": executable(TOOL), b"link": symlink(LINK)}))
    return repo


@pytest.fixture(params=["fake", "git"])
def forge(request, source: Repository, tmp_path: Path) -> Git:
    if request.param == "fake":
        files: Mapping[bytes, bytes | tuple[str, bytes]] = {
            **FILES, b"tool": ("100755", TOOL), b"link": ("120000", LINK)
        }  # fmt: skip
        return MemoryGit(files, file_bytes=FILE_BYTES)
    return GitProgram(scratch=tmp_path / "scratch", limits=Limits(file_bytes=FILE_BYTES), protocols=("file",))


def test_the_commit_that_was_resolved_is_the_one_that_is_fetched(forge: Git, source: Repository) -> None:
    commit = forge.resolve(source.url, "HEAD")

    with forge.fetch(source.url, commit) as tree:
        assert tree.commit == commit
    assert forge.resolve(source.url, "HEAD") == commit


def test_every_leaf_is_told_with_its_mode_and_blob_in_gits_order(forge: Git, source: Repository) -> None:
    with forge.fetch(source.url, forge.resolve(source.url, "HEAD")) as tree:
        found = [(entry.path, entry.mode, entry.blob) for entry in tree.entries()]

    held = [(path, "100644", blob_id(data)) for path, data in FILES.items()]
    held += [(b"tool", "100755", blob_id(TOOL)), (b"link", "120000", blob_id(LINK))]
    assert found == sorted(held)


def test_each_blob_comes_once_in_order_of_first_mention_and_without_bytes_over_the_cap(
    forge: Git, source: Repository
) -> None:
    wanted = [FILES[path] for path in (b"large", b"b-file", b"a/deep/er", b"B", b"b.file", b"large")]

    with forge.fetch(source.url, forge.resolve(source.url, "HEAD")) as tree:
        found = list(tree.blobs([blob_id(data) for data in wanted]))

    assert [(blob, content) for blob, _, content in found] == [
        (blob_id(data), data if len(data) <= FILE_BYTES else None) for data in dict.fromkeys(wanted)
    ]
    assert all(size == len(content) for _, size, content in found if content is not None)


@pytest.fixture(params=["fake", "git"])
def clone_and_commit(request, source: Repository, tmp_path: Path) -> Iterator[tuple[Clone, str]]:
    git = GitProgram(scratch=tmp_path / "scratch", protocols=("file",))
    commit = git.resolve(source.url, "HEAD")
    if request.param == "fake":
        yield MemoryClone({(commit, path): data for path, data in FILES.items()}), commit
    else:
        yield git.clone(source.path), commit


def test_a_file_of_a_clone_is_its_bytes_and_what_is_not_there_is_none(
    clone_and_commit: tuple[Clone, str],
) -> None:
    clone, commit = clone_and_commit

    assert {path: clone.blob(commit, path) for path in FILES} == FILES
    assert clone.blob(commit, b"missing") is None
    assert clone.blob("1" * 40, b"b/file") is None


@pytest.mark.parametrize(
    ("first", "last", "length", "cut"),
    [
        (1, 3, 13, b"one\ntwo\nthree"),
        (2, 2, 4, b"two\n"),
        (2, 2, 3, b"two"),
        (2, 2, 99, b"two\n"),
        (3, 3, 5, b"three"),
        (9, 9, 5, b""),
    ],
)
def test_the_line_that_checks_prints_the_digest_of_these_lines(
    clone_and_commit: tuple[Clone, str], first: int, last: int, length: int, cut: bytes
) -> None:
    clone, commit = clone_and_commit

    printed = clone.check(check_command(commit, b"b/file", first, last, length))

    assert printed == f"{sha256(cut).hexdigest()}  -\n"


@pytest.mark.parametrize(
    "absent",
    [lambda commit: (commit, b"missing"), lambda commit: ("1" * 40, b"b/file")],
    ids=["path", "commit"],
)
def test_the_line_that_checks_prints_the_digest_of_nothing_where_the_file_is_not_there(
    clone_and_commit: tuple[Clone, str], absent: Callable[[str], tuple[str, bytes]]
) -> None:
    clone, commit = clone_and_commit

    printed = clone.check(check_command(*absent(commit), 1, 1, 4))

    assert printed == f"{sha256(b'').hexdigest()}  -\n"
