"""Notebooks by cell, on the lines of the file itself."""

import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.chunking import cut_file


def notebook(*cells: dict[str, Any]) -> bytes:
    return json.dumps(
        {"cells": cells, "metadata": {"a": {"source": ["no"]}}, "nbformat": 4}, indent=1
    ).encode()


def code(*lines: str, output: str = "") -> dict[str, Any]:
    outputs = [{"output_type": "stream", "text": [output], "data": {"source": ["no"]}}] if output else []
    return {"cell_type": "code", "metadata": {"source": "no"}, "outputs": outputs, "source": list(lines)}


CELLS = notebook(
    {"cell_type": "markdown", "metadata": {}, "source": ["# Load\n", "from a file"]},
    code("import x\n", "x.run()", output="SECRET"),
    code("y"),
    code(" "),
)


def test_a_cell_is_its_source_without_its_output() -> None:
    data = notebook(code("import x\n", "x.run()", output="SECRET"), code("y"))

    cut = cut_file("a.ipynb", data)

    assert [piece.kind for piece in cut.pieces] == ["file", "file"]
    assert "x.run()" in cut.pieces[0].text
    assert "SECRET" not in "".join(piece.text for piece in cut.pieces)
    assert cut.reason is None


def test_prose_names_what_follows_it() -> None:
    prose = {"cell_type": "markdown", "metadata": {}, "source": ["# Loading data\n", "From a file."]}

    cut = cut_file("a.ipynb", notebook(prose, code("load()")))

    assert [(piece.kind, piece.symbol) for piece in cut.pieces] == [
        ("section", "Loading data"),
        ("file", "Loading data"),
    ]


def test_a_source_may_be_one_string() -> None:
    cut = cut_file("a.ipynb", notebook({"source": "run()", "cell_type": "code", "metadata": {}}))

    assert cut.pieces[0].text.strip() == '"source": "run()",'


@pytest.mark.parametrize(
    "data",
    [
        b'{"cells": 1}',
        b"not json at all",
        b'{"worksheets": [{"cells": [{"input": "x", "outputs": [{"text": "SECRET"}]}]}]}',
        notebook(code("a", output="SECRET"))[:-20],
        b"[" * 300 + b'"words"' + b"]" * 300,
    ],
    ids=["no cells", "no JSON", "format 3", "cut short", "nested too deep"],
)
def test_of_a_notebook_that_cannot_be_read_nothing_is_searched(data: bytes) -> None:
    cut = cut_file("a.ipynb", data)

    assert (cut.pieces, cut.reason) == ([], "unreadable_notebook")


def test_a_notebook_without_cells_is_empty_and_no_error() -> None:
    cut = cut_file("a.ipynb", notebook())

    assert (cut.pieces, cut.reason) == ([], None)


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(json.loads(CELLS)).encode(),
        json.dumps(json.loads(CELLS), separators=(",", ":")).encode() + b"\n",
    ],
)
def test_cells_on_one_line_are_read_alone_and_cited_by_the_whole_line(data: bytes) -> None:
    cut = cut_file("a.ipynb", data)

    assert [(*piece.where, piece.text) for piece in cut.pieces] == [
        ("section", "Load", 1, 1, "# Load\nfrom a file"),
        ("file", "Load", 1, 1, "import x\nx.run()"),
        ("file", "Load", 1, 1, "y"),
    ]
    assert {piece.digest for piece in cut.pieces} == {sha256(data.removesuffix(b"\n")).hexdigest()}
    assert cut.reason is None


def test_a_cell_on_the_same_line_as_its_output_is_read_without_it() -> None:
    cells = ",\n".join(json.dumps(code(source, output="SECRET")) for source in ("first()", "second()"))
    data = b'{"cells": [\n' + cells.encode() + b"\n]}"

    cut = cut_file("a.ipynb", data)

    assert [(piece.start, piece.end, piece.text) for piece in cut.pieces] == [
        (2, 2, "first()"),
        (3, 3, "second()"),
    ]


TEXTS = st.text(st.characters(codec="utf-8"), max_size=30)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(TEXTS, max_size=5), min_size=1, max_size=6))
def test_every_cells_lines_hold_that_cells_source(cells: list[list[str]]) -> None:
    data = notebook(*(code(*lines) for lines in cells))
    kept = [lines for lines in cells if "".join(lines).strip()]

    cut = cut_file("a.ipynb", data)

    if not any(character.isalnum() for character in data.decode()) or not kept:
        return
    assert len(cut.pieces) == len(kept)
    for piece, lines in zip(cut.pieces, kept, strict=True):
        value = piece.text.partition(":")[2].strip().removesuffix(",")
        assert json.loads(value) == lines
