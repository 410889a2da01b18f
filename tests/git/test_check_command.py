"""The shell line beside a citation prints that citation's digest: on every odd file, in every shell."""

import random
import subprocess
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from codetrail.domain.answer import check_command
from codetrail.domain.paths import to_bytes, to_text
from tests.support.gitrepos import ODD_NAMES, Repository, odd_repository
from tests.support.shells import Shell, busybox, gnu, without_sha256sum


@dataclass(frozen=True)
class Cited:
    """Some lines of a file, cut by the test itself."""

    path: bytes
    start: int
    end: int
    cut: bytes

    def command(self, commit: str) -> str:
        # By way of the text form, since that is all that a citation holds.
        return check_command(commit, to_bytes(to_text(self.path)), self.start, self.end, len(self.cut))

    @property
    def printed(self) -> bytes:
        return sha256(self.cut).hexdigest().encode() + b"  -"


def cited(path: bytes, content: bytes, start: int, end: int) -> Cited:
    return Cited(path, start, end, b"\n".join(content.split(b"\n")[start - 1 : end]))


def some_lines_of(path: bytes, content: bytes) -> list[Cited]:
    """The whole file, its ends, and a few ranges within."""
    count = content.count(b"\n") + (0 if content.endswith(b"\n") else 1)
    if not content:
        return []
    chance = random.Random(path)
    ranges = {(1, count), (1, 1), (count, count)}
    for _ in range(2):
        start = chance.randint(1, count)
        ranges.add((start, chance.randint(start, count)))
    return [cited(path, content, start, end) for start, end in sorted(ranges)]


@dataclass(frozen=True)
class Odd:
    """The odd repository and what may be cited of it."""

    folder: Path
    commit: str
    citations: list[Cited]


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Odd:
    repo, commit, files = odd_repository(tmp_path_factory.mktemp("odd") / "repo.git")
    citations = [citation for path, content in files.items() for citation in some_lines_of(path, content)]
    return Odd(repo.path, commit, citations)


SHELLS = {"gnu": gnu, "busybox": busybox, "shasum": without_sha256sum}


@pytest.fixture(scope="module", params=SHELLS)
def shell(request, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return SHELLS[request.param](tmp_path_factory.mktemp("bin") / "tools")


def test_the_printed_command_gives_the_digest_of_every_odd_file(odd, shell):
    commands = [citation.command(odd.commit) for citation in odd.citations]

    printed = shell.run_all(commands, odd.folder)

    wrong = [
        (citation.path, citation.start, citation.end)
        for citation, line in zip(odd.citations, printed, strict=True)
        if line != citation.printed
    ]
    assert not wrong
    assert len(commands) > 250


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_a_command_can_be_pasted_whatever_the_name_holds(odd, name):
    [citation, *_] = [c for c in odd.citations if c.path == b"names/" + name]
    command = citation.command(odd.commit)

    assert "\n" not in command
    assert command.isprintable()
    assert not any(0x202A <= ord(c) <= 0x202E or 0x2066 <= ord(c) <= 0x2069 for c in command)
    done = subprocess.run(["sh", "-c", command], cwd=odd.folder, capture_output=True, check=True)
    assert done.stdout == citation.printed + b"\n"
    assert done.stderr == b""
    assert not (odd.folder / "canary").exists()


def test_a_command_works_in_a_clone_with_a_work_tree_and_in_its_folders(odd, tmp_path, shell):
    subprocess.run(
        [
            "git",
            "-c",
            "core.protectNTFS=false",
            "clone",
            "--quiet",
            "--no-checkout",
            str(odd.folder),
            tmp_path / "work",
        ],
        check=True,
    )
    (tmp_path / "work" / "sub").mkdir()
    [citation] = [c for c in odd.citations if c.path == b"content/plain" and (c.start, c.end) == (1, 3)]

    for folder in (tmp_path / "work", tmp_path / "work" / "sub"):
        assert shell.run(citation.command(odd.commit), folder) == citation.printed + b"\n"


def test_a_command_never_prints_the_digest_of_other_lines(odd, shell):
    [citation] = [
        c for c in odd.citations if c.path == b"content/crlf-no-final-newline" and (c.start, c.end) == (3, 3)
    ]

    for start, end, length in ((2, 2, 5), (3, 3, 4), (1, 3, 5)):
        command = check_command(odd.commit, citation.path, start, end, length)
        assert shell.run(command, odd.folder) != citation.printed + b"\n"


def test_a_file_that_is_not_there_prints_no_digest_of_a_span(odd, shell):
    command = check_command(odd.commit, b"no such file", 1, 1, 10)

    assert shell.run(command, odd.folder) == sha256(b"").hexdigest().encode() + b"  -\n"


def test_a_span_of_a_file_of_many_lines_is_cut_where_it_stands(tmp_path, shell):
    content = b"".join(b"line %d of very many\n" % n for n in range(1, 200_001)) + b"no newline at the end"
    repo = Repository.create(tmp_path / "long.git")
    commit = repo.commit({b"long": content})
    spans = [(1, 1), (1, 200_001), (99_999, 100_001), (200_000, 200_001), (200_001, 200_001)]
    citations = [cited(b"long", content, start, end) for start, end in spans]

    printed = shell.run_all([citation.command(commit) for citation in citations], repo.path)

    assert printed == [citation.printed for citation in citations]


@pytest.mark.parametrize("seed", range(4))
def test_random_bytes_are_cut_as_they_are_split(tmp_path, shell, seed):
    chance = random.Random(seed)
    alphabet = [
        b"\n",
        b"\n",
        b"\r",
        b"\r\n",
        b"\x00",
        b"\x0c",
        b"\x85",
        b"\xe2\x80\xa8",
        b"\xff",
        b"a",
        b" ",
        b"\t",
    ]
    files = {b"f%d" % n: b"".join(chance.choices(alphabet, k=chance.randint(1, 60))) for n in range(15)}
    repo = Repository.create(tmp_path / "random.git")
    commit = repo.commit(files)
    citations = [citation for path, content in files.items() for citation in some_lines_of(path, content)]

    printed = shell.run_all([citation.command(commit) for citation in citations], repo.path)

    assert printed == [citation.printed for citation in citations]
