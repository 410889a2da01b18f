"""The shared app of the REST functions: routing, validation, one table from errors to statuses, one log line.

What is refused is refused in one shape, and with words for the person who caused it. The question is in no
log line and in no refusal.
"""

import base64
import binascii
import json
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from time import perf_counter
from typing import Any, NoReturn
from uuid import uuid4

from aws_lambda_powertools import Logger
from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response, content_types
from aws_lambda_powertools.event_handler.api_gateway import ResponseBuilder, Route
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.openapi.exceptions import (
    RequestValidationError,
    ResponseValidationError,
)
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent
from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import BaseModel, ConfigDict, Field

from codetrail.errors import (
    CodetrailError,
    Gone,
    InvalidRequest,
    NotFound,
    TooLarge,
    Unavailable,
    WrongModel,
)

STATUSES: dict[type[CodetrailError], HTTPStatus] = {
    InvalidRequest: HTTPStatus.BAD_REQUEST,
    NotFound: HTTPStatus.NOT_FOUND,
    WrongModel: HTTPStatus.CONFLICT,
    Gone: HTTPStatus.GONE,
    TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    Unavailable: HTTPStatus.SERVICE_UNAVAILABLE,
}

# A question has at most 1000 bytes; this leaves room for any way to spell it in JSON.
MAX_BODY_BYTES = 65_536
# Long enough for a database to come back from a restart, short enough for a person to wait.
RETRY_AFTER_SECONDS = 5

_REQUEST_ID = re.compile(r"[\x20-\x7e]{1,128}")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

Event = dict[str, Any]
Reply = dict[str, Any]
Handler = Callable[[Event, LambdaContext], Reply]

# Services log by the standard library under `codetrail.…`; the service's name makes this logger their parent.
log = Logger(service="codetrail")


class Refused(BaseModel):
    """What is wrong and what to change."""

    model_config = ConfigDict(title="Refused")

    error: str = Field(description="What is wrong, in words for the person who caused it.")


class Invalid(Refused):
    """A request that cannot be served as it stands."""

    model_config = ConfigDict(title="Invalid")

    rule: str = Field(description="The rule that was broken: form, scheme or host.")


class Failed(Refused):
    """Trouble of ours."""

    model_config = ConfigDict(title="Failed")

    request_id: str = Field(description="What to name when reporting it; also in the header X-Request-Id.")


class App(APIGatewayRestResolver):
    """A REST resolver that knows which methods a path has."""

    def route_of(self, method: str, path: str) -> Route | None:
        """Return the route that *method* on *path* calls."""
        return next((route for route in self._at(path) if route.method == method), None)

    def methods(self, path: str) -> list[str]:
        """Return the methods of *path*, sorted; none where it is no route."""
        return sorted(route.method for route in self._at(path))

    def _at(self, path: str) -> Iterator[Route]:
        return (route for route in self._static_routes + self._dynamic_routes if route.rule.match(path))


def create_app() -> App:
    """Return an app that validates, refuses by the table above, and answers unknown addresses in JSON."""
    app = App(
        enable_validation=True,
        # Without it, a response that breaks its own model would be told as a mistake of the caller.
        response_validation_error_http_code=HTTPStatus.INTERNAL_SERVER_ERROR,
        serializer=_to_json,
        json_body_deserializer=_from_json,
    )

    @app.not_found
    def no_such_route(_: NotFoundError) -> Response[str]:
        methods = app.methods(app.current_event.path)
        if methods:
            body = Refused(error=f"this address takes {' and '.join(methods)} only")
            return _json(HTTPStatus.METHOD_NOT_ALLOWED, body, Allow=", ".join(methods))
        return _json(HTTPStatus.NOT_FOUND, Refused(error="no such route"))

    def refuse(error: Exception) -> Response[str]:
        return _refusal(error, request_id=app.context["request_id"])

    app.exception_handler(Exception)(refuse)
    return app


def entry_point(app: App) -> Handler:
    """Return the Lambda handler of *app*: each request gets an id, a checked envelope and one log line."""

    @log.inject_lambda_context(clear_state=True)
    def handler(event: Event, context: LambdaContext) -> Reply:
        started = perf_counter()
        request_id = _request_id(event)
        log.append_keys(request_id=request_id, method=event["httpMethod"], route=event.get("resource"))
        try:
            checked = _checked(event, app)
            app.context["request_id"] = request_id
            reply = app.resolve(checked, context)
        except Exception as error:  # an envelope that was refused, or a response that cannot be written
            refusal = _refusal(error, request_id=request_id)
            reply = ResponseBuilder[APIGatewayProxyEvent](refusal).build(APIGatewayProxyEvent(event))
        reply["multiValueHeaders"]["X-Request-Id"] = [request_id]
        # Trouble of ours has been logged already, where it is known why.
        if reply["statusCode"] < HTTPStatus.INTERNAL_SERVER_ERROR:
            took = round((perf_counter() - started) * 1000, 1)
            log.info("answered", extra={"status": reply["statusCode"], "milliseconds": took})
        return reply

    handle: Handler = handler
    return handle


# ---------------------------------------------------------------------------- in


def _request_id(event: Event) -> str:
    given = _header(event, "x-request-id")
    if _REQUEST_ID.fullmatch(given):
        return given
    ours = (event.get("requestContext") or {}).get("requestId")
    return ours if isinstance(ours, str) and ours else str(uuid4())


def _checked(event: Event, app: App) -> Event:
    """Return *event* with its own path and its body as text. Raises for an envelope that no route takes."""
    checked = {**event, "path": _path(event), "body": _body(event), "isBase64Encoded": False}
    route = app.route_of(event["httpMethod"], checked["path"])
    if route is None:
        return checked
    _require_known(event, {field.alias for field in route.dependant.query_params})
    if route.method == "POST":
        _require_json(event)
        # The resolver knows the type by this spelling alone.
        checked["headers"] = {"content-type": content_types.APPLICATION_JSON}
        if not checked["body"].strip():
            raise InvalidRequest("the body is empty; send a JSON object")
    return checked


def _path(event: Event) -> str:
    # A stage or a custom domain's mapping may stand before the path; the resource says how long the path is.
    path: str = event["path"]
    resource = event.get("resource") or ""
    if "+}" in resource:
        return "/" + ((event.get("pathParameters") or {}).get("proxy") or path.lstrip("/"))
    wanted = [segment for segment in resource.split("/") if segment]
    given = [segment for segment in path.split("/") if segment]
    if not wanted:
        return path
    return "/" + "/".join(given[-len(wanted) :])


def _body(event: Event) -> str:
    declared = _header(event, "content-length")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > MAX_BODY_BYTES:
        raise TooLarge(f"the body is over {MAX_BODY_BYTES} bytes")
    text = event.get("body") or ""
    if event.get("isBase64Encoded"):
        try:
            data = base64.b64decode(text, validate=True)
        except binascii.Error as error:
            raise InvalidRequest("the body cannot be read") from error
    else:
        data = text.encode("utf-8", "surrogatepass")
    if len(data) > MAX_BODY_BYTES:
        raise TooLarge(f"the body is over {MAX_BODY_BYTES} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRequest("the body is not UTF-8") from error


def _require_json(event: Event) -> None:
    media, _, parameters = _header(event, "content-type").partition(";")
    if media.strip().lower() != "application/json":
        raise InvalidRequest("send the header content-type: application/json")
    charset = re.search(r"charset\s*=\s*\"?([^\s;\"]*)", parameters, re.IGNORECASE)
    if charset and charset.group(1).lower() not in ("utf-8", "utf8"):
        raise InvalidRequest("send the body as UTF-8")


def _require_known(event: Event, known: set[str]) -> None:
    given = _once(event.get("multiValueQueryStringParameters"))
    if given.keys() <= known:
        return
    # The unknown name itself is not repeated: it may be a question that was meant for the body.
    takes = f"may only be {', '.join(sorted(known))}" if known else "are not taken here"
    raise InvalidRequest(f"query parameters {takes}")


def _once(parameters: Mapping[str, list[str]] | None) -> dict[str, str]:
    """Return each query parameter's one value. Raises InvalidRequest for a repeated or unreadable one."""
    values = {}
    for name, given in (parameters or {}).items():
        if len(given) > 1:
            raise InvalidRequest("a query parameter is given more than once; give each of them once")
        if _UNSTORABLE.search(given[0]):
            raise InvalidRequest("a query parameter holds a NUL or a lone surrogate; take it out")
        values[name] = given[0]
    return values


def _header(event: Event, name: str) -> str:
    headers = event.get("headers") or {}
    return next((value for key, value in headers.items() if key.lower() == name and value), "").strip()


def _from_json(text: str) -> dict[str, Any]:
    """Parse a body: one JSON object, each key once, numbers finite, strings that Postgres can store."""
    try:
        body = json.loads(text, object_pairs_hook=_each_key_once, parse_constant=_no_constant)
    except RecursionError as error:
        raise InvalidRequest("the body is nested too deeply") from error
    except ValueError as error:  # also a number of more digits than Python reads
        raise InvalidRequest("the body is not valid JSON") from error
    if not isinstance(body, dict):
        raise InvalidRequest("the body must be a JSON object")
    if any(_UNSTORABLE.search(string) for string in _strings(body)):
        raise InvalidRequest("the body holds a NUL or a lone surrogate; take it out")
    return body


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    body = dict(pairs)
    if len(body) < len(pairs):
        raise InvalidRequest("a key stands in the body twice; give it once")
    return body


def _no_constant(_: str) -> NoReturn:
    raise InvalidRequest("the body is not valid JSON: it has no NaN and no Infinity")


def _strings(value: object) -> Iterator[str]:
    waiting = [value]  # not by recursion: what the parser could read must not overflow here
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            waiting += item


# ---------------------------------------------------------------------------- out


def _refusal(error: Exception, *, request_id: str) -> Response[str]:
    if isinstance(error, RequestValidationError):
        return _json(HTTPStatus.BAD_REQUEST, Invalid(error=_sentence(error), rule=InvalidRequest.rule))
    if isinstance(error, InvalidRequest):
        return _json(HTTPStatus.BAD_REQUEST, Invalid(error=str(error), rule=error.rule))
    status = next((status for kind, status in STATUSES.items() if isinstance(error, kind)), None)
    if status is None:
        _log_failure(error)
        return _json(HTTPStatus.INTERNAL_SERVER_ERROR, Failed(error="internal error", request_id=request_id))
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        log.warning("unavailable", extra={"status": status.value, "causes": _causes(error)})
        return _json(status, Refused(error=str(error)), **{"Retry-After": str(RETRY_AFTER_SECONDS)})
    return _json(status, Refused(error=str(error)))


def _json(status: HTTPStatus, body: Refused, **headers: str) -> Response[str]:
    return Response(
        status_code=status.value,
        content_type=content_types.APPLICATION_JSON,
        body=body.model_dump_json(),
        headers=headers,
    )


def _to_json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _log_failure(error: Exception) -> None:
    frames = traceback.extract_tb(error.__traceback__)
    where = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    log.error("failed", extra={"status": 500, "causes": _causes(error), "where": where})


def _causes(error: BaseException | None) -> list[str]:
    # Only our own exceptions are quoted: a library's message may hold the question or a parameter of a query.
    causes = []
    while error is not None:
        kind = type(error)
        name = f"{kind.__module__}.{kind.__qualname__}"
        ours = kind.__module__.startswith("codetrail.")
        causes.append(f"{name}: {error}" if ours else name)
        error = error.__cause__
    return causes


def _sentence(error: RequestValidationError | ResponseValidationError) -> str:
    """Say what to change, by the first thing that pydantic found, without what the caller wrote."""
    first = error.errors()[0]
    place, *path = first["loc"]
    name = str(path[0]) if path else "the body"
    if first["type"] == "value_error":
        reason = str(first["ctx"]["error"])
        return f"{name}: {reason}" if path else reason
    if first["type"] == "extra_forbidden":
        return "the body holds a field that is not taken here"
    plain = _PLAIN.get(first["type"], "is not valid")
    where = " in the query string" if place == "query" else ""
    return f"{name}{where} {plain}"


# pydantic's kind of error: the end of a sentence that begins with the field.
_PLAIN = {
    "missing": "is missing; give it",
    "string_type": "must be a string",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "literal_error": "is none of the values that it may have",
    "model_attributes_type": "must be a JSON object",
    "model_type": "must be a JSON object",
    "dict_type": "must be a JSON object",
}
