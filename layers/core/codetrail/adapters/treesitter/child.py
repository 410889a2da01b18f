"""The process that parses: `python -m codetrail.adapters.treesitter.child`.

A parser of strangers' files may hang, crash or eat the memory, so it lives alone, with a ceiling on its
memory and on the time that a file may take; whatever else goes wrong, it is killed from outside. Requests
and replies go through standard input and output, each a length of four bytes and that much JSON; a request
is followed by the source.
"""

import json
import resource
import signal
import struct
import sys
from typing import Any, BinaryIO

from codetrail.adapters.treesitter.cutting import Cutting
from codetrail.adapters.treesitter.windows import Rules

MEMORY_BYTES = 1 << 30


def main() -> None:
    """Serve until the parent closes the pipe."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    options = _read(requests)
    if options is None:
        return
    cutting = Cutting(Rules(**options["rules"]), strip=options["strip"])
    _write(replies, {"disabled": cutting.self_test()})
    while (request := _read(requests)) is not None:
        source = requests.read(request["bytes"])
        # Processor time, so that a busy machine cuts a file as an idle one does. The signal's default
        # action ends the process even inside the parser, and even when the parent is dead.
        signal.setitimer(signal.ITIMER_PROF, options["seconds"])
        chunked = cutting.cut(request["path"], request["language"], source)
        signal.setitimer(signal.ITIMER_PROF, 0)
        pieces = [
            [piece.kind, piece.symbol, piece.start_byte, piece.end_byte, piece.text]
            for piece in chunked.pieces
        ]
        _write(replies, {"pieces": pieces, "reason": chunked.reason, "blanks": chunked.blanks})


def _read(stream: BinaryIO) -> dict[str, Any] | None:
    header = stream.read(4)
    if len(header) < 4:
        return None
    found: dict[str, Any] = json.loads(stream.read(struct.unpack(">I", header)[0]))
    return found


def _write(stream: BinaryIO, reply: dict[str, Any]) -> None:
    body = json.dumps(reply).encode()
    stream.write(struct.pack(">I", len(body)) + body)
    stream.flush()


if __name__ == "__main__":
    main()
