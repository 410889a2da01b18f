"""A span: whole lines of one file that answer as one piece."""

import re
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from codetrail.domain.words import split_identifier

# A span's stored text is cut here; its digest always covers the whole lines.
MAX_TEXT_BYTES = 65_536


class Kind(StrEnum):
    """What a span is."""

    FUNC = "func"
    TYPE = "type"
    CONST = "const"
    VAR = "var"
    FILE = "file"  # a window of lines
    SECTION = "section"  # prose under a heading
    PACKAGE = "package"  # a package's or module's own documentation


@dataclass(frozen=True, slots=True)
class Span:
    """Whole lines of one file, as indexed. Lines are 1-based and inclusive; `length` and `digest` cover
    the raw bytes of those lines without the last LF; `text` is for reading: it may hold replacements, and
    of a notebook's lines it may leave out what is no cell's source."""

    ordinal: int
    id: str
    path: str
    kind: Kind
    symbol: str
    language: str
    start_line: int
    end_line: int
    length: int
    digest: str
    text: str
    test: bool  # in a test, example or benchmark file


def span_id(
    repo_id: str, path: str, kind: Kind, symbol: str, start_line: int, end_line: int, start_byte: int
) -> str:
    """Return 16 hex digits that are the same each time the same commit is indexed by the same rules."""
    key = "\0".join([repo_id, path, kind, symbol, str(start_line), str(end_line), str(start_byte)])
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def names(symbol: str) -> list[str]:
    """Return the qualified names that a symbol stands for: both, for the `Low, High` of two constants."""
    return [name for name in symbol.split(", ") if name]


def embedded_text(path: str, symbol: str, text: str) -> str:
    """Return what stands for a span before the embedder: path, symbol, the symbol's words, then its lines.

    Blank lines are squeezed, since the embedder reads only its first tokens.
    """
    words = " ".join(split_identifier(symbol))
    body = re.sub(r"\n\s*\n+", "\n", text)
    return "\n".join(part for part in (path, symbol, words, body) if part)
