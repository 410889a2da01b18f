"""What track receives: an index attempt's report, or a message that nobody could finish."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from codetrail.api.index import IndexMessage
from codetrail.api.load import LoadMessage
from codetrail.domain.job import EventKind, FailureReason, JobEvent, Stage

# What a job counts: a few words of ours, each with a number.
MAX_COUNTS = 20

Count = Annotated[int, Field(ge=0, le=2**53)]
CountName = Annotated[str, Field(pattern="^[a-z_]{1,32}$")]


class EventMessage(BaseModel):
    """A report on the wire. The function that sends it reads strangers' bytes, so everything has a bound."""

    model_config = ConfigDict(strict=True, extra="forbid")

    version: Literal[1]
    job_id: Annotated[str, Field(pattern="^[0-9A-Za-z_-]{1,64}$")]
    attempt: Annotated[int, Field(ge=1, le=1_000_000)]
    sequence: Annotated[int, Field(ge=1, le=2**62)]
    kind: EventKind
    stage: Stage
    counts: Annotated[dict[CountName, Count], Field(max_length=MAX_COUNTS)]
    repo_id: Annotated[str, Field(pattern="^[0-9a-f]{16}$")] | None = None
    reason: FailureReason | None = None
    transient: bool = False

    @model_validator(mode="after")
    def _kind_is_told(self) -> Self:
        if self.kind is EventKind.UNCHANGED and self.repo_id is None:
            raise ValueError("what is unchanged is not named")
        if (self.kind is EventKind.FAILED) != (self.reason is not None):
            raise ValueError("a failure has a reason, and nothing else has")
        return self

    def to_event(self) -> JobEvent:
        """Return the report."""
        return JobEvent(
            job_id=self.job_id, attempt=self.attempt, sequence=self.sequence, kind=self.kind,
            stage=self.stage, counts=self.counts, repo_id=self.repo_id, reason=self.reason,
            transient=self.transient,
        )  # fmt: skip


Tracked = EventMessage | IndexMessage | LoadMessage
_TRACKED: TypeAdapter[Tracked] = TypeAdapter(Tracked)


def read(body: str) -> Tracked:
    """Return the message in *body*. Raises pydantic's ValidationError."""
    return _TRACKED.validate_json(body)
