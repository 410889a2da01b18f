"""On a schedule: sends what is due, and ends the attempts that stopped without a word."""

import logging
from dataclasses import dataclass

from codetrail.domain.job import FailureReason, Stage
from codetrail.services.outbox import deliver
from codetrail.services.ports import IndexQueue, JobStore

# Seconds of silence, by stage, after which an attempt counts as crashed. `chunk` reports every few seconds,
# but one file may take its time; `fetch` is git's own, which is given four minutes; `seal` writes
# all batches; `load` may stand behind another job's; `queued` is no silence of ours but a queue that is long,
# so the message is only sent again.
SILENCE_SECONDS = {
    Stage.QUEUED: 3_600,
    Stage.RESOLVE: 120,
    Stage.FETCH: 300,
    Stage.CHUNK: 180,
    Stage.SEAL: 300,
    Stage.LOAD: 900,
}
# A run does this much and no more; what is left waits for the next.
MAX_SENT = 200
MAX_SILENT = 200

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Swept:
    """What one run did."""

    woken: int
    silent: int
    sent: int


def sweep(*, model: str, jobs: JobStore, queue: IndexQueue, wake_all: bool = False) -> Swept:
    """Wake or end the silent, then send what is due. With *wake_all*, every live job is due under a new
    attempt: the queues are known to be empty.

    Raises Unavailable when the queue takes nothing: what is due stays due.
    """
    woken = jobs.wake_all() if wake_all else 0
    silent = 0
    for job_id, attempt, stage in jobs.silent(SILENCE_SECONDS, MAX_SILENT):
        if stage is Stage.QUEUED:
            silent += jobs.wake(job_id, attempt)
        else:
            silent += jobs.fail_attempt(job_id, attempt, FailureReason.CRASHED, transient=True)
    sent = 0
    for job_id in jobs.due(MAX_SENT):
        sent += deliver(job_id, model=model, jobs=jobs, queue=queue)
    log.info("swept", extra={"woken": woken, "silent": silent, "sent": sent})
    return Swept(woken, silent, sent)
