"""What each command does, from its arguments to its exit code."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from codetrail_local import indexing, render
from codetrail_local.client import ApiError
from codetrail_local.indexing import JobFailed
from codetrail_local.progress import Watcher, watching
from codetrail_local.remotes import Remote, remote_of, uncommitted
from codetrail_local.replies import Answer, Hits, Job, Repo, Repos, read
from codetrail_local.session import Place, Session, connect
from codetrail_local.terminal import Terminal, visible_line
from codetrail_local.trouble import Trouble

ANSWERED, REFUSED = 0, 3

# A page of the corpus; the API gives no more at once.
PAGE = 50


@dataclass(frozen=True, slots=True)
class Target:
    """What a question is put to."""

    remote: str
    ref: str
    only: tuple[str, ...] = ()
    as_indexed: bool = False


def index(terminal: Terminal, place: Place, target: Target, *, as_json: bool) -> int:
    """Index a repository and say what of it is in the index."""
    remote = _remote(terminal, target)
    with _asking(terminal, place, target) as (session, watcher):
        done = indexing.index(session.client, remote.url, target.ref, watcher, lasting=session.lasting)
        repo = None if as_json else read(Repo, session.client.repo(done.repo_id))
    if repo is None:
        terminal.body(done.body)
    else:
        terminal.say(render.indexed(repo, terminal.style))
    return ANSWERED


def ask(
    terminal: Terminal, place: Place, target: Target, question: str, *, as_json: bool, verify: bool
) -> int:
    """Answer a question about a repository, or refuse, and say how to check the answer."""
    remote = _remote(terminal, target)
    with _asking(terminal, place, target) as (session, watcher):
        repo_id, caution = _ready(session, remote, target, watcher)
        watcher.step("asking")
        body = session.client.ask(repo_id, question)
    reply = read(Answer, body)
    _caution(terminal, caution)
    if as_json:
        terminal.body(body)
    else:
        terminal.say(render.answer(reply, terminal.style))
    if reply.refused:
        return REFUSED
    return ANSWERED


def search(
    terminal: Terminal, place: Place, target: Target, query: str, *, limit: int | None, as_json: bool
) -> int:
    """List the spans of a repository that match."""
    remote = _remote(terminal, target)
    with _asking(terminal, place, target) as (session, watcher):
        repo_id, caution = _ready(session, remote, target, watcher)
        watcher.step("searching")
        body = session.client.search(repo_id, query, limit)
    reply = read(Hits, body)
    _caution(terminal, caution)
    if as_json:
        terminal.body(body)
    else:
        terminal.say(render.hits(reply, terminal.style))
    return ANSWERED


def repos(terminal: Terminal, place: Place, *, as_json: bool) -> int:
    """List what is indexed."""
    with connect(place) as session:
        body = session.client.repos(limit=PAGE)
        page = read(Repos, body)
        listed = list(page.repos)
        while page.next and not as_json:
            page = read(Repos, session.client.repos(limit=PAGE, cursor=page.next))
            listed += page.repos
    if as_json:
        terminal.body(body)
    else:
        terminal.say(render.repos(listed, datetime.now(UTC)))
    return ANSWERED


def jobs(terminal: Terminal, place: Place, job_id: str, *, as_json: bool) -> int:
    """Say how one job stands."""
    with connect(place) as session:
        body = session.client.job(job_id)
    if as_json:
        terminal.body(body)
    else:
        terminal.say(render.jobs([read(Job, body)]))
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
        return indexing.index(client, remote.url, target.ref, watcher, lasting=session.lasting).repo_id, ""
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


def _caution(terminal: Terminal, caution: str) -> None:
    if caution:
        terminal.warn(caution)
