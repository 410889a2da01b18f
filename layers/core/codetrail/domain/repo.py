"""A repository at one commit: the unit that is indexed, published and asked."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha256

from codetrail.domain.remote import remote_key


def repo_id(remote: str, commit: str) -> str:
    """Return the id of *remote* at *commit*: 16 hex digits, the same on every machine."""
    return sha256(f"{remote_key(remote)}\n{commit}".encode()).hexdigest()[:16]


class Outcome(StrEnum):
    """What became of one file of the tree."""

    INDEXED = "indexed"
    DEGRADED = "degraded"  # searchable, but not by declaration; the reason says why
    SKIPPED = "skipped"


class Reason(StrEnum):
    """Why a file was degraded or skipped: a closed set."""

    # degraded
    NO_GRAMMAR = "no_grammar"
    PARSE_BUDGET = "parse_budget"  # the parser was stopped: time or memory
    NESTING = "nested_too_deep"  # parsed, into a deeper tree than is searched for declarations
    PARSE_ERRORS = "parse_errors"  # parsed, with errors in the middle
    ENCODING_REPLACED = "encoding_replaced"  # decoded with replacement characters
    # skipped
    TOO_LARGE = "too_large"
    BINARY = "binary"
    GENERATED = "generated"
    VENDORED = "vendored"
    MINIFIED = "minified"
    LFS = "lfs_pointer"
    SYMLINK = "symlink"
    SUBMODULE = "submodule"
    PATH_DEPTH = "path_too_deep"  # in more folders than attributes are looked up through
    ENCODING = "encoding"
    EMPTY = "empty"
    NO_WORDS = "no_words"
    NOTEBOOK = "unreadable_notebook"  # its outputs, which are not searched, cannot be told from its cells
    NO_SPANS = "no_spans"  # words, and none of them in a span: imports, licences
    OUT_OF_SCOPE = "out_of_scope"  # outside INDEX_PATHS


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One entry of the tree and its outcome. `path` is text as `paths.to_text` writes it."""

    path: str
    blob: str  # object id, hex
    size: int  # bytes; 0 for a link or a submodule, and where the blob was not fetched
    language: str  # "" when unknown
    outcome: Outcome
    reason: Reason | None = None
    spans: int = 0
    dropped: int = 0  # spans without a word: not embedded, not stored


@dataclass(frozen=True, slots=True)
class Coverage:
    """What of the tree can be found, so that a refusal can say what was not searched."""

    indexed: int = 0
    degraded: int = 0
    skipped: int = 0
    dropped_spans: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    languages: dict[str, int] = field(default_factory=dict)  # files with spans, by language


@dataclass(frozen=True, slots=True)
class CorpusStats:
    """What BM25 needs to know of a revision as a whole."""

    spans: int
    average_length: float  # weighted tokens a span


@dataclass(frozen=True, slots=True)
class Revision:
    """A published revision, as readers see it. `revision` numbers its rows; `repo_id` is its public name."""

    revision: int
    repo_id: str
    remote: str
    ref: str
    commit: str
    fingerprint: str
    model: str
    dimension: int
    indexed_at: datetime
    last_used_at: datetime
    files: int
    files_with_spans: int
    stats: CorpusStats
    coverage: Coverage
    newer_commit: str | None = None  # the same ref, indexed here later at another commit
    newer_indexed_at: datetime | None = None
