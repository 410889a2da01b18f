"""Cut a file as the index does, in this process, and say by line what came of it."""

from dataclasses import dataclass

from codetrail.adapters.treesitter.cutting import Cutting
from codetrail.adapters.treesitter.windows import Rules
from codetrail.domain.attributes import Attributes
from codetrail.domain.classify import read
from codetrail.domain.lines import Lines


@dataclass(frozen=True)
class Cut:
    """A piece in its place."""

    kind: str
    symbol: str
    start: int
    end: int
    text: str
    digest: str

    @property
    def where(self) -> tuple[str, str, int, int]:
        return (str(self.kind), self.symbol, self.start, self.end)


@dataclass(frozen=True)
class CutFile:
    """A file's pieces, and what is said of it."""

    pieces: list[Cut]
    reason: str | None
    language: str

    @property
    def where(self) -> list[tuple[str, str, int, int]]:
        return [piece.where for piece in self.pieces]

    def named(self, symbol: str) -> Cut:
        """Return the one piece of that name."""
        (found,) = [piece for piece in self.pieces if piece.symbol == symbol]
        return found


def cut_file(
    path: str,
    data: bytes,
    *,
    rules: Rules | None = None,
    strip: bool = False,
    attributes: Attributes | None = None,
) -> CutFile:
    """Read, cut, locate and render one file."""
    decision = read(path.encode(), "100644", len(data), data, attributes or Attributes())
    source = decision.source
    if source is None:
        return CutFile([], decision.reason, decision.language)
    chunked = Cutting(rules or Rules(), strip=strip).cut(path, decision.language, source.utf8)
    shown, lines, pieces = source.without(chunked.blanks), Lines(data), []
    for piece in chunked.pieces:
        place = lines.locate(*source.raw_range(piece.start_byte, piece.end_byte))
        text = shown.text(place.start_byte, place.length) if piece.text is None else piece.text
        pieces.append(Cut(piece.kind, piece.symbol, place.start_line, place.end_line, text, place.digest))
    return CutFile(pieces, decision.reason or chunked.reason, decision.language)
