"""Bytes of a blob to lines and a digest: the one place that counts lines.

A line ends at LF (0x0A) and nowhere else, and is counted on bytes, exactly as `sed`, `head`, `tail`
and git count. A span runs from the first byte of its first line to the last byte of its last line,
without that line's LF.
"""

from bisect import bisect_right
from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True, slots=True)
class Location:
    """Whole lines of a blob: 1-based, inclusive, with the length and SHA-256 of exactly their bytes."""

    start_line: int
    end_line: int
    start_byte: int
    length: int
    digest: str


class Lines:
    """The lines of one blob. A last piece without LF is a line; an empty blob has none."""

    def __init__(self, blob: bytes) -> None:
        self._blob = blob
        self._starts = [0]
        at = blob.find(b"\n")
        while at != -1:
            self._starts.append(at + 1)
            at = blob.find(b"\n", at + 1)
        if self._starts[-1] == len(blob):
            self._starts.pop()

    def __len__(self) -> int:
        return len(self._starts)

    def of_byte(self, offset: int) -> int:
        """Return the 1-based line that holds the byte at *offset*."""
        return bisect_right(self._starts, offset)

    def locate(self, start_byte: int, end_byte: int) -> Location:
        """Return the whole lines that the bytes [*start_byte*, *end_byte*) touch.

        An end that stands just behind an LF does not touch the next line. Raises ValueError for an
        empty or out-of-range piece.
        """
        if not 0 <= start_byte < end_byte <= len(self._blob):
            raise ValueError(f"bytes {start_byte}..{end_byte} are not a piece of a blob of {len(self._blob)}")
        return self.between(self.of_byte(start_byte), self.of_byte(end_byte - 1))

    def between(self, start_line: int, end_line: int) -> Location:
        """Return lines *start_line* to *end_line*, both 1-based and inclusive."""
        if not 1 <= start_line <= end_line <= len(self):
            raise ValueError(f"lines {start_line}..{end_line} are not lines of a blob of {len(self)}")
        begin = self._starts[start_line - 1]
        end = self._starts[end_line] if end_line < len(self) else len(self._blob)
        if self._blob[end - 1 : end] == b"\n":
            end -= 1
        return Location(start_line, end_line, begin, end - begin, sha256(self._blob[begin:end]).hexdigest())
