"""Every benchmark: python -m tests.benchmarks [REMOTE].

REMOTE is what indexing is timed on; without it, rs/zerolog.
"""

import sys

from codetrail_local.remotes import remote_of
from tests.benchmarks import indexing, search

RUNS = 3

search.main()
indexing.report(remote_of(sys.argv[1] if len(sys.argv) > 1 else "https://github.com/rs/zerolog").url, RUNS)
