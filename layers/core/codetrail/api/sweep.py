"""What sweep is asked, by the schedule or by hand, and what it did."""

from typing import Self

from pydantic import BaseModel, ConfigDict

from codetrail.services.sweep import Swept


class SweepRequest(BaseModel):
    """A run. The schedule's own fields are of no interest."""

    model_config = ConfigDict(extra="ignore")

    wake_all: bool = False


class SweepResponse(BaseModel):
    """What a run did."""

    woken: int
    silent: int
    sent: int

    @classmethod
    def of(cls, swept: Swept) -> Self:
        """Tell *swept*."""
        return cls(woken=swept.woken, silent=swept.silent, sent=swept.sent)
