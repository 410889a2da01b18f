"""Consumer of the load queue: store a batch, embed what is new in it, publish when it was the last."""

from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.typing import LambdaContext

from codetrail import wiring
from codetrail.api.load import LoadMessage
from codetrail.api.records import PartialResponse, consume
from codetrail.services.load import load

log = Logger(service="codetrail")


def load_record(record: SQSRecord) -> None:
    """Load the batch that one message names."""
    message = LoadMessage.model_validate_json(record.body)
    load(
        message.to_batch(), jobs=wiring.jobs(), loads=wiring.loads(), artifacts=wiring.artifacts(),
        embedder=wiring.embedder(),
    )  # fmt: skip


@log.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> PartialResponse:
    """Answer SQS."""
    return consume(event, load_record)
