"""Which codetrail a command speaks to: --api, or the local stack, running already or started for it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from codetrail_local.client import Client


@dataclass(frozen=True, slots=True)
class Place:
    """Where codetrail is, as the user said it."""

    home: Path
    api: str = ""
    key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Session:
    """An API to speak to. `lasting` says whether it goes on when the command ends."""

    client: Client
    lasting: bool


@contextmanager
def connect(
    place: Place, *, only: tuple[str, ...] = (), step: Callable[[str], None] = lambda words: None
) -> Iterator[Session]:
    """Open the API that *place* names."""
    with Client(place.api, place.key) as client:
        yield Session(client, lasting=True)
