"""Git's smart HTTP on loopback, and the ways in which a hostile server may answer instead."""

import os
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.support.loopback import read_body, running

# What a server of strangers' repositories has switched on.
_SERVER_CONFIG = {"uploadpack.allowFilter": "true", "safe.directory": "*"}


@dataclass
class Request:
    """One request as the server saw it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Exchange(BaseHTTPRequestHandler):
    """One exchange; a hostile answer writes to `wfile` itself."""

    server: "_Server"

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        body = read_body(self)
        names = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, names, body)
        self.server.seen.append(request)
        try:
            if self.server.answer is None or not self.server.answer(self, request):
                self.server.backend(self, request)
        except (
            BrokenPipeError,
            ConnectionResetError,
        ):  # the client was killed, which is what some tests want
            self.close_connection = True

    def reply(self, status: int, headers: dict[str, str] | None = None, body: bytes = b"") -> bool:
        """Answer whole, and say that nothing is left to answer."""
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return True

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: what was asked is in `seen`."""


Answer = Callable[[Exchange, Request], bool]


class _Server(ThreadingHTTPServer):
    """`answer` may take a request away from git by returning True."""

    daemon_threads = True

    def __init__(self, root: Path, answer: Answer | None, config: dict[str, str]) -> None:
        self.root, self.answer, self.config = root, answer, config
        self.seen: list[Request] = []
        super().__init__(("127.0.0.1", 0), Exchange)

    @property
    def port(self) -> int:
        return self.server_address[1]

    def url(self, name: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}/owner/{name}"

    def backend(self, exchange: Exchange, request: Request) -> None:
        """Answer as `git http-backend` does."""
        path, _, query = request.path.partition("?")
        config = {**_SERVER_CONFIG, **self.config}
        pairs = {f"GIT_CONFIG_KEY_{n}": key for n, key in enumerate(config)}
        pairs |= {f"GIT_CONFIG_VALUE_{n}": value for n, value in enumerate(config.values())}
        environment = {
            "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_COUNT": str(len(config)), **pairs,
            "GIT_PROJECT_ROOT": str(self.root), "GIT_HTTP_EXPORT_ALL": "1", "REQUEST_METHOD": request.method,
            "PATH_INFO": path.removeprefix("/owner"), "QUERY_STRING": query, "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_TYPE": request.headers.get("content-type", ""), "CONTENT_LENGTH": str(len(request.body)),
            "HTTP_CONTENT_ENCODING": request.headers.get("content-encoding", ""),
            "GIT_PROTOCOL": request.headers.get("git-protocol", ""),
        }  # fmt: skip
        command = ["git", "http-backend"]
        done = subprocess.run(command, input=request.body, env=environment, capture_output=True, check=False)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        lines = [line.decode("latin-1").split(": ", 1) for line in head.split(b"\r\n") if line]
        headers = {name: value for name, value in lines if name != "Status"}
        status = next((int(value[:3]) for name, value in lines if name == "Status"), 200)
        exchange.reply(status if lines else 500, headers, body)


@contextmanager
def serve(
    root: Path,
    answer: Answer | None = None,
    config: dict[str, str] | None = None,
    certificate: Path | None = None,
) -> Iterator[_Server]:
    """Serve the bare repositories in *root* under /owner/NAME; over TLS where *certificate* is a file that
    holds one and its key."""
    server = _Server(root, answer, config or {})
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with running(server):
        yield server


def packet(line: bytes) -> bytes:
    """One pkt-line."""
    return b"%04x" % (len(line) + 4) + line


FLUSH = b"0000"
# What a server of protocol version 2 says first.
CAPABILITIES = (
    packet(b"# service=git-upload-pack\n") + FLUSH + packet(b"version 2\n") + packet(b"agent=hostile/1\n")
    + packet(b"ls-refs\n") + packet(b"fetch=shallow filter\n") + packet(b"object-format=sha1\n") + FLUSH
)  # fmt: skip


def greet(exchange: Exchange) -> bool:
    """Answer the handshake."""
    kind = {"Content-Type": "application/x-git-upload-pack-advertisement"}
    return exchange.reply(200, kind, CAPABILITIES)


def stream(exchange: Exchange, pieces: Iterator[bytes]) -> bool:
    """Answer a POST with a body that has no length and ends when *pieces* do."""
    exchange.send_response(200)
    exchange.send_header("Content-Type", "application/x-git-upload-pack-result")
    exchange.send_header("Connection", "close")
    exchange.end_headers()
    for piece in pieces:
        exchange.wfile.write(piece)
    exchange.close_connection = True
    return True
