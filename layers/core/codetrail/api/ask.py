"""The wire of POST /api/repos/{repo}/ask: a question in, a cited answer or a refusal out."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from codetrail.api.citations import Citation, Coverage, Place, Searched
from codetrail.api.search import (
    COPIES,
    COPY_PLACES,
    NOT_ASKED_FOR,
    FilteredRequest,
    Limit,
    refuse_fields,
)
from codetrail.domain import answer
from codetrail.domain.answer import Answer, Refusal
from codetrail.domain.repo import Revision
from codetrail.domain.search import Found, Hit, Mode, Query
from codetrail.domain.span import Kind
from codetrail.errors import InvalidRequest

# Only shown in the API's description; what holds is ANSWER_MAX_SPANS.
USUAL_LIMIT = 5
# Of what a refusal found: enough to see what was near, too few to be taken for an answer.
NEAREST = 3


class AskRequest(FilteredRequest):
    """A question to one repository, or to a part of it."""

    limit: Limit = USUAL_LIMIT
    answerer: Annotated[
        Literal["extractive", "llm"],
        Field(description="Who writes the answer. `llm` is refused where no model is configured."),
    ] = "extractive"

    @model_validator(mode="before")
    @classmethod
    def _refuse(cls, body: Any) -> Any:  # noqa: ANN401 - a body that is not checked yet
        return refuse_fields(body, NOT_ASKED_FOR)

    def to_query(self, repo_id: str, *, default_limit: int) -> Query:
        """Return the question as the service takes it. Raises InvalidRequest without that answerer."""
        if self.answerer == "llm":
            raise InvalidRequest(
                "no language model provider is configured here; ask with answerer extractive"
            )
        limit = self.limit if "limit" in self.model_fields_set else default_limit
        return Query(repo_id=repo_id, text=self.q, limit=limit, only=self.only)


class Floor(BaseModel):
    """The number under which nothing is worth answering from."""

    value: float
    calibrated: bool = Field(
        description="Whether an evaluation chose this value, for whole repositories and with the embedder"
        " that is served; false under a filter."
    )
    calibration: str = Field(description="The run that chose it, in codetrail's repository; else empty.")
    applicable: bool = Field(description="false in lexical mode, where nothing is compared with it.")
    quantity: answer.Quantity = Field(
        description="What is compared with it: `confidence` in hybrid mode, `top_score` (a cosine) in vector"
        " mode."
    )

    @classmethod
    def of(cls, floor: answer.Floor) -> Self:
        """Tell *floor*."""
        return cls(
            value=floor.value,
            calibrated=floor.calibrated,
            calibration=answer.CALIBRATION if floor.calibrated else "",
            applicable=floor.applicable,
            quantity=floor.quantity,
        )


Confidence = Annotated[
    float | None,
    Field(
        description="From 0 to 1: how much speaks for there being an answer here. null in vector and in"
        " lexical mode."
    ),
]


class Marked(BaseModel):
    """A marker of the answer, such as [1], and what it stands for."""

    marker: int
    span_id: str
    kind: Kind
    symbol: str
    citation: Citation
    copies: int = Field(description=COPIES)
    copy_places: list[Place] = Field(description=COPY_PLACES)

    @classmethod
    def of(cls, revision: Revision, marked: answer.Marked) -> Self:
        """Resolve *marked*, found in *revision*."""
        span = marked.hit.span
        return cls(
            marker=marked.marker,
            span_id=span.id,
            kind=span.kind,
            symbol=span.symbol,
            citation=Citation.of(revision, span),
            copies=marked.hit.copies,
            copy_places=[Place.of(place) for place in marked.hit.copy_places],
        )


class Near(Place):
    """A span that came near: no answer, and quoted nowhere."""

    model_config = ConfigDict(title="Near")

    kind: Kind
    symbol: str
    score: float = Field(description="What ranked it, as in a search.")
    vector_score: float | None = Field(description="The cosine; null where no vector was compared.")

    @classmethod
    def of_hit(cls, hit: Hit) -> Self:
        """Tell where *hit* stands, and how near it came."""
        span = hit.span
        return cls(
            span_id=span.id,
            path=span.path,
            start_line=span.start_line,
            end_line=span.end_line,
            kind=span.kind,
            symbol=span.symbol,
            score=hit.score,
            vector_score=hit.vector_score,
        )


class Answered(BaseModel):
    """An answer made of whole spans: the best, then those that say what it does not; no two share a line."""

    repo_id: str
    refused: Literal[False] = False
    answered_by: Literal["extractive"] = "extractive"
    answer: str
    citations: list[Marked]
    dropped: int = Field(description="Spans that did not fit; none is ever cut.")
    unmatched_words: list[str] = Field(
        description="Words of the question that no cited span says in any form, in its lines, its name or its"
        " path; words of grammar and of asking are not among them."
    )
    searched: Searched
    mode: Mode
    top_score: float | None
    confidence: Confidence
    floor: Floor

    @classmethod
    def of(cls, given: Answer) -> Self:
        """Show *given*."""
        found = given.found
        return cls(
            repo_id=found.revision.repo_id,
            answer=given.text,
            citations=[Marked.of(found.revision, marked) for marked in given.marked],
            dropped=given.dropped,
            unmatched_words=list(given.unmatched),
            searched=Searched.of(found.searched),
            mode=found.mode,
            top_score=found.top_score,
            confidence=found.confidence,
            floor=Floor.of(given.floor),
        )


class RefusedToAnswer(BaseModel):
    """Nothing here is worth answering from: an outcome, not an error."""

    repo_id: str
    refused: Literal[True] = True
    answered_by: Literal["extractive"] = "extractive"
    reason: Refusal
    detail: str = Field(description="The same in a sentence.")
    searched: Searched
    coverage: Coverage = Field(description="What of the repository can be searched, and what can not.")
    nearest: list[Near] = Field(
        description=f"What came nearest, at most {NEAREST}. It is not an answer: nothing here says that it is"
        " about the question."
    )
    mode: Mode
    top_score: float | None
    confidence: Confidence
    floor: Floor

    @classmethod
    def of(cls, given: Answer, refusal: Refusal) -> Self:
        """Show why *given* is none."""
        found = given.found
        return cls(
            repo_id=found.revision.repo_id,
            reason=refusal,
            detail=_detail(refusal, found, given.floor),
            searched=Searched.of(found.searched),
            coverage=Coverage.of(found.revision.coverage),
            nearest=[Near.of_hit(hit) for hit in found.hits[:NEAREST]],
            mode=found.mode,
            top_score=found.top_score,
            confidence=found.confidence,
            floor=Floor.of(given.floor),
        )


AskResponse = Answered | RefusedToAnswer


def to_response(given: Answer) -> AskResponse:
    """Return an answer or a refusal; both are a 200."""
    return Answered.of(given) if given.refusal is None else RefusedToAnswer.of(given, given.refusal)


def _detail(refusal: Refusal, found: Found, floor: answer.Floor) -> str:
    match refusal:
        case Refusal.NO_SUBJECT:
            return "The question holds only words of grammar, and names nothing here: say what it is about."
        case Refusal.NO_SPANS if found.only and not found.searched.spans:
            return f"The filter leaves nothing of this repository's index to search: {found.only}."
        case Refusal.NO_SPANS if found.only:
            return f"Nothing that the filter leaves of this repository's index matched: {found.only}."
        case Refusal.NO_SPANS:
            return "Nothing in this repository's index matched the question."
        case Refusal.UNSCORED:
            return (
                "What matched could not be compared by meaning, so nothing tells whether it is near enough."
            )
        case Refusal.BELOW_FLOOR:
            return _below(found, floor)


def _below(found: Found, floor: answer.Floor) -> str:
    if floor.calibrated:
        kind = f"An evaluation chose that floor: {answer.CALIBRATION}."
    else:
        kind = "That floor was not measured: no evaluation has chosen this number for what was asked here."
    if floor.quantity is answer.Quantity.CONFIDENCE:
        under = "What was found speaks too little for an answer being here: its confidence is"
        return f"{under} {found.confidence:.2f}, under the floor of {floor.value:.2f}. {kind}"
    return f"The best match scored under the floor of {floor.value:g}. {kind}"
