"""The git adapter on local repositories: which commit a ref names, and what comes out of it."""

import fcntl
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from codetrail.adapters.git.commands import Limits
from codetrail.adapters.git.program import GitProgram
from codetrail.domain.job import FailureReason, IndexingFailed
from codetrail.domain.remote import admit
from codetrail.services.ports import FetchedTree, Git, Tree
from tests.support.gitrepos import (
    NO_CONFIGURATION,
    Leaf,
    RefRepository,
    Repository,
    executable,
    gitlink,
    many_refs,
    misleading_refs,
    odd_repository,
    symlink,
)


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path / "scratch"


@pytest.fixture
def git(scratch: Path) -> GitProgram:
    return GitProgram(scratch=scratch, protocols=("file",))


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return Repository.create(tmp_path / "source.git")


@pytest.fixture(scope="module")
def misleading(tmp_path_factory: pytest.TempPathFactory) -> RefRepository:
    return misleading_refs(tmp_path_factory.mktemp("refs") / "source.git")


def failure(call, *arguments) -> tuple[FailureReason, bool]:
    with pytest.raises(IndexingFailed) as failed:
        call(*arguments)
    return failed.value.reason, failed.value.transient


def by_git(folder: Path, *arguments: str | bytes) -> bytes:
    """What git says, asked by the test itself."""
    command = ["git", "-C", folder, *arguments]
    return subprocess.run(command, env=os.environ | NO_CONFIGURATION, capture_output=True, check=True).stdout


def test_it_is_what_the_services_call_git(git, repo):
    repo.branch("main", repo.commit({b"a": b"a\n"}))
    port: Git = git

    fetched: FetchedTree = port.fetch(repo.url, port.resolve(repo.url, "HEAD"))

    with fetched as tree:
        reading: Tree = tree
        assert [entry.path for entry in reading.entries()] == [b"a"]


# Which commit a ref names


@pytest.mark.parametrize(
    ("ref", "name"),
    [
        ("HEAD", "main"),
        ("main", "main"),
        ("refs/heads/main", "main"),
        ("a/main", "tail"),
        ("heads/main", "nested"),
        ("refs/heads/heads/main", "nested"),
        ("refs/heads/both", "branch"),
        ("refs/tags/both", "tag"),
        ("f" * 40, "hexbranch"),
        ("refs/tags/HEAD", "headtag"),
        ("refs/heads/HEAD", "headbranch"),
        ("pkg@1.2.3+build", "branch"),
        ("v1.0-light", "annotated"),
    ],
)
def test_a_ref_is_matched_by_its_whole_name(git, misleading, ref, name):
    assert git.resolve(misleading.repo.url, ref) == misleading.commits[name]


@pytest.mark.parametrize("ref", ["v1.0", "refs/tags/v1.0", "nested", "refs/tags/nested"])
def test_an_annotated_tag_gives_the_commit_and_not_the_tag(git, misleading, ref):
    assert git.resolve(misleading.repo.url, ref) == misleading.commits["annotated"]


def test_a_name_that_is_both_a_branch_and_a_tag_is_ambiguous(git, misleading):
    assert failure(git.resolve, misleading.repo.url, "both") == (FailureReason.REF_AMBIGUOUS, False)


@pytest.mark.parametrize(
    "ref",
    [
        "only-tail",
        "Main",
        "mai",
        "main/",
        "ain",
        "refs/heads/only-tail",
        "refs/tags/main",
        "refs/heads/v1.0",
        "1/head",
        "v1.*",
    ],
)
def test_part_of_a_name_is_not_a_name(git, misleading, ref):
    assert failure(git.resolve, misleading.repo.url, ref) == (FailureReason.REF_NOT_FOUND, False)


def test_forty_hex_digits_are_a_name_and_never_a_commit(git, misleading):
    commit = misleading.commits["main"]

    assert failure(git.resolve, misleading.repo.url, commit) == (FailureReason.REF_NOT_FOUND, False)


def test_a_detached_head_gives_its_commit(git, repo):
    repo.branch("main", repo.commit({b"a": b"1\n"}))
    commit = repo.commit({b"a": b"2\n"})
    repo.detach(commit)

    assert git.resolve(repo.url, "HEAD") == commit


def test_a_head_that_names_no_branch_is_not_an_empty_repository(git, tmp_path):
    repo = Repository.create(tmp_path / "renamed.git", head="refs/heads/master")
    repo.branch("main", repo.commit({b"a": b"a\n"}))

    assert failure(git.resolve, repo.url, "HEAD") == (FailureReason.REF_NOT_FOUND, False)


@pytest.mark.parametrize("ref", ["HEAD", "main"])
def test_a_repository_without_a_commit_is_empty(git, repo, ref):
    assert failure(git.resolve, repo.url, ref) == (FailureReason.EMPTY, False)


def test_a_renamed_default_branch_is_followed(git, repo):
    repo.branch("master", repo.commit({b"a": b"1\n"}))
    commit = repo.commit({b"a": b"2\n"})
    repo.branch("main", commit)

    assert git.resolve(repo.url, "HEAD") == commit


def test_a_tag_of_something_that_is_no_commit_is_not_indexed(git, misleading):
    blob = git.resolve(misleading.repo.url, "a-blob")

    assert failure(git.fetch, misleading.repo.url, blob) == (FailureReason.REF_NOT_FOUND, False)


def test_more_refs_than_the_ceiling_are_refused(git, tmp_path):
    repo = many_refs(tmp_path / "many.git", 100_001)

    assert failure(git.resolve, repo.url, "main") == (FailureReason.TOO_MANY_REFS, False)


def test_as_many_refs_as_the_ceiling_are_read(git, tmp_path):
    repo = many_refs(tmp_path / "many.git", 100_000)

    assert git.resolve(repo.url, "b0099999")


# Which folders are repositories


@pytest.mark.parametrize("name", ["nothing", "a-file", "a-file/below", "long" * 100])
def test_a_folder_that_is_not_there_is_said_to_be_missing(git, tmp_path, name):
    (tmp_path / "a-file").write_text("not a folder")

    assert failure(git.resolve, f"file://{tmp_path}/{name}", "HEAD") == (FailureReason.NO_FOLDER, False)


def test_a_folder_that_is_no_repository_is_said_to_be_none(git, tmp_path):
    (tmp_path / "plain").mkdir()

    assert failure(git.resolve, f"file://{tmp_path}/plain", "HEAD") == (FailureReason.NO_REPOSITORY, False)


def test_a_clone_with_a_work_tree_can_be_indexed(git, repo, tmp_path):
    commit = repo.commit({b"a": b"a\n", b"sub/b": b"b\n"})
    repo.branch("main", commit)
    by_git(tmp_path, "clone", "--quiet", str(repo.path), "work")

    for remote in (tmp_path / "work", tmp_path / "work" / ".git"):
        assert paths_of(git, f"file://{remote}") == [b"a", b"sub/b"]


def test_a_folder_inside_a_clone_is_said_to_be_no_repository(git, repo, tmp_path):
    repo.branch("main", repo.commit({b"sub/b": b"b\n"}))
    by_git(tmp_path, "clone", "--quiet", str(repo.path), "work")

    assert failure(git.resolve, f"file://{tmp_path}/work/sub", "HEAD") == (FailureReason.NO_REPOSITORY, False)


def test_a_linked_work_tree_can_be_indexed(git, repo, tmp_path):
    repo.branch("main", repo.commit({b"a": b"a\n"}))
    repo.branch("other", repo.commit({b"other": b"a\n"}))
    by_git(tmp_path, "clone", "--quiet", str(repo.path), "work")
    by_git(tmp_path / "work", "worktree", "add", "--quiet", str(tmp_path / "linked"), "origin/other")

    assert paths_of(git, f"file://{tmp_path}/linked") == [b"other"]


def test_a_shallow_clone_can_be_indexed(git, repo, tmp_path):
    first = repo.commit({b"a": b"1\n"})
    second = repo.commit({b"a": b"2\n"}, parents=[first])
    repo.branch("main", second)
    by_git(tmp_path, "clone", "--quiet", "--bare", "--depth=1", repo.url, "shallow.git")

    assert git.resolve(f"file://{tmp_path}/shallow.git", "HEAD") == second
    assert paths_of(git, f"file://{tmp_path}/shallow.git") == [b"a"]


def test_a_partial_clone_that_lacks_blobs_is_told_so(git, repo, tmp_path):
    repo.branch("main", repo.commit({b"a": b"a\n"}))
    (repo.path / "config").write_text("[core]\n\tbare = true\n[uploadpack]\n\tallowFilter = true\n")
    by_git(tmp_path, "clone", "--quiet", "--bare", "--filter=blob:none", repo.url, "partial.git")
    remote = f"file://{tmp_path}/partial.git"

    assert failure(git.fetch, remote, git.resolve(remote, "HEAD")) == (FailureReason.INCOMPLETE, False)


def test_a_partial_clone_that_holds_the_commit_whole_can_be_indexed(git, repo, tmp_path):
    first = repo.commit({b"a": b"old\n"})
    repo.branch("main", repo.commit({b"a": b"new\n"}, parents=[first]))
    (repo.path / "config").write_text("[core]\n\tbare = true\n[uploadpack]\n\tallowFilter = true\n")
    by_git(tmp_path, "clone", "--quiet", "--filter=blob:none", repo.url, "partial")
    shutil.rmtree(repo.path)

    assert paths_of(git, f"file://{tmp_path}/partial") == [b"a"]


def test_a_repository_of_sha_256_ids_can_be_indexed(git, tmp_path):
    person = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    by_git(tmp_path, "init", "--quiet", "--object-format=sha256", "new")
    (tmp_path / "new" / "a").write_bytes(b"a\n")
    by_git(tmp_path / "new", "add", "a")
    by_git(tmp_path / "new", *person, "commit", "--quiet", "--message", "one")
    remote = f"file://{tmp_path}/new"

    commit = git.resolve(remote, "HEAD")
    with git.fetch(remote, commit) as tree:
        assert [content for _, _, content in tree.blobs([e.blob for e in tree.entries()])] == [b"a\n"]

    assert len(commit) == 64


def test_a_damaged_repository_is_told_so(git, repo):
    commit = repo.commit({b"a": b"a\n"})
    repo.branch("main", commit)
    blob = repo.write("blob", b"a\n")
    (repo.path / "objects" / blob[:2] / blob[2:]).unlink()

    assert failure(git.fetch, repo.url, commit) == (FailureReason.INCOMPLETE, False)


def test_a_repository_of_another_user_can_be_indexed(scratch, repo, tmp_path, monkeypatch):
    published(repo, repo.commit({b"a": b"a\n"}))
    by_git(tmp_path, "clone", "--quiet", str(repo.path), "work")
    # git's own switch for its tests: every folder counts as somebody else's.
    pretend(tmp_path / "bin", "GIT_TEST_ASSUME_DIFFERENT_OWNER=1", monkeypatch)
    git = GitProgram(scratch=scratch, protocols=("file",))

    with pytest.raises(subprocess.CalledProcessError):
        by_git(tmp_path / "work", "status")
    assert paths_of(git, repo.url) == [b"a"]
    assert paths_of(git, f"file://{tmp_path}/work") == [b"a"]


def pretend(folder: Path, settings: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a git on PATH that runs the real one under *settings*."""
    folder.mkdir()
    (folder / "git").write_text(f'#!/bin/sh\n{settings} exec {shutil.which("git")} "$@"\n')
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_a_scratch_folder_of_somebody_else_is_not_used(repo, tmp_path):
    published(repo, repo.commit({b"a": b"a\n"}))
    (tmp_path / "theirs").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "theirs")

    with pytest.raises(PermissionError):
        GitProgram(scratch=tmp_path / "link", protocols=("file",)).resolve(repo.url, "HEAD")

    assert not list((tmp_path / "theirs").iterdir())


@pytest.mark.parametrize(
    "name", ["with space", "100%", "qué?", 'quo"te', "back\\slash", "new\nline", "-dash", "a:b", "$(touch x)"]
)
def test_a_folder_with_an_odd_name_can_be_indexed(git, tmp_path, name):
    repo = Repository.create(tmp_path / name)
    repo.branch("main", repo.commit({b"a": b"a\n"}))

    assert paths_of(git, admit(str(repo.path), (), local=True)) == [b"a"]


def test_no_other_protocol_is_spoken_than_was_allowed(scratch, repo):
    repo.branch("main", repo.commit({b"a": b"a\n"}))
    production = GitProgram(scratch=scratch)

    for remote in (repo.url, "ext::sh -c 'touch canary'", "ssh://host/a", "http://github.com/a/b"):
        assert failure(production.resolve, remote, "HEAD") == (FailureReason.INTERNAL, False)
        assert failure(production.fetch, remote, "1" * 40) == (FailureReason.INTERNAL, False)


# What comes out


def paths_of(git: GitProgram, remote: str, ref: str = "HEAD") -> list[bytes]:
    with git.fetch(remote, git.resolve(remote, ref)) as tree:
        return [entry.path for entry in tree.entries()]


def test_every_file_comes_out_byte_for_byte_under_its_own_name(git, tmp_path):
    repo, commit, files = odd_repository(tmp_path / "odd.git")

    with git.fetch(repo.url, commit) as tree:
        entries = {entry.path: entry for entry in tree.entries()}
        regular = {path: entry.blob for path, entry in entries.items() if entry.mode in ("100644", "100755")}
        contents = {blob: content for blob, _, content in tree.blobs(list(regular.values()))}

    assert {path: contents[blob] for path, blob in regular.items()} == files


def test_the_entries_are_those_of_git_in_its_order(git, tmp_path):
    repo, commit, _ = odd_repository(tmp_path / "odd.git")
    listed = by_git(repo.path, "ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")[:-1]

    with git.fetch(repo.url, commit) as tree:
        entries = tree.entries()

    assert [b"%s %s\t%s" % (e.mode.encode(), e.blob.encode(), e.path) for e in entries] == [
        re.sub(rb"^(\d+) \w+ ", rb"\1 ", record) for record in listed
    ]


def test_links_modules_and_executables_keep_their_modes(git, repo):
    files: dict[bytes, bytes | Leaf] = {
        b"file": b"a\n",
        b"link": symlink(b"/etc/passwd"),
        b"module": gitlink("1" * 40),
        b"tool": executable(b"#!\n"),
    }
    with git.fetch(repo.url, published(repo, repo.commit(files))) as tree:
        modes = {entry.path: entry.mode for entry in tree.entries()}

    assert modes == {b"file": "100644", b"link": "120000", b"module": "160000", b"tool": "100755"}


def test_a_link_is_its_target_as_text_and_is_not_followed(git, repo):
    commit = published(
        repo, repo.commit({b"link": symlink(b"../../../../etc/passwd"), b"loop": symlink(b"loop")})
    )

    with git.fetch(repo.url, commit) as tree:
        blobs = [entry.blob for entry in tree.entries()]
        assert [content for _, _, content in tree.blobs(blobs)] == [b"../../../../etc/passwd", b"loop"]


def test_names_that_differ_only_in_case_are_two_files(git, repo):
    commit = published(repo, repo.commit({b"README.md": b"big\n", b"readme.md": b"small\n"}))

    with git.fetch(repo.url, commit) as tree:
        assert [entry.path for entry in tree.entries()] == [b"README.md", b"readme.md"]


def test_a_blob_is_read_once_however_often_it_is_asked_for(git, repo):
    commit = published(repo, repo.commit({b"%d" % n: b"same\n" for n in range(40)} | {b"z": b"other\n"}))

    with git.fetch(repo.url, commit) as tree:
        ids = [entry.blob for entry in tree.entries()]
        read = list(tree.blobs(ids))

    assert len(ids) == 41
    assert [(size, content) for _, size, content in read] == [(5, b"same\n"), (6, b"other\n")]


def test_no_blob_asked_for_is_no_blob_read(git, repo):
    with git.fetch(repo.url, published(repo, repo.commit({b"a": b"a\n"}))) as tree:
        assert list(tree.blobs([])) == []


def test_attributes_and_filters_of_the_repository_do_nothing(git, repo):
    files: dict[bytes, bytes | Leaf] = {
        b".gitattributes": b"* text eol=crlf ident working-tree-encoding=UTF-16\n*.skip export-ignore\n",
        b"a.txt": b"$Id$\none\n",
        b"b.skip": b"kept\n",
    }
    with git.fetch(repo.url, published(repo, repo.commit(files))) as tree:
        contents = [content for _, _, content in tree.blobs([entry.blob for entry in tree.entries()])]

    assert contents == list(files.values())


def test_a_replace_ref_does_nothing_even_beside_the_fetched_commit(git, scratch, repo):
    true, false = repo.write("blob", b"true\n"), repo.write("blob", b"false\n")
    commit = published(repo, repo.commit({b"a": b"true\n", b"b": b"false\n"}))

    with git.fetch(repo.url, commit) as tree:
        replace = job_folder(scratch) / "objects.git" / "refs" / "replace"
        replace.mkdir()
        (replace / true).write_text(f"{false}\n")
        assert [content for _, _, content in tree.blobs([true, false])] == [b"true\n", b"false\n"]


def published(repo: Repository, commit: str) -> str:
    repo.branch("main", commit)
    return commit


# Ceilings


def limited(scratch: Path, **limits: int) -> GitProgram:
    return GitProgram(scratch=scratch, limits=Limits(**limits), protocols=("file",))


def test_a_blob_at_the_file_cap_is_read_and_one_over_it_is_not(scratch, repo):
    git = limited(scratch, file_bytes=1_000)
    commit = published(repo, repo.commit({b"at": b"x" * 1_000, b"over": b"y" * 1_001, b"under": b"z" * 999}))

    with git.fetch(repo.url, commit) as tree:
        entries = {entry.path: entry.blob for entry in tree.entries()}
        read = {blob: (size, content) for blob, size, content in tree.blobs(list(entries.values()))}

    assert read[entries[b"at"]] == (1_000, b"x" * 1_000)
    assert read[entries[b"over"]] == (0, None)
    assert read[entries[b"under"]] == (999, b"z" * 999)


def test_a_bomb_of_one_blob_is_not_even_fetched(scratch, repo):
    git = limited(scratch, file_bytes=1_000, repo_bytes=10_000_000)
    commit = published(repo, repo.commit({b"bomb": bytes(50_000_000), b"a": b"a\n"}))

    with git.fetch(repo.url, commit) as tree:
        size = sum(file.stat().st_size for file in job_folder(scratch).rglob("*") if file.is_file())
        assert [content for _, _, content in tree.blobs([e.blob for e in tree.entries()])] == [
            b"a\n",
            None,
        ]

    assert size < 10_000


def test_as_many_files_as_the_cap_are_listed_and_one_more_is_refused(scratch, repo):
    git = limited(scratch, repo_files=50)
    fits = published(repo, repo.commit({b"d%d/f" % n: b"same\n" for n in range(50)}))
    over = published(repo, repo.commit({b"d%d/f" % n: b"same\n" for n in range(51)}))

    with git.fetch(repo.url, fits) as tree:
        assert len(tree.entries()) == 50
    with git.fetch(repo.url, over) as tree:
        assert failure(tree.entries) == (FailureReason.TOO_MANY_FILES, False)


def test_a_tree_of_ten_thousand_million_paths_is_refused_at_once(git, repo):
    tree = repo.tree_of({b"f": b"x\n"})
    for _ in range(10):
        tree = repo.tree((b"40000", b"d%d" % n, tree) for n in range(10))
    commit = published(repo, repo.commit_tree(tree))

    with git.fetch(repo.url, commit) as tree:
        assert failure(tree.entries) == (FailureReason.TOO_MANY_FILES, False)


def test_a_pack_over_the_size_cap_is_cut_off_while_it_comes(scratch, repo):
    git = limited(scratch, repo_bytes=100_000)
    noise = {b"%d" % n: os.urandom(20_000) for n in range(20)}
    commit = published(repo, repo.commit(noise))

    assert failure(git.fetch, repo.url, commit) == (FailureReason.TOO_LARGE, False)
    assert not list(scratch.glob("job-*"))


def test_blobs_that_unpack_to_more_than_the_size_cap_are_refused(scratch, repo):
    git = limited(scratch, repo_bytes=1_000_000)
    commit = published(repo, repo.commit({b"%d" % n: bytes([n]) * 100_000 for n in range(20)}))

    with git.fetch(repo.url, commit) as tree:
        assert failure(tree.entries) == (FailureReason.TOO_LARGE, False)


# Hostile objects


@pytest.mark.parametrize("name", [b"..", b".", b".git", b".GIT", b".git ", b"git~1", b"a/b"])
def test_a_tree_with_a_dangerous_name_is_refused(git, repo, name):
    blob = repo.write("blob", b"x\n")
    commit = published(repo, repo.commit_tree(repo.tree([(b"100644", name, blob)])))

    assert failure(git.fetch, repo.url, commit) == (FailureReason.FSCK, False)


def test_a_tree_that_is_not_sorted_is_refused(git, repo):
    blob = repo.write("blob", b"x\n")
    commit = published(repo, repo.commit_tree(repo.tree([(b"100644", b"b", blob), (b"100644", b"a", blob)])))

    assert failure(git.fetch, repo.url, commit) == (FailureReason.FSCK, False)


def test_a_gitmodules_file_that_is_a_link_is_refused(git, repo):
    commit = published(repo, repo.commit({b".gitmodules": symlink(b"elsewhere")}))

    assert failure(git.fetch, repo.url, commit) == (FailureReason.FSCK, False)


def test_old_harmless_mistakes_of_git_are_let_through(git, repo):
    blob = repo.write("blob", b"x\n")
    tree = repo.tree([(b"100644", b"a", blob), (b"040000", b"d", repo.tree_of({b"f": b"x\n"}))])
    zones = repo.commit_tree(tree, author=b"Ada <ada@example.org> 1700000000 +051800")

    assert [entry.path for entry in entries_of(git, repo, published(repo, zones))] == [b"a", b"d/f"]


def entries_of(git: GitProgram, repo: Repository, commit: str):
    with git.fetch(repo.url, commit) as tree:
        return tree.entries()


@pytest.mark.parametrize("path", [b"/".join([b"d"] * 200), (b"x" * 250 + b"/") * 16 + b"x" * 80])
def test_a_long_or_deep_path_is_an_entry_as_any_other(git, repo, path):
    assert [entry.path for entry in entries_of(git, repo, published(repo, repo.commit({path: b"x\n"})))] == [
        path
    ]


@pytest.mark.parametrize(
    "path", [(b"x" * 250 + b"/") * 16 + b"x" * 81, (b"\xff" * 250 + b"/") * 4 + b"\xff" * 24]
)
def test_a_path_that_no_row_could_hold_is_refused(git, repo, path):
    commit = published(repo, repo.commit({path: b"x\n"}))

    with git.fetch(repo.url, commit) as tree:
        assert failure(tree.entries) == (FailureReason.FSCK, False)


# What is left behind


def job_folder(scratch: Path) -> Path:
    [folder] = scratch.glob("job-*")
    return folder


def test_the_folder_is_ours_alone_and_goes_at_the_end_of_the_block(git, scratch, repo):
    commit = published(repo, repo.commit({b"a": b"a\n"}))

    with git.fetch(repo.url, commit):
        folder = job_folder(scratch)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(scratch.stat().st_mode) == 0o700

    assert not list(scratch.glob("job-*"))


def test_a_failed_fetch_leaves_nothing(git, scratch, repo):
    assert failure(git.fetch, repo.url, "1" * 40) == (FailureReason.REF_NOT_FOUND, True)

    assert not list(scratch.glob("job-*"))


def test_what_a_dead_job_left_is_removed_when_the_next_begins(git, scratch, repo):
    commit = published(repo, repo.commit({b"a": b"a\n"}))
    left = [scratch / "job-dead", scratch / "job-without-lock"]
    for folder in left:
        (folder / "objects.git").mkdir(parents=True)
    (left[0] / ".lock").touch()

    git.resolve(repo.url, "HEAD")

    assert not any(folder.exists() for folder in left)
    with git.fetch(repo.url, commit):
        pass


def test_the_folder_of_a_living_job_stays(git, scratch, repo):
    published(repo, repo.commit({b"a": b"a\n"}))
    living = scratch / "job-living"
    living.mkdir(parents=True)

    with (living / ".lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        git.resolve(repo.url, "HEAD")

    assert living.exists()


def test_two_fetched_commits_stand_side_by_side(git, repo):
    one = published(repo, repo.commit({b"one": b"1\n"}))
    two = published(repo, repo.commit({b"two": b"2\n"}))

    with git.fetch(repo.url, one) as first, git.fetch(repo.url, two) as second:
        assert [entry.path for entry in first.entries()] == [b"one"]
        assert [entry.path for entry in second.entries()] == [b"two"]


def test_nothing_of_the_remote_is_remembered_after_the_fetch(git, scratch, repo):
    commit = published(repo, repo.commit({b"a": b"a\n"}))

    with git.fetch(repo.url, commit):
        config = (job_folder(scratch) / "objects.git" / "config").read_text()

    assert "remote" not in config
    assert "promisor" not in config


def test_the_callers_environment_does_not_reach_git(git, repo, monkeypatch, tmp_path):
    commit = published(repo, repo.commit({b"a": b"a\n"}))
    hostile = tmp_path / "gitconfig"
    hostile.write_text(
        f'[url "file:///nowhere/"]\n\tinsteadOf = {repo.url}\n[core]\n\tfsmonitor = touch {tmp_path}/canary\n'
    )
    for name, value in {
        "GIT_CONFIG_GLOBAL": str(hostile),
        "GIT_DIR": "/nowhere",
        "GIT_OBJECT_DIRECTORY": "/nowhere",
        "GIT_TRACE": f"{tmp_path}/canary",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "nonsense",
        "GIT_EXEC_PATH": "/nowhere",
        "HOME": str(tmp_path),
        "GIT_ALLOW_PROTOCOL": "none",
        "LD_PRELOAD": "/nowhere.so",
        "LANG": "de_DE.UTF-8",
    }.items():
        monkeypatch.setenv(name, value)

    assert git.resolve(repo.url, "HEAD") == commit
    assert paths_of(git, repo.url) == [b"a"]
    assert not (tmp_path / "canary").exists()


def test_hooks_and_configuration_of_a_local_repository_do_not_run(git, repo, tmp_path):
    commit = published(repo, repo.commit({b"a": b"a\n"}))
    canary = tmp_path / "canary"
    hook = repo.path / "hooks" / "post-checkout"
    hook.parent.mkdir()
    for name in ("post-checkout", "reference-transaction", "pre-auto-gc", "post-update", "pre-receive"):
        (hook.parent / name).write_text(f"#!/bin/sh\ntouch {canary}\n")
        (hook.parent / name).chmod(0o755)
    with (repo.path / "config").open("a") as config:
        config.write(f"[core]\n\tfsmonitor = touch {canary}\n\tsshCommand = touch {canary}\n")
        config.write(
            f'[uploadpack]\n\tpackObjectsHook = touch {canary}\n[filter "x"]\n\tsmudge = touch {canary}\n'
        )

    with git.fetch(repo.url, commit) as tree:
        list(tree.blobs([entry.blob for entry in tree.entries()]))

    assert not canary.exists()
