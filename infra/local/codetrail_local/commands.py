"""What each command does, from its arguments to its exit code."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from codetrail.domain.remote import admit
from codetrail.domain.search import Filter
from codetrail.errors import NotAdmitted
from codetrail_local import indexing, render
from codetrail_local.client import ALL, ApiError
from codetrail_local.errors import Misused, Trouble
from codetrail_local.indexing import JobFailed
from codetrail_local.progress import Watcher, watching
from codetrail_local.remotes import Remote, remote_of, uncommitted
from codetrail_local.replies import Answer, Hits, Job, Jobs, Repo, Repos, read
from codetrail_local.session import Place, Session, connect
from codetrail_local.terminal import Style, Terminal, visible_line

ANSWERED, MISMATCH, REFUSED = 0, 1, 3

# A page of the corpus; the API gives no more at once.
PAGE = 50
LATEST_JOBS = 20


@dataclass(frozen=True, slots=True)
class Target:
    """What a question is put to."""

    remote: str
    ref: str
    only: tuple[str, ...] = ()
    as_indexed: bool = False
    part: Filter = ALL  # of what is indexed, what the question is about


def index(terminal: Terminal, place: Place, target: Target, *, as_json: bool) -> int:
    """Index a repository and say what of it is in the index."""
    remote = _remote(terminal, target)
    with _asking(terminal, place, target) as (session, watcher):
        done = indexing.index(session.client, remote.url, target.ref, watcher, lasting=session.lasting)
        _check_only(session, done.repo_id, target)
        repo = None if as_json else read(Repo, session.client.repo(done.repo_id))
        watcher.done()
        _show(terminal, done.body if repo is None else render.indexed(repo, target.ref, terminal.style))
    return ANSWERED


def ask(
    terminal: Terminal, place: Place, target: Target, question: str, *, as_json: bool, verify: bool
) -> int:
    """Answer a question about a repository, or refuse, and say how to check the answer."""
    remote = _remote(terminal, target)
    with _asking(terminal, place, target) as (session, watcher):
        repo_id, caution = _ready(session, remote, target, watcher)
        watcher.step("asking")
        body = session.client.ask(repo_id, question, target.part)
        reply = read(Answer, body)
        watcher.done()
        _caution(terminal, caution)
        looked_up = "" if target.as_indexed or caution else target.ref
        _show(terminal, body if as_json else render.answer(reply, terminal.style, looked_up=looked_up))
        if reply.refused:
            return REFUSED
        return _verified(terminal, body, remote, as_json=as_json) if verify else ANSWERED


def search(
    terminal: Terminal, place: Place, target: Target, query: str, *, limit: int | None, as_json: bool
) -> int:
    """List the spans of a repository that match."""
    remote = _remote(terminal, target)
    with _asking(terminal, place, target) as (session, watcher):
        repo_id, caution = _ready(session, remote, target, watcher)
        watcher.step("searching")
        body = session.client.search(repo_id, query, limit, target.part)
        reply = read(Hits, body)
        watcher.done()
        _caution(terminal, caution)
        _show(terminal, body if as_json else render.hits(reply, terminal.style))
    return ANSWERED


def verify(terminal: Terminal, file: str, clone: Path | None) -> int:
    """Check citations against a clone."""
    from codetrail_local import checking  # noqa: PLC0415 - most commands check nothing, and it is slow

    if file == "-" and sys.stdin.isatty():
        terminal.note("Reading citations as JSON from standard input; Ctrl-D ends them.")
    body = checking.document(file)
    with watching(terminal.err, quiet=terminal.quiet) as watcher:
        verdicts = checking.check(body, clone=clone, step=watcher.step, source=file)
    terminal.say(checking.lines(verdicts, terminal.style))
    return ANSWERED if checking.hold(verdicts) else MISMATCH


def repos(terminal: Terminal, place: Place, *, as_json: bool) -> int:
    """List what is indexed."""
    with (
        watching(terminal.err, quiet=terminal.quiet) as watcher,
        connect(place, step=watcher.step) as session,
    ):
        body = session.client.repos(limit=PAGE)
        page = read(Repos, body)
        listed = list(page.repos)
        while page.next and not as_json:
            page = read(Repos, session.client.repos(limit=PAGE, cursor=page.next))
            listed += page.repos
        watcher.done()
        _show(terminal, body if as_json else render.repos(listed, datetime.now(UTC)))
    return ANSWERED


def jobs(terminal: Terminal, place: Place, job_id: str | None, *, as_json: bool) -> int:
    """List the latest jobs of this machine, or say how one stands, here or at an API."""
    if not place.api:
        body = _jobs_here(place.home, job_id)
    elif job_id:
        with connect(place) as session:
            body = session.client.job(job_id)
    else:
        raise Misused("the API does not list jobs: name one, or leave out --api (and CODETRAIL_API)")
    listed = [read(Job, body)] if job_id else read(Jobs, body).jobs
    _show(terminal, body if as_json else render.jobs(listed))
    return ANSWERED


def rm(terminal: Terminal, place: Place, repo: str) -> int:
    """Remove a repository from the index of this machine."""
    if place.api:
        raise Misused("the API removes nothing: leave out --api (and CODETRAIL_API) to remove here")
    from codetrail_local import database  # noqa: PLC0415 - its drivers are slow to import

    if re.fullmatch(r"[0-9a-f]{16}", repo):
        named = [repo]
    else:
        named = [revision.repo_id for revision in database.revisions(place.home, _canonical(repo))]
        if not named:
            raise Trouble(f"nothing is indexed of {visible_line(repo)}: codetrail repos lists what is")
    database.remove(place.home, named)
    terminal.say("\n".join(f"Removed {repo_id}." for repo_id in named))
    return ANSWERED


@contextmanager
def _asking(terminal: Terminal, place: Place, target: Target) -> Iterator[tuple[Session, Watcher]]:
    with (
        watching(terminal.err, quiet=terminal.quiet) as watcher,
        connect(place, only=target.only, step=watcher.step) as session,
    ):
        yield session, watcher


def _remote(terminal: Terminal, target: Target) -> Remote:
    remote = remote_of(target.remote)
    if remote.folder is not None and target.ref == "HEAD" and not target.as_indexed:
        changed = uncommitted(remote.folder)
        if changed:
            files = "1 file" if changed == 1 else f"{changed:,} files"
            terminal.note(
                f"note: {files} in {remote.folder} differ from the last commit; only commits are indexed."
            )
    return remote


def _ready(session: Session, remote: Remote, target: Target, watcher: Watcher) -> tuple[str, str]:
    """(repo_id, a sentence of caution or nothing) of what is to be asked, indexed first where needed."""
    client = session.client
    if target.as_indexed:
        found = indexing.published(client, remote.url, target.ref)
        if found is None:
            raise Trouble(
                f"{visible_line(target.remote)} ({target.ref}) is not indexed yet: leave out --as-indexed"
            )
        return found.id, ""
    try:
        repo_id = indexing.index(client, remote.url, target.ref, watcher, lasting=session.lasting).repo_id
        _check_only(session, repo_id, target)
        return repo_id, ""
    except JobFailed as failed:
        found = indexing.published(client, remote.url, target.ref) if failed.passing else None
        if found is None:
            raise
        return found.id, f"note: {failed} The answer is from what was indexed before."
    except ApiError as error:
        # A key may be allowed to ask and not to submit.
        found = indexing.published(client, remote.url, target.ref) if error.status == 403 else None
        if found is None:
            raise
        return (
            found.id,
            "note: this key may not have anything indexed; the answer is from what was indexed before.",
        )


def _check_only(session: Session, repo_id: str, target: Target) -> None:
    """Raise Misused where --only left nothing: an answer would be refused as though the files had none."""
    if not target.only:
        return
    repo = read(Repo, session.client.repo(repo_id))
    if repo.coverage is not None and repo.files == repo.coverage.reasons.get("out_of_scope", 0):
        raise Misused(
            f"nothing in commit {visible_line(repo.commit[:7])} of {visible_line(repo.remote)} lies under"
            f" {visible_line(' or '.join(target.only))}: look at --only"
        )


def _jobs_here(home: Path, job_id: str | None) -> bytes:
    from codetrail_local import database  # noqa: PLC0415 - its drivers are slow to import

    return database.job(home, job_id) if job_id else database.jobs(home, LATEST_JOBS)


def _canonical(text: str) -> str:
    """What *text* names, as the index keeps it. Its host need not be allowed any more."""
    url = remote_of(text).url
    try:
        return admit(url, hosts=(urlsplit(url).hostname or "",), local=True)
    except (NotAdmitted, ValueError) as error:
        raise Misused(str(error)) from error


def _show(terminal: Terminal, result: bytes | str) -> None:
    """Write the result out now: a stack that was started for it takes a moment to stop."""
    if isinstance(result, bytes):
        terminal.body(result)
    else:
        terminal.say(result)
    terminal.out.flush()


def _verified(terminal: Terminal, body: bytes, remote: Remote, *, as_json: bool) -> int:
    from codetrail_local import checking  # noqa: PLC0415 - most commands check nothing, and it is slow

    with watching(terminal.err, quiet=terminal.quiet) as watcher:
        verdicts = checking.check(body, clone=remote.folder, step=watcher.step, source="the answer")
    if as_json:  # standard output is the API's body alone
        terminal.note(checking.lines(verdicts, Style()))
    else:
        _show(terminal, "\n" + checking.lines(verdicts, terminal.style))
    return ANSWERED if checking.hold(verdicts) else MISMATCH


def _caution(terminal: Terminal, caution: str) -> None:
    if caution:
        terminal.warn(caution)
