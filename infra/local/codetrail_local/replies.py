"""What the command reads of the API's responses: only that, so that further fields do no harm."""

from typing import TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from codetrail_local.errors import Trouble


class UnexpectedReply(Trouble):
    """A response that is not what codetrail's API answers."""


class Reply(BaseModel):
    """A response, or a part of one."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Progress(Reply):
    """How far a job is: its stage, and what it has counted."""

    stage: str = ""
    counts: dict[str, int] = Field(default_factory=dict)


class JobError(Reply):
    """Why a job failed."""

    reason: str
    sentence: str = ""


class Job(Reply):
    """One repository and ref on its way into the index."""

    id: str
    remote: str
    ref: str
    status: str
    repo_id: str | None = None
    progress: Progress | None = None
    error: JobError | None = None
    submitted_at: AwareDatetime | None = None
    updated_at: AwareDatetime | None = None

    @property
    def put_back(self) -> bool:
        """Whether it waits for another attempt: one that waits for its first has not been touched since."""
        if self.status != "pending" or self.submitted_at is None or self.updated_at is None:
            return False
        return self.updated_at > self.submitted_at

    @property
    def why(self) -> str:
        """Why it failed, in one sentence; empty where it did not."""
        if self.error is None:
            return "The job failed and does not say why." if self.status == "failed" else ""
        return self.error.sentence or self.error.reason


class Jobs(Reply):
    """Jobs, newest first."""

    jobs: list[Job]


class Coverage(Reply):
    """Files by outcome, and by reason where they were not indexed whole."""

    indexed: int = 0
    degraded: int = 0
    skipped: int = 0
    dropped_spans: int = 0
    reasons: dict[str, int] = Field(default_factory=dict)


class Staleness(Reply):
    """What is known of a revision's age, and what is not."""

    note: str = ""


class Repo(Reply):
    """A published revision."""

    id: str
    remote: str
    ref: str
    commit: str
    indexed_at: str = ""
    files: int | None = None
    spans: int | None = None
    coverage: Coverage | None = None


class Repos(Reply):
    """A page of the corpus."""

    repos: list[Repo]
    next: str | None = None


class Citation(Reply):
    """What a claim rests on, and the shell line by which anybody checks it."""

    ref: str
    remote: str
    commit: str
    path: str
    start_line: int
    end_line: int
    digest: str
    check: str = ""
    permalink: str = ""
    staleness: Staleness | None = None


class Place(Reply):
    """Where a span stands."""

    path: str
    start_line: int
    end_line: int


class Near(Place):
    """A span that came near, and is no answer."""

    kind: str = ""
    symbol: str = ""
    score: float


class Searched(Reply):
    """What a question was compared with."""

    files: int
    spans: int


class Marked(Reply):
    """A marker in an answer and what it stands for; the same bytes may stand in other places too."""

    marker: int
    kind: str = ""
    symbol: str = ""
    citation: Citation
    copies: int = 0
    copy_places: list[Place] = Field(default_factory=list)


class Floor(Reply):
    """The score under which nothing is worth answering from."""

    value: float
    calibrated: bool = False
    applicable: bool = True
    quantity: str = "cosine"


class Answer(Reply):
    """An answer, or a refusal."""

    refused: bool
    answer: str = ""
    citations: list[Marked] = Field(default_factory=list)
    dropped: int = 0
    unmatched_words: list[str] = Field(default_factory=list)
    reason: str = ""
    detail: str = ""
    nearest: list[Near] = Field(default_factory=list)
    searched: Searched | None = None
    top_score: float | None = None
    confidence: float | None = None
    floor: Floor | None = None
    coverage: Coverage | None = None


class Hit(Reply):
    """One span that a search found."""

    kind: str = ""
    symbol: str = ""
    text: str = ""
    score: float
    citation: Citation
    copies: int = 0
    copy_places: list[Place] = Field(default_factory=list)


class Hits(Reply):
    """What a search found, best first."""

    mode: str = ""
    searched: Searched | None = None
    hits: list[Hit]


T = TypeVar("T", bound=Reply)


def read(kind: type[T], body: bytes) -> T:
    """Return *body* as a *kind*. Raises UnexpectedReply."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the body"
        raise UnexpectedReply(
            f"the answer is no {kind.__name__.lower()} of codetrail's API ({where}: {first['msg']})"
        ) from error
