"""What a process keeps of published revisions, which never change: their vectors, or only the signs of them.

A vector without a length has no cosine: NaN, as Postgres says, and after all others.
"""

from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Self, TypeVar

import numpy as np

from codetrail.domain.repo import Revision
from codetrail.services.ports import Ordinals, Vector, Vectors

# What the signs of the largest revision that there may be take: a million spans of 1,024 dimensions. While
# they are read they take three times as much for a moment; with the embedder that is half of the memory that
# search and ask have.
KEPT_BYTES = 128 * 1024 * 1024


class UnitRows:
    """All vectors of one revision by ordinal, rounded to halves as Postgres holds them. They may be read in
    several parts, and nothing is compared with them before the last."""

    def __init__(self, spans: int, dimension: int) -> None:
        self._rows: Vectors = np.empty((spans, dimension), dtype=np.float32)
        self.nbytes = self._rows.nbytes
        self.read = 0  # how many are here

    @property
    def whole(self) -> bool:
        """Whether all are here."""
        return self.read == len(self._rows)

    def add(self, sent: bytes) -> None:
        """Add what halfvec_send gives of the next vectors, one behind the other."""
        # Two bytes of width, two that are unused, then the halves, all big-endian.
        fields = np.dtype([("header", "V4"), ("halves", ">f2", (self._rows.shape[1],))])
        halves = np.frombuffer(sent, dtype=fields)["halves"]
        added = self._rows[self.read : self.read + len(halves)]
        added[:] = halves
        _make_unit(added)
        self.read += len(halves)

    def nearest(self, vector: Vector, limit: int, among: Ordinals | None) -> list[tuple[int, float]]:
        """(ordinal, cosine), best first, of equal ones the lower ordinal; of all rows or of those *among*."""
        # Each row by itself: a matrix product rounds equal rows differently, by where they stand.
        distances = -np.vecdot(self._rows, _question(vector)).clip(-1.0, 1.0)
        ordinals = np.arange(len(distances), dtype="<i4")
        if among is not None:
            distances, ordinals = distances[among], among
        if len(distances) > limit:
            # NaN is beyond no edge, and the sort puts it last.
            edge = np.partition(distances, limit - 1)[limit - 1]
            near = ~(distances > edge)
            distances, ordinals = distances[near], ordinals[near]
        order = np.argsort(distances, kind="stable")[:limit]
        return list(zip(ordinals[order].tolist(), (-distances[order]).tolist(), strict=True))

    def cosines(self, vector: Vector, ordinals: Sequence[int]) -> dict[int, float]:
        """The cosine of each of these rows that there is."""
        there = [ordinal for ordinal in ordinals if ordinal < len(self._rows)]
        cosines = np.vecdot(self._rows[there], _question(vector)).clip(-1.0, 1.0)
        return dict(zip(there, cosines.tolist(), strict=True))


class SignBits:
    """Of each dimension of all vectors of one revision no more than whether it is above zero: one part in 32
    of what the vectors take."""

    def __init__(self, sent: bytes, dimension: int) -> None:
        """*sent* is what bit_send gives of all, one behind the other."""
        fields = np.dtype([("bits", ">i4"), ("signs", "u1", (dimension // 8,))])
        # A row is a few words, and numpy is quick along many: so the words come first, and then the spans.
        self._words = np.ascontiguousarray(np.frombuffer(sent, dtype=fields)["signs"].view(np.uint64).T)
        self.nbytes = self._words.nbytes

    def __len__(self) -> int:
        return len(self._words[0])

    def nearest(self, vector: Vector, limit: int, among: Ordinals | None) -> Ordinals:
        """The ordinals of the *limit* rows that share most signs with *vector*, in no order; of equal ones
        the lower ordinals; of all rows or of those *among*."""
        signs = np.packbits(_halves(vector) > 0).view(np.uint64)
        differing = np.zeros(len(self) if among is None else len(among), dtype=np.uint16)
        for word, asked in zip(self._words, signs, strict=True):
            differing += np.bitwise_count((word if among is None else word[among]) ^ asked)
        found = np.arange(len(differing), dtype="<i4")
        if len(differing) > limit:
            edge = np.partition(differing, limit - 1)[limit - 1]
            nearer = np.flatnonzero(differing < edge)
            found = np.concatenate((nearer, np.flatnonzero(differing == edge)[: limit - len(nearer)]))
        ordinals: Ordinals = found.astype("<i4") if among is None else among[found]
        return ordinals


T = TypeVar("T", UnitRows, SignBits)


class _Identity(NamedTuple):
    """All by which one publication is told from any other; `repo_id` stands for remote and commit. A number
    alone is not enough: a database that was put back to an earlier state gives it out again."""

    revision: int
    repo_id: str
    fingerprint: str
    model: str
    dimension: int
    spans: int
    indexed_at: datetime

    @classmethod
    def of(cls, revision: Revision) -> Self:
        return cls(
            revision.revision, revision.repo_id, revision.fingerprint, revision.model, revision.dimension,
            revision.stats.spans, revision.indexed_at,
        )  # fmt: skip


class Shelf:
    """What is kept of the revisions that were last asked: at most *most_bytes*, the longest unused out first.
    Not for several threads: an environment serves one event at a time."""

    def __init__(self, most_bytes: int = KEPT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[_Identity, UnitRows | SignBits] = OrderedDict()

    @property
    def nbytes(self) -> int:
        """How much is kept."""
        return sum(one.nbytes for one in self._kept.values())

    def find(self, revision: Revision, kind: type[T]) -> T | None:
        """Return what is kept of *revision*, when it is of that kind."""
        identity = _Identity.of(revision)
        kept = self._kept.get(identity)
        if not isinstance(kept, kind):
            return None
        self._kept.move_to_end(identity)
        return kept

    def keep(self, revision: Revision, read: UnitRows | SignBits) -> None:
        """Keep what was read of *revision*."""
        identity = _Identity.of(revision)
        self._kept[identity] = read
        self._kept.move_to_end(identity)
        while self.nbytes > self._most_bytes:
            self._kept.popitem(last=False)


def _halves(vector: Vector) -> Vector:
    # As the stored vectors are rounded, so is the question.
    return vector.astype(np.float16).astype(np.float32)


def _question(vector: Vector) -> Vector:
    question = _halves(vector)
    _make_unit(question[np.newaxis])
    return question


def _make_unit(rows: Vectors) -> None:
    """Make *rows* of unit length where they lie; one of no length becomes NaN."""
    with np.errstate(invalid="ignore"):
        rows /= np.sqrt(np.vecdot(rows, rows))[:, np.newaxis]
