"""Parameters that several routes take: ids in the path, limits and places in the query string."""

import base64
import binascii
import re
from datetime import datetime
from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from pydantic import AfterValidator, BeforeValidator

from codetrail.errors import NotFound

MIN_LIMIT = 1
MAX_LIMIT = 50
LIMIT_SENTENCE = f"it must be a whole number from {MIN_LIMIT} to {MAX_LIMIT}"

# A cursor is an instant and an id; the real ones have 67 characters.
_MAX_CURSOR_CHARACTERS = 200
_CURSOR_SENTENCE = "it is not a cursor that this API gave; leave it out to begin at the newest"


def bounded(limit: int) -> int:
    """Return *limit*, refused outside its bounds and never clamped: who asks for 1000 should hear of 50."""
    if not MIN_LIMIT <= limit <= MAX_LIMIT:
        raise ValueError(LIMIT_SENTENCE)
    return limit


def _identifier(pattern: str, missing: str) -> AfterValidator:
    # What is no id names nothing, and is told so without asking the database, which takes no NUL.
    form = re.compile(pattern, re.ASCII)

    def check(text: str) -> str:
        if not form.fullmatch(text):
            raise NotFound(missing)
        return text

    return AfterValidator(check)


def _digits(text: object) -> object:
    # Python and pydantic read more as a number than a decimal: "1_0", " 5", "५".
    if isinstance(text, str) and not re.fullmatch(r"-?[0-9]{1,9}", text, re.ASCII):
        raise ValueError(LIMIT_SENTENCE)
    return text


def _non_empty(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty; give it a value or leave it out")
    return text


def write_cursor(indexed_at: datetime, repo_id: str) -> str:
    """Return an opaque name for the place behind (*indexed_at*, *repo_id*)."""
    return base64.urlsafe_b64encode(f"{indexed_at.isoformat()} {repo_id}".encode()).decode().rstrip("=")


def read_cursor(cursor: str) -> tuple[datetime, str]:
    """Return the place that `write_cursor` named. Raises ValueError for anything else."""
    try:
        if len(cursor) > _MAX_CURSOR_CHARACTERS:
            raise ValueError(cursor)
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode(
            "ascii"
        )
        when, _, repo_id = text.partition(" ")
        instant = datetime.fromisoformat(when)
        if instant.tzinfo is None or not re.fullmatch(r"[0-9a-f]{16}", repo_id, re.ASCII):
            raise ValueError(cursor)
        if write_cursor(instant, repo_id) != cursor:
            raise ValueError(cursor)
    except (ValueError, binascii.Error) as error:  # also what is not ASCII
        raise ValueError(_CURSOR_SENTENCE) from error
    return instant, repo_id


def _checked_cursor(cursor: str) -> str:
    read_cursor(cursor)
    return cursor


RepoId = Annotated[
    str,
    Path(description="A repository's id: 16 hex digits."),
    _identifier("[0-9a-f]{16}", "no such repository"),
]
SpanId = Annotated[
    str,
    Path(description="A span's id: 16 hex digits."),
    _identifier("[0-9a-f]{16}", "no such span in this repository"),
]
JobId = Annotated[
    str,
    Path(description="A job's id, as its submission returned it."),
    _identifier("[0-9A-Za-z_-]{1,64}", "no such job"),
]
ListLimit = Annotated[
    int,
    BeforeValidator(_digits),
    AfterValidator(bounded),
    Query(description="How many to list.", json_schema_extra={"minimum": MIN_LIMIT, "maximum": MAX_LIMIT}),
]
Cursor = Annotated[
    str,
    AfterValidator(_checked_cursor),
    Query(description="Where to go on: `next` of the page before."),
]
RemoteFilter = Annotated[
    str, AfterValidator(_non_empty), Query(description="Only this repository, as it was submitted.")
]
RefFilter = Annotated[
    str,
    AfterValidator(_non_empty),
    Query(description="Only what this ref of `remote` named when last indexed."),
]
