"""GET /health and /ready; and the answer for every address that is no route."""

from http import HTTPStatus

from aws_lambda_powertools.event_handler import Response

from codetrail import wiring
from codetrail.api.gateway import create_app, entry_point
from codetrail.api.health import HealthResponse

app = create_app()


@app.get("/health")
def get_health() -> HealthResponse:
    """Liveness: the process answers. Nothing is checked."""
    return HealthResponse()


@app.get("/ready")
def get_ready() -> Response[str]:
    """Readiness: 200 when Postgres answers, else 503; looked at no more than once in ten seconds. No body."""
    ready = wiring.readiness().ready()
    return Response(status_code=HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE, body="")


handler = entry_point(app)
