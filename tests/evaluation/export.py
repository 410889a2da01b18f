"""Every span of a repository as a citation, without a database: index it, and print what was sealed.

    python -m tests.evaluation.export REMOTE [--ref REF] > export.jsonl

REMOTE is an absolute path or an allowed https remote. One citation a line, for `tests.evaluation.digests`.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence

from codetrail.adapters.git.program import GitProgram
from codetrail.adapters.treesitter.chunker import TreeSitterChunker
from codetrail.domain.answer import check_command
from codetrail.domain.paths import to_bytes
from codetrail.domain.remote import admit
from tests.evaluation.sealing import seal

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
    with TreeSitterChunker() as chunker:
        found = seal(
            remote,
            ref,
            git=lambda scratch: GitProgram(scratch=scratch, protocols=("https", "file")),
            chunker=chunker,
            hosts=HOSTS,
        )
    commit = found.manifest.commit
    for span in found.spans:
        place = (span.start_line, span.end_line, span.length)
        yield {
            "remote": remote,
            "commit": commit,
            "path": span.path,
            "start_line": span.start_line,
            "end_line": span.end_line,
            "digest": span.digest,
            "length": span.length,
            "check": check_command(commit, to_bytes(span.path), *place),
        }


if __name__ == "__main__":
    sys.exit(main())
