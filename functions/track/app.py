"""Consumer of job events and of dead letters: both end up in what a job's caller sees."""

from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import ValidationError

from codetrail import wiring
from codetrail.api.index import IndexMessage
from codetrail.api.load import LoadMessage
from codetrail.api.records import PartialResponse, consume
from codetrail.api.track import EventMessage, read
from codetrail.services.track import bury, track

log = Logger(service="codetrail")


def track_record(record: SQSRecord) -> None:
    """Apply what one message reports, or what it means that it ended here."""
    try:
        tracked = read(record.body)
    except ValidationError:
        if record.attributes.dead_letter_queue_source_arn is None:
            raise
        # No queue is left for it to go to; the log is where it ends.
        log.exception("dead letter not understood", extra={"message_id": record.message_id})
        return
    match tracked:
        case EventMessage() as message:
            track(message.to_event(), jobs=wiring.jobs())
        case IndexMessage() as message:
            bury(message.to_job(), jobs=wiring.jobs())
        case LoadMessage() as message:
            bury(message.to_batch(), jobs=wiring.jobs())


@log.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> PartialResponse:
    """Answer SQS."""
    return consume(event, track_record)
