"""Which codetrail a command speaks to: --api, or the local stack, running already or started for it."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from codetrail import config
from codetrail_local.client import Client
from codetrail_local.errors import AlreadyRunning
from codetrail_local.home import Home
from codetrail_local.trouble import Misused

if TYPE_CHECKING:
    from codetrail_local.stack import Borrowed

# How long a command that needs a stack of its own waits for another command's to be gone.
TURN_SECONDS = 120.0
POLL_SECONDS = 0.1


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
    """Open the API that *place* names, or else the local stack's, started for the time of the block if none
    runs. *only* are the paths that it indexes."""
    if place.api:
        if only:
            raise Misused("--only cannot be told to an API: leave out --api (and CODETRAIL_API), or --only")
        with Client(place.api, place.key) as client:
            yield Session(client, lasting=True)
        return
    # Imported here since a command that asks a deployment needs none of it, and it takes its time.
    from codetrail_local.stack import borrowed  # noqa: PLC0415

    settings = checked_settings()
    lent = (
        _own(place.home, settings, only, step) if only else borrowed(place.home, settings=settings, step=step)
    )
    with lent as stack, Client(stack.api) as client:
        yield Session(client, lasting=stack.lasting)


def checked_settings() -> dict[str, str]:
    """Return the user's settings for a local stack. Raises Misused for one that its functions would refuse:
    they would say so in a log, one after the other."""
    from codetrail_local.stack import local_settings  # noqa: PLC0415 - as above

    try:
        for group in (config.admission, config.embedding, config.indexing, config.retrieval):
            group()
    except config.SettingError as error:
        raise Misused(f"a setting in the environment cannot be used: {error}") from error
    return local_settings()


@contextmanager
def _own(
    home: Path, settings: Mapping[str, str], only: tuple[str, ...], step: Callable[[str], None]
) -> Iterator["Borrowed"]:
    """Start a stack that indexes *only* these paths: one that runs already would index everything."""
    from codetrail_local.stack import Borrowed, LocalStack  # noqa: PLC0415 - as above

    deadline = time.monotonic() + TURN_SECONDS
    while True:
        running = Home(home).running()
        if running is not None and running.lasting:
            raise Misused(
                f"--only needs a codetrail of its own, and one runs already at {running.api}:"
                " stop it (codetrail down), or leave out --only"
            )
        stack = LocalStack(home, settings={**settings, "INDEX_PATHS": ",".join(only)}, step=step)
        try:
            stack.start()
            break
        except AlreadyRunning:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_SECONDS)
    try:
        yield Borrowed(stack.api, lasting=False)
    finally:
        stack.stop()
