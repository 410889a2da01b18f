"""What template.yaml says, as far as a laptop needs it: functions, routes, queues, buckets and schedules.

A route, a timeout, a batch size and a redrive rule are written once, in the template, and not again here.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from codetrail_local.errors import TemplateError

# What the template leaves to the account it is deployed in, under CloudFormation's names for it.
PSEUDO_PARAMETERS = {
    "AWS::AccountId": "123456789012",
    "AWS::Partition": "aws",
    "AWS::Region": "us-east-1",
    "AWS::StackName": "codetrail",
    "AWS::URLSuffix": "amazonaws.com",
}
REGION = PSEUDO_PARAMETERS["AWS::Region"]
ACCOUNT = PSEUDO_PARAMETERS["AWS::AccountId"]
# AWS's own defaults, for where the template is silent.
DEFAULT_TIMEOUT_SECONDS = 3
DEFAULT_MEMORY_MB = 128
DEFAULT_BATCH_SIZE = 10
# Properties of a queue that SQS takes as attributes of the same name.
QUEUE_ATTRIBUTES = (
    "VisibilityTimeout",
    "MessageRetentionPeriod",
    "DelaySeconds",
    "MaximumMessageSize",
    "ReceiveMessageWaitTimeSeconds",
)


@dataclass(frozen=True, slots=True)
class Function:
    """One Lambda function. `name` is its folder's; `module` the module that holds its handler."""

    name: str
    module: str
    handler: str
    timeout_seconds: int
    memory_mb: int
    environment: dict[str, Any]  # as the template writes it, references unresolved


@dataclass(frozen=True, slots=True)
class Route:
    """A method and path of the REST API, and whose it is. A method may be ANY."""

    method: str
    path: str
    function: str


@dataclass(frozen=True, slots=True)
class Queue:
    """An SQS queue. `dead_letters` is the logical id of the queue that takes what was received too often."""

    name: str
    attributes: dict[str, str]
    dead_letters: str | None
    max_receives: int


@dataclass(frozen=True, slots=True)
class EventSource:
    """Messages of one queue, handed to one function in batches."""

    function: str
    queue: str  # logical id
    batch_size: int
    window_seconds: int
    partial: bool  # the function says which messages of a batch failed
    concurrency: int | None


@dataclass(frozen=True, slots=True)
class Schedule:
    """A function that is invoked again and again; how often, a laptop says for itself."""

    function: str
    name: str
    input: str | None


@dataclass(frozen=True, slots=True)
class GatewayResponse:
    """How the gateway words one of its own refusals. Header values are constants or `context.…`."""

    status: int | None
    headers: dict[str, str]
    body: str | None


@dataclass(frozen=True, slots=True)
class Template:
    """The parts of a template that run on a laptop."""

    functions: dict[str, Function]
    routes: tuple[Route, ...]
    queues: dict[str, Queue]
    buckets: dict[str, str]  # logical id to name
    sources: tuple[EventSource, ...]
    schedules: tuple[Schedule, ...]
    responses: dict[str, GatewayResponse]
    binary_types: tuple[str, ...]
    parameters: dict[str, str]

    def match(self, method: str, segments: tuple[str, ...]) -> "Match | None":
        """Find the route of a request whose path, still percent-encoded, has these segments.

        As in API Gateway the most specific path is chosen first, then the method: a literal segment beats a
        parameter, a parameter beats a greedy one. None: no path matches. A match without a route: no method.
        """
        fits = []
        for path in {route.path for route in self.routes}:
            fit = _fit(path, segments)
            if fit is not None:
                fits.append((fit[0], path, fit[1]))
        best = min(fits, key=lambda fit: fit[0], default=None)
        if best is None:
            return None
        _, path, values = best
        methods = {route.method: route for route in self.routes if route.path == path}
        return Match(path, values, methods.get(method) or methods.get("ANY"), tuple(sorted(methods)))


@dataclass(frozen=True, slots=True)
class Match:
    """A path that a request's path fits, and the route of its method, if there is one."""

    path: str
    parameters: dict[str, str]
    route: Route | None
    methods: tuple[str, ...]


def split(path: str) -> tuple[str, ...]:
    """Return the segments of a path; a trailing slash makes no difference, as in API Gateway."""
    return tuple(path.strip("/").split("/")) if path.strip("/") else ()


def _fit(path: str, segments: tuple[str, ...]) -> tuple[tuple[int, ...], dict[str, str]] | None:
    rank: list[int] = []
    values: dict[str, str] = {}
    pattern = split(path)
    for position, part in enumerate(pattern):
        if part.startswith("{") and part.endswith("+}"):
            if position >= len(segments):
                return None
            values[part[1:-2]] = "/".join(segments[position:])
            return (*rank, 2), values
        if position >= len(segments) or not segments[position]:
            return None
        if part.startswith("{") and part.endswith("}"):
            values[part[1:-1]] = segments[position]
            rank.append(1)
        elif part == segments[position]:
            rank.append(0)
        else:
            return None
    return (tuple(rank), values) if len(pattern) == len(segments) else None


def read_template(path: Path, settings: Mapping[str, str] | None = None) -> Template:
    """Read *path*; *settings* stand in for the template's parameters of the same name, in either spelling."""
    try:
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506 - a SafeLoader
    except FileNotFoundError:
        raise TemplateError(
            f"there is no {path}: the local stack runs out of a checkout of codetrail"
        ) from None
    except yaml.YAMLError as error:
        raise TemplateError(f"{path} is not YAML: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("Resources"), dict):
        raise TemplateError(f"{path} has no Resources")
    return _Reader(document, settings or {}).template()


class _Reader:
    """Walks one template document."""

    def __init__(self, document: dict[str, Any], settings: Mapping[str, str]) -> None:
        self.resources: dict[str, dict[str, Any]] = document["Resources"]
        self.globals: dict[str, Any] = document.get("Globals", {}).get("Function", {})
        self.parameters = {
            name: settings.get(_setting_name(name), str(parameter["Default"]))
            for name, parameter in document.get("Parameters", {}).items()
            if "Default" in parameter or _setting_name(name) in settings
        }
        self.folders: dict[str, str] = {}

    def template(self) -> Template:
        functions = {function.name: function for function in self._functions()}
        api = next((properties for _, properties in self._of_type("AWS::Serverless::Api")), {})
        return Template(
            functions=functions,
            routes=tuple(self._routes()),
            queues={
                logical: _queue(logical, properties)
                for logical, properties in self._of_type("AWS::SQS::Queue")
            },
            buckets={
                logical: str(properties.get("BucketName", f"codetrail-{logical.lower()}"))
                for logical, properties in self._of_type("AWS::S3::Bucket")
            },
            sources=tuple(self._sources()),
            schedules=tuple(self._schedules()),
            responses={name: _gateway_response(raw) for name, raw in api.get("GatewayResponses", {}).items()},
            binary_types=tuple(str(kind).replace("~1", "/") for kind in api.get("BinaryMediaTypes", [])),
            parameters=self.parameters,
        )

    def _of_type(self, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for logical, resource in self.resources.items():
            if resource.get("Type") == kind:
                yield logical, resource.get("Properties", {})

    def _functions(self) -> Iterator[Function]:
        for logical, properties in self._of_type("AWS::Serverless::Function"):
            folder = self._folder(logical, properties)
            self.folders[logical] = folder.name
            module, _, handler = str(properties.get("Handler", "app.handler")).rpartition(".")
            yield Function(
                name=folder.name,
                module=".".join((*folder.parts, *module.split("."))),
                handler=handler,
                timeout_seconds=int(self._either(properties, "Timeout", DEFAULT_TIMEOUT_SECONDS)),
                memory_mb=int(self._either(properties, "MemorySize", DEFAULT_MEMORY_MB)),
                environment={**_variables(self.globals), **_variables(properties)},
            )

    def _folder(self, logical: str, properties: dict[str, Any]) -> PurePosixPath:
        if properties.get("PackageType") == "Image":
            metadata = self.resources[logical].get("Metadata", {})
            context = PurePosixPath(str(metadata.get("DockerContext", ".")))
            return (context / str(metadata.get("Dockerfile", "Dockerfile"))).parent
        if "CodeUri" not in properties:
            raise TemplateError(f"{logical} has no CodeUri")
        return PurePosixPath(str(properties["CodeUri"]))

    def _either(self, properties: dict[str, Any], name: str, default: int) -> str:
        return self._text(properties.get(name, self.globals.get(name, default)))

    def _text(self, raw: object) -> str:
        if isinstance(raw, dict) and raw.get("Ref") in self.parameters:
            return self.parameters[raw["Ref"]]
        if isinstance(raw, dict | list):
            raise TemplateError(f"the local stack cannot tell what {raw!r} stands for")
        return str(raw)

    def _events(self, *kinds: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for logical, properties in self._of_type("AWS::Serverless::Function"):
            for name, event in properties.get("Events", {}).items():
                if event.get("Type") in kinds:
                    yield self.folders[logical], name, event.get("Properties", {})

    def _routes(self) -> Iterator[Route]:
        for function, _, event in self._events("Api"):
            method = str(event["Method"]).upper()
            yield Route("ANY" if method == "*" else method, str(event["Path"]), function)

    def _sources(self) -> Iterator[EventSource]:
        for function, name, event in self._events("SQS"):
            queue = _logical_id(event.get("Queue"))
            if queue not in self.resources:
                raise TemplateError(f"the event {name} of {function} names no queue of this template")
            yield EventSource(
                function=function,
                queue=queue,
                batch_size=int(event.get("BatchSize", DEFAULT_BATCH_SIZE)),
                window_seconds=int(event.get("MaximumBatchingWindowInSeconds", 0)),
                partial="ReportBatchItemFailures" in event.get("FunctionResponseTypes", []),
                concurrency=event.get("ScalingConfig", {}).get("MaximumConcurrency"),
            )

    def _schedules(self) -> Iterator[Schedule]:
        for function, name, event in self._events("Schedule", "ScheduleV2"):
            yield Schedule(function, name, event.get("Input"))


def _variables(properties: dict[str, Any]) -> dict[str, Any]:
    return dict(properties.get("Environment", {}).get("Variables", {}))


def _queue(logical: str, properties: dict[str, Any]) -> Queue:
    redrive = properties.get("RedrivePolicy", {})
    return Queue(
        name=str(properties.get("QueueName", f"codetrail-{logical}")),
        attributes={name: str(properties[name]) for name in QUEUE_ATTRIBUTES if name in properties},
        dead_letters=_logical_id(redrive.get("deadLetterTargetArn")) or None,
        max_receives=int(redrive.get("maxReceiveCount", 0)),
    )


def _gateway_response(raw: dict[str, Any]) -> GatewayResponse:
    return GatewayResponse(
        status=int(raw["StatusCode"]) if "StatusCode" in raw else None,
        headers={
            str(name): str(value)
            for name, value in raw.get("ResponseParameters", {}).get("Headers", {}).items()
        },
        body=raw.get("ResponseTemplates", {}).get("application/json"),
    )


def _logical_id(raw: object) -> str:
    if isinstance(raw, dict) and "Fn::GetAtt" in raw:
        return str(raw["Fn::GetAtt"][0])
    if isinstance(raw, dict) and "Ref" in raw:
        return str(raw["Ref"])
    return ""


def _setting_name(parameter: str) -> str:
    """AllowedHosts is the parameter of the setting ALLOWED_HOSTS."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", parameter).upper()


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short tags, read as their long forms."""


def _construct(loader: _Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    elif isinstance(node, yaml.MappingNode):
        value = loader.construct_mapping(node, deep=True)
    else:
        raise TemplateError(f"!{suffix} of a {type(node).__name__}")
    if suffix in ("Ref", "Condition"):
        return {suffix: value}
    if suffix == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _construct)
