"""The outside world, as the services need it: one protocol for each outside thing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from codetrail.domain.bm25 import Counted
from codetrail.domain.job import FailureReason, IndexJob, Job, JobEvent, LoadBatch, Stage
from codetrail.domain.manifest import BatchEntry, BatchKind, Manifest, Row
from codetrail.domain.repo import Revision
from codetrail.domain.search import Copies, Filter
from codetrail.domain.span import Span

Vector = npt.NDArray[np.float32]  # shape (dimension,), unit length
Vectors = npt.NDArray[np.float32]  # shape (n, dimension), each row of unit length
Ordinals = npt.NDArray[np.int32]  # shape (n,), ascending
Weights = npt.NDArray[np.float32]  # shape (n,)


class Stemmer(Protocol):
    """A word's stem; the same for the index and for a question."""

    def stems(self, words: Sequence[str]) -> list[str]:
        """Return the stem of each word, in order."""


class Embedder(Protocol):
    """Text to vectors. `model` names build and recipe: two different ones never share a vector."""

    model: str
    dimension: int

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector a text, in order. Raises Unavailable when the embedder does not answer."""


class Probe(Protocol):
    """Something that the API needs, asked whether it is there."""

    def check(self) -> None:
        """Raises Unavailable."""


class JobStore(Protocol):
    """Job rows."""

    def submit(self, remote: str, ref: str) -> Job:
        """Return the live job of (*remote*, *ref*), made now with its outbox mark when there is none."""

    def get(self, job_id: str) -> Job:
        """Raises NotFound."""

    def recent(self, limit: int) -> list[Job]:
        """Newest first."""

    def message(self, job_id: str, *, model: str) -> IndexJob | None:
        """What to send for a job that is pending and due, or None. Raises NotFound."""

    def sent(self, job_id: str, attempt: int) -> None:
        """Clear the outbox mark of that attempt."""

    def apply(self, event: JobEvent) -> bool:
        """Apply a report when it is newer than the last; return whether it was. Failed attempts are put back
        to pending with a delay until three have failed."""

    def fail_attempt(self, job_id: str, attempt: int, reason: FailureReason, *, transient: bool) -> bool:
        """End an attempt badly, whoever noticed; return whether that attempt was still the current one."""

    def due(self, limit: int) -> list[str]:
        """Ids of pending jobs whose message is due and not known to be sent, oldest first."""

    def silent(self, limits: Mapping[Stage, int], limit: int) -> list[tuple[str, int, Stage]]:
        """(id, attempt, stage) of live jobs whose message is sent and that have said nothing for their
        stage's limit in seconds, longest silent first."""

    def wake(self, job_id: str, attempt: int) -> bool:
        """Mark a live job due under a new attempt, its failures unchanged; return whether *attempt* was still
        the current one."""

    def wake_all(self) -> int:
        """Mark every live job due under a new attempt, its failures unchanged: the queue is known to be
        empty. Return how many."""


class RepoStore(Protocol):
    """Published revisions, as readers see them."""

    def current(self, repo_id: str) -> Revision:
        """Raises NotFound, or Gone for one that was evicted."""

    def used(self, repo_id: str) -> None:
        """Wind the clock of the last use; writes at most once a minute a repository."""

    def list(
        self, *, remote: str | None, ref: str | None, after: tuple[datetime, str] | None, limit: int
    ) -> list[Revision]:
        """Newest first by (indexed_at, repo_id), after the given place; with a ref, only what it names now,
        shown as that ref's."""

    def span(self, revision: Revision, span_id: str) -> Span:
        """Raises NotFound."""

    def remove(self, repo_id: str) -> None:
        """Remove a repository with all its rows and its finished jobs. Raises NotFound."""


@dataclass(frozen=True, slots=True)
class TermPostings:
    """One term of a question in one revision: document frequency, where it stands, how much it weighs."""

    term: str
    ordinals: Ordinals
    weights: Weights


class Candidate(NamedTuple):
    """What ranking must know of a span that is not its text."""

    ordinal: int
    symbol: str
    kind: str
    test: bool
    name_mass: float


class TextDigests(NamedTuple):
    """By what copies of one text are known."""

    lines: str  # of the raw lines, as cited
    text: str  # of what is read of them: the cells of a notebook may share one line


@dataclass(frozen=True, slots=True)
class Eligible:
    """What a filter leaves of a revision: the spans, and how many files they stand in."""

    ordinals: Ordinals
    files: int


# Rows of a published revision are gone when it was published anew and swept in the middle of a request.
INDEXED_ANEW = "the repository was indexed anew during this search; ask again"


class Arms(Protocol):
    """Reading one revision's spans by meaning, by words and by name."""

    def nearest(
        self, revision: Revision, vector: Vector, limit: int, among: Ordinals | None = None
    ) -> list[tuple[int, float]]:
        """(ordinal, cosine), best first, of all spans or of those *among*; exact, or re-ranked exactly where
        there are more than about 10,000 of them. Raises Unavailable when rows of the revision are gone."""

    def cosines(self, revision: Revision, vector: Vector, ordinals: Sequence[int]) -> dict[int, float]:
        """The exact cosine of each span named."""

    def postings(self, revision: Revision, terms: Sequence[str]) -> list[TermPostings]:
        """The postings of the terms that the revision holds."""

    def named(self, revision: Revision, names: Sequence[str]) -> dict[str, Ordinals]:
        """Which spans bear which casefolded name."""

    def candidates(self, revision: Revision, ordinals: Sequence[int]) -> list[Candidate]:
        """What ranking needs of these spans."""


class SearchStore(Arms, Protocol):
    """The arms, what a filter leaves for them, and the spans that they find."""

    def eligible(self, revision: Revision, only: Filter) -> Eligible:
        """The spans that the filter leaves."""

    def digests(self, revision: Revision, ordinals: Sequence[int]) -> dict[int, TextDigests]:
        """The digests of each span named: copies of one text have the same."""

    def spans(self, revision: Revision, ordinals: Sequence[int]) -> dict[int, Span]:
        """The spans themselves, by ordinal."""

    def copies(
        self, revision: Revision, digests: Sequence[str], limit: int, among: Ordinals | None = None
    ) -> dict[str, Copies]:
        """Where the texts of these digests stand, *limit* places of each; two spans of the same lines stand
        in one place."""


class LoadStore(Protocol):
    """Writing a revision's rows, and switching readers over to it."""

    def open(self, manifest: Manifest, *, model: str, dimension: int) -> tuple[int, bool]:
        """Return the number of the revision that these contents fill, made when there is none yet, and
        whether all its rows are there."""

    def missing(self, dimension: int, keys: Sequence[bytes]) -> set[int]:
        """Positions of the cache keys that have no vector yet; each key stands for model and text."""

    def store(
        self,
        revision: int,
        kind: BatchKind,
        rows: Sequence[Row],
        *,
        dimension: int,
        keys: Sequence[bytes],
        fresh: dict[bytes, Vector],
    ) -> None:
        """Write the rows of one batch, vectors copied from the cache; a row that is there stays as it is."""

    def abandon(self, revision: int) -> None:
        """Remove a revision that was never published, and its rows."""

    def publish(self, revision: int, manifest: Manifest, job_id: str, attempt: int) -> bool:
        """Under the job's lock: when all rows that the manifest counts are there, publish and mark the job
        done in one transaction; else record the progress. Return whether the revision is published."""


class Artifacts(Protocol):
    """The bucket: sealed artifacts and the batches they count."""

    def sealed(self, repo_id: str, fingerprint: str) -> tuple[str, str, Manifest] | None:
        """(key, sha256, manifest) of a sealed artifact, or None; one that breaks a bound is discarded, and is
        none."""

    def put_batch(
        self, repo_id: str, fingerprint: str, run: str, number: int, kind: BatchKind, rows: Iterable[Row]
    ) -> BatchEntry:
        """Write one batch into the run's own folder."""

    def seal(self, manifest: Manifest) -> tuple[str, str, Manifest]:
        """Write the manifest if there is none; return the one that is there, ours or an earlier one."""

    def read_manifest(self, key: str, sha256: str) -> Manifest:
        """Raises ArtifactRejected when it is not that manifest or breaks a bound."""

    def read_batch(self, manifest: Manifest, number: int) -> list[Row]:
        """The rows of batch *number* of *manifest*, by whose counts they are bounded. Raises ArtifactRejected
        for anything that the manifest does not promise."""

    def discard(self, key: str, sha256: str) -> None:
        """Remove the manifest of that digest, which was rejected, so that the next attempt writes a new
        artifact; one that was sealed in its place meanwhile stays."""


class IndexQueue(Protocol):
    """Where index jobs wait."""

    def send(self, job: IndexJob) -> None:
        """At least once. Raises Unavailable."""


class LoadQueue(Protocol):
    """Where batches wait to be loaded."""

    def send(self, batches: Sequence[LoadBatch]) -> None:
        """At least once each. Raises Unavailable."""


class JobEvents(Protocol):
    """Where an index attempt reports."""

    def send(self, event: JobEvent) -> None:
        """At least once. Raises Unavailable."""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One leaf of the tree: mode as git writes it (100644, 100755, 120000, 160000)."""

    path: bytes
    mode: str
    blob: str


class Tree(Protocol):
    """The tree of one fetched commit, read from the object database: nothing is ever checked out."""

    commit: str

    def entries(self) -> list[TreeEntry]:
        """Every leaf of the tree, in git's order. Raises IndexingFailed over the file cap."""

    def blobs(self, ids: Sequence[str]) -> Iterator[tuple[str, int, bytes | None]]:
        """(id, size, bytes) of each distinct blob, in order of first mention; None where it is over the file
        cap, with size 0 where it was not even fetched. Raises IndexingFailed."""


class Git(Protocol):
    """Strangers' repositories, over the wire."""

    def resolve(self, remote: str, ref: str) -> str:
        """Return the one commit id that *ref* names in full. Raises IndexingFailed."""

    def fetch(self, remote: str, commit: str) -> "FetchedTree":
        """Fetch that commit alone, depth 1. Raises IndexingFailed."""


class FetchedTree(Tree, Protocol):
    """A tree and its folder, removed at the end of the block."""

    def __enter__(self) -> Tree: ...

    def __exit__(self, *exception: object) -> None: ...


class Spool(Protocol):
    """Where one revision's spans and counted words wait outside memory, which does not grow with them then.
    Used in a block, at whose end nothing of them is left."""

    def add(self, span: Span) -> None:
        """Put *span* behind the others."""

    def spans(self) -> Iterator[Span]:
        """The spans in the order in which they were added."""

    def put_aside(self, run: Iterable[Counted]) -> Iterable[Counted]:
        """Take a run of counted words; return it, to be read once, in the same order."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


@dataclass(frozen=True, slots=True)
class Piece:
    """A span before it is numbered: whole lines of a file, by byte range. `symbol` may hold several names
    (`span.names` takes it apart). `text` is what to read of the lines, where they hold what is not
    searched."""

    kind: str
    symbol: str
    start_byte: int
    end_byte: int
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Chunked:
    """What a file was cut into, and why not by declaration where it was not."""

    pieces: tuple[Piece, ...]
    reason: str | None = None
    blanks: tuple[tuple[int, int], ...] = ()  # doc comments to make blank in the texts (STRIP_DOC_COMMENTS)


class Chunker(Protocol):
    """Source text to pieces, in a child process that may be killed; never raises for what a file holds."""

    fingerprint: str  # grammars, queries and rules: another one cuts otherwise

    def chunk(self, path: str, language: str, source: bytes) -> Chunked:
        """Cut one file's decoded source, encoded again as UTF-8 where it had another encoding."""
