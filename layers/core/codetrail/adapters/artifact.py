"""An artifact's bytes: how rows and the manifest are written, and what is refused when they are read.

Whoever wrote an artifact read strangers' bytes for a living, so nothing in it is believed: shapes are strict,
every number and every text has a bound, counts must agree with the manifest, and a gzip member may not grow
past its ceiling. A refusal names the place and never the content.
"""

import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from hashlib import sha256
from itertools import pairwise
from typing import Annotated, Self

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from codetrail.domain.bm25 import MAX_NAME_BYTES
from codetrail.domain.manifest import (
    FILES_PER_BATCH,
    MAX_SPANS,
    MAX_SYMBOL_BYTES,
    NAMES_PER_BATCH,
    POSTINGS_PER_BATCH,
    SPANS_PER_BATCH,
    BatchEntry,
    BatchKind,
    IndexedSpan,
    Manifest,
    Name,
    Posting,
    Row,
)
from codetrail.domain.paths import MAX_PATH_BYTES
from codetrail.domain.repo import CorpusStats, Coverage, Outcome, Reason, SourceFile, repo_id
from codetrail.domain.span import MAX_TEXT_BYTES, Kind, Span
from codetrail.domain.terms import MAX_TERM_BYTES
from codetrail.errors import ArtifactRejected

MAX_FILES = 1_000_000
MAX_POSTINGS = 50_000_000
MAX_NAMES = 2 * MAX_SPANS
MAX_BATCHES = 50_000
MAX_MANIFEST_BYTES = 16 * 1_048_576
MAX_STORED_BYTES = 32 * 1_048_576
# 128 spans of 64 KiB, each byte escaped as six, is 50 MB; one term in a million spans is 11 MB.
MAX_BATCH_BYTES = 64 * 1_048_576

ROWS_PER_BATCH = {
    BatchKind.SPANS: SPANS_PER_BATCH,
    BatchKind.FILES: FILES_PER_BATCH,
    BatchKind.POSTINGS: POSTINGS_PER_BATCH,
    BatchKind.NAMES: NAMES_PER_BATCH,
}
_KEY = re.compile(
    r"artifacts/[0-9a-f]{16}/[0-9a-f]{16}/(?:manifest\.json|([0-9A-Za-z_-]{1,100})/[0-9]{1,6}\.json\.gz)"
)


def manifest_key(repo_id: str, fingerprint: str) -> str:
    """Return where the manifest of that artifact lies."""
    return _checked(f"artifacts/{repo_id}/{fingerprint}/manifest.json")


def batch_key(repo_id: str, fingerprint: str, run: str, number: int) -> str:
    """Return where a batch of that run lies."""
    return _checked(f"artifacts/{repo_id}/{fingerprint}/{run}/{number}.json.gz")


def is_manifest_key(key: str) -> bool:
    """Return whether *key* is where a manifest may lie."""
    match = _KEY.fullmatch(key)
    return match is not None and match[1] is None


def _checked(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise ValueError(f"{key!r} is not a key of an artifact")
    return key


def _bounded(limit: int) -> AfterValidator:
    def check(text: str) -> str:
        # Postgres holds no NUL; the JSON reader has refused lone surrogates already.
        if "\0" in text:
            raise ValueError("holds a NUL")
        if len(text) > limit or len(text.encode()) > limit:
            raise ValueError(f"is over {limit} bytes")
        return text

    return AfterValidator(check)


_Hex16 = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
_Hex64 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_ObjectId = Annotated[str, Field(pattern=r"^(?:[0-9a-f]{40}|[0-9a-f]{64})$")]
_Path = Annotated[str, Field(min_length=1), _bounded(MAX_PATH_BYTES)]
_Symbol = Annotated[str, _bounded(MAX_SYMBOL_BYTES)]
_Language = Annotated[str, Field(pattern=r"^[a-z0-9_+#.-]{0,32}$")]
_Text = Annotated[str, Field(min_length=1), _bounded(MAX_TEXT_BYTES)]
_Positive = Annotated[int, Field(ge=1, le=2**31 - 1)]
_Count = Annotated[int, Field(ge=0, le=MAX_SPANS)]
_Mass = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]


class _Strict(BaseModel):
    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, ser_json_bytes="base64", val_json_bytes="base64"
    )


class _SpanRow(_Strict):
    ordinal: _Count
    id: _Hex16
    path: _Path
    kind: Kind
    symbol: _Symbol
    language: _Language
    start_line: _Positive
    end_line: _Positive
    length: _Positive
    digest: _Hex64
    text: _Text
    test: bool
    name_mass: _Mass

    @model_validator(mode="after")
    def _lines_ascend(self) -> Self:
        if self.end_line < self.start_line:
            raise ValueError("lines end before they start")
        return self

    @classmethod
    def of(cls, row: IndexedSpan) -> Self:
        span = row.span
        return cls.model_construct(
            **{name: getattr(span, name) for name in Span.__dataclass_fields__}, name_mass=row.name_mass
        )

    def to_row(self) -> IndexedSpan:
        values = {name: getattr(self, name) for name in Span.__dataclass_fields__}
        return IndexedSpan(Span(**values), self.name_mass)


class _FileRow(_Strict):
    path: _Path
    blob: _ObjectId
    size: Annotated[int, Field(ge=0, le=2**50)]
    language: _Language
    outcome: Outcome
    reason: Reason | None
    spans: _Count
    dropped: _Count

    @model_validator(mode="after")
    def _outcome_holds(self) -> Self:
        if (self.reason is None) != (self.outcome is Outcome.INDEXED):
            raise ValueError("an indexed file has no reason, and every other has one")
        if (self.outcome is Outcome.SKIPPED) == (self.spans > 0):
            raise ValueError("a skipped file has no spans, and every other has some")
        return self

    @classmethod
    def of(cls, row: SourceFile) -> Self:
        return cls.model_construct(**{name: getattr(row, name) for name in SourceFile.__dataclass_fields__})

    def to_row(self) -> SourceFile:
        return SourceFile(**{name: getattr(self, name) for name in SourceFile.__dataclass_fields__})


class _PostingRow(_Strict):
    term: Annotated[str, Field(min_length=1), _bounded(MAX_TERM_BYTES)]
    ordinals: bytes
    weights: bytes

    @classmethod
    def of(cls, row: Posting) -> Self:
        return cls.model_construct(term=row.term, ordinals=row.ordinals, weights=row.weights)

    def to_row(self) -> Posting:
        return Posting(self.term, self.ordinals, self.weights)


class _NameRow(_Strict):
    name: Annotated[str, Field(min_length=1), _bounded(MAX_NAME_BYTES)]
    ordinals: bytes

    @classmethod
    def of(cls, row: Name) -> Self:
        return cls.model_construct(name=row.name, ordinals=row.ordinals)

    def to_row(self) -> Name:
        return Name(self.name, self.ordinals)


class _EntryRow(_Strict):
    kind: BatchKind
    key: Annotated[str, Field(pattern=f"^{_KEY.pattern}$", max_length=200)]
    rows: Annotated[int, Field(ge=0)]
    sha256: _Hex64
    bytes: Annotated[int, Field(ge=1, le=MAX_STORED_BYTES)]


class _StatsRow(_Strict):
    spans: _Count
    average_length: Annotated[float, Field(ge=0, le=1e7, allow_inf_nan=False)]


class _CoverageRow(_Strict):
    indexed: _Count
    degraded: _Count
    skipped: _Count
    dropped_spans: _Count
    reasons: Annotated[dict[Reason, _Count], Field(max_length=len(Reason))]
    languages: Annotated[dict[_Language, _Count], Field(max_length=1_000)]


class _ManifestRow(_Strict):
    version: Annotated[int, Field(ge=1, le=1)]
    repo_id: _Hex16
    remote: Annotated[str, Field(min_length=1, pattern=r"^[^\x00-\x20\x7f]+$"), _bounded(16_384)]
    ref: Annotated[str, Field(min_length=1, pattern=r"^[^\x00-\x20\x7f]+$"), _bounded(1_024)]
    commit: _ObjectId
    fingerprint: _Hex16
    spans: _Count
    files: Annotated[int, Field(ge=0, le=MAX_FILES)]
    postings: Annotated[int, Field(ge=0, le=MAX_POSTINGS)]
    names: Annotated[int, Field(ge=0, le=MAX_NAMES)]
    stats: _StatsRow
    coverage: _CoverageRow
    batches: Annotated[list[_EntryRow], Field(min_length=1, max_length=MAX_BATCHES)]

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.repo_id != repo_id(self.remote, self.commit):
            raise ValueError("the repository's id is not that of its remote and commit")
        counted = Counter[BatchKind]()
        prefix = manifest_key(self.repo_id, self.fingerprint).removesuffix("manifest.json")
        for entry in self.batches:
            counted[entry.kind] += entry.rows
            if entry.rows > ROWS_PER_BATCH[entry.kind]:
                raise ValueError("a batch has more rows than one may have")
            if not entry.key.startswith(prefix) or is_manifest_key(entry.key):
                raise ValueError("a batch lies outside its artifact")
        if len({entry.key for entry in self.batches}) != len(self.batches):
            raise ValueError("a batch is counted twice")
        promised = {
            BatchKind.SPANS: self.spans,
            BatchKind.FILES: self.files,
            BatchKind.POSTINGS: self.postings,
            BatchKind.NAMES: self.names,
        }
        if any(counted[kind] != rows for kind, rows in promised.items()):
            raise ValueError("the batches do not add up to the counts")
        if self.stats.spans != self.spans:
            raise ValueError("the statistics are of another number of spans")
        if self.coverage.indexed + self.coverage.degraded + self.coverage.skipped != self.files:
            raise ValueError("the coverage is of another number of files")
        return self


def encode_manifest(manifest: Manifest) -> bytes:
    """Return the manifest's one form in bytes: its digest pins it."""
    return json.dumps({"version": 1, **asdict(manifest)}, separators=(",", ":"), sort_keys=True).encode()


def decode_manifest(key: str, data: bytes) -> Manifest:
    """Return the manifest that lies at *key*. Raises ArtifactRejected."""
    if len(data) > MAX_MANIFEST_BYTES:
        raise ArtifactRejected(f"the manifest is over {MAX_MANIFEST_BYTES} bytes")
    try:
        row = _ManifestRow.model_validate_json(data)
    except ValidationError as error:
        raise ArtifactRejected(f"the manifest breaks a bound: {_place(error)}") from None
    if manifest_key(row.repo_id, row.fingerprint) != key:
        raise ArtifactRejected("the manifest lies in another artifact's place")
    return Manifest(
        repo_id=row.repo_id,
        remote=row.remote,
        ref=row.ref,
        commit=row.commit,
        fingerprint=row.fingerprint,
        spans=row.spans,
        files=row.files,
        postings=row.postings,
        names=row.names,
        stats=CorpusStats(row.stats.spans, row.stats.average_length),
        coverage=Coverage(
            indexed=row.coverage.indexed,
            degraded=row.coverage.degraded,
            skipped=row.coverage.skipped,
            dropped_spans=row.coverage.dropped_spans,
            reasons={reason.value: files for reason, files in row.coverage.reasons.items()},
            languages=row.coverage.languages,
        ),
        batches=tuple(
            BatchEntry(entry.kind, entry.key, entry.rows, entry.sha256, entry.bytes) for entry in row.batches
        ),
    )


def encode_batch(rows: Iterable[Row]) -> tuple[bytes, int]:
    """Return one gzip member of JSON Lines, the same bytes for the same rows, and how many rows it holds."""
    # wbits 31: gzip's own header, whose time stays 0.
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    pieces, count = [], 0
    for row in rows:
        pieces.append(packer.compress(_line(row)))
        count += 1
    return b"".join([*pieces, packer.flush()]), count


def _line(row: Row) -> bytes:
    model: _SpanRow | _FileRow | _PostingRow | _NameRow
    if isinstance(row, IndexedSpan):
        model = _SpanRow.of(row)
    elif isinstance(row, SourceFile):
        model = _FileRow.of(row)
    elif isinstance(row, Posting):
        model = _PostingRow.of(row)
    else:
        model = _NameRow.of(row)
    return model.model_dump_json().encode() + b"\n"


def decode_batch(data: bytes, manifest: Manifest, number: int) -> list[Row]:
    """Return the rows of batch *number* of *manifest* out of its stored bytes. Raises ArtifactRejected."""
    entry = manifest.batches[number]
    if len(data) != entry.bytes or sha256(data).hexdigest() != entry.sha256:
        raise ArtifactRejected(f"batch {number} is not the one that the manifest counts")
    text = _unpack(data, number)
    # Counted before it is split: a line end costs a byte here and sixty as a piece of a list.
    held = text.count(b"\n")
    if held != entry.rows or text[-1:] not in (b"\n", b""):
        raise ArtifactRejected(f"batch {number} holds {held} whole lines where {entry.rows} are promised")
    lines = text.split(b"\n")[:-1]
    read = _READERS[entry.kind]
    try:
        rows = [read(line) for line in lines]
    except ValidationError as error:
        raise ArtifactRejected(f"batch {number} breaks a bound: {_place(error)}") from None
    try:
        _check(rows, manifest, number)
    except ValueError as error:
        raise ArtifactRejected(f"batch {number}: {error}") from None
    return rows


_READERS: dict[BatchKind, Callable[[bytes], Row]] = {
    BatchKind.SPANS: lambda line: _SpanRow.model_validate_json(line).to_row(),
    BatchKind.FILES: lambda line: _FileRow.model_validate_json(line).to_row(),
    BatchKind.POSTINGS: lambda line: _PostingRow.model_validate_json(line).to_row(),
    BatchKind.NAMES: lambda line: _NameRow.model_validate_json(line).to_row(),
}


def _unpack(data: bytes, number: int) -> bytes:
    unpacker = zlib.decompressobj(31)
    try:
        text = unpacker.decompress(data, MAX_BATCH_BYTES)
    except zlib.error:
        raise ArtifactRejected(f"batch {number} is not gzip") from None
    # What lies behind the member's end, or is not unpacked yet, was not promised.
    if not unpacker.eof or unpacker.unused_data:
        raise ArtifactRejected(f"batch {number} is over its ceiling, cut short, or more than one gzip member")
    return text


def _check(rows: Sequence[Row], manifest: Manifest, number: int) -> None:
    entry = manifest.batches[number]
    if entry.kind is BatchKind.SPANS:
        # The spans of a revision are numbered through, in the order of its batches.
        first = sum(other.rows for other in manifest.batches[:number] if other.kind is BatchKind.SPANS)
        ordinals = [row.span.ordinal for row in rows if isinstance(row, IndexedSpan)]
        if ordinals != list(range(first, first + len(rows))):
            raise ValueError("spans are not numbered through")
        _unique([row.span.id for row in rows if isinstance(row, IndexedSpan)], "span ids")
    elif entry.kind is BatchKind.FILES:
        _unique([row.path for row in rows if isinstance(row, SourceFile)], "paths")
    elif entry.kind is BatchKind.POSTINGS:
        _ascending([row.term for row in rows if isinstance(row, Posting)], "terms")
        for row in rows:
            if isinstance(row, Posting):
                _ordinals(row.ordinals, manifest.spans)
                _weights(row.weights, len(row.ordinals) // 4)
    else:
        _ascending([row.name for row in rows if isinstance(row, Name)], "names")
        for row in rows:
            if isinstance(row, Name):
                _ordinals(row.ordinals, manifest.spans)


def _unique(values: Sequence[str], what: str) -> None:
    if len(set(values)) != len(values):
        raise ValueError(f"{what} are not unique")


def _ascending(values: Sequence[str], what: str) -> None:
    if any(before >= after for before, after in pairwise(values)):
        raise ValueError(f"{what} do not ascend")


def _ordinals(packed: bytes, spans: int) -> None:
    if not packed or len(packed) % 4:
        raise ValueError("ordinals are not whole numbers of four bytes")
    ordinals = np.frombuffer(packed, "<i4")
    if ordinals[0] < 0 or ordinals[-1] >= spans or (ordinals[1:] <= ordinals[:-1]).any():
        raise ValueError("ordinals do not ascend within the spans")


def _weights(packed: bytes, count: int) -> None:
    if len(packed) != 4 * count:
        raise ValueError("weights are not one for each ordinal")
    weights = np.frombuffer(packed, "<f4")
    # Saturated: t / (K1 + t) lies below 1, or rounds to it. A comparison with NaN is false.
    if not ((weights > 0) & (weights <= 1)).all():
        raise ValueError("weights are not between 0 and 1")


def _place(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    # A key of a mapping is a stranger's word as well.
    place = ".".join(str(part) for part in first["loc"] if isinstance(part, int) or str(part) in _FIELDS)
    return f"{place or 'as a whole'} ({first['type']})"


_FIELDS = frozenset(
    field
    for model in (_SpanRow, _FileRow, _PostingRow, _NameRow, _EntryRow, _StatsRow, _CoverageRow, _ManifestRow)
    for field in model.model_fields
)
