"""Real API Gateway events out of events/, changed where a test needs it, and the context Lambda gives."""

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EVENTS = Path(__file__).parents[2] / "events"

Event = dict[str, Any]


@dataclass(frozen=True)
class Context:
    """What of Lambda's context the handlers read."""

    function_name: str = "tried"
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = "arn:aws:lambda:us-east-1:123456789012:function:tried"
    aws_request_id: str = "52fdfc07-2182-454f-963f-5f0f9a621d72"
    seconds: float = 29  # what is left of the function's time

    def get_remaining_time_in_millis(self) -> int:
        return int(self.seconds * 1_000)


def event(
    name: str,
    *,
    body: object = None,
    text: str | None = None,
    query: Mapping[str, str | list[str]] | None = None,
    headers: dict[str, str | None] | None = None,
    method: str | None = None,
    **path: str,
) -> Event:
    """Return events/*name*.json with another body, query, method, path parameters, and headers laid over."""
    changed: Event = deepcopy(json.loads((EVENTS / f"{name}.json").read_text()))
    if body is not None or text is not None:
        changed["body"] = text if text is not None else json.dumps(body)
    if query is not None:
        many = {key: value if isinstance(value, list) else [value] for key, value in query.items()}
        changed["multiValueQueryStringParameters"] = many or None
        changed["queryStringParameters"] = {key: values[-1] for key, values in many.items()} or None
    if path:
        changed["pathParameters"] = {**(changed["pathParameters"] or {}), **path}
        changed["path"] = changed["resource"]
        for key, value in changed["pathParameters"].items():
            changed["path"] = changed["path"].replace(f"{{{key}}}", value).replace(f"{{{key}+}}", value)
    if method is not None:
        changed["httpMethod"] = changed["requestContext"]["httpMethod"] = method
    for key, header in (headers or {}).items():
        kept = {name: value for name, value in changed["headers"].items() if name.lower() != key.lower()}
        changed["headers"] = kept if header is None else {**kept, key: header}
        changed["multiValueHeaders"] = {name: [value] for name, value in changed["headers"].items()}
    return changed


@dataclass(frozen=True)
class Answer:
    """A handler's reply, read."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


def read(reply: dict[str, Any]) -> Answer:
    """Read what a handler returned to API Gateway, which takes nothing but strings as headers."""
    assert not reply["isBase64Encoded"]
    headers = {name.lower(): ", ".join(values) for name, values in reply["multiValueHeaders"].items()}
    return Answer(reply["statusCode"], headers, reply["body"])
