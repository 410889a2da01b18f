"""The inside of one execution environment: import a function's module once, then answer its invocations.

Started as `python -m codetrail_local.runtime MODULE HANDLER`. Requests come as JSON lines on standard input
and replies go as JSON lines to standard output; both are moved out of the way first, so that a handler that
prints, or a program that it starts, can neither read a request nor spoil a reply. What is printed goes to the
log.

When standard input ends, the supervisor is gone, however it went: the whole process group dies at once, git
and parsers included. (PR_SET_PDEATHSIG would be no help: it follows the thread that started us, not the
process, and it leaves our own children behind.)
"""

import importlib
import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from typing import IO, Any

# What Lambda takes and gives at once.
MAX_PAYLOAD_BYTES = 6 * 1024 * 1024


class LambdaContext:
    """What Lambda hands a handler beside the event, as far as it means something here."""

    identity = None
    client_context = None

    def __init__(self, request_id: str, arn: str, seconds: float) -> None:
        self.aws_request_id = request_id
        self.invoked_function_arn = arn
        self.function_name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]
        self.function_version = os.environ["AWS_LAMBDA_FUNCTION_VERSION"]
        self.memory_limit_in_mb = os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]
        self.log_group_name = os.environ["AWS_LAMBDA_LOG_GROUP_NAME"]
        self.log_stream_name = os.environ["AWS_LAMBDA_LOG_STREAM_NAME"]
        self._deadline = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the environment is killed."""
        return max(0, int((self._deadline - time.monotonic()) * 1000))


def main() -> None:
    """Serve one function until standard input ends."""
    module, handler_name = sys.argv[1:]
    requests, replies = _take_channels()
    inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(requests, inbox), daemon=True).start()
    try:
        handler = getattr(importlib.import_module(module), handler_name)
    except Exception as error:
        traceback.print_exc()
        _reply(replies, {"error": _described(error)})
        return
    _reply(replies, {"ready": True})
    while True:
        request = json.loads(inbox.get())
        context = LambdaContext(request["id"], request["arn"], request["seconds"])
        try:
            payload = _payload(handler(request["event"], context))
        except Exception as error:
            # The one place that stands for Lambda itself: whatever the handler raises is told to its caller.
            traceback.print_exc()
            _reply(replies, {"error": _described(error)})
        else:
            replies.write(b'{"result": ' + payload + b"}\n")


class ResponseSizeTooLarge(Exception):
    """The handler answered more than Lambda hands on."""


def _payload(result: object) -> bytes:
    # Lambda counts the bytes of UTF-8. A lone surrogate is the caller's affair, as any other character.
    payload = json.dumps(result, ensure_ascii=False).encode("utf-8", "surrogatepass")
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise ResponseSizeTooLarge(f"the response has {len(payload)} bytes; {MAX_PAYLOAD_BYTES} are the most")
    return payload


def _take_channels() -> tuple[IO[bytes], IO[bytes]]:
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb", buffering=0)
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a descriptor is wanted, not a path
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return requests, replies


def _read(requests: IO[bytes], inbox: queue.SimpleQueue[bytes]) -> None:
    for line in requests:
        inbox.put(line)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _reply(replies: IO[bytes], reply: dict[str, Any]) -> None:
    replies.write(json.dumps(reply).encode() + b"\n")


def _described(error: Exception) -> dict[str, object]:
    return {
        "errorMessage": str(error),
        "errorType": type(error).__name__,
        "stackTrace": traceback.format_tb(error.__traceback__),
    }


if __name__ == "__main__":
    main()
