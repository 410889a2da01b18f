"""Check citations as a stranger would: run the shell line that stands beside each in a clone, and count the
lines again by other means than those that made the citation."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Protocol

from codetrail.domain.answer import Citation
from codetrail.domain.job import SENTENCES, IndexingFailed
from codetrail.domain.paths import to_bytes
from codetrail.errors import CodetrailError, InvalidRequest

# An answer holds tens; a document with more was not made by codetrail.
MAX_CITATIONS = 10_000


class Clone(Protocol):
    """A repository on this machine."""

    def check(self, command: str) -> str:
        """What the shell line prints when it is run inside the clone."""

    def blob(self, commit: str, path: bytes) -> bytes | None:
        """The bytes of a file at a commit; None where it is not there."""


OpenClone = Callable[[str, str], AbstractContextManager[Clone]]


class Outcome(StrEnum):
    """What became of one citation."""

    MATCHES = "matches"
    DIFFERS = "differs"
    UNCHECKED = "unchecked"  # there was no clone to check it against


@dataclass(frozen=True, slots=True)
class Claim:
    """A citation as somebody handed it over, with the shell line that stood beside it, if one did."""

    citation: Citation
    check: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One citation and what the check of it came to; `printed` is the digest that the shell line printed."""

    citation: Citation
    outcome: Outcome
    detail: str
    printed: str = ""


def citations_in(document: object) -> list[Claim]:
    """Return the citations in a parsed JSON document, in order: a response of ask or search, a list of
    citations, or one alone. A refusal has none. Raises InvalidRequest for a citation that is not whole."""
    found: list[Claim] = []
    for entry in _objects(document):
        if "digest" in entry and "commit" in entry:
            found.append(_claim(entry))
            if len(found) > MAX_CITATIONS:
                raise InvalidRequest(f"there are more than {MAX_CITATIONS} citations; check them in parts")
    return found


def verify(claims: Sequence[Claim], open_clone: OpenClone) -> list[Verdict]:
    """Check each citation and return the verdicts in the same order.

    `open_clone(remote, commit)` is asked once for each commit. What it raises as a CodetrailError leaves
    that commit's citations unchecked.
    """
    places: dict[tuple[str, str], list[int]] = {}
    for n, claim in enumerate(claims):
        places.setdefault((claim.citation.remote, claim.citation.commit), []).append(n)
    verdicts: dict[int, Verdict] = {}
    for (remote, commit), numbers in places.items():
        with ExitStack() as stack:
            try:
                clone = stack.enter_context(open_clone(remote, commit))
            except CodetrailError as error:
                for n in numbers:
                    verdicts[n] = Verdict(claims[n].citation, Outcome.UNCHECKED, _sentence(error))
                continue
            for n in numbers:
                verdicts[n] = _check(claims[n], clone)
    return [verdicts[n] for n in range(len(claims))]


def _check(claim: Claim, clone: Clone) -> Verdict:
    citation = claim.citation
    # The line that came with it may be anybody's: it is compared, and only our own is ever run.
    if claim.check and claim.check != citation.check:
        return Verdict(citation, Outcome.DIFFERS, "The command beside it is not the one for these lines.")
    try:
        blob = clone.blob(citation.commit, to_bytes(citation.path))
        words = clone.check(citation.check).split()
    except CodetrailError as error:
        return Verdict(citation, Outcome.UNCHECKED, _sentence(error))
    printed = words[0] if words else ""
    lines = None if blob is None else _cut(blob, citation.start_line, citation.end_line)
    outcome = Outcome.DIFFERS
    if blob is None:
        detail = "The clone has no such file at this commit."
    elif lines is None:
        detail = "The file has no such lines at this commit."
    elif sha256(lines).hexdigest() != citation.digest or len(lines) != citation.length:
        detail = "The lines are not those that were cited."
    elif printed != citation.digest:
        detail = "The printed command gives another digest."
    else:
        outcome, detail = Outcome.MATCHES, "The digest is that of the cited lines."
    return Verdict(citation, outcome, detail, printed)


def _cut(blob: bytes, start_line: int, end_line: int) -> bytes | None:
    """Cut lines out of *blob* by splitting it, and not by `domain.lines`, which made the citation."""
    lines = blob.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return b"\n".join(lines[start_line - 1 : end_line]) if end_line <= len(lines) else None


def _sentence(error: CodetrailError) -> str:
    return SENTENCES[error.reason] if isinstance(error, IndexingFailed) else str(error)


def _objects(document: object) -> Iterator[Mapping[str, object]]:
    """Yield every JSON object of *document*, outer before inner, in the document's order."""
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            yield value
            waiting.extend(reversed(list(value.values())))
        elif isinstance(value, list):
            waiting.extend(reversed(value))


def _claim(entry: Mapping[str, object]) -> Claim:
    start, end = _number(entry, "start_line", 1), _number(entry, "end_line", 1)
    if end < start:
        raise InvalidRequest(f"a citation ends at line {end}, before its start at line {start}")
    citation = Citation(
        repo_id=_text(entry, "repo_id", r"[0-9a-f]{0,64}"),
        remote=_text(entry, "remote", r"\S{1,8192}"),
        commit=_text(entry, "commit", r"[0-9a-f]{40}|[0-9a-f]{64}"),
        ref=_text(entry, "ref", r"\S{0,255}"),
        path=_text(entry, "path", r"(?s:[^\0]{1,8192})"),
        start_line=start,
        end_line=end,
        digest=_text(entry, "digest", r"[0-9a-f]{64}"),
        length=_number(entry, "length", 0),
    )
    check = entry.get("check", "")
    if not isinstance(check, str):
        raise InvalidRequest("a citation's check is malformed")
    return Claim(citation, check)


def _text(entry: Mapping[str, object], key: str, pattern: str) -> str:
    value = entry.get(key, "")
    if not isinstance(value, str) or not re.fullmatch(pattern, value, re.ASCII):
        raise InvalidRequest(f"a citation's {key} is missing or malformed")
    return value


def _number(entry: Mapping[str, object], key: str, least: int) -> int:
    value = entry.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**31:
        raise InvalidRequest(f"a citation's {key} is missing or malformed")
    return value
