"""On a schedule: send the messages that are due, and end attempts that have gone silent."""

from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from codetrail import wiring
from codetrail.api.sweep import SweepRequest, SweepResponse
from codetrail.services.sweep import sweep

log = Logger(service="codetrail")


@log.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Sweep once."""
    request = SweepRequest.model_validate(event)
    swept = sweep(
        model=wiring.embedder().model,
        jobs=wiring.jobs(),
        queue=wiring.index_queue(),
        wake_all=request.wake_all,
    )
    return SweepResponse.of(swept).model_dump(mode="json")
