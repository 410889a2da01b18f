"""The parser's process: it may hang, die or eat memory, and the worker goes on."""

import os
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from codetrail.adapters.treesitter import grammars
from codetrail.adapters.treesitter.chunker import MAX_DEATHS, TreeSitterChunker
from codetrail.adapters.treesitter.cutting import Cutting
from codetrail.adapters.treesitter.windows import Rules
from codetrail.errors import Unavailable

GO = b"package a\n\nfunc f() {}\n"
# A lone surrogate, which no store can hold, and an output, all on one line.
NOTEBOOK = rb"""{"cells": [{"cell_type": "code", "source": "run('\ud800')", "outputs": ["SECRET"]}]}"""
# Speaks as far as the greeting, then does what the test wants.
GREETING = """
import os, struct, sys, time
def read(n):
    data = b""
    while len(data) < n: data += os.read(0, n - len(data))
    return data
def frame(): return read(struct.unpack(">I", read(4))[0])
def say(body): os.write(1, struct.pack(">I", len(body)) + body)
frame(); say(b'{"disabled": {}}'); frame()
"""


@pytest.fixture(scope="module")
def chunker() -> Iterator[TreeSitterChunker]:
    with TreeSitterChunker() as found:
        yield found


def child_that(does: str, seconds: float = 20.0) -> TreeSitterChunker:
    return TreeSitterChunker(file_seconds=seconds, command=(sys.executable, "-c", GREETING + does))


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the child's own clock, which counts its processor time, be the one that ends it."""
    monkeypatch.setattr("codetrail.adapters.treesitter.chunker.WALL_FACTOR", 1_000)


def causes(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Why the parser was stopped, each time: "died" is by its own clock, "out of time" by ours."""
    return [vars(record)["cause"] for record in caplog.records if record.getMessage() == "parser stopped"]


def test_a_file_is_cut_by_the_child(chunker: TreeSitterChunker) -> None:
    chunked = chunker.chunk("a.go", "go", GO)

    assert [(piece.kind, piece.symbol) for piece in chunked.pieces] == [("func", "f")]
    assert chunked.reason is None


@pytest.mark.usefixtures("unhurried")
def test_a_file_that_hangs_the_parser_comes_in_windows_and_the_next_one_by_declaration(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Half a megabyte of brackets keeps the Go grammar busy for seconds.
    with TreeSitterChunker(file_seconds=0.3) as chunker:
        chunker.self_test()
        hung = chunker.chunk("a.go", "go", b"}{)(][" * 80_000)
        after = chunker.chunk("b.md", "markdown", b"# A\n\ntext\n")

    assert hung.reason == "parse_budget"
    assert {piece.kind for piece in hung.pieces} == {"file"}
    assert causes(caplog) == ["died"]
    assert [piece.symbol for piece in after.pieces] == ["A"]


@pytest.mark.parametrize(
    ("does", "cause"),
    [
        ("os._exit(139)", "died"),
        ("os.kill(os.getpid(), 11)", "died"),
        ("os.write(1, b'\\xff\\xff\\xff\\xff')", "reply too large"),
        ("time.sleep(600)", "out of time"),
    ],
    ids=["exits", "crashes", "claims too large a reply", "sleeps"],
)
def test_a_child_that_fails_costs_its_file_the_declarations_and_nothing_else(
    does: str, cause: str, caplog: pytest.LogCaptureFixture
) -> None:
    with child_that(does, seconds=0.1 if "sleep" in does else 20.0) as chunker:
        first, second = chunker.chunk("a.go", "go", GO), chunker.chunk("a.go", "go", GO)

    assert (first.reason, second.reason) == ("parse_budget", "parse_budget")
    assert [(piece.start_byte, piece.end_byte) for piece in first.pieces] == [(0, len(GO))]
    assert causes(caplog) == [cause, cause]


def test_a_notebook_that_fails_the_child_shows_no_output_in_windows() -> None:
    with child_that("os._exit(139)") as chunker:
        chunked = chunker.chunk("a.ipynb", "notebook", NOTEBOOK)

    assert (chunked.pieces, chunked.reason) == ((), "parse_budget")


@pytest.mark.parametrize("strategy", ["ast", "window"])
def test_a_notebook_is_cut_by_cell_under_either_strategy(strategy: str) -> None:
    with TreeSitterChunker(strategy=strategy) as chunker:
        chunked = chunker.chunk("a.ipynb", "notebook", NOTEBOOK)

    assert [piece.text for piece in chunked.pieces] == ["run('\ufffd')"]


def test_a_parser_that_does_not_start_is_no_files_fault() -> None:
    with (
        TreeSitterChunker(command=(sys.executable, "-c", "")) as chunker,
        pytest.raises(Unavailable, match="does not start"),
    ):
        chunker.chunk("a.go", "go", GO)


def test_files_that_all_end_the_parser_are_given_up_on(tmp_path: Path) -> None:
    started = tmp_path / "started"
    with child_that(f"open({str(started)!r}, 'a').write('x'); os._exit(1)") as chunker:
        reasons = {chunker.chunk("a.go", "go", GO).reason for _ in range(MAX_DEATHS + 20)}

    assert reasons == {"parse_budget"}
    assert len(started.read_text()) == MAX_DEATHS


def test_a_file_that_hangs_ends_its_child_even_when_the_worker_is_dead() -> None:
    options = b'{"rules": {}, "strip": false, "seconds": 0.3}'
    hang = b"}{)(][" * 80_000
    request = b'{"path": "a.go", "language": "go", "bytes": %d}' % len(hang)
    frames = b"".join(struct.pack(">I", len(frame)) + frame for frame in (options, request))
    command = [sys.executable, "-m", "codetrail.adapters.treesitter.child"]

    # Nobody reads the reply, nobody kills.
    ended = subprocess.run(command, input=frames + hang, stdout=subprocess.DEVNULL, check=False, timeout=60)

    assert ended.returncode == -signal.SIGPROF


def test_a_killed_child_leaves_no_process_behind() -> None:
    with child_that("time.sleep(600)", seconds=0.1) as chunker:
        chunker.self_test()
        child = chunker._child
        assert child is not None
        chunker.chunk("a.go", "go", GO)

        with pytest.raises(ProcessLookupError):
            os.kill(child.pid, 0)


def test_the_child_has_none_of_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://secret")
    leak = "say(('{\"pieces\": [[\"file\", \"' + ' '.join(sorted(os.environ)) + '\", 0, 1, null]], '"
    with child_that(leak + '\'"reason": null, "blanks": []}\').encode())') as chunker:
        chunked = chunker.chunk("a.go", "go", GO)

    assert set(chunked.pieces[0].symbol.split()) <= {"LANG", "LC_CTYPE", "PYTHONPATH"}


def test_memory_over_the_ceiling_ends_the_child_and_not_the_worker() -> None:
    eat = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)); b'x' * (2 << 30)"
    with child_that(eat) as chunker:
        assert chunker.chunk("a.go", "go", GO).reason == "parse_budget"


@pytest.mark.parametrize(
    ("path", "language", "data"),
    [
        ("a.go", "go", b"package a\nvar x = " + b"(" * 100_000),
        ("a.py", "python", b"[" * 20_000),
        ("a.md", "markdown", b"*a_ " * 60_000),
        ("b.md", "markdown", b">" * 50_000 + b" x\n"),
        ("a.json", "notebook", b"[" * 100_000),
        ("a.c", "c", b"#if A\n" * 20_000),
    ],
)
@pytest.mark.usefixtures("unhurried")
def test_bombs_cost_no_more_than_their_own_time_and_are_searchable_or_said_not_to_be(
    chunker: TreeSitterChunker, path: str, language: str, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    chunked = chunker.chunk(path, language, data)
    after = chunker.chunk("after.go", "go", GO)

    assert chunked.pieces or chunked.reason == "unreadable_notebook"
    assert causes(caplog) == (["died"] if chunked.reason == "parse_budget" else [])
    assert [piece.symbol for piece in after.pieces] == ["f"]


def test_600_files_of_a_language_load_it_once(chunker: TreeSitterChunker) -> None:
    chunker.chunk("a.ts", "typescript", b"export function f() {}\n")
    child = chunker._child
    assert child is not None

    def memory() -> int:
        return int(Path(f"/proc/{child.pid}/statm").read_text().split()[1])

    before = memory()
    for number in range(600):
        chunker.chunk(f"a{number}.ts", "typescript", b"export function f() {}\n")

    assert chunker._child is child
    assert memory() < before * 1.2


def test_a_query_that_does_not_fit_disables_its_language_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = shutil.copytree(grammars._QUERIES, tmp_path / "queries")
    (queries / "go.scm").write_text("(no_such_node) @func")
    monkeypatch.setattr(grammars, "_QUERIES", queries)
    grammars.query.cache_clear()
    try:
        cutting = Cutting(Rules())
        wrong = cutting.self_test()
        go = cutting.cut("a.go", "go", GO)
        python = cutting.cut("a.py", "python", b"def f(): pass\n")
    finally:
        grammars.query.cache_clear()

    assert list(wrong) == ["go"]
    assert (go.reason, [piece.kind for piece in go.pieces]) == ("no_grammar", ["file"])
    assert [piece.symbol for piece in python.pieces] == ["f"]


def test_shipped_grammars_and_queries_fit(chunker: TreeSitterChunker) -> None:
    assert chunker.self_test() == {}


def test_the_fingerprint_tells_rules_apart_and_is_the_same_in_every_process() -> None:
    found = {
        TreeSitterChunker().fingerprint,
        TreeSitterChunker(strategy="window").fingerprint,
        TreeSitterChunker(strip_doc_comments=True).fingerprint,
        TreeSitterChunker(Rules(window_lines=41)).fingerprint,
    }
    script = (
        "from codetrail.adapters.treesitter.chunker import TreeSitterChunker as T;"
        " print(T().fingerprint, end='')"
    )
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True).stdout

    assert len(found) == 4
    assert other == TreeSitterChunker().fingerprint


def test_the_window_strategy_parses_nothing() -> None:
    chunker = TreeSitterChunker(strategy="window", command=("/does/not/exist",))

    chunked = chunker.chunk("a.go", "go", b"package a\n" * 100)

    assert [piece.kind for piece in chunked.pieces] == ["file"] * 3
    assert [piece.start_byte // 10 for piece in chunked.pieces] == [0, 30, 60]


def test_the_window_strategy_over_stripped_text_keeps_its_windows() -> None:
    data = b"package a\n\n// F does it.\nfunc F() {}\n"
    with TreeSitterChunker(strategy="window", strip_doc_comments=True) as chunker:
        chunked = chunker.chunk("a.go", "go", data)

    assert [(piece.kind, piece.start_byte, piece.end_byte) for piece in chunked.pieces] == [
        ("file", 0, len(data))
    ]
    assert [data[start:end] for start, end in chunked.blanks] == [b"// F does it."]
