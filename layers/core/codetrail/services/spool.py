"""Where a repository's spans and counted words wait on disk, so that memory does not grow with it.

The files have no name: whatever happens to the process, nothing of a repository stays behind.
"""

import json
import struct
from collections.abc import Iterable, Iterator
from dataclasses import astuple
from tempfile import TemporaryFile
from types import TracebackType
from typing import BinaryIO, Self, cast

from codetrail.domain.bm25 import Counted
from codetrail.domain.span import Kind, Span

_SIZES = struct.Struct("<HI")
# One run is read in pieces of this size, and there is one buffer a run.
_BUFFER_BYTES = 262_144


class _Nameless:
    def __init__(self) -> None:
        self._file = cast("BinaryIO", TemporaryFile(buffering=_BUFFER_BYTES))  # noqa: SIM115 - closed by __exit__

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


class SpanSpool(_Nameless):
    """Spans in the order in which they were added."""

    def add(self, span: Span) -> None:
        """Put *span* behind the others."""
        self._file.write(json.dumps(astuple(span), separators=(",", ":")).encode() + b"\n")

    def __iter__(self) -> Iterator[Span]:
        self._file.seek(0)
        for line in self._file:
            ordinal, id_, path, kind, *rest = json.loads(line)
            yield Span(ordinal, id_, path, Kind(kind), *rest)


class WordSpool(_Nameless):
    """One run of counted words, in the order of their terms."""

    def __init__(self, counted: Iterable[Counted]) -> None:
        super().__init__()
        for term, records in counted:
            word = term.encode()
            self._file.write(_SIZES.pack(len(word), len(records)) + word + records)

    def __iter__(self) -> Iterator[Counted]:
        self._file.seek(0)
        while sizes := self._file.read(_SIZES.size):
            word, records = _SIZES.unpack(sizes)
            yield self._file.read(word).decode(), self._file.read(records)
