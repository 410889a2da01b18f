"""What index attempts report, applied to their jobs: late and doubled reports change nothing."""

import logging

from codetrail.domain.job import FailureReason, IndexJob, JobEvent, LoadBatch
from codetrail.services.ports import JobStore

log = logging.getLogger(__name__)


def track(event: JobEvent, *, jobs: JobStore) -> None:
    """Apply one report."""
    applied = jobs.apply(event)
    facts = {
        "job": event.job_id,
        "attempt": event.attempt,
        "sequence": event.sequence,
        "kind": event.kind.value,
    }
    log.info(
        "applied" if applied else "ignored",
        extra=facts | {"stage": event.stage.value, "reason": event.reason},
    )


def bury(message: IndexJob | LoadBatch, *, jobs: JobStore) -> None:
    """End the attempt of a message that was handed out again and again without an end."""
    ended = jobs.fail_attempt(message.job_id, message.attempt, FailureReason.CRASHED, transient=True)
    log.warning("buried", extra={"job": message.job_id, "attempt": message.attempt, "ended": ended})
