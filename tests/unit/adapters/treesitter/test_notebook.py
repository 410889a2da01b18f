"""Notebooks by cell, on the lines of the file itself."""

import json
from typing import Any

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


def test_what_is_no_notebook_comes_in_windows() -> None:
    for data in (b'{"cells": 1}', b"not json at all", b'{"worksheets": []}', notebook(code("a"))[:-20]):
        cut = cut_file("a.ipynb", data)

        assert [piece.kind for piece in cut.pieces] == ["file"]
        assert cut.reason == "parse_errors"


def test_a_notebook_on_one_line_comes_in_windows() -> None:
    data = json.dumps(json.loads(notebook(code("a"), code("b")))).encode()

    assert [piece.where for piece in cut_file("a.ipynb", data).pieces] == [("file", "", 1, 1)]


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
