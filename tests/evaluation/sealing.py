"""What `index` writes of a repository, without a database, a queue or a bucket."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from codetrail.adapters.bucket import S3Artifacts
from codetrail.adapters.spool import DiskSpool
from codetrail.adapters.stemmer import SnowballStemmer
from codetrail.domain.job import EventKind, IndexJob
from codetrail.domain.manifest import IndexedSpan, Manifest, Name, Posting
from codetrail.domain.repo import SourceFile
from codetrail.domain.span import Span
from codetrail.services.index import Reports, fingerprint, index
from codetrail.services.ports import Chunker, Git
from tests.support.fakes_index import MemoryS3, SentEvents, SentLoads


@dataclass(frozen=True, slots=True)
class Sealed:
    """One sealed artifact, read back; spans in the order of their ordinals."""

    manifest: Manifest
    spans: tuple[Span, ...]
    masses: tuple[float, ...]
    postings: tuple[Posting, ...]
    names: tuple[Name, ...]
    files: tuple[SourceFile, ...]


def seal(
    remote: str,
    ref: str,
    *,
    git: Callable[[Path], Git],
    chunker: Chunker,
    hosts: Sequence[str] = (),
    paths: Sequence[str] = (),
) -> Sealed:
    """Index *remote* as the index function does; *git* is made for a scratch folder. Raises SystemExit, with
    the reason, where the index function would report a failure."""
    job = IndexJob("evaluation", 1, remote, ref)
    artifacts, loads, events = S3Artifacts(MemoryS3(), "bucket"), SentLoads(), SentEvents()
    with tempfile.TemporaryDirectory() as scratch:
        index(
            job,
            git=git(Path(scratch)),
            chunker=chunker,
            stemmer=SnowballStemmer(),
            spool=DiskSpool(),
            artifacts=artifacts,
            loads=loads,
            reports=Reports(job, events, delivery=1, clock=monotonic),
            fingerprint=fingerprint(chunker.fingerprint, {}),
            hosts=hosts,
            local=True,
            paths=paths,
            run="evaluation-1",
            check_time=lambda: None,
        )
    last = events.events[-1]
    if last.kind is not EventKind.SEALED:
        raise SystemExit(f"{remote} was not indexed: {last.reason}")
    first = loads.batches[0]
    manifest = artifacts.read_manifest(first.manifest_key, first.manifest_sha256)
    rows = [row for number in range(len(manifest.batches)) for row in artifacts.read_batch(manifest, number)]
    indexed = sorted((row for row in rows if isinstance(row, IndexedSpan)), key=lambda row: row.span.ordinal)
    return Sealed(
        manifest=manifest,
        spans=tuple(row.span for row in indexed),
        masses=tuple(row.name_mass for row in indexed),
        postings=tuple(row for row in rows if isinstance(row, Posting)),
        names=tuple(row for row in rows if isinstance(row, Name)),
        files=tuple(row for row in rows if isinstance(row, SourceFile)),
    )
