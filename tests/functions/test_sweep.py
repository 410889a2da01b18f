"""The schedule's event in, messages of what is due out."""

from codetrail import wiring
from functions.sweep.app import handler
from tests.support.events import event
from tests.support.invoke import invoke

REMOTE = "https://github.com/google/uuid"


def test_a_job_whose_message_was_never_sent_is_sent(queue):
    job = wiring.jobs().submit(REMOTE, "HEAD")

    assert invoke(handler, event("sweep")) == {"woken": 0, "silent": 0, "sent": 1}
    assert [(message.job_id, message.attempt) for message in queue.jobs] == [(job.id, 1)]
    assert invoke(handler, event("sweep")) == {"woken": 0, "silent": 0, "sent": 0}


def test_waking_all_sends_every_live_job_under_a_new_attempt(queue):
    job = wiring.jobs().submit(REMOTE, "HEAD")
    invoke(handler, event("sweep"))

    assert invoke(handler, {"wake_all": True}) == {"woken": 1, "silent": 0, "sent": 1}
    assert [(message.job_id, message.attempt) for message in queue.jobs] == [(job.id, 1), (job.id, 2)]
