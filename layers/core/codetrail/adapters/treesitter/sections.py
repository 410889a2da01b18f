"""A Markdown file to pieces: its sections by heading, long ones split with an overlap.

Only the grammar of blocks is used: headings in code, quotes, lists and HTML are not headings of the file.
Front matter is no text. A heading with nothing under it joins the piece before it, where it still says
what comes next; the first of a file joins the piece after it. A file of headings alone is one piece.
"""

import re
from dataclasses import dataclass
from importlib import import_module

from tree_sitter import Language, Node, Parser

from codetrail.adapters.treesitter.windows import Rows
from codetrail.domain.span import Kind
from codetrail.services.ports import Chunked, Piece

SECTION_BYTES = 4_000
OVERLAP_BYTES = 200
# An overlap of whole lines; a longer line than this is not repeated.
MAX_OVERLAP_BYTES = 2_000
MAX_HEADING_CHARACTERS = 200

_TRAILING_MARKS = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_TAG = re.compile(r"<[^<>]*>")


@dataclass(frozen=True, slots=True)
class _Heading:
    row: int
    last: int
    level: int
    text: str


@dataclass(slots=True)
class _Section:
    path: str
    first: int
    last: int


def block_parser() -> Parser:
    """Return a parser of Markdown's blocks."""
    return Parser(Language(import_module("tree_sitter_markdown").language()))


def cut_markdown(source: bytes, blocks: Parser) -> Chunked:
    """Cut a file at its headings."""
    rows = Rows(source)
    headings, begin = _outline(source, blocks.parse(source).root_node)
    pieces: list[Piece] = []
    for section in _sections(headings, rows, begin, source):
        pieces += _split(section, rows, source)
    return Chunked(tuple(pieces))


def _outline(source: bytes, root: Node) -> tuple[list[_Heading], int]:
    """Return the file's own headings, and the row on which its text begins, behind front matter."""
    headings, begin, stack = [], 0, [root]
    while stack:
        for child in stack.pop().children:
            if child.type == "section":
                stack.append(child)
            elif child.type in ("atx_heading", "setext_heading"):
                headings.append(_heading(source, child))
            elif child.type in ("minus_metadata", "plus_metadata"):
                begin = _last_row(child) + 1
    return sorted(headings, key=lambda heading: heading.row), begin


def _heading(source: bytes, node: Node) -> _Heading:
    level, text = 1, ""
    for child in node.children:
        if child.type.endswith(("_marker", "_underline")):
            level = int(re.sub(r"\D", "", child.type))
        elif child.type in ("inline", "paragraph"):
            text = source[child.start_byte : child.end_byte].decode("utf-8", "replace")
    # What a reader sees, near enough: no closing marks, no markup.
    text = _TRAILING_MARKS.sub("", text.strip())
    text = _TAG.sub("", _LINK.sub(r"\1", text)).replace("`", "").replace("**", "").replace("__", "")
    return _Heading(
        node.start_point.row, _last_row(node), level, " ".join(text.split())[:MAX_HEADING_CHARACTERS]
    )


def _last_row(node: Node) -> int:
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point.row else row


def _sections(headings: list[_Heading], rows: Rows, begin: int, source: bytes) -> list[_Section]:
    sections: list[_Section] = []
    above: list[_Heading] = []
    pending = -1  # row of headings that have said nothing yet and have no piece before them
    if not headings or headings[0].row > begin:
        last = headings[0].row - 1 if headings else len(rows) - 1
        if _says(source, rows, begin, last):
            sections.append(_Section("", begin, last))
    for at, heading in enumerate(headings):
        following = headings[at + 1] if at + 1 < len(headings) else None
        while above and above[-1].level >= heading.level:
            above.pop()
        above.append(heading)
        last = following.row - 1 if following else len(rows) - 1
        if _says(source, rows, heading.last + 1, last):
            path = " > ".join(one.text for one in above if one.text)
            sections.append(_Section(path, heading.row if pending < 0 else pending, last))
            pending = -1
        elif sections:
            sections[-1].last = last
        elif pending < 0:
            pending = heading.row
    if not sections and headings:
        # Nothing but headings; or lines that end in CR, which all are one heading to git. It must be found.
        sections.append(_Section(headings[0].text, begin, len(rows) - 1))
    return sections


def _says(source: bytes, rows: Rows, first: int, last: int) -> bool:
    return first <= last and bool(source[rows.start(first) : rows.end(last)].strip())


def _split(section: _Section, rows: Rows, source: bytes) -> list[Piece]:
    first, last = section.first, section.last
    while first < last and not source[rows.start(last) : rows.end(last)].strip():
        last -= 1
    while first < last and not source[rows.start(first) : rows.end(first)].strip():
        first += 1
    pieces = []
    at = first
    while True:
        end = _cut(rows, source, at, last)
        pieces.append(Piece(Kind.SECTION, section.path, rows.start(at), rows.end(end)))
        if end >= last:
            return pieces
        at = max(_overlap(rows, end), at + 1)


def _cut(rows: Rows, source: bytes, at: int, last: int) -> int:
    """Return the last row of the piece that starts at row *at*: at a paragraph's end in its second half, else
    where the bytes run out. A row that is longer than a piece stands alone."""
    start, end, paragraph = rows.start(at), at, -1
    if rows.end(last) - start <= SECTION_BYTES:
        return last
    while end < last and rows.end(end + 1) - start <= SECTION_BYTES:
        end += 1
        blank = not source[rows.start(end) : rows.end(end)].strip()
        if blank and rows.start(end) - start >= SECTION_BYTES // 2:
            paragraph = end - 1
    return paragraph if paragraph > at else end


def _overlap(rows: Rows, end: int) -> int:
    """Return the row at which the piece behind row *end* starts."""
    at = end + 1
    while at > 0 and rows.end(end) - rows.start(at) < OVERLAP_BYTES:
        if rows.end(end) - rows.start(at - 1) > MAX_OVERLAP_BYTES:
            break
        at -= 1
    return at
