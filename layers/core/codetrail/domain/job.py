"""A job: one repository and ref on its way into the index, and what a caller may know of it."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from codetrail.errors import CodetrailError

MAX_FAILURES = 3
# Seconds before the second and before the third attempt.
RETRY_DELAYS_SECONDS = (30, 60)


class JobStatus(StrEnum):
    """The four words a caller polls for."""

    PENDING = "pending"
    LEASED = "leased"
    DONE = "done"
    FAILED = "failed"


class Stage(StrEnum):
    """How far a job has come, in order."""

    QUEUED = "queued"  # a row and, soon, a message
    RESOLVE = "resolve"  # ls-remote: a ref becomes one commit id
    FETCH = "fetch"
    CHUNK = "chunk"  # files become spans
    SEAL = "seal"  # the artifact is being written
    LOAD = "load"  # spans are embedded and stored
    PUBLISHED = "published"


class FailureReason(StrEnum):
    """Why a job failed: a closed set, so that it can be a metric's label."""

    NOT_FOUND = "not_found"
    NO_FOLDER = "no_such_folder"  # this one and the next of a path on this machine alone
    NO_REPOSITORY = "not_a_repository"
    MOVED = "moved"
    REF_NOT_FOUND = "ref_not_found"
    REF_AMBIGUOUS = "ref_ambiguous"
    EMPTY = "empty_repository"
    TOO_MANY_REFS = "too_many_refs"
    TOO_LARGE = "repository_too_large"
    TOO_MANY_FILES = "too_many_files"
    FSCK = "refused_by_fsck"
    INCOMPLETE = "incomplete_repository"
    DEADLINE = "deadline"
    UNREACHABLE = "host_unreachable"
    CRASHED = "crashed"
    INTERNAL = "internal"


SENTENCES: dict[FailureReason, str] = {
    FailureReason.NOT_FOUND: (
        "There is no public repository at this address: check the spelling, and that it is not private."
    ),
    FailureReason.NO_FOLDER: (
        "There is no such folder on the machine that codetrail runs on: check the path, and that it may be"
        " read."
    ),
    FailureReason.NO_REPOSITORY: (
        "This folder is not a git repository: give the one that holds .git, or git init and commit there."
    ),
    FailureReason.MOVED: (
        "The host answered with a redirect: the repository was renamed or moved. Submit its new address."
    ),
    FailureReason.REF_NOT_FOUND: (
        "The repository has no branch or tag of this name. Names are matched whole, letter case included."
    ),
    FailureReason.REF_AMBIGUOUS: (
        "This name is both a branch and a tag. Ask for refs/heads/NAME or refs/tags/NAME."
    ),
    FailureReason.EMPTY: "The repository is empty: it has no commit to index yet.",
    FailureReason.TOO_MANY_REFS: "The repository advertises more refs than codetrail reads.",
    FailureReason.TOO_LARGE: "The repository is over the size cap.",
    FailureReason.TOO_MANY_FILES: "The repository has more files than the cap allows.",
    FailureReason.FSCK: (
        "The repository was refused: it holds malformed or dangerous objects, or a path over 4,096 bytes."
    ),
    FailureReason.INCOMPLETE: "The repository lacks objects of this commit: a partial or a damaged clone.",
    FailureReason.DEADLINE: "Indexing did not finish within its time.",
    FailureReason.UNREACHABLE: (
        "The host did not answer, or not in git's smart HTTP. Check the network, and try again later."
    ),
    FailureReason.CRASHED: "The indexer stopped without a word, more than once.",
    FailureReason.INTERNAL: "Something went wrong inside codetrail; it is logged under the job's id.",
}


class IndexingFailed(CodetrailError):
    """Indexing cannot go on. `transient` says whether another attempt may end differently."""

    def __init__(self, reason: FailureReason, *, transient: bool = False) -> None:
        super().__init__(reason.value)
        self.reason = reason
        self.transient = transient


@dataclass(frozen=True, slots=True)
class JobError:
    """Why a job failed, as a caller sees it. Never git's own words."""

    reason: FailureReason

    @property
    def sentence(self) -> str:
        """One plain sentence: what happened and what to do."""
        return SENTENCES[self.reason]


@dataclass(frozen=True, slots=True)
class Job:
    """A job as its row tells it.

    `attempt` fences: it grows each time a message is sent for the job, and what an older attempt
    reports is ignored. `failures` counts the attempts that ended badly; three end the job.
    """

    id: str
    remote: str
    ref: str
    status: JobStatus
    stage: Stage
    attempt: int
    failures: int
    counts: dict[str, int]
    submitted_at: datetime
    updated_at: datetime
    finished_at: datetime | None = None
    repo_id: str | None = None
    error: JobError | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """What is published for a remote and ref already: equal means there is nothing to do."""

    repo_id: str
    commit: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class IndexJob:
    """What the index function is asked to do: all it will ever know, since it has no database."""

    job_id: str
    attempt: int
    remote: str
    ref: str
    published: Published | None = None


@dataclass(frozen=True, slots=True)
class LoadBatch:
    """One batch of a sealed artifact, to be stored; the manifest's digest pins what it belongs to."""

    job_id: str
    attempt: int
    manifest_key: str
    manifest_sha256: str
    batch: int


class EventKind(StrEnum):
    """What an index attempt may report."""

    PROGRESS = "progress"
    SEALED = "sealed"  # the artifact is complete and its load messages are sent
    UNCHANGED = "unchanged"  # the ref still names what is published
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class JobEvent:
    """A report of one attempt. Applied only when (attempt, sequence) is newer than the last one applied."""

    job_id: str
    attempt: int
    sequence: int
    kind: EventKind
    stage: Stage
    counts: dict[str, int] = field(default_factory=dict)
    repo_id: str | None = None
    reason: FailureReason | None = None
    transient: bool = False
