"""Source text to pieces, by a parser in a child process that may die of a file without harm."""

import contextlib
import hashlib
import json
import logging
import os
import selectors
import struct
import subprocess
import sys
import time
from dataclasses import asdict
from types import TracebackType
from typing import Any, Self

from codetrail.adapters.treesitter import grammars
from codetrail.adapters.treesitter.windows import Rules, window_file
from codetrail.domain import languages
from codetrail.domain.classify import clean
from codetrail.domain.repo import Reason
from codetrail.domain.span import Kind
from codetrail.errors import Unavailable
from codetrail.services.ports import Chunked, Piece

log = logging.getLogger(__name__)

# Goes up with any change to how files are cut, since the same commit is then cut otherwise.
RULES_VERSION = 3

# Processor time for one file. Files that people write take milliseconds; grammars are known to hang on
# some that nobody did.
FILE_SECONDS = 2.0
# A child that neither answers nor uses the processor is killed after this many times as long.
WALL_FACTOR = 5
# After so many files that ended the parser, the rest comes in windows: a repository made of such files
# shall not use up its job's time.
MAX_DEATHS = 20
# A cold start reads thirteen grammars from a slow disk.
START_SECONDS = 60.0
# No reply about a file of a megabyte comes near this.
MAX_REPLY_BYTES = 64 << 20
_CHILD = "codetrail.adapters.treesitter.child"


class _Gone(Exception):
    """The child died, or did not answer in time."""


class TreeSitterChunker:
    """Cuts files by declaration, heading or cell, and into windows where that cannot be; a notebook never,
    since a window would show its outputs.

    Holds one child process, started for the first file that needs it; close it, or use it in a `with`
    block. Made for one repository.
    """

    def __init__(
        self,
        rules: Rules | None = None,
        *,
        strategy: str = "ast",
        strip_doc_comments: bool = False,
        file_seconds: float = FILE_SECONDS,
        command: tuple[str, ...] = (sys.executable, "-P", "-m", _CHILD),
    ) -> None:
        """Take the rules; *command* starts the child."""
        self._rules = rules or Rules()
        self._windows_only = strategy == "window"
        self._strip = strip_doc_comments
        self._file_seconds = file_seconds
        self._command = command
        self._child: subprocess.Popen[bytes] | None = None
        self._deaths = 0
        self.fingerprint = _fingerprint(self._rules, strategy, strip_doc_comments)

    def chunk(self, path: str, language: str, source: bytes) -> Chunked:
        """Cut one file; never raises for what the file holds. Raises Unavailable when no parser starts."""
        if not source:
            return Chunked(())
        by_rule = languages.has_grammar(language) or language in (languages.MARKDOWN, languages.NOTEBOOK)
        if not by_rule:
            supported = languages.is_supported(language)
            return Chunked(window_file(source, self._rules), None if supported else Reason.NO_GRAMMAR)
        windows_only = self._windows_only and language != languages.NOTEBOOK
        if windows_only and not self._strip:
            return Chunked(window_file(source, self._rules))
        try:
            chunked = self._ask(path, language, source)
        except _Gone as gone:
            log.warning(
                "parser stopped", extra={"language": language, "bytes": len(source), "cause": str(gone)}
            )
            pieces = () if language == languages.NOTEBOOK else window_file(source, self._rules)
            return Chunked(pieces, Reason.PARSE_BUDGET)
        if windows_only:
            return Chunked(window_file(source, self._rules), None, chunked.blanks)
        return chunked

    def self_test(self) -> dict[str, str]:
        """Start the child now; return the languages it cannot cut, and why. Their files come in windows."""
        return self._start()

    def close(self) -> None:
        """End the child."""
        if self._child is None:
            return
        child, self._child = self._child, None
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe:
                # What a dead child has not read cannot be flushed.
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, path: str, language: str, source: bytes) -> Chunked:
        if self._deaths >= MAX_DEATHS:
            raise _Gone("too many files ended the parser")
        if self._child is None:
            self._start()
        request = {"path": path, "language": language, "bytes": len(source)}
        reply = self._exchange(_framed(request) + source, self._file_seconds * WALL_FACTOR)
        pieces = tuple(
            Piece(Kind(kind), clean(symbol), start, end, None if text is None else clean(text))
            for kind, symbol, start, end, text in reply["pieces"]
        )
        blanks = tuple((start, end) for start, end in reply["blanks"])
        return Chunked(pieces, Reason(reply["reason"]) if reply["reason"] else None, blanks)

    def _start(self) -> dict[str, str]:
        self.close()
        # The child's environment is built, never copied: a parser has no business with our settings.
        environment = {"PYTHONPATH": os.pathsep.join(part for part in sys.path if part), "LANG": "C.UTF-8"}
        self._child = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=environment, bufsize=0, close_fds=True, start_new_session=True,
        )  # fmt: skip
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe:
                os.set_blocking(pipe.fileno(), False)
        options = {"rules": asdict(self._rules), "strip": self._strip, "seconds": self._file_seconds}
        try:
            disabled: dict[str, str] = self._exchange(_framed(options), START_SECONDS)["disabled"]
        except _Gone as gone:
            # No file's fault: a repository all in windows would look like an answer.
            raise Unavailable(f"the parser does not start: {gone}") from gone
        for language, cause in disabled.items():
            log.error("language disabled", extra={"language": language, "cause": cause})
        return disabled

    def _exchange(self, request: bytes, seconds: float) -> dict[str, Any]:
        """Send a request and return the reply. A child that does not answer in time is killed."""
        try:
            return self._transfer(request, time.monotonic() + seconds)
        except (_Gone, BrokenPipeError) as gone:
            self._deaths += 1
            self.close()
            raise _Gone(str(gone)) from gone

    def _transfer(self, request: bytes, deadline: float) -> dict[str, Any]:
        child = self._child
        if child is None or child.stdin is None or child.stdout is None:
            raise _Gone("no child")
        unsent, reply, expected = memoryview(request), bytearray(), -1
        with selectors.DefaultSelector() as ready:
            ready.register(child.stdout, selectors.EVENT_READ)
            ready.register(child.stdin, selectors.EVENT_WRITE)
            while True:
                left = deadline - time.monotonic()
                events = ready.select(max(left, 0))
                if not events and left <= 0:
                    raise _Gone("out of time")
                for key, _ in events:
                    if key.fileobj is child.stdin:
                        unsent = unsent[os.write(child.stdin.fileno(), unsent[:65_536]) :]
                        if not unsent:
                            ready.unregister(child.stdin)
                        continue
                    part = os.read(child.stdout.fileno(), 1 << 20)
                    if not part:
                        raise _Gone("died")
                    reply += part
                if expected < 0 and len(reply) >= 4:
                    expected = 4 + struct.unpack(">I", reply[:4])[0]
                    if expected > MAX_REPLY_BYTES:
                        raise _Gone("reply too large")
                if 0 <= expected <= len(reply):
                    found: dict[str, Any] = json.loads(reply[4:expected])
                    return found


def _framed(message: dict[str, Any]) -> bytes:
    body = json.dumps(message).encode()
    return struct.pack(">I", len(body)) + body


def _fingerprint(rules: Rules, strategy: str, strip: bool) -> str:
    digest = hashlib.sha256()
    settings = [RULES_VERSION, asdict(rules), strategy, strip, grammars.versions()]
    digest.update(json.dumps(settings, sort_keys=True).encode())
    for name in sorted(grammars.GRAMMARS):
        digest.update(grammars.query_text(name).encode())
    return digest.hexdigest()[:16]
