"""What every HTTP server of the tests needs: a thread of its own, and bodies with and without a length."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# How long a server that is told to stop may go on waiting for a connection.
POLL_SECONDS = 0.02


@contextmanager
def running(server: ThreadingHTTPServer) -> Iterator[None]:
    """Serve for the block."""
    thread = threading.Thread(target=server.serve_forever, args=(POLL_SECONDS,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def read_body(request: BaseHTTPRequestHandler) -> bytes:
    """Return the body of *request*, sent whole or in chunks."""
    if request.headers.get("Transfer-Encoding") != "chunked":
        return request.rfile.read(int(request.headers.get("Content-Length") or 0))
    body = b""
    while size := int(request.rfile.readline(), 16):
        body += request.rfile.read(size)
        request.rfile.readline()
    request.rfile.readline()
    return body
