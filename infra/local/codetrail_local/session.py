"""Which codetrail a command speaks to: --api, or the local stack, running already or started for it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from codetrail import config
from codetrail_local.client import Client
from codetrail_local.errors import AlreadyRunning, Misused
from codetrail_local.home import Home


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
    from codetrail_local.stack import borrowed  # noqa: PLC0415 - slow, and nothing to who asks a deployment

    settings = checked_settings() | ({"INDEX_PATHS": ",".join(only)} if only else {})
    with ExitStack() as held:
        try:
            # One that runs already would index everything.
            lent = borrowed(place.home, settings=settings, step=step, alone=bool(only))
            stack = held.enter_context(lent)
        except AlreadyRunning as error:
            running = Home(place.home).running()
            if not only or running is None or not running.lasting:
                raise
            raise Misused(
                f"--only needs a codetrail of its own, and one runs already at {running.api}:"
                " stop it (codetrail down), or leave out --only"
            ) from error
        yield Session(held.enter_context(Client(stack.api)), lasting=stack.lasting)


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
