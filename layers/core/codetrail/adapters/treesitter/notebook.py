"""A Jupyter notebook to pieces: its cells, without their outputs.

A cell's lines are those of its source in the file itself, JSON and all, since a citation is of the file's
lines. Outputs and metadata mostly stand on other lines; where a cell shares a line with anything, as in JSON
that is written on one line, its text is its source alone. What is no notebook of format 4 gives nothing: its
outputs could not be told from its cells.
"""

import json
import re
from collections.abc import Iterator

from codetrail.adapters.treesitter.windows import Rows, Rules, windows
from codetrail.domain.repo import Reason
from codetrail.domain.span import Kind
from codetrail.services.ports import Chunked, Piece

_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t]*#*$", re.MULTILINE)
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"')
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{},:]')
# What stands beside a source that has its lines to itself.
_LEAD = re.compile(rb'\s*(?:"source"\s*:\s*)?')
_REST = re.compile(rb"\s*,?\s*")
# Deeper JSON than any notebook's, and than the parser's own recursion takes.
_MAX_DEPTH = 200


def cut_notebook(source: bytes, rules: Rules) -> Chunked:
    """Cut a notebook at its cells."""
    if not _is_notebook(source):
        return Chunked((), Reason.NOTEBOOK)
    rows = Rows(source)
    pieces: list[Piece] = []
    heading = ""
    for kind, text, start, end in _cells(source):
        first, last = _row(source, start), _row(source, end - 1)
        if kind == "markdown" and (title := _HEADING.search(text)):
            heading = " ".join(title.group(1).split())
        if not text.strip():
            continue
        whole = Kind.SECTION if kind == "markdown" else Kind.FILE
        alone = _LEAD.fullmatch(source, rows.start(first), start) and _REST.fullmatch(
            source, end, rows.end(last)
        )
        if not alone:
            pieces.append(Piece(whole, heading, start, end, text))
        elif last - first + 1 > rules.max_declaration_lines:
            pieces += windows(rows, first, last, rules, heading)
        else:
            pieces.append(Piece(whole, heading, rows.start(first), rows.end(last)))
    return Chunked(tuple(pieces))


def _row(source: bytes, byte: int) -> int:
    return source.count(b"\n", 0, byte)


def _is_notebook(source: bytes) -> bool:
    if _depth(source) > _MAX_DEPTH:
        return False
    try:
        found = json.loads(source)
    except ValueError:
        return False
    return isinstance(found, dict) and isinstance(found.get("cells"), list)


def _depth(source: bytes) -> int:
    depth = deepest = 0
    for byte in _STRING.sub(b"", source):
        if byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest


def _cells(source: bytes) -> Iterator[tuple[str, str, int, int]]:
    """Yield type, text and the bytes of the value of `source` of each cell, in the file's order.

    Reads valid JSON from token to token, since a JSON parser tells no positions. `opened[n]` is the key under
    which the container at depth n stands: a cell is an object at depth 3, below `cells` at depth 2.
    """
    opened, key, expects_key = [""], "", False
    kind, text, start, end = "", "", 0, 0
    for token in _TOKEN.finditer(source):
        mark = token.group()
        in_cell = len(opened) == 4 and opened[2] == "cells"
        in_source = len(opened) == 5 and opened[2] == "cells" and opened[4] == "source"
        if mark in (b"{", b"["):
            opened.append(key)
            expects_key = mark == b"{"
            if in_cell and key == "source":
                start = token.start()
        elif mark in (b"}", b"]"):
            if in_source:
                text, end = _text(source[start : token.end()]), token.end()
            elif in_cell:
                if end:
                    yield kind, text, start, end
                kind, text, start, end = "", "", 0, 0
            opened.pop()
            expects_key = False
        elif mark == b",":
            # Only keys at the top and of cells are read; deeper ones are never asked for.
            expects_key = len(opened) in (2, 4)
        elif mark == b":":
            expects_key = False
        elif expects_key:
            key = json.loads(mark)
        elif in_cell and key == "cell_type":
            kind = json.loads(mark)
        elif in_cell and key == "source":
            (start, end), text = token.span(), json.loads(mark)


def _text(value: bytes) -> str:
    return "".join(part for part in json.loads(value) if isinstance(part, str))
