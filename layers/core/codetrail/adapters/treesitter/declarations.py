"""A parsed file to pieces: one a declaration, and the words that stand outside any.

The rules, in the order in which a reader would ask for them:

* A declaration takes the comments and attributes that stand directly above it, and what encloses it
  (`export`, decorators). Those of a group, `const (`, go to the group's first.
* A function is one piece. What is declared inside it is a piece of its own as well, so that it can be
  found by its name `outer.inner`.
* A type whose members are pieces is cut to its head: its comments up to its first member. Nothing is stored
  twice, and fields that stand before the methods are in the head. A type of a few lines stays whole, since
  its head alone would say little. A function over the line ceiling that declares others inside is cut like
  a type.
* A declaration over the ceiling becomes windows that keep its name; their kind is `file`.
* What one statement declares in lines of its own without comments, as the names of a `const (` may stand, is
  one piece with all their names.
* Lines outside all of these which hold statements are windows. Imports are dropped, and so are short comments
  and licences; a comment of four lines or more that belongs to nothing is searchable too.
* A module's or package's own documentation is a piece: its docstring, the comment over `package`, or the
  comment that opens the file and is no licence.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node, Query, QueryCursor, Tree

from codetrail.adapters.treesitter.grammars import Grammar
from codetrail.adapters.treesitter.windows import Rows, Rules, windows
from codetrail.domain.span import Kind
from codetrail.services.ports import Chunked, Piece

# Deeper trees make queries slow, then silent, then crash what prints them; people do not write them.
MAX_DEPTH = 1_000
# A floating comment with fewer lines of words is a heading or a directive.
FLOATING_COMMENT_ROWS = 4
# A declaration of few but giant lines is cut like one of many lines.
MAX_DECLARATION_BYTES = 32_000
# One-line neighbours stand together up to here.
MAX_GROUP_ROWS = 40
SMALL_TYPE_ROWS = 12
MAX_SYMBOL_CHARACTERS = 400

_LICENCE = re.compile(rb"copyright|licensed (?:under|to)|spdx-|all rights reserved", re.IGNORECASE)
_WORDS = re.compile(rb"[A-Za-z\x80-\xff]{2,}")
# An opening comment of fewer words is a directive: an encoding, a lint switch.
OPENING_WORDS = 5
_BRANCHES = (
    *("_clause", "if_statement", "try_statement", "namespace_declaration", "namespace_definition"),
    *("preproc_if", "preproc_ifdef", "preproc_elif", "preproc_elifdef", "preproc_else"),
)
_BODIES = ("block", "body", "statement", "list", "declaration", "definition", "comment")


@dataclass(frozen=True, slots=True)
class _Declared:
    """A node that the query named."""

    node: Node
    kind: str
    mergeable: bool
    name: str
    owner: str


@dataclass(slots=True)
class _Entry:
    """A declaration in its place, by rows."""

    kind: str
    symbol: str
    first: int  # with what stands above it
    head: int  # of the declaration itself
    last: int
    mergeable: bool
    group: int  # the enclosing statement of several, such as `const (`; 0 for none
    parent: "_Entry | None"
    members: list["_Entry"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Wrap:
    """An enclosing node that belongs to what is declared inside: whole to a single declaration, its start to
    the first of several."""

    first: int
    head: int
    last: int
    documented: bool


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where the walk stands."""

    node: Node
    entry: _Entry | None  # the innermost declaration around
    qualifier: str  # what names inside are qualified by
    wrap: _Wrap | None
    opened: bool  # its other children are statements of the file or of a type's body


@dataclass(frozen=True, slots=True)
class _Rest:
    """Rows outside declarations."""

    first: int
    last: int
    entry: _Entry | None
    comment: bool
    start_byte: int
    end_byte: int


def depth_and_errors(tree: Tree) -> tuple[int, list[Node]]:
    """Return how deep a tree is, and its outermost error nodes; stop looking when it is too deep."""
    cursor, depth, deepest, errors = tree.walk(), 0, 0, []
    look = tree.root_node.has_error
    inside = -1  # depth of the error node that the cursor is in
    while True:
        if look and inside < 0:
            node = cursor.node
            if node is not None and (node.is_error or node.is_missing):
                errors.append(node)
                inside = depth
        if cursor.goto_first_child():
            depth += 1
            deepest = max(deepest, depth)
            if deepest > MAX_DEPTH:
                return deepest, errors
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return deepest, errors
            depth -= 1
            if depth <= inside:
                inside = -1
        if depth <= inside:
            inside = -1


class Cutter:
    """Cuts one file; made for one tree and thrown away."""

    def __init__(
        self,
        source: bytes,
        tree: Tree,
        grammar: Grammar,
        query: Query,
        *,
        module: str,
        rules: Rules,
        strip: bool,
    ) -> None:
        self._source = source
        self._root = tree.root_node
        self._grammar = grammar
        self._rules = rules
        self._rows = Rows(source)
        self._strip = strip
        self._module = module
        self._declared = self._match(query)
        self._starts = sorted(found.node.start_byte for found in self._declared.values())
        self._entries: list[_Entry] = []
        self._rest: list[_Rest] = []
        self._blanks: list[tuple[int, int]] = []
        self._covered = bytearray(len(self._rows) + 1)

    def cut(self) -> Chunked:
        """Return the pieces in the order of the file."""
        self._walk()
        self._merge()
        pieces = [piece for entry in self._entries for piece in self._cut_entry(entry)]
        pieces += self._cut_rest()
        pieces.sort(key=lambda piece: (piece.start_byte, -piece.end_byte))
        return Chunked(tuple(pieces), blanks=tuple(sorted(self._blanks)))

    def keep(self, errors: Sequence[Node]) -> None:
        """Make the rows of parse errors searchable, where no declaration covers them; before cutting."""
        for error in errors:
            if not error.is_missing:
                first, last = error.start_point.row, min(self._last_row(error), len(self._rows) - 1)
                self._rest.append(_Rest(first, last, None, False, error.start_byte, error.end_byte))

    def lost(self, error: Node) -> int:
        """Return how many rows of *error* no declaration covers: where something may have been missed."""
        first, last = error.start_point.row, min(self._last_row(error), len(self._rows) - 1)
        return self._covered[first : last + 1].count(0)

    # What the query says

    def _match(self, query: Query) -> dict[int, _Declared]:
        ranked: dict[int, tuple[int, _Declared]] = {}
        for pattern, captures in QueryCursor(query).matches(self._root):
            label = next(name for name in captures if name not in ("name", "owner"))
            node = captures[label][0]
            seen = ranked.get(node.id)
            if seen and seen[0] < pattern:
                continue
            named = [self._clean(part) for part in captures.get("name", [])]
            if not named:
                named = [self._grammar.clean(part) for part in self._grammar.name(node, self._source)]
            if seen and seen[0] == pattern:
                # One pattern may name a node several times: `var a, b`.
                named = [*seen[1].name.split(", "), *named]
            owner = ".".join(self._clean(part) for part in captures.get("owner", []))
            kind, _, suffix = label.partition(".")
            if kind in (Kind.CONST, Kind.VAR) and self._grammar.is_import(self._bytes(node)):
                continue
            declared = _Declared(node, kind, suffix == "line", _joined(named), owner)
            ranked[node.id] = (pattern, declared)
        nameless = ("scope", "package")
        return {key: found for key, (_, found) in ranked.items() if found.name or found.kind in nameless}

    def _clean(self, node: Node) -> str:
        return self._grammar.clean(self._bytes(node).decode("utf-8", "replace"))

    def _bytes(self, node: Node) -> bytes:
        return self._source[node.start_byte : node.end_byte]

    # The walk: only into nodes that hold declarations

    def _walk(self) -> None:
        stack = [_Frame(self._root, None, "", None, opened=True)]
        while stack:
            frame = stack.pop()
            children = frame.node.children
            inner = [child.id for child in children if self._count(child)]
            for index, child in enumerate(children):
                found = self._declared.get(child.id)
                wrap = frame.wrap if inner and child.id == inner[0] else None
                if found and found.kind == "package":
                    self._package(found, children, index)
                elif found and found.kind == "scope":
                    qualifier = _joined([frame.qualifier, found.name], ".")
                    stack.append(_Frame(child, frame.entry, qualifier, None, opened=False))
                elif found:
                    entry = self._enter(found, children, index, frame, wrap, alone=len(inner) == 1)
                    if self._count(child) > 1:
                        stack.append(_Frame(child, entry, entry.symbol.split(", ")[0], None, opened=False))
                elif self._count(child):
                    below = self._wrap(children, index, wrap, alone=len(inner) == 1)
                    stack.append(_Frame(child, frame.entry, frame.qualifier, below, opened=True))
                elif frame.opened:
                    self._outside(children, index, frame)
        self._entries.sort(key=lambda entry: (entry.first, -entry.last))

    def _count(self, node: Node) -> int:
        """Return how many declarations start in *node*, itself counted."""
        return bisect_left(self._starts, node.end_byte) - bisect_left(self._starts, node.start_byte)

    def _wrap(
        self, children: Sequence[Node], index: int, outer: _Wrap | None, *, alone: bool
    ) -> _Wrap | None:
        child = children[index]
        if child.type not in self._grammar.wrappers:
            return None
        if outer:
            return outer if alone else _Wrap(outer.first, outer.head, self._last_row(child), outer.documented)
        first, documented = self._above(children, index)
        return _Wrap(first, child.start_point.row, self._last_row(child), documented)

    def _enter(
        self,
        found: _Declared,
        children: Sequence[Node],
        index: int,
        frame: _Frame,
        wrap: _Wrap | None,
        *,
        alone: bool,
    ) -> _Entry:
        node = found.node
        first, documented = self._above(children, index)
        head, last = node.start_point.row, self._last_row(node)
        one_line = head == last
        if wrap:
            first, head = min(first, wrap.first), min(head, wrap.head)
            if alone:
                last, documented = max(last, wrap.last), documented or wrap.documented
        if self._grammar.docstrings and self._strip:
            self._blank_docstring(node)
        around = frame.entry
        if around and around.kind == found.kind and last == around.last:
            # `app.use = function use`, `typedef struct s {} t`: one declaration under two names.
            named = around.symbol.split(", ")
            if head == around.head and found.kind == Kind.TYPE:
                around.symbol = _joined([*named, found.name])
            if head == around.head or found.name in (*named, *(name.rpartition(".")[2] for name in named)):
                return around
        qualifier = found.owner or frame.qualifier
        symbol = ", ".join(_joined([qualifier, name], ".") for name in found.name.split(", "))
        entry = _Entry(
            found.kind, symbol[:MAX_SYMBOL_CHARACTERS], first, head, last,
            mergeable=found.mergeable and one_line and not documented,
            group=frame.node.id if frame.node.type in self._grammar.wrappers else 0, parent=frame.entry,
        )  # fmt: skip
        self._entries.append(entry)
        if frame.entry:
            frame.entry.members.append(entry)
        return entry

    def _above(self, children: Sequence[Node], index: int, *, declared: bool = True) -> tuple[int, bool]:
        """Return the first row of what stands directly above a child and belongs to it, and whether a comment
        is among it."""
        row, documented = children[index].start_point.row, False
        reached = row  # the row above which the next one must end; a blanked comment moves it, but no row
        for at in range(index - 1, -1, -1):
            above = children[at]
            comment = above.type in self._grammar.comments
            if not comment and above.type not in self._grammar.attached:
                break
            if self._last_row(above) + 1 + self._gap(above, comment) < reached:
                break
            # A comment behind code belongs to that code.
            if comment and at and self._last_row(children[at - 1]) == above.start_point.row:
                break
            reached = above.start_point.row
            if comment and self._strip and declared:
                # Blanked, it is a comment no longer, and the declaration starts later.
                self._blanks.append((above.start_byte, above.end_byte))
                continue
            documented, row = documented or comment, reached
        return row, documented

    def _gap(self, node: Node, comment: bool) -> int:
        """Return how many blank lines may part a comment from what it documents: one, for `/**`, which is
        never meant for itself but at the top of a file."""
        text = self._bytes(node) if comment else b""
        return 1 if text.startswith(b"/**") and not _LICENCE.search(text) else 0

    def _last_row(self, node: Node) -> int:
        """Return the row of a node's last byte; some nodes end behind their line's LF."""
        row, column = node.end_point
        return row - 1 if column == 0 and row > node.start_point.row else row

    def _blank_docstring(self, node: Node) -> None:
        body = node.child_by_field_name("body")
        first = next(iter(body.named_children), None) if body else None
        if first and first.type == "expression_statement":
            first = next(iter(first.named_children), None)
        if first and first.type == "string":
            self._blanks.append((first.start_byte, first.end_byte))

    def _package(self, found: _Declared, children: Sequence[Node], index: int) -> None:
        """Documentation of the module: a docstring itself, or the comment over a package clause."""
        node = found.node
        first, documented = self._above(children, index)
        itself = not found.name
        if self._strip and itself:
            self._blanks.append((node.start_byte, node.end_byte))
        above = self._source[self._rows.start(first) : node.start_byte]
        if self._strip or not (itself or (documented and not _LICENCE.search(above))):
            return
        first = node.start_point.row if itself else first
        self._entries.append(
            _Entry(
                Kind.PACKAGE,
                found.name or self._module,
                first,
                node.start_point.row,
                self._last_row(node),
                mergeable=False,
                group=0,
                parent=None,
            )
        )

    def _outside(self, children: Sequence[Node], index: int, frame: _Frame) -> None:
        node, grammar = children[index], self._grammar
        if not node.is_named or node.type in grammar.imports or node.type in grammar.attached:
            return
        comment = node.type in grammar.comments
        if not comment and grammar.is_import(self._bytes(node)):
            return
        # The condition of an `if` around declarations says nothing without them.
        if frame.node.type.endswith(_BRANCHES) and not node.type.endswith(_BODIES):
            return
        first = node.start_point.row
        if not comment:
            first, _ = self._above(children, index, declared=False)
        self._rest.append(
            _Rest(first, self._last_row(node), frame.entry, comment, node.start_byte, node.end_byte)
        )

    # Rows to pieces

    def _merge(self) -> None:
        """Join neighbours: one-liners under each other, several declarations on the same lines, and
        signatures with what they announce."""
        kept: list[_Entry] = []
        for entry in self._entries:
            last = kept[-1] if kept else None
            if last and last.parent is entry.parent and not entry.members and self._belong(last, entry):
                last.symbol = _joined([*last.symbol.split(", "), *entry.symbol.split(", ")])
                last.last = max(last.last, entry.last)
                last.mergeable = last.mergeable and entry.mergeable
            else:
                kept.append(entry)
        self._entries = kept

    def _belong(self, last: _Entry, entry: _Entry) -> bool:
        if last.kind != entry.kind or entry.first > last.last + 1 or last.members:
            return False
        if last.mergeable and entry.mergeable and entry.group and last.group == entry.group:
            short = len(last.symbol) + len(entry.symbol) < MAX_SYMBOL_CHARACTERS
            return short and entry.last - last.first < MAX_GROUP_ROWS
        # An overload's signatures collapse into the implementation under them.
        return last.mergeable and last.symbol == entry.symbol

    def _cut_entry(self, entry: _Entry) -> Iterator[Piece]:
        last = entry.last
        big = entry.kind == Kind.TYPE and last - entry.head + 1 > SMALL_TYPE_ROWS
        if entry.members and (big or self._is_long(entry.first, last)):
            last = max(entry.head, min(member.first for member in entry.members) - 1)
        self._covered[entry.first : last + 1] = b"\1" * (last + 1 - entry.first)
        if self._is_long(entry.first, last):
            yield from windows(self._rows, entry.first, last, self._rules, entry.symbol)
        else:
            yield self._piece(Kind(entry.kind), entry.symbol, entry.first, last)

    def _is_long(self, first: int, last: int) -> bool:
        if last - first + 1 > self._rules.max_declaration_lines:
            return True
        return self._rows.end(last) - self._rows.start(first) > MAX_DECLARATION_BYTES

    def _piece(self, kind: Kind, symbol: str, first: int, last: int) -> Piece:
        return Piece(kind, symbol, self._rows.start(first), self._rows.end(last))

    def _cut_rest(self) -> Iterator[Piece]:
        rest = sorted(self._comments_as_blocks(), key=lambda part: (part.first, part.last))
        rest = [part for part in rest if not all(self._covered[part.first : part.last + 1])]
        opening = next(iter(rest), None)
        if opening and self._is_opening(opening):
            yield self._piece(Kind.PACKAGE, self._module, opening.first, opening.last)
            rest = rest[1:]
        run: list[int] = []
        owner: _Entry | None = None
        for part in rest:
            if part.comment and not self._is_prose(part):
                continue
            for row in range(part.first, part.last + 1):
                if self._covered[row] or (run and row <= run[-1]):
                    continue
                if run and (part.entry is not owner or any(self._covered[run[-1] : row])):
                    yield from self._cut_run(run, owner)
                    run = []
                run.append(row)
                owner = part.entry
        if run:
            yield from self._cut_run(run, owner)

    def _cut_run(self, run: Sequence[int], owner: _Entry | None) -> Iterator[Piece]:
        symbol = owner.symbol if owner else ""
        return windows(self._rows, run[0], run[-1], self._rules, symbol)

    def _comments_as_blocks(self) -> Iterator[_Rest]:
        """Line comments under each other are one comment."""
        block: _Rest | None = None
        for part in sorted(self._rest, key=lambda part: part.start_byte):
            joins = block and part.comment and part.entry is block.entry and part.first == block.last + 1
            if block and joins:
                block = _Rest(block.first, part.last, block.entry, True, block.start_byte, part.end_byte)
                continue
            if block:
                yield block
            block = part if part.comment else None
            if not part.comment:
                yield part
        if block:
            yield block

    def _is_opening(self, part: _Rest) -> bool:
        text = self._source[part.start_byte : part.end_byte]
        if not (part.comment and self._grammar.opening and not self._strip) or _LICENCE.search(text):
            return False
        if (
            self._source[: part.start_byte].strip()
            and part.entry is None
            and any(self._covered[: part.first])
        ):
            return False
        said = text.partition(b"\n")[2] if text.startswith(b"#!") else text
        return len(_WORDS.findall(said)) >= OPENING_WORDS

    def _is_prose(self, part: _Rest) -> bool:
        text = self._source[part.start_byte : part.end_byte]
        long = sum(1 for line in text.split(b"\n") if _WORDS.search(line)) >= FLOATING_COMMENT_ROWS
        return long and not (_LICENCE.search(text) and not any(self._covered[: part.first]))


def _joined(parts: Sequence[str], separator: str = ", ") -> str:
    """Join what is there, each once where a list of names is meant."""
    named = [part for part in parts if part]
    return separator.join(dict.fromkeys(named) if separator == ", " else named)
