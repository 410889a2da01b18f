"""Lambda's Runtime API (2018-06-01) for one function: a built artefact and its layers answer an event here.

The function runs under Lambda's own runtime client in a process of its own, which sees nothing of this
checkout or of the tests' environment: its code at the front of the path and its layers at /opt.
"""

import json
import os
import subprocess
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from time import time
from typing import Any
from uuid import uuid4

from tests.support.loopback import read_body

ANSWER_WITHIN_SECONDS = 60.0
MAX_ANSWER_BYTES = 6 * 1024 * 1024


class InvocationFailed(Exception):
    """The function raised, did not start, or said nothing in time."""


@dataclass(frozen=True)
class _Invocation:
    id: str
    payload: bytes


class _Runtime(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body are sent apart; with Nagle's algorithm the body would wait for an acknowledgement.
    disable_nagle_algorithm = True
    server: "_Server"

    def do_GET(self) -> None:
        invocation = self.server.waiting.get()
        self.send_response(200)
        # Without a type the client waits for ever.
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(invocation.payload)))
        self.send_header("Lambda-Runtime-Aws-Request-Id", invocation.id)
        self.send_header("Lambda-Runtime-Deadline-Ms", str(int((time() + ANSWER_WITHIN_SECONDS) * 1000)))
        self.send_header("Lambda-Runtime-Invoked-Function-Arn", self.server.arn)
        self.end_headers()
        self.wfile.write(invocation.payload)

    def do_POST(self) -> None:
        outcome = self.path.rsplit("/", 1)[1]
        self.server.answers.put((outcome, read_body(self)))
        self.send_response(202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, name: str) -> None:
        super().__init__(("127.0.0.1", 0), _Runtime)
        self.arn = f"arn:aws:lambda:us-east-1:123456789012:function:{name}"
        self.waiting: Queue[_Invocation] = Queue()
        self.answers: Queue[tuple[str, bytes]] = Queue()


class BuiltFunction(AbstractContextManager["BuiltFunction"]):
    """A function's execution environment, for the block.

    *layers* are laid over one another at /opt, to be read only, in a mount namespace of the process's own;
    *client* holds Lambda's runtime client, which is the runtime's and in no layer.
    """

    def __init__(
        self,
        name: str,
        *,
        code: Path,
        layers: Sequence[Path],
        handler: str,
        python: Path,
        client: Path,
        environment: dict[str, str],
    ) -> None:
        self._server = _Server(name)
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._log = (code.parent / f"{name}.log").open("w+b")
        self._command = [
            "unshare", "--user", "--map-root-user", "--mount",
            "sh", "-c", 'mount -t overlay -o "lowerdir=$1" overlay /opt && shift && exec "$@"', "sh",
            ":".join(map(str, layers)),
            str(python), "-m", "awslambdaric", handler,
        ]  # fmt: skip
        self._code = code
        self._environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{code}:/opt/python:{client}",
            "LAMBDA_TASK_ROOT": str(code),
            "_HANDLER": handler,
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self._server.server_port}",
            "AWS_LAMBDA_FUNCTION_NAME": name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
            "AWS_REGION": "us-east-1",
            "TZ": ":UTC",
            **environment,
        }

    def __enter__(self) -> "BuiltFunction":
        self._thread.start()
        self._process = subprocess.Popen(
            self._command, cwd=self._code, env=self._environment, stdout=self._log, stderr=subprocess.STDOUT
        )
        return self

    def invoke(self, event: object) -> Any:
        """Return what the function returns for *event*. Raises InvocationFailed."""
        self._server.waiting.put(_Invocation(str(uuid4()), json.dumps(event).encode()))
        deadline = time() + ANSWER_WITHIN_SECONDS
        while time() < deadline:
            try:
                outcome, body = self._server.answers.get(timeout=0.2)
            except Empty:
                if self._process.poll() is not None:
                    break
                continue
            if outcome != "response" or len(body) > MAX_ANSWER_BYTES:
                raise InvocationFailed(f"{outcome}: {body[:2_000]!r}\n{self.logged()}")
            return json.loads(body)
        raise InvocationFailed(f"no answer\n{self.logged()}")

    def logged(self) -> str:
        """What the function has written so far."""
        return Path(self._log.name).read_text(errors="replace")

    def __exit__(self, *exception: object) -> None:
        self._process.kill()
        self._process.wait()
        self._server.shutdown()
        self._server.server_close()
        self._log.close()
