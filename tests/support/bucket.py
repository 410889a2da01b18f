"""Artifacts made of a few spans, sealed in a bucket by the product's own encoder."""

from collections.abc import Sequence
from dataclasses import dataclass

from codetrail.adapters.bucket import S3Artifacts
from codetrail.domain.job import LoadBatch
from codetrail.domain.manifest import (
    FILES_PER_BATCH,
    NAMES_PER_BATCH,
    POSTINGS_PER_BATCH,
    BatchEntry,
    BatchKind,
    IndexedSpan,
    Manifest,
    Row,
)
from codetrail.domain.repo import Coverage, Outcome, Reason, SourceFile, repo_id
from tests.support.revisions import Contents


@dataclass(frozen=True)
class Sealed:
    """An artifact in the bucket."""

    key: str
    sha256: str
    manifest: Manifest

    def batches(self, job_id: str, attempt: int = 1) -> list[LoadBatch]:
        """The messages that index would send."""
        return [
            LoadBatch(job_id, attempt, self.key, self.sha256, number)
            for number in range(len(self.manifest.batches))
        ]


def seal(
    artifacts: S3Artifacts,
    contents: Contents,
    *,
    remote: str,
    commit: str,
    ref: str = "HEAD",
    fingerprint: str = "0123456789abcdef",
    spans_per_batch: int = 2,
    run: str = "job-1",
) -> Sealed:
    """Write *contents* as an artifact: small batches, and a skipped file among the files."""
    repo = repo_id(remote, commit)
    spans = [IndexedSpan(span, mass) for span, mass in zip(contents.spans, contents.masses, strict=True)]
    paths = sorted({span.path for span in contents.spans})
    files = [
        SourceFile(
            path,
            "1" * 40,
            100,
            "go",
            Outcome.INDEXED,
            spans=sum(span.path == path for span in contents.spans),
        )
        for path in paths
    ]
    files.append(SourceFile("logo.png", "2" * 40, 9_999, "", Outcome.SKIPPED, Reason.BINARY))
    groups = [
        *_split(BatchKind.SPANS, spans, spans_per_batch),
        *_split(BatchKind.POSTINGS, contents.postings, POSTINGS_PER_BATCH),
        *_split(BatchKind.NAMES, contents.names, NAMES_PER_BATCH),
        *_split(BatchKind.FILES, files, FILES_PER_BATCH),
    ]
    entries: list[BatchEntry] = [
        artifacts.put_batch(repo, fingerprint, run, number, kind, rows)
        for number, (kind, rows) in enumerate(groups)
    ]
    manifest = Manifest(
        repo_id=repo, remote=remote, ref=ref, commit=commit, fingerprint=fingerprint, spans=len(spans),
        files=len(files), postings=len(contents.postings), names=len(contents.names),
        stats=contents.revision.stats,
        coverage=Coverage(indexed=len(paths), skipped=1, reasons={"binary": 1}, languages={"go": len(paths)}),
        batches=tuple(entries),
    )  # fmt: skip
    return Sealed(*artifacts.seal(manifest))


def _split(kind: BatchKind, rows: Sequence[Row], limit: int) -> list[tuple[BatchKind, Sequence[Row]]]:
    return [(kind, rows[start : start + limit]) for start in range(0, len(rows), limit)]
