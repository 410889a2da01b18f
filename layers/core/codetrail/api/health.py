"""The wire of /health and /ready."""

from typing import Literal

from pydantic import BaseModel


class HealthResponse(BaseModel):
    """The process answers; nothing else was looked at."""

    status: Literal["ok"] = "ok"
