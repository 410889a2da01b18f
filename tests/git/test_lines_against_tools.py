"""Lines as codetrail counts them, against sed, wc, tail and head, and against git's own blame."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codetrail.domain.lines import Lines
from tests.support.gitrepos import NO_CONFIGURATION, ODD_CONTENTS
from tests.support.shells import program

CONTENTS = {name: content for name, content in ODD_CONTENTS.items() if content}


def by_sed(file: Path, start: int, end: int) -> bytes:
    command = [program("sed"), "-n", f"{start},{end}p", str(file)]
    return subprocess.run(command, env={"LC_ALL": "C"}, capture_output=True, check=True).stdout


def by_tail_and_head(tools: list[str], file: Path, start: int, end: int) -> bytes:
    tail = subprocess.run(
        [*tools, "tail", "-n", f"+{start}", str(file)], capture_output=True, check=True
    ).stdout
    command = [*tools, "head", "-n", str(end - start + 1)]
    return subprocess.run(command, input=tail, capture_output=True, check=True).stdout


def cut(blob: bytes, start: int, end: int) -> bytes:
    location = Lines(blob).between(start, end)
    return blob[location.start_byte : location.start_byte + location.length]


def ranges_of(blob: bytes) -> list[tuple[int, int]]:
    count = len(Lines(blob))
    middle = (count + 1) // 2
    return sorted({(1, 1), (1, count), (middle, count), (count, count)})


@pytest.fixture(params=CONTENTS)
def file(request, tmp_path: Path) -> Path:
    file = tmp_path / "file"
    file.write_bytes(CONTENTS[request.param])
    return file


def test_sed_counts_the_same_lines(file):
    counted = subprocess.run(
        [program("sed"), "-n", "$=", str(file)], env={"LC_ALL": "C"}, capture_output=True, check=True
    )

    assert int(counted.stdout) == len(Lines(file.read_bytes()))


def test_sed_cuts_the_same_bytes(file):
    blob = file.read_bytes()

    for start, end in ranges_of(blob):
        assert by_sed(file, start, end).removesuffix(b"\n") == cut(blob, start, end)


@pytest.mark.parametrize("tools", [[], ["busybox"]], ids=["gnu", "busybox"])
def test_tail_and_head_cut_the_same_bytes(file, tools):
    blob = file.read_bytes()
    found = [program(tool) for tool in tools]

    for start, end in ranges_of(blob):
        assert by_tail_and_head(found, file, start, end).removesuffix(b"\n") == cut(blob, start, end)


def test_git_blame_counts_the_same_lines(file):
    def git(*words: str) -> bytes:
        command = ["git", "-C", str(file.parent), "-c", "user.name=a", "-c", "user.email=a@b", *words]
        return subprocess.run(
            command, env=os.environ | NO_CONFIGURATION, check=True, capture_output=True
        ).stdout

    git("init", "--quiet")
    git("add", "file")
    git("commit", "--quiet", "--message", "one")

    blamed = git("blame", "--line-porcelain", "file")

    assert blamed.count(b"\nfilename file\n") == len(Lines(file.read_bytes()))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    blob=st.lists(st.sampled_from(list(b"\n\n\r\x00\x0c\x85\xffab"))).map(bytes).filter(bool), data=st.data()
)
def test_sed_cuts_random_bytes_where_lines_do(tmp_path, blob, data):
    file = tmp_path / "random"
    file.write_bytes(blob)
    start = data.draw(st.integers(1, len(Lines(blob))))
    end = data.draw(st.integers(start, len(Lines(blob))))

    assert by_sed(file, start, end).removesuffix(b"\n") == cut(blob, start, end)
