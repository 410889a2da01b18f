"""HTTP on 127.0.0.1, turned into API Gateway's REST proxy events (payload 1.0) by template.yaml's routes.

What API Gateway refuses by itself is refused here, in the words of the template's gateway responses: no such
route, a method that nobody has, a body over 6 MB, an answer that takes over 29 s, an answer that is none.
(Over 6 MB an answer is none: the function's runtime says so.) The API is served at `/` and, as on AWS, under
its stage.
"""

import base64
import binascii
import json
import re
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from logging import getLogger
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl

from codetrail_local.environment import InvocationFailed
from codetrail_local.errors import LocalError, PortInUse
from codetrail_local.routes import ACCOUNT, Match, Template, split
from codetrail_local.runtime import MAX_PAYLOAD_BYTES

HOST = "127.0.0.1"
# API Gateway's, not ours to choose: how long it waits for an answer, and the methods that its ANY stands for.
PATIENCE_SECONDS = 29
METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
# What is no method in HTTP's grammar is no request.
TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", re.ASCII)
# A browser that was talked into believing that some name is this machine sends that name as the host, and the
# page could read the answers, local repositories among them. Only our own names are served.
LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
IDLE_SECONDS = 75  # between two requests of a connection that is kept
MAX_WAITING = 256  # requests under way at once; others wait their turn
CHUNK_SIZE_LIMIT = 64  # characters in the line that says how long a chunk is

log = getLogger(__name__)

Invoke = Callable[[str, object], Any]


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    path: str  # percent-encoded, without the stage
    query: str
    headers: list[tuple[str, str]]
    body: bytes
    address: str
    request_id: str


@dataclass(frozen=True, slots=True)
class _Response:
    status: int
    headers: list[tuple[str, str]]
    body: bytes


class _Refused(Exception):
    """The gateway itself answers, with the template's gateway response of this name."""

    def __init__(
        self, kind: str, status: int, message: str, headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.message = message
        self.headers = headers


class Gateway:
    """The API's front on a laptop. `patience` is how many seconds an answer may take."""

    def __init__(
        self,
        template: Template,
        invoke: Invoke,
        *,
        port: int,
        stage: str = "local",
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self.template = template
        self.stage = stage
        self._invoke = invoke
        self._patience = patience
        self._executor = ThreadPoolExecutor(MAX_WAITING, thread_name_prefix="request")
        try:
            self._server = _Server((HOST, port), _Handler)
        except OverflowError:
            raise LocalError(f"{port} is not a port: 0 to 65535") from None
        except PermissionError:
            raise LocalError(
                f"port {port} may not be opened by this user: choose one above 1023 with --port"
            ) from None
        except OSError as error:
            raise PortInUse(port) from error
        self._server.gateway = self
        self._thread: Thread | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{HOST}:{self._server.server_port}"

    def start(self) -> None:
        """Take requests from now on."""
        self._thread = Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="gateway", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Take no more requests."""
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()
        self._executor.shutdown(wait=False, cancel_futures=True)

    def answer(self, request: _Request) -> _Response:
        """Answer one request as API Gateway would."""
        try:
            match = self._match(request)
            assert match.route is not None  # noqa: S101 - _match refuses those
            late = self._executor.submit(self._invoke, match.route.function, self._event(request, match))
            try:
                result = late.result(self._patience)
            except Late:
                raise _Refused("INTEGRATION_TIMEOUT", 504, "Endpoint request timed out") from None
            except InvocationFailed as error:
                log.error("a request failed: %s", error)
                raise _Refused("INTEGRATION_FAILURE", 502, "Internal server error") from None
            return self._response(result)
        except _Refused as refused:
            return self.refusal(refused, request.request_id)

    def refusal(self, refused: _Refused, request_id: str) -> _Response:
        """Word a refusal of the gateway's own as the template says."""
        said = self.template.responses.get(refused.kind)
        family = self.template.responses.get("DEFAULT_4XX" if refused.status < 500 else "DEFAULT_5XX")
        said = said or family
        status, body = refused.status, '{"message":$context.error.messageString}'
        headers = [("Content-Type", "application/json"), *refused.headers]
        context = {
            "context.error.messageString": json.dumps(refused.message),
            "context.error.message": refused.message,
            "context.error.responseType": refused.kind,
            "context.requestId": request_id,
        }
        if said is not None:
            status = said.status or status
            body = said.body or body
            for name, value in said.headers.items():
                headers.append((name, value[1:-1] if value.startswith("'") else context.get(value, "")))
        for name in sorted(context, key=len, reverse=True):
            body = body.replace(f"${name}", context[name])
        return _Response(status, headers, body.encode())

    def _match(self, request: _Request) -> Match:
        match = self.template.match(request.method, split(request.path))
        if match is None:
            raise _Refused("MISSING_AUTHENTICATION_TOKEN", 404, "no such route")
        # ANY is no more than the methods that there are.
        if match.route is None or request.method not in METHODS:
            allowed = [method for method in match.methods if method != "ANY"] or METHODS
            raise _Refused(
                "METHOD_NOT_ALLOWED",
                405,
                f"this address takes {' and '.join(allowed)} only",
                (("Allow", ", ".join(allowed)),),
            )
        return match

    def _event(self, request: _Request, match: Match) -> dict[str, Any]:
        assert match.route is not None  # noqa: S101 - _match refuses those
        multi: dict[str, list[str]] = {}
        for name, value in request.headers:
            multi.setdefault(next((key for key in multi if key.lower() == name.lower()), name), []).append(
                value
            )
        query: dict[str, list[str]] = {}
        for name, value in parse_qsl(request.query, keep_blank_values=True, errors="replace"):
            query.setdefault(name, []).append(value)
        body, is_base64 = self._body(request)
        now = time.time()
        return {
            "resource": match.path,
            "path": request.path,
            "httpMethod": request.method,
            "headers": {name: values[-1] for name, values in multi.items()},
            "multiValueHeaders": multi,
            "queryStringParameters": {name: values[-1] for name, values in query.items()} or None,
            "multiValueQueryStringParameters": query or None,
            "pathParameters": match.parameters or None,
            "stageVariables": None,
            "requestContext": {
                "accountId": ACCOUNT,
                "apiId": "local",
                "deploymentId": "local",
                "domainName": f"{HOST}:{self._server.server_port}",
                "domainPrefix": "local",
                "extendedRequestId": request.request_id,
                "httpMethod": request.method,
                "identity": {
                    "accessKey": None,
                    "accountId": None,
                    "caller": None,
                    "cognitoAuthenticationProvider": None,
                    "cognitoAuthenticationType": None,
                    "cognitoIdentityId": None,
                    "cognitoIdentityPoolId": None,
                    "principalOrgId": None,
                    "sourceIp": request.address,
                    "user": None,
                    "userAgent": _header(request.headers, "User-Agent"),
                    "userArn": None,
                },
                "path": f"/{self.stage}{request.path}",
                "protocol": "HTTP/1.1",
                "requestId": request.request_id,
                "requestTime": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now)),
                "requestTimeEpoch": int(now * 1000),
                "resourceId": "local",
                "resourcePath": match.path,
                "stage": self.stage,
            },
            "body": body,
            "isBase64Encoded": is_base64,
        }

    def _body(self, request: _Request) -> tuple[str | None, bool]:
        if not request.body:
            return None, False
        kind = (_header(request.headers, "Content-Type") or "").split(";")[0].strip().lower()
        if kind in self.template.binary_types or "*/*" in self.template.binary_types:
            return base64.b64encode(request.body).decode(), True
        return request.body.decode("utf-8", errors="replace"), False

    def _response(self, result: object) -> _Response:
        """Read a Lambda proxy answer; API Gateway makes a 502 of anything else."""
        if not isinstance(result, dict):
            raise _malformed("is not an object")
        try:
            status = int(result["statusCode"])
        except (KeyError, TypeError, ValueError):
            raise _malformed("has no statusCode") from None
        if not 100 <= status <= 599:
            raise _malformed("has a statusCode that is none")
        body = result.get("body")
        if body is None:
            body = ""
        if not isinstance(body, str):
            raise _malformed("has a body that is not text")
        headers = _response_headers(result)
        if not any(name.lower() == "content-type" for name, _ in headers):
            headers.append(("Content-Type", "application/json"))
        # Without binary media types API Gateway hands base64 on as it is.
        if result.get("isBase64Encoded") is True and self.template.binary_types:
            try:
                return _Response(status, headers, base64.b64decode(body, validate=True))
            except binascii.Error:
                raise _malformed("has a body that is not base64") from None
        return _Response(status, headers, body.encode())


def _response_headers(result: dict[str, Any]) -> list[tuple[str, str]]:
    single, multi = result.get("headers") or {}, result.get("multiValueHeaders") or {}
    if not isinstance(single, dict) or not isinstance(multi, dict):
        raise _malformed("has headers that are not an object")
    headers = []
    for name, values in multi.items():
        if not isinstance(values, list):
            raise _malformed("has multiValueHeaders that are not lists")
        headers += [(name, _plain(value)) for value in values]
    named = {name.lower() for name in multi}
    headers += [(name, _plain(value)) for name, value in single.items() if name.lower() not in named]
    # The connection is the gateway's affair.
    return [(name, value) for name, value in headers if name.lower() not in HOP_BY_HOP]


HOP_BY_HOP = frozenset(
    {"connection", "content-length", "date", "keep-alive", "server", "transfer-encoding", "upgrade"}
)


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float) or (isinstance(value, str) and re.search(r"[\r\n\0]", value)):
        raise _malformed("has a header that is not a line of text")
    return str(value)


def _malformed(what: str) -> _Refused:
    log.error("a malformed Lambda proxy response: it %s", what)
    return _Refused("INTEGRATION_FAILURE", 502, "Internal server error")


def _header(headers: list[tuple[str, str]], wanted: str) -> str | None:
    return next((value for name, value in reversed(headers) if name.lower() == wanted.lower()), None)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Not SO_REUSEADDR's cousin that lets two programs listen; only a port in its last minute may be taken.
    allow_reuse_address = True
    request_queue_size = 128
    gateway: Gateway

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is nobody's fault; anything else belongs into the log."""
        log.exception("a connection failed")


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "codetrail-local"
    sys_version = ""
    disable_nagle_algorithm = True
    wbufsize = -1
    timeout = IDLE_SECONDS

    def do_any(self) -> None:
        """Answer one request."""
        request_id = str(uuid.uuid4())
        gateway = self.server.gateway
        try:
            self._check_line()
            self._check_host()
            body = self._read_body()
        except _Refused as refused:
            # What is left of the body is not worth reading, so the connection ends here.
            self.close_connection = True
            self._send(gateway.refusal(refused, request_id))
            return
        target, _, query = self.path.partition("?")
        # An absolute target is allowed by HTTP and sent by proxies.
        target = re.sub(r"^https?://[^/]*", "", target) or "/"
        prefix = f"/{gateway.stage}"
        path = (
            target.removeprefix(prefix) or "/"
            if target == prefix or target.startswith(f"{prefix}/")
            else target
        )
        self._send(
            gateway.answer(
                _Request(
                    method=self.command,
                    path=path,
                    query=query,
                    headers=self._headers(),
                    body=body,
                    address=str(self.client_address[0]),
                    request_id=request_id,
                )
            )
        )

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_any  # noqa: N815 - its names

    def log_message(self, format: str, *args: object) -> None:
        """Keep no access log: addresses and paths of a person's own questions."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what http.server cannot even read, in our own shape."""
        if code == HTTPStatus.NOT_IMPLEMENTED:  # it could read this, and only knows no such method
            self.do_any()
            return
        self.close_connection = True
        self.request_version = self.protocol_version  # or a line that it cannot read is answered as HTTP/0.9
        # Whatever it cannot read is the caller's to change, a version of another HTTP included.
        status = code if code < HTTPStatus.INTERNAL_SERVER_ERROR else HTTPStatus.BAD_REQUEST
        refused = _Refused("BAD_REQUEST_PARAMETERS", status, message or "this is not HTTP")
        self._send(self.server.gateway.refusal(refused, str(uuid.uuid4())))

    def _headers(self) -> list[tuple[str, str]]:
        headers = list(self.headers.items())
        own = [
            ("X-Amzn-Trace-Id", f"Root=1-{int(time.time()):08x}-{uuid.uuid4().hex[:24]}"),
            ("X-Forwarded-For", str(self.client_address[0])),
            ("X-Forwarded-Port", str(self.server.server_port)),
            ("X-Forwarded-Proto", "http"),
        ]
        ours = {name.lower() for name, _ in own}
        return [(name, value) for name, value in headers if name.lower() not in ours] + own

    def _check_line(self) -> None:
        if not self.request_version.startswith("HTTP/1."):  # an older one's answer would have no status
            self.request_version = self.protocol_version
            raise _Refused("BAD_REQUEST_PARAMETERS", 400, "this is not HTTP/1.1")
        if not TOKEN.fullmatch(self.command):
            raise _Refused("BAD_REQUEST_PARAMETERS", 400, "the request begins with no method")

    def _check_host(self) -> None:
        hosts = self.headers.get_all("Host", [])
        name = re.sub(r":\d+$", "", hosts[0]).lower() if len(hosts) == 1 else ""
        if name not in LOCAL_NAMES and self.request_version != "HTTP/1.0":
            raise _Refused("BAD_REQUEST_PARAMETERS", 421, "this API answers to 127.0.0.1 and localhost only")

    def _read_body(self) -> bytes:
        encoding = self.headers.get("Transfer-Encoding")
        lengths = self.headers.get_all("Content-Length", [])
        if encoding is not None:
            if encoding.strip().lower() != "chunked" or lengths:
                raise _Refused("BAD_REQUEST_BODY", 400, "Content-Length and chunks contradict each other")
            return self._read_chunks()
        if not lengths:
            return b""
        if len(set(lengths)) != 1 or not re.fullmatch(r"[0-9]{1,18}", lengths[0]):
            raise _Refused("BAD_REQUEST_BODY", 400, "Content-Length is not a number")
        if int(lengths[0]) > MAX_PAYLOAD_BYTES:
            raise _too_large()
        return self._read(int(lengths[0]))

    def _read_chunks(self) -> bytes:
        body = bytearray()
        while True:
            size = self.rfile.readline(CHUNK_SIZE_LIMIT).split(b";")[0].strip()
            if not re.fullmatch(rb"[0-9a-fA-F]{1,8}", size):
                raise _Refused("BAD_REQUEST_BODY", 400, "a chunk has no size")
            if not int(size, 16):
                break
            if len(body) + int(size, 16) > MAX_PAYLOAD_BYTES:
                raise _too_large()
            body += self._read(int(size, 16))
            self.rfile.readline(CHUNK_SIZE_LIMIT)
        while self.rfile.readline(MAX_PAYLOAD_BYTES).strip():
            pass  # trailers
        return bytes(body)

    def _read(self, size: int) -> bytes:
        body = self.rfile.read(size)
        if len(body) < size:
            raise _Refused("BAD_REQUEST_BODY", 400, "the body ended early")
        return body

    def _send(self, response: _Response) -> None:
        try:
            self.send_response(response.status)
            for name, value in response.headers:
                self.send_header(name, value)
            if response.status not in (204, 304):
                self.send_header("Content-Length", str(len(response.body)))
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            if self.command != "HEAD" and response.status not in (204, 304):
                self.wfile.write(response.body)
            self.wfile.flush()
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True  # the client did not wait


def _too_large() -> _Refused:
    return _Refused("REQUEST_TOO_LARGE", 413, "Request Too Long")
