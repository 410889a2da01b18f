"""Lines into windows: the whole of a file, or a stretch of it."""

from collections.abc import Iterator
from dataclasses import dataclass

from codetrail.domain.span import Kind
from codetrail.services.ports import Piece

# A window ends early at this size: the embedder reads its first few hundred bytes, and an answer holds 8,000
# characters.
WINDOW_BYTES = 8_000


@dataclass(frozen=True, slots=True)
class Rules:
    """How long a piece may be, and how a longer one is cut."""

    window_lines: int = 40
    window_overlap: int = 10
    max_declaration_lines: int = 200


class Rows:
    """Where each line of a source starts; rows count from 0."""

    def __init__(self, source: bytes) -> None:
        self._size = len(source)
        self._starts = [0]
        at = source.find(b"\n")
        while at != -1:
            self._starts.append(at + 1)
            at = source.find(b"\n", at + 1)
        if self._starts[-1] == len(source):
            self._starts.pop()

    def __len__(self) -> int:
        return len(self._starts)

    def start(self, row: int) -> int:
        """Return the first byte of *row*."""
        return self._starts[row]

    def end(self, row: int) -> int:
        """Return the byte behind *row*, its LF included."""
        return self._starts[row + 1] if row + 1 < len(self._starts) else self._size


def windows(rows: Rows, first: int, last: int, rules: Rules, symbol: str = "") -> Iterator[Piece]:
    """Cut rows *first* to *last*, both inclusive, into windows that overlap.

    A row longer than a window's bytes stands alone.
    """
    at = first
    while at <= last:
        end = at
        while (
            end < last
            and end - at + 1 < rules.window_lines
            and rows.end(end + 1) - rows.start(at) <= WINDOW_BYTES
        ):
            end += 1
        yield Piece(Kind.FILE, symbol, rows.start(at), rows.end(end))
        if end >= last:
            return
        # At least one row forward, and never back over more than this window.
        at = max(end + 1 - rules.window_overlap, at + 1)


def window_file(source: bytes, rules: Rules) -> tuple[Piece, ...]:
    """Cut a whole file."""
    rows = Rows(source)
    return tuple(windows(rows, 0, len(rows) - 1, rules))
