"""An artifact: what one index attempt leaves in the bucket for load, and the manifest that seals it.

Layout of the bucket, where PREFIX is `artifacts/{repo_id}/{fingerprint}`:

    PREFIX/manifest.json                 written last, once, by a conditional put
    PREFIX/{run}/{n}.json.gz             the batches of one run of one attempt, a folder of its own:
                                         a message may be delivered twice at once, and a parse budget
                                         may cut a file otherwise the second time

A batch is one gzip member of JSON Lines, rows of one kind.
"""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from hashlib import sha256

from codetrail.domain.repo import CorpusStats, Coverage, SourceFile
from codetrail.domain.span import Span

SPANS_PER_BATCH = 128
POSTINGS_PER_BATCH = 2_000
FILES_PER_BATCH = 2_000
NAMES_PER_BATCH = 2_000
# A batch is closed before its texts and arrays pass this, unless one row alone does.
BYTES_PER_BATCH = 4 * 1_048_576

MAX_SYMBOL_BYTES = 1_000
# Ten times the largest repository that the product is measured on.
MAX_SPANS = 1_000_000


class BatchKind(StrEnum):
    """What the rows of a batch are."""

    SPANS = "spans"
    FILES = "files"
    POSTINGS = "postings"
    NAMES = "names"


@dataclass(frozen=True, slots=True)
class IndexedSpan:
    """A span and the weight of its name's words, which only the whole corpus can tell."""

    span: Span
    name_mass: float  # sum of the inverse document frequencies of the words of the symbol


@dataclass(frozen=True, slots=True)
class Posting:
    """A term, where it stands, and how much it weighs there.

    `ordinals` is little-endian int32, ascending; `weights` little-endian float32, one for each ordinal: the
    saturated BM25F weight without the inverse document frequency.
    """

    term: str
    ordinals: bytes
    weights: bytes


@dataclass(frozen=True, slots=True)
class Name:
    """A symbol's name, casefolded, whole or its last segment, and the ordinals (int32 LE) that bear it."""

    name: str
    ordinals: bytes


Row = IndexedSpan | SourceFile | Posting | Name


@dataclass(frozen=True, slots=True)
class BatchEntry:
    """A batch as the manifest counts it."""

    kind: BatchKind
    key: str
    rows: int
    sha256: str  # of the stored, compressed object
    bytes: int  # of the stored, compressed object


@dataclass(frozen=True, slots=True)
class Manifest:
    """All that belongs to one revision. Rows are counted against this, never messages."""

    repo_id: str
    remote: str
    ref: str
    commit: str
    fingerprint: str
    spans: int
    files: int
    postings: int
    names: int
    stats: CorpusStats
    coverage: Coverage
    batches: tuple[BatchEntry, ...]

    @property
    def contents(self) -> str:
        """What the rows are, whichever run wrote them: equal for two artifacts that hold the same."""
        batches = [(batch.kind.value, batch.rows, batch.sha256) for batch in self.batches]
        return sha256(json.dumps([batches, asdict(self.stats), asdict(self.coverage)]).encode()).hexdigest()
