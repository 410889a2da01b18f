"""The message that `index` sends and `load` receives: one batch of a sealed artifact."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from codetrail.domain.job import LoadBatch


class LoadMessage(BaseModel):
    """A batch on the wire. The function that sends it reads strangers' bytes, so nothing in it is believed;
    whether the key is a manifest's is the bucket's to say."""

    model_config = ConfigDict(strict=True, extra="forbid")

    version: Literal[1]
    job_id: Annotated[str, Field(pattern="^[0-9A-Za-z_-]{1,64}$")]
    attempt: Annotated[int, Field(ge=1, le=1_000_000)]
    manifest_key: Annotated[str, Field(min_length=1, max_length=200)]
    manifest_sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    batch: Annotated[int, Field(ge=0, le=1_000_000)]

    def to_batch(self) -> LoadBatch:
        """Return the batch."""
        return LoadBatch(
            job_id=self.job_id,
            attempt=self.attempt,
            manifest_key=self.manifest_key,
            manifest_sha256=self.manifest_sha256,
            batch=self.batch,
        )
