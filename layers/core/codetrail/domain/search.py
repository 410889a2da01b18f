"""A question and what was found for it."""

import re
from dataclasses import dataclass
from enum import StrEnum

from codetrail.domain.repo import Revision
from codetrail.domain.span import Kind, Span

MAX_QUERY_BYTES = 1_000
MAX_QUERY_TERMS = 200
# Longer than any path that a person types; a pattern's cost grows with its length.
MAX_GLOB_BYTES = 200
# Of a text that stands in thousands of places the first few tell which; the count tells the rest.
MAX_COPY_PLACES = 10

_WILDCARDS = re.compile(r"(?:(?<=/)|^)\*\*/|\*\*|\*|\?")


class Mode(StrEnum):
    """What ranks: chosen for the process, told in each response, never asked for in a request."""

    VECTOR = "vector"
    LEXICAL = "lexical"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True)
class Filter:
    """Which spans are searched at all; what is empty leaves all. It is true when it leaves any out.

    `path` is a glob over whole paths from the repository's root: `*` is any run of characters within a
    segment, `?` is one of them, `**` is any run across segments, and `**/` at the start of a segment may also
    be no folder at all. Every other character is itself, brackets and backslashes too.
    """

    path: str = ""
    language: str = ""
    kind: Kind | None = None
    exclude_tests: bool = False

    def __bool__(self) -> bool:
        return self != Filter()

    def __str__(self) -> str:
        parts = (
            f"path {self.path}" if self.path else "",
            f"language {self.language}" if self.language else "",
            f"kind {self.kind}" if self.kind else "",
            "without tests" if self.exclude_tests else "",
        )
        return ", ".join(part for part in parts if part)


def read_glob(text: str) -> str:
    """Return *text* as a glob from the root: `./` or `/` before it is dropped, and a folder with a `/` behind
    it is all below it. Raises ValueError with what to change."""
    glob = text.strip().removeprefix("./").lstrip("/")
    if not glob:
        raise ValueError("it is empty; give a path such as src/**/*.py, or leave it out")
    if len(glob.encode()) > MAX_GLOB_BYTES:
        raise ValueError(f"it is over {MAX_GLOB_BYTES} bytes; shorten it, ** stands for any folders")
    return f"{glob}**" if glob.endswith("/") else glob


def glob_pieces(glob: str) -> list[tuple[str, str]]:
    """Return *glob* in order as (literal text, the wildcard behind it); the last wildcard is empty."""
    pieces, at = [], 0
    for match in _WILDCARDS.finditer(glob):
        pieces.append((glob[at : match.start()], match.group()))
        at = match.end()
    return [*pieces, (glob[at:], "")]


@dataclass(frozen=True, slots=True)
class Query:
    """A question to one repository. Its text is trimmed, 1 to 1000 bytes, and holds a letter or a digit."""

    repo_id: str
    text: str
    limit: int
    only: Filter = Filter()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a span stands; its own citation is read by its id."""

    span_id: str
    path: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Copies:
    """The places of one text: how many there are, and the first of them in the order of the repository."""

    count: int
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """A span and how it was found. `score` is what ranked it; its meaning depends on the mode.

    Of several spans with the same bytes one is a hit, the best ranked; the others are counted in `copies`.
    """

    span: Span
    score: float
    vector_score: float | None  # cosine; None where no vector was compared
    vector_rank: int  # 0 when that arm did not return the span
    lexical_rank: int
    copies: int = 0
    copy_places: tuple[Place, ...] = ()  # at most MAX_COPY_PLACES of them


@dataclass(frozen=True, slots=True)
class Searched:
    """What a question was compared with: what the filter leaves of a revision."""

    files: int
    spans: int


@dataclass(frozen=True, slots=True)
class Found:
    """The hits of one search, best first, and the revision that they come from."""

    revision: Revision
    mode: Mode
    hits: tuple[Hit, ...]
    top_score: float | None  # the best cosine of the hits; None in lexical mode and with no hit
    searched: Searched
    # That there is an answer, 0 to 1 (domain.confidence); in hybrid mode only.
    confidence: float | None = None
    only: Filter = Filter()
