"""Citations checked on this machine: read out of a JSON document, each against a clone."""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from codetrail import config
from codetrail.adapters.git.program import GitProgram
from codetrail.domain.remote import admit, local_path
from codetrail.errors import InvalidRequest, NotAdmitted
from codetrail.services.verify import Clone, Outcome, Verdict, citations_in, verify
from codetrail_local.errors import Misused, Trouble
from codetrail_local.terminal import Style, visible_line

# An answer is at most 6 MB; this leaves room for a file of many.
MAX_DOCUMENT_BYTES = 64 * 1024 * 1024
# Of a digest that holds: a sign that one was computed, on a line that fits.
SHOWN_DIGITS = 12


def document(file: str) -> bytes:
    """Return what *file* holds, or standard input for `-`. Raises Misused."""
    try:
        if file == "-":
            body = sys.stdin.buffer.read(MAX_DOCUMENT_BYTES + 1)
        else:
            with Path(file).open("rb") as opened:
                body = opened.read(MAX_DOCUMENT_BYTES + 1)
    except OSError as error:
        raise Misused(f"{file} cannot be read: {error.strerror}") from error
    if len(body) > MAX_DOCUMENT_BYTES:
        raise Misused(f"{_named(file)} holds more than {MAX_DOCUMENT_BYTES // 1024**2} MB: check it in parts")
    return body


def check(
    body: bytes, *, clone: Path | None, step: Callable[[str], None], source: str = "-"
) -> list[Verdict]:
    """Check every citation of a JSON document against *clone*, or else against one that is fetched."""
    try:
        claims = citations_in(json.loads(body))
    except (ValueError, RecursionError) as error:
        raise Misused(f"{_named(source)} is not JSON: {error}") from error
    except InvalidRequest as error:
        raise Misused(f"{_named(source)} cannot be checked: {error}") from error
    if not claims:
        raise Trouble(f"there is no citation in {_named(source)}")
    if clone is not None and not clone.is_dir():
        raise Misused(f"{clone} is not a folder")
    with tempfile.TemporaryDirectory(prefix="codetrail-verify-") as scratch:
        git = GitProgram(scratch=Path(scratch), protocols=("https",))
        return verify(claims, _opener(git, clone, step))


def lines(verdicts: Sequence[Verdict], style: Style) -> str:
    """A line a citation, and what they come to."""
    width = max(len(_place(verdict)) for verdict in verdicts)
    shown = [_line(verdict, style, width) for verdict in verdicts]
    matching = sum(verdict.outcome is Outcome.MATCHES for verdict in verdicts)
    if matching == len(verdicts):
        shown.append("The citation holds." if matching == 1 else f"All {matching} citations hold.")
    else:
        shown.append(f"{matching} of {len(verdicts)} citations hold.")
    return "\n".join(shown)


def hold(verdicts: Sequence[Verdict]) -> bool:
    """Whether each citation was checked and holds."""
    return all(verdict.outcome is Outcome.MATCHES for verdict in verdicts)


def _opener(
    git: GitProgram, clone: Path | None, step: Callable[[str], None]
) -> Callable[[str, str], AbstractContextManager[Clone]]:
    @contextmanager
    def open_clone(remote: str, commit: str) -> Iterator[Clone]:
        if clone is not None:
            yield git.clone(clone)
            return
        folder = local_path(remote)
        if folder is not None:
            yield git.clone(_existing(folder))
            return
        # The document may be anybody's: what it names is admitted as a submission would be.
        admitted = admit(remote, _hosts())
        step(f"fetching {visible_line(admitted)} to check against")
        with git.fetch(admitted, commit) as fetched:
            yield fetched

    return open_clone


def _hosts() -> tuple[str, ...]:
    try:
        return config.admission().hosts
    except config.SettingError as error:
        raise Misused(str(error)) from error


def _existing(folder: str) -> Path:
    path = Path(folder)
    if not path.is_dir():
        raise NotAdmitted(
            f"there is no folder {visible_line(folder)} here; name a clone with --clone", "form"
        )
    return path


def _line(verdict: Verdict, style: Style, width: int) -> str:
    place = _place(verdict).ljust(width)
    match verdict.outcome:
        case Outcome.MATCHES:
            return f"{style.mark(good=True)} {place}  {style.faint(verdict.citation.digest[:SHOWN_DIGITS])}"
        case Outcome.DIFFERS:
            return f"{style.mark(good=False)} {place}  {visible_line(verdict.detail)}"
        case Outcome.UNCHECKED:
            return f"{style.bad('?')} {place}  Not checked: {visible_line(verdict.detail)}"


def _place(verdict: Verdict) -> str:
    citation = verdict.citation
    return f"{visible_line(citation.path)}:{citation.start_line}-{citation.end_line}"


def _named(file: str) -> str:
    return "standard input" if file == "-" else file
