"""The wire of POST /api/repos/{repo}/search: a question in, ranked spans out."""

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictInt, StrictStr, model_validator

from codetrail.api.citations import Citation, shown_text
from codetrail.api.parameters import MAX_LIMIT, MIN_LIMIT, bounded
from codetrail.domain import search
from codetrail.domain.repo import Revision
from codetrail.domain.search import MAX_QUERY_BYTES, Found, Mode, Query
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


class SearchRequest(BaseModel):
    """A question to one repository."""

    model_config = ConfigDict(extra="forbid")

    q: Question
    limit: Limit = DEFAULT_LIMIT

    @model_validator(mode="before")
    @classmethod
    def _refuse(cls, body: Any) -> Any:  # noqa: ANN401 - as above
        refused = NOT_ASKED_FOR | {"answerer": "search ranks spans and writes no answer; leave answerer out"}
        return refuse_fields(body, refused)

    def to_query(self, repo_id: str) -> Query:
        """Return the question as the service takes it."""
        return Query(repo_id=repo_id, text=self.q, limit=self.limit)


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
        )


class SearchResponse(BaseModel):
    """Spans, best first."""

    repo_id: str
    mode: Mode
    top_score: float | None = Field(
        description="The best cosine; null in lexical mode and when nothing matched."
    )
    count: int
    hits: list[Hit]

    @classmethod
    def of(cls, found: Found) -> Self:
        """Show what was found."""
        return cls(
            repo_id=found.revision.repo_id,
            mode=found.mode,
            top_score=found.top_score,
            count=len(found.hits),
            hits=[Hit.of(found.revision, hit) for hit in found.hits],
        )
