"""What an operator may ask, by invoking the admin function, and what is answered."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from codetrail.api.repos import JobResponse
from codetrail.domain.job import Job


class Migrate(BaseModel):
    """Bring the database's schema up to this version."""

    model_config = ConfigDict(extra="forbid")

    action: Literal["migrate"]


class Remove(BaseModel):
    """Remove a repository and all that is stored of it."""

    model_config = ConfigDict(extra="forbid")

    action: Literal["rm"]
    repo_id: Annotated[str, Field(pattern="^[0-9a-f]{16}$")]


class Jobs(BaseModel):
    """List the newest jobs."""

    model_config = ConfigDict(extra="forbid")

    action: Literal["jobs"]
    limit: Annotated[int, Field(ge=1, le=200)] = 20


Request = Annotated[Migrate | Remove | Jobs, Field(discriminator="action")]
_REQUEST: TypeAdapter[Migrate | Remove | Jobs] = TypeAdapter(Request)


def read(event: object) -> Migrate | Remove | Jobs:
    """Return what *event* asks for. Raises pydantic's ValidationError, which names the actions there are."""
    return _REQUEST.validate_python(event)


class MigrateResponse(BaseModel):
    """The migrations that were applied now, in order; none when the schema was up to date."""

    applied: list[str]


class RemoveResponse(BaseModel):
    """The repository that was removed."""

    removed: str


class JobsResponse(BaseModel):
    """Jobs, newest first."""

    jobs: list[JobResponse]

    @classmethod
    def of(cls, jobs: Sequence[Job]) -> Self:
        """Show *jobs*."""
        return cls(jobs=[JobResponse.of(job) for job in jobs])
