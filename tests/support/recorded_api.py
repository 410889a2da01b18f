"""A codetrail API on loopback that answers recorded bodies, for tests of its client."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.loopback import read_body, running


@dataclass(frozen=True)
class Recorded:
    """One response. `hang_up` sends the head and half of the body, then nothing more."""

    body: bytes = b"{}"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hang_up: bool = False


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class RecordedApi:
    """Answers by method and path, its query aside; of several responses the last stays."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.url = ""
        self._answers: dict[tuple[str, str], list[Recorded]] = {}

    def answer(self, method: str, path: str, *responses: Recorded | bytes) -> None:
        """Say what *path* answers."""
        self._answers[method, path] = [r if isinstance(r, Recorded) else Recorded(r) for r in responses]

    def take(self, asked: Asked) -> Recorded:
        """Note the request and return its response."""
        self.asked.append(asked)
        answers = self._answers.get((asked.method, asked.path.partition("?")[0]))
        if not answers:
            return Recorded(b'{"error":"no such route"}', 404)
        return answers.pop(0) if len(answers) > 1 else answers[0]


@contextmanager
def recorded_api() -> Iterator[RecordedApi]:
    """Serve one on a free port."""
    api = RecordedApi()

    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            body = read_body(self)
            recorded = api.take(Asked(self.command, self.path, dict(self.headers), body))
            self.send_response(recorded.status)
            for name, value in recorded.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(recorded.body)))
            self.end_headers()
            self.wfile.write(recorded.body[: len(recorded.body) // 2] if recorded.hang_up else recorded.body)
            self.close_connection = recorded.hang_up

        do_GET = do_POST = _any  # noqa: N815 - the names that http.server calls

        def log_message(self, format: str, *args: object) -> None:
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    api.url = f"http://127.0.0.1:{server.server_address[1]}"
    with running(server):
        yield api
