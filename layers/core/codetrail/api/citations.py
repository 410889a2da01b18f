"""What responses say of a revision and of a span in it: citation, staleness, coverage, text."""

from datetime import UTC, datetime
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from codetrail.domain import answer, repo, search, span
from codetrail.domain.repo import Revision

# A response has 6 MB at most, and a list 50 spans; what is cut here is still covered by the digest.
MAX_TEXT_BYTES = 16_384


class Staleness(BaseModel):
    """What is known of a revision's age. Nothing here asks the forge."""

    state: Literal["unknown", "superseded"] = Field(
        description="`superseded`: the same ref was indexed here later, at another commit."
    )
    forge_checked: Literal[False] = Field(default=False, description="Nobody has asked the forge.")
    indexed_at: datetime
    newer_commit: str | None = Field(description="The commit that the ref named later.")
    newer_indexed_at: datetime | None
    note: str = Field(description="The same in a sentence.")

    @classmethod
    def of(cls, revision: Revision) -> Self:
        """Say how old *revision* is now."""
        return cls(
            state="superseded" if revision.newer_commit else "unknown",
            indexed_at=revision.indexed_at,
            newer_commit=revision.newer_commit,
            newer_indexed_at=revision.newer_indexed_at,
            note=answer.staleness_note(revision, datetime.now(UTC)),
        )


class Citation(BaseModel):
    """What a claim rests on. Run `check` in any clone: it prints `digest`."""

    repo_id: str
    remote: str
    commit: str = Field(description="The full commit id.")
    ref: str
    path: str = Field(description="UTF-8; a byte that is not is written \\xNN, and a backslash is doubled.")
    start_line: int = Field(description="1-based, inclusive.")
    end_line: int = Field(description="1-based, inclusive.")
    digest: str = Field(description="SHA-256 over the bytes of these lines, without the last line's LF.")
    length: int = Field(description="How many bytes the digest covers.")
    check: str = Field(description="The shell line that prints the digest, run inside a clone.")
    permalink: str = Field(
        description="The forge's page for these lines; empty for a forge that is not known."
    )
    staleness: Staleness

    @classmethod
    def of(cls, revision: Revision, cited: span.Span) -> Self:
        """Cite *cited*."""
        citation = answer.Citation.of(revision, cited)
        return cls(
            repo_id=citation.repo_id,
            remote=citation.remote,
            commit=citation.commit,
            ref=citation.ref,
            path=citation.path,
            start_line=citation.start_line,
            end_line=citation.end_line,
            digest=citation.digest,
            length=citation.length,
            check=citation.check,
            permalink=citation.permalink,
            staleness=Staleness.of(revision),
        )


class Place(BaseModel):
    """Where a span stands. GET …/spans/{span_id} gives its citation."""

    model_config = ConfigDict(title="Place")

    span_id: str
    path: str
    start_line: int
    end_line: int

    @classmethod
    def of(cls, place: search.Place) -> Self:
        """Tell *place*."""
        return cls(
            span_id=place.span_id, path=place.path, start_line=place.start_line, end_line=place.end_line
        )


class Searched(BaseModel):
    """What the question was compared with: what the filter leaves of the repository."""

    model_config = ConfigDict(title="Searched")

    files: int
    spans: int

    @classmethod
    def of(cls, searched: search.Searched) -> Self:
        """Tell *searched*."""
        return cls(files=searched.files, spans=searched.spans)


class Coverage(BaseModel):
    """What of the tree can be found: files by outcome, and by reason where they are not indexed whole."""

    model_config = ConfigDict(title="Coverage")

    indexed: int
    degraded: int = Field(description="Searchable, but not by declaration.")
    skipped: int
    dropped_spans: int = Field(description="Spans without a word, which nothing could find.")
    reasons: dict[str, int] = Field(
        description=f"Files degraded or skipped, by reason: {', '.join(repo.Reason)}."
    )
    languages: dict[str, int] = Field(description="Files with spans, by language.")

    @classmethod
    def of(cls, coverage: repo.Coverage) -> Self:
        """Tell *coverage*, most frequent first."""
        return cls(
            indexed=coverage.indexed,
            degraded=coverage.degraded,
            skipped=coverage.skipped,
            dropped_spans=coverage.dropped_spans,
            reasons=_by_count(coverage.reasons),
            languages=_by_count(coverage.languages),
        )


def _by_count(counts: dict[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def shown_text(text: str) -> tuple[str, bool]:
    """Return *text* as a response shows it, and whether it was cut; never in the middle of a character."""
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_TEXT_BYTES:
        return data.decode("utf-8"), False
    return data[:MAX_TEXT_BYTES].decode("utf-8", "ignore"), True
