"""The wire of POST /api/repos/{repo}/ask: a question in, a cited answer or a refusal out."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from codetrail.api.citations import Citation, Coverage
from codetrail.api.search import NOT_ASKED_FOR, Limit, Question, refuse_fields
from codetrail.domain import answer
from codetrail.domain.answer import Answer, Refusal
from codetrail.domain.repo import Revision
from codetrail.domain.search import Mode, Query
from codetrail.domain.span import Kind
from codetrail.errors import InvalidRequest

# Only shown in the API's description; what holds is ANSWER_MAX_SPANS.
USUAL_LIMIT = 5


class AskRequest(BaseModel):
    """A question to one repository."""

    model_config = ConfigDict(extra="forbid")

    q: Question
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
        return Query(repo_id=repo_id, text=self.q, limit=limit)


class Floor(BaseModel):
    """The score under which nothing is worth answering from."""

    value: float
    calibrated: bool = Field(description="Whether an evaluation chose this value.")
    applicable: bool = Field(description="false in lexical mode, where nothing is compared with it.")
    quantity: str = Field(description="What is compared with it.")

    @classmethod
    def of(cls, floor: answer.Floor) -> Self:
        """Tell *floor*."""
        return cls(
            value=floor.value,
            calibrated=floor.calibrated,
            applicable=floor.applicable,
            quantity=floor.quantity,
        )


class Marked(BaseModel):
    """A marker of the answer, such as [1], and what it stands for."""

    marker: int
    span_id: str
    kind: Kind
    symbol: str
    citation: Citation

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
        )


class Answered(BaseModel):
    """An answer made of whole spans."""

    repo_id: str
    refused: Literal[False] = False
    answered_by: Literal["extractive"] = "extractive"
    answer: str
    citations: list[Marked]
    dropped: int = Field(description="Spans that did not fit; none is ever cut.")
    mode: Mode
    top_score: float | None
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
            mode=found.mode,
            top_score=found.top_score,
            floor=Floor.of(given.floor),
        )


class RefusedToAnswer(BaseModel):
    """Nothing here is worth answering from: an outcome, not an error."""

    repo_id: str
    refused: Literal[True] = True
    answered_by: Literal["extractive"] = "extractive"
    reason: Refusal
    detail: str = Field(description="The same in a sentence.")
    coverage: Coverage = Field(description="What was searched, and what was not.")
    mode: Mode
    top_score: float | None
    floor: Floor

    @classmethod
    def of(cls, given: Answer, refusal: Refusal) -> Self:
        """Show why *given* is none."""
        found = given.found
        return cls(
            repo_id=found.revision.repo_id,
            reason=refusal,
            detail=_detail(refusal, given.floor),
            coverage=Coverage.of(found.revision.coverage),
            mode=found.mode,
            top_score=found.top_score,
            floor=Floor.of(given.floor),
        )


AskResponse = Answered | RefusedToAnswer


def to_response(given: Answer) -> AskResponse:
    """Return an answer or a refusal; both are a 200."""
    return Answered.of(given) if given.refusal is None else RefusedToAnswer.of(given, given.refusal)


def _detail(refusal: Refusal, floor: answer.Floor) -> str:
    if refusal is Refusal.NO_SPANS:
        return "Nothing in this repository's index matched the question."
    if refusal is Refusal.UNSCORED:
        return "What matched could not be compared by meaning, so nothing tells whether it is near enough."
    if floor.calibrated:
        kind = "An evaluation chose that floor."
    else:
        kind = "That floor was set by hand, not measured: no evaluation has chosen this number."
    return f"The best match scored under the floor of {floor.value:g}. {kind}"
