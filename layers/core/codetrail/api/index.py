"""The message that `repos` sends and `index` receives: one job."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from codetrail.domain.job import IndexJob, Published


class PublishedMessage(BaseModel):
    """What readers see already of the job's remote and ref."""

    model_config = ConfigDict(strict=True, extra="forbid")

    repo_id: Annotated[str, Field(pattern="^[0-9a-f]{16}$")]
    commit: Annotated[str, Field(pattern="^(?:[0-9a-f]{40}|[0-9a-f]{64})$")]
    fingerprint: Annotated[str, Field(pattern="^[0-9a-f]{16}$")]


class IndexMessage(BaseModel):
    """An index job on the wire. Remote and ref were admitted before it was sent, and are looked at again
    before they are used."""

    model_config = ConfigDict(strict=True, extra="forbid")

    version: Literal[1]
    job_id: Annotated[str, Field(pattern="^[0-9A-Za-z_-]{1,64}$")]
    attempt: Annotated[int, Field(ge=1, le=1_000_000)]
    remote: Annotated[str, Field(min_length=1, max_length=16_384)]
    ref: Annotated[str, Field(min_length=1, max_length=1_024)]
    published: PublishedMessage | None = None

    def to_job(self) -> IndexJob:
        """Return the job."""
        known = self.published
        return IndexJob(
            job_id=self.job_id,
            attempt=self.attempt,
            remote=self.remote,
            ref=self.ref,
            published=Published(known.repo_id, known.commit, known.fingerprint) if known else None,
        )
