"""An answer, its citations, and the shell line by which a stranger checks one."""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from shlex import quote
from urllib.parse import quote as percent

from codetrail.domain.paths import to_bytes
from codetrail.domain.repo import Revision
from codetrail.domain.search import Found, Hit
from codetrail.domain.span import Span

CALIBRATION = "tests/evaluation/results/floor.json"


class Refusal(StrEnum):
    """Why there is no answer."""

    NO_SUBJECT = "no_subject"  # the question holds words of grammar only
    NO_SPANS = "no_spans"
    BELOW_FLOOR = "below_floor"
    UNSCORED = "unscored"


class Quantity(StrEnum):
    """What a floor is compared with."""

    CONFIDENCE = "confidence"  # that there is an answer, 0 to 1
    COSINE = "cosine"  # of the nearest span, -1 to 1


@dataclass(frozen=True, slots=True)
class Floor:
    """The number under which nothing is worth answering from. Calibrated: an evaluation chose it, whose run
    lies in `CALIBRATION`."""

    value: float
    calibrated: bool
    applicable: bool
    quantity: Quantity


@dataclass(frozen=True, slots=True)
class Citation:
    """What a claim rests on: anybody can hash the same bytes out of a clone."""

    repo_id: str
    remote: str
    commit: str
    ref: str
    path: str
    start_line: int
    end_line: int
    digest: str
    length: int

    @classmethod
    def of(cls, revision: Revision, span: Span) -> "Citation":
        """Cite *span* of *revision*."""
        return cls(
            repo_id=revision.repo_id,
            remote=revision.remote,
            commit=revision.commit,
            ref=revision.ref,
            path=span.path,
            start_line=span.start_line,
            end_line=span.end_line,
            digest=span.digest,
            length=span.length,
        )

    @property
    def check(self) -> str:
        """The shell line that prints `digest`, run inside any clone that has the commit."""
        return check_command(self.commit, to_bytes(self.path), self.start_line, self.end_line, self.length)

    @property
    def permalink(self) -> str:
        """The forge's page for these lines at this commit; empty where the forge's URLs are not known."""
        return permalink(self.remote, self.commit, to_bytes(self.path), self.start_line, self.end_line)


@dataclass(frozen=True, slots=True)
class Marked:
    """A marker in an answer, such as [1], and the hit it stands for."""

    marker: int
    hit: Hit


@dataclass(frozen=True, slots=True)
class Answer:
    """An extractive answer or a refusal, over what was found. `dropped`: whole spans that did not fit.
    `unmatched`: words of the question that no quoted span says, as they are written there."""

    found: Found
    floor: Floor
    text: str = ""
    marked: tuple[Marked, ...] = ()
    dropped: int = 0
    unmatched: tuple[str, ...] = ()
    refusal: Refusal | None = None


def check_command(commit: str, path: bytes, start_line: int, end_line: int, length: int) -> str:
    """Return one POSIX shell line that prints the SHA-256 of these lines.

    The lines are cut by number and then by their length in bytes, which is right with and without a final
    newline, on GNU, BSD and busybox tools alike; `head -c -1` and `sed` are not.
    """
    lines = end_line - start_line + 1
    return (
        f"{_blob_argument(commit, path)} | tail -n +{start_line} | head -n {lines} | head -c {length}"
        " | { sha256sum 2>/dev/null || shasum -a 256; }"
    )


def _blob_argument(commit: str, path: bytes) -> str:
    text = path.decode("utf-8", "replace")
    # A name with control characters, format characters (bidi) or bytes that are not UTF-8 must not reach a
    # terminal as it is: printf rebuilds it. The dot keeps $(...) from eating a final newline.
    if text.isprintable() and "\ufffd" not in text:
        return f"git cat-file blob {quote(f'{commit}:{text}')}"
    octal = "".join(chr(b) if re.match(rb"[A-Za-z0-9/._-]", bytes([b])) else f"\\{b:03o}" for b in path)
    return f"p=$(printf '{octal}.'); git cat-file blob \"{commit}:${{p%.}}\""


# host: (page, line fragment). A forge that is not here gets no link, since a guessed address that answers 404
# reads as "the code is gone".
_FORGES = {
    "github.com": ("{remote}/blob/{commit}/{path}", "#L{start}-L{end}"),
    "codeberg.org": ("{remote}/src/commit/{commit}/{path}", "#L{start}-L{end}"),
    "gitlab.com": ("{remote}/-/blob/{commit}/{path}", "#L{start}-{end}"),
    "bitbucket.org": ("{remote}/src/{commit}/{path}", "#lines-{start}:{end}"),
}


def permalink(remote: str, commit: str, path: bytes, start_line: int, end_line: int) -> str:
    """Return the forge's page for these lines at this commit, or an empty string."""
    host = remote.removeprefix("https://").partition("/")[0]
    if not remote.startswith("https://") or host not in _FORGES:
        return ""
    page, fragment = _FORGES[host]
    return page.format(remote=remote, commit=commit, path=percent(path, safe="/")) + fragment.format(
        start=start_line, end=end_line
    )


def staleness_note(revision: Revision, now: datetime) -> str:
    """Return the sentence that says what is known of a revision's age, and what is not."""
    age = _age((now - revision.indexed_at).total_seconds())
    correct = f"Correct at commit {revision.commit[:7]}, indexed {age} ago."
    if revision.newer_commit and revision.newer_indexed_at:
        newer = _age((now - revision.newer_indexed_at).total_seconds())
        since = (
            f"{revision.ref} has since been indexed here at commit {revision.newer_commit[:7]}, {newer} ago."
        )
        return f"{correct} {since}"
    return f"{correct} codetrail has not checked whether {revision.ref} has moved since."


def _age(seconds: float) -> str:
    # Coarse on purpose: a finer unit would claim a freshness check that did not happen.
    hours = int(seconds // 3600)
    if hours < 1:
        return "less than an hour"
    if hours < 24:
        return "1 hour" if hours == 1 else f"{hours} hours"
    days = hours // 24
    return "1 day" if days == 1 else f"{days} days"
