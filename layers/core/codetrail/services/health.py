"""Whether what the API needs is answering."""

import logging
import time
from collections.abc import Callable

from codetrail.errors import Unavailable
from codetrail.services.ports import Probe

# Under the 30 seconds at which orchestrators ask, so that a struggling database is not asked hardest when it
# can least answer.
REMEMBERED_SECONDS = 10.0

log = logging.getLogger(__name__)


class Readiness:
    """The last answer of a probe, asked again when it is older than ten seconds."""

    def __init__(self, probe: Probe, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._probe = probe
        self._clock = clock
        self._ready = False
        self._asked_at: float | None = None

    def ready(self) -> bool:
        """Return whether the probe succeeded when it was last asked."""
        if self._asked_at is None or self._clock() - self._asked_at >= REMEMBERED_SECONDS:
            self._ready = self._ask()
            self._asked_at = self._clock()
        return self._ready

    def _ask(self) -> bool:
        try:
            self._probe.check()
        except Unavailable:
            log.warning("not ready", exc_info=True)
            return False
        return True
