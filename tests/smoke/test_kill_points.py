"""Kill -9 of any local process at any point, then `up` again: the job finishes, nothing doubled or half seen.

The judge reads the database and knows what the repository holds; the product's own word is not asked for.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString

import httpx
import psycopg
import pytest

from codetrail_local.postgres import EmbeddedPostgres
from tests.support.gitrepos import Repository
from tests.support.local_stack import until
from tests.support.supervised import Supervised, alive

FILES, FUNCTIONS = 100, 8
MANY_FILES = 800  # enough that the indexer is still at it when it is found and killed


class Lab:
    """One data folder and the stack on it, up again after each kill."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.postgres = EmbeddedPostgres(self.home / "postgres")
        self.stack: Supervised | None = None

    def up(self) -> Supervised:
        if self.stack is None or self.stack.process.poll() is not None:
            self.down()
            self.stack = Supervised(self.home, settings={"EMBED_PROVIDER": "fake"}).ready()
        return self.stack

    def down(self) -> None:
        if self.stack is not None:
            self.stack.stop()
            self.stack = None
        self.postgres.stop()

    def deaths(self, function: str) -> int:
        """How many batches the stack has seen end with the process of *function*."""
        log = (self.home / "logs" / "stack.log").read_text()
        return log.count(f"seen again: the process of the function {function} ended without an answer")

    def repository(self, name: str, count: int = FILES) -> Repository:
        """A repository whose functions no other one has, so that no vector is known already."""
        files = {
            f"part_{number:03}.py".encode(): "\n\n".join(
                f"def {name}_{number}_{function}(value):\n    return value + {function}"
                for function in range(FUNCTIONS)
            ).encode()
            for number in range(count)
        }
        made = Repository.create(self.folder / f"{name}.git")
        made.branch("main", made.commit(files))
        return made

    def submit(self, remote: str) -> str:
        reply = httpx.post(f"{self.up().api}/api/repos", json={"remote": remote}, trust_env=False, timeout=30)
        assert reply.status_code == 202, reply.text
        return str(reply.json()["id"])

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        """A connection of the judge's own; Postgres is started for it where nothing else runs."""
        return psycopg.connect(self.postgres.start(), autocommit=True)

    @contextmanager
    def publication_held(self, *, held: bool) -> Iterator[None]:
        """Keep every job from being done during the block, however fast the machine: publishing a revision
        leads a ref to it in the same transaction, and nothing before that writes the table of refs."""
        holder = self.connect()
        try:
            if held:
                holder.execute("begin")
                holder.execute("lock table refs in share mode")
            yield
        finally:
            holder.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    lab = Lab(tmp_path_factory.mktemp("lab"))
    yield lab
    lab.down()


@dataclass(frozen=True)
class Point:
    """Kill *victim* as soon as *reached* is true of the job."""

    victim: str
    reached: LiteralString


STAGE: LiteralString = "select exists (select from jobs where id = %(job)s and stage = any(%(stages)s))"
ROWS: LiteralString = """
    select exists (
        select from jobs join repos using (remote) join revisions on revisions.repo_id = repos.repo_id
        join spans using (revision) where jobs.id = %(job)s
    )
"""
SUBMITTED: LiteralString = "select exists (select from jobs where id = %(job)s)"
LEASED: LiteralString = "select exists (select from jobs where id = %(job)s and status <> 'pending')"
CHUNKING: LiteralString = (
    "select exists (select from jobs where id = %(job)s and stage not in ('queued', 'resolve', 'fetch'))"
)
SEALING: LiteralString = (
    "select exists (select from jobs where id = %(job)s and stage in ('seal', 'load', 'published'))"
)
LOADING: LiteralString = (
    "select exists (select from jobs where id = %(job)s and stage in ('load', 'published'))"
)
DONE: LiteralString = "select exists (select from jobs where id = %(job)s and status in ('done', 'failed'))"

POINTS = {
    "the supervisor, right after the submission": Point("supervisor", SUBMITTED),
    "the indexer, when the job is leased": Point("index", LEASED),
    "the indexer, while it cuts": Point("index", CHUNKING),
    "Postgres, while the indexer cuts": Point("postgres", CHUNKING),
    "the supervisor, while the artifact is sealed": Point("supervisor", SEALING),
    "the loaders, when the first rows are there": Point("load", ROWS),
    "the supervisor, when the first rows are there": Point("supervisor", ROWS),
    "Postgres, when the first rows are there": Point("postgres", ROWS),
    "the tracker, while batches are loaded": Point("track", LOADING),
    "the supervisor, when the job is done": Point("supervisor", DONE),
}


@pytest.mark.parametrize("point", POINTS.values(), ids=POINTS.keys())
def test_after_a_kill_the_job_finishes_with_nothing_doubled_or_half_seen(lab: Lab, point: Point) -> None:
    name = f"f{list(POINTS.values()).index(point)}x"
    repository = lab.repository(name)
    stack = lab.up()
    with lab.connect() as judge, lab.publication_held(held=point.reached != DONE):
        job = lab.submit(repository.url)
        wait(judge, point.reached, job)
        processes = stack.processes()
        victims = processes[point.victim]
        assert victims
        if point.reached != DONE:
            assert judge.execute(DONE, {"job": job}).fetchone() == (False,)
        for victim in victims:
            os.kill(victim, signal.SIGKILL)
        if point.victim == "supervisor":
            # Its functions die with it, and until then one of them could still publish.
            functions = [
                pid for of, pids in processes.items() if of not in ("supervisor", "postgres") for pid in pids
            ]
            until(lambda: not any(alive(pid) for pid in functions))
    stack.stop()
    with lab.connect() as judge:
        assert whole_or_unseen(judge, name)
        if point.victim == "supervisor" and point.reached != DONE:
            assert judge.execute(DONE, {"job": job}).fetchone() == (False,)

    lab.up()

    with lab.connect() as judge:
        wait(judge, DONE, job)
        assert judge.execute("select status, reason from jobs where id = %s", [job]).fetchall() == [
            ("done", None)
        ]
        assert published(judge, name) == expected(name)


@pytest.mark.parametrize(("victim", "reached"), [("index", LEASED), ("load", ROWS)])
def test_a_worker_that_is_killed_while_the_stack_stays_up_costs_its_job_no_attempt(
    lab: Lab, victim: str, reached: LiteralString
) -> None:
    """Neither the sweep's patience, which would count a failure, nor the visibility timeout, which is longer
    than this test waits, brings the job on its way again."""
    name = f"{victim}ed"
    repository = lab.repository(name, MANY_FILES)
    stack = lab.up()
    with lab.connect() as judge:
        before = lab.deaths(victim)
        job = lab.submit(repository.url)
        wait(judge, reached, job)
        for pid in stack.processes()[victim]:
            os.kill(pid, signal.SIGKILL)

        wait(judge, DONE, job)

        assert lab.deaths(victim) > before
        query = "select status, reason, attempt, failures from jobs where id = %s"
        assert judge.execute(query, [job]).fetchall() == [("done", None, 1, 0)]
        assert published(judge, name) == expected(name, MANY_FILES)


def wait(judge: psycopg.Connection[tuple[object, ...]], condition: LiteralString, job: str) -> None:
    until(lambda: judge.execute(condition, {"job": job}).fetchone() == (True,), seconds=60)


def expected(name: str, files: int = FILES) -> list[tuple[str, str]]:
    return sorted(
        (f"part_{number:03}.py", f"{name}_{number}_{function}")
        for number in range(files)
        for function in range(FUNCTIONS)
    )


SPANS: LiteralString = """
    select path, symbol from spans join repos on repos.current_revision = spans.revision
    where repos.remote like %(like)s and kind = 'func' order by path, symbol
"""
# What the revision that readers see promises, beside what is there.
COUNTS: LiteralString = """
    select revisions.spans, revisions.files, revisions.postings, revisions.names, revisions.state,
           (select count(*) from spans where spans.revision = revisions.revision),
           (select count(*) from files where files.revision = revisions.revision),
           (select count(*) from postings where postings.revision = revisions.revision),
           (select count(*) from names where names.revision = revisions.revision),
           (select count(*) from vectors_256 where vectors_256.revision = revisions.revision)
    from repos join revisions on revisions.revision = repos.current_revision where repos.remote like %(like)s
"""


def published(judge: psycopg.Connection[tuple[object, ...]], name: str) -> list[tuple[object, ...]]:
    assert whole_or_unseen(judge, name)
    return judge.execute(SPANS, {"like": f"%{name}.git"}).fetchall()


def whole_or_unseen(judge: psycopg.Connection[tuple[object, ...]], name: str) -> bool:
    for spans, files, postings, names, state, *found in judge.execute(COUNTS, {"like": f"%{name}.git"}):
        if (state, found) != ("published", [spans, files, postings, names, spans]):
            return False
    return True
