"""Stand-ins for what index talks to: a forge, a parser, a bucket and queues, all in memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha1, sha256
from io import BytesIO
from typing import Self

from botocore.exceptions import ClientError

from codetrail.adapters.bucket import Opened
from codetrail.domain.bm25 import Counted
from codetrail.domain.job import EventKind, FailureReason, IndexingFailed, JobEvent, LoadBatch, Stage
from codetrail.domain.span import Span
from codetrail.errors import Unavailable
from codetrail.services.ports import Chunked, Piece, Tree, TreeEntry

REMOTE = "https://github.com/example/project"
COMMIT = "c0ffee0000000000000000000000000000000001"


class MemoryS3:
    """The calls of an S3 client that the bucket makes, with a conditional put as S3 has it."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.puts: list[str] = []
        self.conflicts = 0  # so many conditional puts meet another one under way
        self.down = False

    def get_object(self, **request: object) -> Opened:
        self._reach()
        key = str(request["Key"])
        if key not in self.objects:
            raise _error("NoSuchKey")
        return {"Body": BytesIO(self.objects[key]), "ETag": _tag(self.objects[key])}

    def put_object(self, **request: object) -> object:
        self._reach()
        key, data = str(request["Key"]), request["Body"]
        assert isinstance(data, bytes)
        if "IfNoneMatch" in request:
            if self.conflicts:
                self.conflicts -= 1
                raise _error("ConditionalRequestConflict")
            if key in self.objects:
                raise _error("PreconditionFailed")
        self.objects[key] = data
        self.puts.append(key)
        return {}

    def delete_object(self, **request: object) -> object:
        self._reach()
        key = str(request["Key"])
        if "IfMatch" in request:
            if key not in self.objects:
                raise _error("NoSuchKey")
            if request["IfMatch"] != _tag(self.objects[key]):
                raise _error("PreconditionFailed")
        self.objects.pop(key, None)
        return {}

    def _reach(self) -> None:
        if self.down:
            raise _error("SlowDown")


def _tag(data: bytes) -> str:
    return f'"{sha256(data).hexdigest()}"'


def _error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": code}}, "Operation")


class MemoryGit:
    """One repository at one commit, made of a mapping from path to content or (mode, content)."""

    def __init__(
        self, files: Mapping[bytes, bytes | tuple[str, bytes]], *, file_bytes: int = 1_048_576
    ) -> None:
        self._files = {
            path: item if isinstance(item, tuple) else ("100644", item) for path, item in files.items()
        }
        self._file_bytes = file_bytes
        self.commit = COMMIT
        self.resolved = 0
        self.fetched = 0
        self.open = 0
        self.failure: IndexingFailed | None = None
        self.fetch_failure: IndexingFailed | None = None

    def resolve(self, remote: str, ref: str) -> str:
        self.resolved += 1
        if self.failure:
            raise self.failure
        return self.commit

    def fetch(self, remote: str, commit: str) -> "MemoryTree":
        if self.fetch_failure:
            raise self.fetch_failure
        self.fetched += 1
        return MemoryTree(self, commit, self._files, self._file_bytes)


class MemoryTree:
    def __init__(
        self, git: MemoryGit, commit: str, files: Mapping[bytes, tuple[str, bytes]], file_bytes: int
    ) -> None:
        self.commit = commit
        self._git = git
        self._files = files
        self._file_bytes = file_bytes

    def __enter__(self) -> Tree:
        self._git.open += 1
        return self

    def __exit__(self, *exception: object) -> None:
        self._git.open -= 1

    def entries(self) -> list[TreeEntry]:
        return [TreeEntry(path, mode, blob_id(data)) for path, (mode, data) in sorted(self._files.items())]

    def blobs(self, ids: Sequence[str]) -> Iterator[tuple[str, int, bytes | None]]:
        by_id = {blob_id(data): data for _, data in self._files.values()}
        for blob in dict.fromkeys(ids):
            data = by_id[blob]
            yield blob, len(data), data if len(data) <= self._file_bytes else None


class MemorySpool:
    """Spans and runs in lists; how many runs were put aside, and whether the block is over."""

    def __init__(self) -> None:
        self.runs = 0
        self.closed = False
        self._spans: list[Span] = []

    def add(self, span: Span) -> None:
        self._spans.append(span)

    def spans(self) -> Iterator[Span]:
        return iter(self._spans)

    def put_aside(self, run: Iterable[Counted]) -> Iterable[Counted]:
        self.runs += 1
        return list(run)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._spans.clear()
        self.closed = True


def blob_id(data: bytes) -> str:
    """Return git's name of a blob."""
    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


class LineChunker:
    """Each paragraph that begins with `def ` is a declaration of that name; any other is a window, but one
    that begins with `import ` is nothing where *imports* are told apart."""

    fingerprint = "lines-1"

    def __init__(self, reasons: Mapping[str, str] | None = None, *, imports: bool = False) -> None:
        self.chunked: list[tuple[str, str]] = []
        self._imports = imports
        self._reasons = reasons or {}

    def chunk(self, path: str, language: str, source: bytes) -> Chunked:
        self.chunked.append((path, language))
        pieces, at = [], 0
        for paragraph in source.split(b"\n\n"):
            end = at + len(paragraph)
            if paragraph and not (self._imports and paragraph.startswith(b"import ")):
                words = paragraph.split(b" ", 2)
                symbol = words[1].decode("utf-8", "replace") if words[0] == b"def" and len(words) > 1 else ""
                pieces.append(Piece("func" if symbol else "file", symbol, at, end))
            at = end + 2
        return Chunked(tuple(pieces), self._reasons.get(path))


class OnePiece(LineChunker):
    """Cuts every file into the piece that it is given."""

    def __init__(self, piece: Piece) -> None:
        super().__init__()
        self._piece = piece

    def chunk(self, path: str, language: str, source: bytes) -> Chunked:
        return Chunked((self._piece,))


class SentLoads:
    """What the load queue was given."""

    def __init__(self) -> None:
        self.batches: list[LoadBatch] = []
        self.down = False

    def send(self, batches: Sequence[LoadBatch]) -> None:
        if self.down:
            raise Unavailable("down")
        self.batches.extend(batches)


class SentEvents:
    """What the events queue was given."""

    def __init__(self) -> None:
        self.events: list[JobEvent] = []
        self.refused: set[EventKind] = set()

    def send(self, event: JobEvent) -> None:
        if event.kind in self.refused:
            raise Unavailable("down")
        self.events.append(event)

    @property
    def kinds(self) -> list[EventKind]:
        return [event.kind for event in self.events]

    @property
    def stages(self) -> list[Stage]:
        return [event.stage for event in self.events]


class Deadline:
    """Time for so many looks at the clock."""

    def __init__(self, looks: int) -> None:
        self._looks = looks

    def __call__(self) -> None:
        self._looks -= 1
        if self._looks < 0:
            raise IndexingFailed(FailureReason.DEADLINE)
