"""A small artifact, and a way to forge it: what is changed keeps digests and sizes that fit."""

import base64
import gzip
import json
import zlib
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import numpy as np

from codetrail.adapters import artifact
from codetrail.adapters.bucket import S3Artifacts
from codetrail.domain.manifest import BatchKind, IndexedSpan, Manifest, Name, Posting, Row
from codetrail.domain.repo import CorpusStats, Coverage, Outcome, Reason, SourceFile, repo_id
from codetrail.domain.span import Kind, Span
from tests.support.fakes_index import COMMIT, REMOTE, MemoryS3

REPO = repo_id(REMOTE, COMMIT)
FINGERPRINT = "0123456789abcdef"
KEY = f"artifacts/{REPO}/{FINGERPRINT}/manifest.json"


def span(ordinal: int) -> IndexedSpan:
    """Return the span of that number."""
    return IndexedSpan(
        Span(
            ordinal=ordinal,
            id=f"{ordinal:016x}",
            path="src/app.py",
            kind=Kind.FUNC,
            symbol=f"App.f{ordinal}",
            language="python",
            start_line=ordinal + 1,
            end_line=ordinal + 2,
            length=20,
            digest="ab" * 32,
            text=f"def f{ordinal}(): 'é\u2028'",
            test=False,
        ),
        1.5,
    )


def packed(*ordinals: int) -> bytes:
    """Return ordinals as a posting holds them."""
    return np.array(ordinals, "<i4").tobytes()


def weighed(*weights: float) -> bytes:
    """Return weights as a posting holds them."""
    return np.array(weights, "<f4").tobytes()


ROWS: dict[BatchKind, list[list[Row]]] = {
    BatchKind.SPANS: [[span(0), span(1)], [span(2)]],
    BatchKind.POSTINGS: [
        [Posting("alpha", packed(0, 2), weighed(0.5, 0.25)), Posting("beta", packed(1), weighed(0.9))]
    ],
    BatchKind.NAMES: [[Name("app.f0", packed(0)), Name("f0", packed(0))]],
    BatchKind.FILES: [
        [
            SourceFile("src/app.py", "a" * 40, 60, "python", Outcome.INDEXED, None, 3, 1),
            SourceFile("logo.png", "b" * 40, 9, "", Outcome.SKIPPED, Reason.BINARY),
        ]
    ],
}


def write(artifacts: S3Artifacts, *, run: str = "job-1-a") -> tuple[str, str, Manifest]:
    """Write and seal the small artifact."""
    entries, number = [], 0
    for kind, batches in ROWS.items():
        for rows in batches:
            entries.append(artifacts.put_batch(REPO, FINGERPRINT, run, number, kind, rows))
            number += 1
    return artifacts.seal(
        Manifest(
            repo_id=REPO,
            remote=REMOTE,
            ref="HEAD",
            commit=COMMIT,
            fingerprint=FINGERPRINT,
            spans=3,
            files=2,
            postings=2,
            names=2,
            stats=CorpusStats(3, 12.5),
            coverage=Coverage(1, 0, 1, 1, {"binary": 1}, {"python": 1}),
            batches=tuple(entries),
        )
    )


Change = Callable[[dict[str, Any]], None]
Rewrite = Callable[[bytes], bytes]


class Forger:
    """Changes an artifact in a bucket, and reads it as load does."""

    def __init__(self) -> None:
        self.s3 = MemoryS3()
        self.artifacts = S3Artifacts(self.s3, "bucket")
        self.key, self.digest, _ = write(self.artifacts)

    def manifest(self, change: Change) -> None:
        """Change the manifest, which is then the one that was sealed."""
        content = json.loads(self.s3.objects[KEY])
        change(content)
        self.replace(json.dumps(content).encode())

    def replace(self, data: bytes) -> None:
        """Put other bytes in the manifest's place."""
        self.s3.objects[KEY] = data
        self.digest = sha256(data).hexdigest()

    def store(self, kind: str, rewrite: Rewrite, *, number: int = 0) -> None:
        """Change the stored bytes of the first batch of *kind*; the manifest counts what is there then."""

        def change(manifest: dict[str, Any]) -> None:
            entry = [entry for entry in manifest["batches"] if entry["kind"] == kind][number]
            data = rewrite(self.s3.objects[entry["key"]])
            self.s3.objects[entry["key"]] = data
            entry["sha256"], entry["bytes"] = sha256(data).hexdigest(), len(data)

        self.manifest(change)

    def rows(self, kind: str, change: Callable[[list[dict[str, Any]]], object], *, number: int = 0) -> None:
        """Change the rows of a batch."""

        def rewrite(data: bytes) -> bytes:
            rows = [json.loads(line) for line in gzip.decompress(data).split(b"\n")[:-1]]
            change(rows)
            return gzip.compress(b"".join(json.dumps(row).encode() + b"\n" for row in rows))

        self.store(kind, rewrite, number=number)

    def read(self) -> list[list[Row]]:
        """Read all of it. Raises ArtifactRejected."""
        manifest = self.artifacts.read_manifest(self.key, self.digest)
        return [self.artifacts.read_batch(manifest, number) for number in range(len(manifest.batches))]


def text(data: bytes) -> str:
    """Return bytes as a row holds them."""
    return base64.b64encode(data).decode()


def bomb() -> bytes:
    """Return a small gzip member that is over the ceiling when it is unpacked."""
    packer = zlib.compressobj(wbits=31)
    piece = b"\n" * 65_536
    pieces = [packer.compress(piece) for _ in range(artifact.MAX_BATCH_BYTES // len(piece) + 1)]
    return b"".join([*pieces, packer.flush()])
