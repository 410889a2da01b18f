"""A queue's consumer: one record after another, and the failed ones go back alone."""

import logging
from collections.abc import Callable
from typing import Any, TypedDict

from aws_lambda_powertools.utilities.data_classes import SQSEvent
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

log = logging.getLogger(__name__)


class Failure(TypedDict):
    """A record that is to be delivered again."""

    itemIdentifier: str


class PartialResponse(TypedDict):
    """What SQS reads of a consumer's answer (ReportBatchItemFailures)."""

    batchItemFailures: list[Failure]


def consume(event: dict[str, Any], handle: Callable[[SQSRecord], None]) -> PartialResponse:
    """Hand each record of *event* to *handle*; those it raises for stay in the queue."""
    failures: list[Failure] = []
    for record in SQSEvent(event).records:
        try:
            handle(record)
        except Exception:  # whatever it is, the queue keeps the message and counts
            log.exception("left to the queue", extra={"message_id": record.message_id})
            failures.append({"itemIdentifier": record.message_id})
    return {"batchItemFailures": failures}
