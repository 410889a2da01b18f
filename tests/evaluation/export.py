"""Every span of a repository as a citation, without a database: index it, and print what was sealed.

    python -m tests.evaluation.export REMOTE [--ref REF] > export.jsonl

REMOTE is an absolute path or an allowed https remote. One citation a line, for `tests.evaluation.digests`.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic

from codetrail.adapters.bucket import S3Artifacts
from codetrail.adapters.git.program import GitProgram
from codetrail.adapters.spool import DiskSpool
from codetrail.adapters.stemmer import SnowballStemmer
from codetrail.adapters.treesitter.chunker import TreeSitterChunker
from codetrail.domain.answer import check_command
from codetrail.domain.job import EventKind, IndexJob
from codetrail.domain.manifest import IndexedSpan
from codetrail.domain.paths import to_bytes
from codetrail.domain.remote import admit
from codetrail.services.index import Reports, fingerprint, index
from tests.support.fakes_index import MemoryS3, SentEvents, SentLoads

HOSTS = ("github.com", "codeberg.org")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation.export", description=__doc__)
    parser.add_argument("remote")
    parser.add_argument("--ref", default="HEAD")
    options = parser.parse_args(arguments)
    count = 0
    for citation in citations(admit(options.remote, HOSTS, local=True), options.ref):
        print(json.dumps(citation))
        count += 1
    print(f"{count} citations", file=sys.stderr)
    return 0


def citations(remote: str, ref: str) -> Iterator[dict[str, object]]:
    """Index *remote* as the index function does, and yield a citation of each span it sealed."""
    job = IndexJob("export", 1, remote, ref)
    artifacts, loads, events = S3Artifacts(MemoryS3(), "bucket"), SentLoads(), SentEvents()
    with tempfile.TemporaryDirectory() as scratch, TreeSitterChunker() as chunker:
        index(
            job,
            git=GitProgram(scratch=Path(scratch), protocols=("https", "file")),
            chunker=chunker,
            stemmer=SnowballStemmer(),
            spool=DiskSpool(),
            artifacts=artifacts,
            loads=loads,
            reports=Reports(job, events, delivery=1, clock=monotonic),
            fingerprint=fingerprint(chunker.fingerprint, {}),
            hosts=HOSTS,
            local=True,
            paths=(),
            run="export-1",
            check_time=lambda: None,
        )
    last = events.events[-1]
    if last.kind is not EventKind.SEALED:
        raise SystemExit(f"not indexed: {last.reason}")
    first = loads.batches[0]
    manifest = artifacts.read_manifest(first.manifest_key, first.manifest_sha256)
    for number in range(len(manifest.batches)):
        for row in artifacts.read_batch(manifest, number):
            if isinstance(row, IndexedSpan):
                span = row.span
                place = (span.start_line, span.end_line, span.length)
                yield {
                    "remote": remote,
                    "commit": manifest.commit,
                    "path": span.path,
                    "start_line": span.start_line,
                    "end_line": span.end_line,
                    "digest": span.digest,
                    "length": span.length,
                    "check": check_command(manifest.commit, to_bytes(span.path), *place),
                }


if __name__ == "__main__":
    sys.exit(main())
