"""Lambda, as a test needs it: an event and a context in, whatever the handler returns out."""

from collections.abc import Callable
from typing import Any

from tests.support.events import Context


def invoke(handler: Callable[..., Any], event: object) -> Any:
    """Call *handler* as Lambda does."""
    return handler(event, Context())
