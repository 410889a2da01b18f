"""One revision in memory, behind the ports that search and ask read by."""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from hashlib import md5

import numpy as np

from codetrail.adapters.embedder.fake import FakeEmbedder
from codetrail.domain import confidence
from codetrail.domain.remote import remote_key
from codetrail.domain.repo import Revision
from codetrail.domain.search import Copies, Filter, Place
from codetrail.domain.span import Span
from codetrail.errors import NotFound
from codetrail.services.ports import Candidate, Eligible, Ordinals, TermPostings, TextDigests, Vector
from tests.support.revisions import Contents


def text_digest(span: Span) -> str:
    """Return the digest of what is read of *span*, as Postgres makes it."""
    return md5(span.text.encode(), usedforsecurity=False).hexdigest()


class MeasuredEmbedder(FakeEmbedder):
    """The fake, under the name of the embedder that the floor was learnt with."""

    def __init__(self) -> None:
        super().__init__(256)
        self.model = confidence.MODEL


class FakeSearchStore:
    """Everything is compared with everything, by definition and not by index."""

    def __init__(self, *held: Contents) -> None:
        self._held = {one.revision.revision: one for one in held}

    def eligible(self, revision: Revision, only: Filter) -> Eligible:
        left = [
            one
            for one in self._of(revision).spans
            if only.language in ("", one.language)
            and only.kind in (None, one.kind)
            and not (one.test and only.exclude_tests)
            and (not only.path or matches(only.path, one.path))
        ]
        files = len({one.path for one in left})
        return Eligible(np.array([one.ordinal for one in left], dtype="<i4"), files)

    def nearest(
        self, revision: Revision, vector: Vector, limit: int, among: Ordinals | None = None
    ) -> list[tuple[int, float]]:
        cosines = self._cosines(revision, vector)
        compared = range(len(cosines)) if among is None else among.tolist()
        order = sorted(compared, key=lambda ordinal: (-cosines[ordinal], ordinal))
        return [(ordinal, float(cosines[ordinal])) for ordinal in order[:limit]]

    def cosines(self, revision: Revision, vector: Vector, ordinals: Sequence[int]) -> dict[int, float]:
        cosines = self._cosines(revision, vector)
        return {ordinal: float(cosines[ordinal]) for ordinal in ordinals if ordinal < len(cosines)}

    def postings(self, revision: Revision, terms: Sequence[str]) -> list[TermPostings]:
        return [
            TermPostings(
                one.term, np.frombuffer(one.ordinals, dtype="<i4"), np.frombuffer(one.weights, dtype="<f4")
            )
            for one in self._of(revision).postings
            if one.term in terms
        ]

    def named(self, revision: Revision, names: Sequence[str]) -> dict[str, Ordinals]:
        return {
            one.name: np.frombuffer(one.ordinals, dtype="<i4")
            for one in self._of(revision).names
            if one.name in names
        }

    def candidates(self, revision: Revision, ordinals: Sequence[int]) -> list[Candidate]:
        held = self._of(revision)
        return [
            Candidate(one.ordinal, one.symbol, one.kind, one.test, mass)
            for one, mass in zip(held.spans, held.masses, strict=True)
            if one.ordinal in ordinals
        ]

    def digests(self, revision: Revision, ordinals: Sequence[int]) -> dict[int, TextDigests]:
        return {
            ordinal: TextDigests(one.digest, text_digest(one))
            for ordinal, one in self.spans(revision, ordinals).items()
        }

    def spans(self, revision: Revision, ordinals: Sequence[int]) -> dict[int, Span]:
        return {one.ordinal: one for one in self._of(revision).spans if one.ordinal in ordinals}

    def copies(
        self, revision: Revision, digests: Sequence[str], limit: int, among: Ordinals | None = None
    ) -> dict[str, Copies]:
        places: dict[str, dict[tuple[str, int], Place]] = {}
        for one in self._of(revision).spans:
            if one.digest in digests and (among is None or one.ordinal in among):
                place = Place(one.id, one.path, one.start_line, one.end_line)
                places.setdefault(one.digest, {}).setdefault((one.path, one.start_line), place)
        return {digest: Copies(len(found), tuple(found.values())[:limit]) for digest, found in places.items()}

    def _of(self, revision: Revision) -> Contents:
        return self._held[revision.revision]

    def _cosines(self, revision: Revision, vector: Vector) -> Vector:
        # Row by row: a matrix product rounds equal rows differently, by where they stand.
        cosines: Vector = (self._of(revision).vectors * vector).sum(axis=1)
        return cosines


def matches(glob: str, path: str) -> bool:
    """What a glob means, by definition: every way to read each wildcard is tried."""
    return _matches("/" + glob, "/" + path)


@cache
def _matches(glob: str, path: str) -> bool:
    if not glob:
        return not path
    if glob.startswith("/**/"):  # no folder, or some
        return path[:1] == "/" and (_matches(glob[3:], path) or _matches(glob[1:], path[1:]))
    if glob.startswith("**"):
        return _matches(glob[2:], path) or (bool(path) and _matches(glob, path[1:]))
    if glob.startswith("*"):
        return _matches(glob[1:], path) or (path[:1] not in ("", "/") and _matches(glob, path[1:]))
    if glob.startswith("?"):
        return path[:1] not in ("", "/") and _matches(glob[1:], path[1:])
    return path[:1] == glob[0] and _matches(glob[1:], path[1:])


class FakeRepoStore:
    """Published revisions, by repository, each named by one ref alone; it remembers whose clock was wound."""

    def __init__(self, *held: Contents) -> None:
        self._revisions: dict[str, Revision] = {}
        self._spans: dict[str, Sequence[Span]] = {}
        self.wound: list[str] = []
        for one in held:
            self.publish(one)

    def publish(self, held: Contents) -> None:
        """Let readers see *held*."""
        self._revisions[held.revision.repo_id] = held.revision
        self._spans[held.revision.repo_id] = held.spans

    def current(self, repo_id: str) -> Revision:
        if repo_id not in self._revisions:
            raise NotFound("no such repository")
        return self._revisions[repo_id]

    def used(self, repo_id: str) -> None:
        self.wound.append(repo_id)

    def remove(self, repo_id: str) -> None:
        if self._revisions.pop(repo_id, None) is None:
            raise NotFound("no such repository")

    def list(
        self, *, remote: str | None, ref: str | None, after: tuple[datetime, str] | None, limit: int
    ) -> list[Revision]:
        found = [
            one
            for one in self._revisions.values()
            if remote is None or remote_key(remote) == remote_key(one.remote)
            if ref in (None, one.ref)
            if after is None or (one.indexed_at, one.repo_id) < after
        ]
        return sorted(found, key=lambda one: (one.indexed_at, one.repo_id), reverse=True)[:limit]

    def span(self, revision: Revision, span_id: str) -> Span:
        for one in self._spans[revision.repo_id]:
            if one.id == span_id:
                return one
        raise NotFound("no such span in this repository")
