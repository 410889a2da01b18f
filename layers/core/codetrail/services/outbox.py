"""A job's message leaves for the index queue at least once, whoever dies between the row and the queue."""

import logging

from codetrail.services.ports import IndexQueue, JobStore

log = logging.getLogger(__name__)


def deliver(job_id: str, *, model: str, jobs: JobStore, queue: IndexQueue) -> bool:
    """Send the job's message when one is due; return whether it was.

    Raises Unavailable when the queue does not take it: the outbox mark stays, and sweep tries again.
    """
    message = jobs.message(job_id, model=model)
    if message is None:
        return False
    queue.send(message)
    jobs.sent(job_id, message.attempt)
    log.info("sent", extra={"job": job_id, "attempt": message.attempt})
    return True
