"""What .gitattributes say of a file. The judge is `git check-attr`."""

import subprocess
from pathlib import Path

import pytest

from codetrail.domain.attributes import Attributes, FileAttributes, glob

ROOT = b"""\xef\xbb\xbf# comment
*.gen.go      linguist-generated
/top.py       linguist-generated=true
docs/         linguist-vendored
docs/**       linguist-vendored
a/*.c         encoding=latin-1
**/deep/x.py  linguist-generated
a/**/z.py     linguist-generated
*.[ch]        working-tree-encoding=UTF-16LE-BOM
lib?.rb       linguist-generated
"with space.py" linguist-generated
\\#odd.py      linguist-generated
keep.gen.go   -linguist-generated
off.gen.go    linguist-generated=false
unset.gen.go  !linguist-generated
"""
NESTED = b"*.gen.go -linguist-generated\n/own.py linguist-generated\nsub/*.py linguist-vendored\n"
PATHS = [
    *("x.gen.go", "deep/down/x.gen.go", "top.py", "sub/top.py", "docs/a.md", "docs/b/c.md", "docs", "a/x.c"),
    *("a/b/x.c", "x.c", "x.h", "deep/x.py", "q/deep/x.py", "deep/q/x.py", "a/z.py", "a/b/z.py", "a/b/c/z.py"),
    *("lib1.rb", "lib12.rb", "with space.py", "#odd.py", "keep.gen.go", "off.gen.go", "unset.gen.go"),
    *("nest/x.gen.go", "nest/own.py", "nest/q/own.py", "nest/sub/a.py", "nest/q/sub/a.py", "other/own.py"),
]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    folder = tmp_path_factory.mktemp("attributes")
    environment = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "PATH": "/usr/bin:/bin"}
    subprocess.run(["git", "init", "-q", folder], check=True, env=environment)
    (folder / ".gitattributes").write_bytes(ROOT)
    (folder / "nest").mkdir()
    (folder / "nest" / ".gitattributes").write_bytes(NESTED)
    names = ["linguist-generated", "linguist-vendored", "encoding", "working-tree-encoding"]
    command = ["git", "check-attr", "-z", *names, "--", *PATHS]
    output = subprocess.run(command, cwd=folder, capture_output=True, check=True, env=environment).stdout
    fields = output.decode().split("\0")[:-1]
    found: dict[str, dict[str, str]] = {path: {} for path in PATHS}
    for path, name, value in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
        found[path][name] = value
    return found


def flag(value: str) -> bool | None:
    return {"set": True, "unset": False, "unspecified": None}.get(value, value != "false")


def text(value: str) -> str:
    return "" if value in ("set", "unset", "unspecified") else value


@pytest.mark.parametrize("path", PATHS)
def test_attributes_are_those_that_git_sees(path: str, judged: dict[str, dict[str, str]]) -> None:
    attributes = Attributes({b".gitattributes": ROOT, b"nest/.gitattributes": NESTED})

    said = judged[path]
    assert attributes.of(path.encode()) == FileAttributes(
        generated=flag(said["linguist-generated"]),
        vendored=flag(said["linguist-vendored"]),
        encoding=text(said["encoding"]),
        working_tree_encoding=text(said["working-tree-encoding"]),
    )


def test_a_pattern_made_to_backtrack_does_not() -> None:
    assert not glob(b"*a" * 100 + b"b", b"a" * 5_000)


def test_what_is_over_a_bound_is_ignored_and_nothing_else(tmp_path: Path) -> None:
    rules = (
        b"*.py linguist-generated\n" + b"x" * 1_000 + b" linguist-generated\n" + b"*.c encoding=x\n" * 10_000
    )

    attributes = Attributes({b".gitattributes": rules})

    assert attributes.of(b"a.py").generated
    assert attributes.of(b"a.c").encoding == "x"
    assert not attributes.of(b"x" * 1_000).generated
