"""A question and what was found for it."""

from dataclasses import dataclass
from enum import StrEnum

from codetrail.domain.repo import Revision
from codetrail.domain.span import Span

MAX_QUERY_BYTES = 1_000
MAX_QUERY_TERMS = 200


class Mode(StrEnum):
    """What ranks: chosen for the process, told in each response, never asked for in a request."""

    VECTOR = "vector"
    LEXICAL = "lexical"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True)
class Query:
    """A question to one repository. Its text is trimmed, 1 to 1000 bytes, and holds a letter or a digit."""

    repo_id: str
    text: str
    limit: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A span and how it was found. `score` is what ranked it; its meaning depends on the mode."""

    span: Span
    score: float
    vector_score: float | None  # cosine; None where no vector was compared
    vector_rank: int  # 0 when that arm did not return the span
    lexical_rank: int


@dataclass(frozen=True, slots=True)
class Found:
    """The hits of one search, best first, and the revision that they come from."""

    revision: Revision
    mode: Mode
    hits: tuple[Hit, ...]
    top_score: float | None  # the best cosine of the hits; None in lexical mode and with no hit
