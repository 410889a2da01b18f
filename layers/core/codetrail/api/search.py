"""The wire of POST /api/repos/{repo}/search: a question in, ranked spans out."""

from collections.abc import Iterable
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from codetrail.api.citations import Citation, Place, Searched, shown_text
from codetrail.api.parameters import MAX_LIMIT, MIN_LIMIT, bounded
from codetrail.domain import search
from codetrail.domain.languages import LANGUAGES
from codetrail.domain.repo import Revision
from codetrail.domain.search import (
    MAX_COPY_PLACES,
    MAX_GLOB_BYTES,
    MAX_QUERY_BYTES,
    Filter,
    Found,
    Mode,
    Query,
    read_glob,
)
from codetrail.domain.span import Kind
from codetrail.domain.words import has_word

DEFAULT_LIMIT = 10

# Known only to be refused: taken and ignored, each would look as though it had done something.
NOT_ASKED_FOR = {
    "mode": "mode is chosen for the whole process, not by a request; leave it out",
    "k": "k is no setting of a request; leave it out",
    "w_vector": "w_vector is no setting of a request; leave it out",
    "w_lexical": "w_lexical is no setting of a request; leave it out",
}


COPIES = "In how many other places of what was searched the same bytes stand; they are no hits of their own."
COPY_PLACES = f"The first of these places, at most {MAX_COPY_PLACES}: each has the digest of the citation."


def _question(text: str) -> str:
    trimmed = text.strip()
    if not trimmed:
        raise ValueError("it is empty; ask a question")
    if len(trimmed.encode()) > MAX_QUERY_BYTES:
        raise ValueError(f"it is over {MAX_QUERY_BYTES} bytes; shorten it")
    if not has_word(trimmed):
        raise ValueError("it holds no letter and no digit; ask in words")
    return trimmed


def refuse_fields(body: Any, sentences: dict[str, str]) -> Any:  # noqa: ANN401 - a body that is not checked yet
    """Raise ValueError when *body* names one of the fields that are known only to be refused."""
    if isinstance(body, dict):
        for name, sentence in sentences.items():
            if name in body:
                raise ValueError(sentence)
    return body


Question = Annotated[
    StrictStr,
    AfterValidator(_question),
    Field(description=f"1 to {MAX_QUERY_BYTES} bytes after trimming, with a letter or a digit."),
]
Limit = Annotated[
    StrictInt,
    AfterValidator(bounded),
    Field(description="How many spans.", json_schema_extra={"minimum": MIN_LIMIT, "maximum": MAX_LIMIT}),
]


def _one_of(values: Iterable[str]) -> BeforeValidator:
    known = sorted(values)

    def check(value: object) -> object:
        if value not in known:
            raise ValueError(f"it must be one of {', '.join(known)}")
        return value

    return BeforeValidator(check)


def _flag(value: object) -> object:
    if not isinstance(value, bool):
        raise ValueError("it must be true or false")
    return value


def _undefaulted(schema: dict[str, Any]) -> None:
    # Left out is not the same as sent empty, which is refused.
    schema.pop("default", None)


Path = Annotated[
    StrictStr,
    AfterValidator(read_glob),
    Field(
        description=f"Search only these paths: a glob from the root, at most {MAX_GLOB_BYTES} bytes."
        " `*` is anything within a segment, `?` one character of it, `**` anything across segments; a folder"
        " with a `/` behind it is all below it.",
        json_schema_extra=_undefaulted,
    ),
]
Language = Annotated[
    StrictStr,
    _one_of(LANGUAGES),
    Field(
        description="Search only spans in this language.",
        json_schema_extra=lambda schema: schema.update(enum=sorted(LANGUAGES)) or _undefaulted(schema),
    ),
]
WantedKind = Annotated[
    Kind | SkipJsonSchema[None],
    _one_of(Kind),
    Field(description="Search only spans of this kind.", json_schema_extra=_undefaulted),
]
ExcludeTests = Annotated[
    StrictBool,
    BeforeValidator(_flag),
    Field(description="Leave out spans of test, example and benchmark files."),
]


class FilteredRequest(BaseModel):
    """A question to one repository, or to a part of it."""

    model_config = ConfigDict(extra="forbid")

    q: Question
    path: Path = ""
    language: Language = ""
    kind: WantedKind = None
    exclude_tests: ExcludeTests = False

    @property
    def only(self) -> Filter:
        """The part that is searched."""
        return Filter(
            path=self.path, language=self.language, kind=self.kind, exclude_tests=self.exclude_tests
        )


class SearchRequest(FilteredRequest):
    """A question to one repository, or to a part of it."""

    limit: Limit = DEFAULT_LIMIT

    @model_validator(mode="before")
    @classmethod
    def _refuse(cls, body: Any) -> Any:  # noqa: ANN401 - as above
        refused = NOT_ASKED_FOR | {"answerer": "search ranks spans and writes no answer; leave answerer out"}
        return refuse_fields(body, refused)

    def to_query(self, repo_id: str) -> Query:
        """Return the question as the service takes it."""
        return Query(repo_id=repo_id, text=self.q, limit=self.limit, only=self.only)


class Hit(BaseModel):
    """A span and how it was found."""

    span_id: str
    path: str
    kind: Kind
    symbol: str
    start_line: int
    end_line: int
    text: str
    truncated: bool = Field(
        description="The text is cut; the citation's digest still covers the whole lines."
    )
    score: float = Field(
        description="What ranked it: the cosine in vector mode, BM25F in lexical mode, and in hybrid mode"
        " a weighted sum of both and of what the names say. Comparable within one response only."
    )
    vector_score: float | None = Field(description="The cosine; null where no vector was compared.")
    vector_rank: int = Field(description="Its place by meaning; 0 when that arm did not return it.")
    lexical_rank: int = Field(description="Its place by words; 0 when that arm did not return it.")
    citation: Citation
    copies: int = Field(description=COPIES)
    copy_places: list[Place] = Field(description=COPY_PLACES)

    @classmethod
    def of(cls, revision: Revision, hit: search.Hit) -> Self:
        """Show *hit*, found in *revision*."""
        span = hit.span
        text, truncated = shown_text(span.text)
        return cls(
            span_id=span.id,
            path=span.path,
            kind=span.kind,
            symbol=span.symbol,
            start_line=span.start_line,
            end_line=span.end_line,
            text=text,
            truncated=truncated,
            score=hit.score,
            vector_score=hit.vector_score,
            vector_rank=hit.vector_rank,
            lexical_rank=hit.lexical_rank,
            citation=Citation.of(revision, span),
            copies=hit.copies,
            copy_places=[Place.of(place) for place in hit.copy_places],
        )


class SearchResponse(BaseModel):
    """Spans, best first."""

    repo_id: str
    mode: Mode
    top_score: float | None = Field(
        description="The best cosine; null in lexical mode and when nothing matched."
    )
    searched: Searched
    count: int
    hits: list[Hit]

    @classmethod
    def of(cls, found: Found) -> Self:
        """Show what was found."""
        return cls(
            repo_id=found.revision.repo_id,
            mode=found.mode,
            top_score=found.top_score,
            searched=Searched.of(found.searched),
            count=len(found.hits),
            hits=[Hit.of(found.revision, hit) for hit in found.hits],
        )
