"""Text to words: the same rules for what is indexed and for what is asked.

Stemming is not here: it needs a library, and reaches the services through a port.
"""

import re
import unicodedata
from collections.abc import Iterator

# A run of letters, digits and underscores; joined by single dots it is also one whole identifier.
_RUN = re.compile(r"[^\W_]+(?:[_.][^\W_]+)*|[^\W_]+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_CJK_OR_REST = re.compile(_CJK.pattern + r"|[^\W_]")

# Longer than any identifier a person asks for; a base64 run is one word and never worth a posting.
MAX_WORD_CHARACTERS = 64


def split_identifier(name: str) -> list[str]:
    """Return the lowercase parts of an identifier: `NewDCEGroup` gives new, dce, group; `foo_bar.baz2` gives
    foo, bar, baz, 2."""
    return [part.lower() for part in _PART.findall(unicodedata.normalize("NFKC", name))]


def runs(text: str) -> Iterator[str]:
    """Yield each identifier of *text* as it is written: dotted ones in one piece, or, when that is too long,
    in the pieces that are not."""
    for match in _RUN.finditer(text if text.isascii() else unicodedata.normalize("NFKC", text)):
        run = match.group()
        if len(run) <= MAX_WORD_CHARACTERS or _CJK.search(run):
            yield run
            continue
        for segment in run.split("."):
            pieces = [segment] if len(segment) <= MAX_WORD_CHARACTERS else segment.split("_")
            yield from (piece for piece in pieces if piece and len(piece) <= MAX_WORD_CHARACTERS)


def words(text: str) -> Iterator[tuple[str, bool]]:
    """Yield (word, whole) for *text*: each identifier whole, lowercased, then its parts if it has several.

    `whole` is False for a part. CJK runs come as overlapping bigrams, each whole.
    """
    for run in runs(text):
        if _CJK.search(run):
            yield from ((piece, True) for piece in _bigrams(run))
            continue
        parts = [part.lower() for part in _PART.findall(run)]
        yield run.lower(), True
        if len(parts) > 1:
            yield from ((part, False) for part in parts)


def has_word(text: str) -> bool:
    """Return whether *text* holds a letter or a digit."""
    return any(character.isalnum() for character in text)


def _bigrams(run: str) -> Iterator[str]:
    for piece in _CJK_OR_REST.findall(run):
        if len(piece) == 1:
            yield piece.lower()
        else:
            yield from (piece[i : i + 2] for i in range(len(piece) - 1))
