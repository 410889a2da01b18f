"""Temporary files, where a repository's spans and counted words wait so that memory does not grow with it.

The files have no name: whatever happens to the process, nothing of a repository stays behind.
"""

import json
import struct
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import astuple
from tempfile import TemporaryFile
from typing import BinaryIO, Self, cast

from codetrail.domain.bm25 import Counted
from codetrail.domain.span import Kind, Span

_SIZES = struct.Struct("<HI")
# One run is read in pieces of this size, and there is one buffer a run.
_BUFFER_BYTES = 262_144


class DiskSpool:
    """One file of spans, and one for each run of counted words. Its block may be entered once."""

    def __init__(self) -> None:
        self._files = ExitStack()
        self._spans: BinaryIO | None = None

    def add(self, span: Span) -> None:
        """Put *span* behind the others."""
        if self._spans is None:
            self._spans = self._open()
        self._spans.write(json.dumps(astuple(span), separators=(",", ":")).encode() + b"\n")

    def spans(self) -> Iterator[Span]:
        """The spans in the order in which they were added."""
        if self._spans is None:
            return
        self._spans.seek(0)
        for line in self._spans:
            ordinal, id_, path, kind, *rest = json.loads(line)
            yield Span(ordinal, id_, path, Kind(kind), *rest)

    def put_aside(self, run: Iterable[Counted]) -> Iterable[Counted]:
        """Take a run of counted words; return it, to be read once, in the same order."""
        file = self._open()
        for term, records in run:
            word = term.encode()
            file.write(_SIZES.pack(len(word), len(records)) + word + records)
        return _run(file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._files.close()

    def _open(self) -> BinaryIO:
        return cast("BinaryIO", self._files.enter_context(TemporaryFile(buffering=_BUFFER_BYTES)))


def _run(file: BinaryIO) -> Iterator[Counted]:
    file.seek(0)
    while sizes := file.read(_SIZES.size):
        word, records = _SIZES.unpack(sizes)
        yield file.read(word).decode(), file.read(records)
