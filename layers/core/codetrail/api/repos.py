"""The wire of /api/repos and /api/jobs: submit, poll, list, one repository, one span."""

from datetime import datetime
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StrictStr

from codetrail.api.citations import Citation, Coverage, Staleness, shown_text
from codetrail.api.parameters import write_cursor
from codetrail.domain.job import FailureReason, Job, JobStatus, Stage
from codetrail.domain.repo import Revision
from codetrail.domain.span import Kind, Span

DEFAULT_LIST_LIMIT = 20


class SubmitRequest(BaseModel):
    """A repository to index."""

    model_config = ConfigDict(extra="forbid")

    remote: Annotated[StrictStr, Field(description="https://HOST/OWNER/NAME, of an allowed host.")]
    ref: Annotated[StrictStr, Field(description="HEAD, a branch, a tag, or one written out as refs/…")] = (
        "HEAD"
    )


class Progress(BaseModel):
    """How far a job has come."""

    stage: Stage
    counts: dict[str, int] = Field(description="What has been counted so far: files, spans, batches.")


class JobFailure(BaseModel):
    """Why a job failed."""

    reason: FailureReason
    sentence: str = Field(description="What happened and what to do.")


class JobResponse(BaseModel):
    """A job as it stands."""

    id: str
    remote: str
    ref: str
    status: JobStatus
    repo_id: str | None = Field(description="What it became, once it is known.")
    progress: Progress
    error: JobFailure | None = Field(description="Why it failed; null unless it did.")
    submitted_at: datetime
    updated_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(cls, job: Job) -> Self:
        """Tell what a caller may know of *job*."""
        failed = job.error if job.status is JobStatus.FAILED else None
        return cls(
            id=job.id,
            remote=job.remote,
            ref=job.ref,
            status=job.status,
            repo_id=job.repo_id,
            progress=Progress(stage=job.stage, counts=job.counts),
            error=JobFailure(reason=failed.reason, sentence=failed.sentence) if failed else None,
            submitted_at=job.submitted_at,
            updated_at=job.updated_at,
            finished_at=job.finished_at,
        )


class RepoSummary(BaseModel):
    """A repository at the commit that is published."""

    id: str
    remote: str
    ref: str
    commit: str
    indexed_at: datetime
    last_used_at: datetime

    @classmethod
    def of(cls, revision: Revision) -> Self:
        """Tell what a list tells of *revision*."""
        return cls(
            id=revision.repo_id,
            remote=revision.remote,
            ref=revision.ref,
            commit=revision.commit,
            indexed_at=revision.indexed_at,
            last_used_at=revision.last_used_at,
        )


class ReposResponse(BaseModel):
    """A page of the corpus, newest first."""

    repos: list[RepoSummary]
    count: int = Field(description="How many are on this page.")
    next: str | None = Field(description="The cursor of the next page; null on the last.")

    @classmethod
    def of(cls, revisions: list[Revision], limit: int) -> Self:
        """Show the first *limit* of *revisions*; one more than that means that there is another page."""
        page = revisions[:limit]
        more = len(revisions) > limit
        return cls(
            repos=[RepoSummary.of(revision) for revision in page],
            count=len(page),
            next=write_cursor(page[-1].indexed_at, page[-1].repo_id) if more else None,
        )


class RepoResponse(RepoSummary):
    """A repository, its counts, what of it can be found, and its staleness."""

    files: int
    spans: int
    files_with_spans: int
    coverage: Coverage
    staleness: Staleness

    @classmethod
    def of(cls, revision: Revision) -> Self:
        """Tell all of *revision*."""
        return cls(
            **RepoSummary.of(revision).model_dump(),
            files=revision.files,
            spans=revision.stats.spans,
            files_with_spans=revision.files_with_spans,
            coverage=Coverage.of(revision.coverage),
            staleness=Staleness.of(revision),
        )


class SpanView(BaseModel):
    """Whole lines of one file."""

    id: str
    path: str
    kind: Kind
    symbol: str
    language: str
    start_line: int
    end_line: int
    text: str
    truncated: bool = Field(
        description="The text is cut; the citation's digest still covers the whole lines."
    )


class SpanResponse(BaseModel):
    """One span and its citation."""

    span: SpanView
    citation: Citation

    @classmethod
    def of(cls, revision: Revision, span: Span) -> Self:
        """Show *span* of *revision*."""
        text, truncated = shown_text(span.text)
        view = SpanView(
            id=span.id,
            path=span.path,
            kind=span.kind,
            symbol=span.symbol,
            language=span.language,
            start_line=span.start_line,
            end_line=span.end_line,
            text=text,
            truncated=truncated,
        )
        return cls(span=view, citation=Citation.of(revision, span))
