"""The REST functions over a real database and one small repository; the queue keeps what it is sent."""

from collections.abc import Callable, Iterator
from types import ModuleType

import psycopg
import pytest
from psycopg.rows import TupleRow

from codetrail import config, wiring
from codetrail.adapters.postgres.connection import Database
from codetrail.adapters.postgres.jobs import PostgresJobStore
from codetrail.adapters.postgres.repos import PostgresRepoStore
from codetrail.adapters.postgres.search import PostgresSearchStore
from codetrail.adapters.stemmer import SnowballStemmer
from codetrail.domain.span import Kind
from codetrail.services.health import Readiness
from functions.ask import app as ask
from functions.health import app as health
from functions.repos import app as repos
from functions.search import app as search
from tests.support.database import DatabaseServer
from tests.support.events import Answer, Context, Event, read
from tests.support.fakes_jobs import FakeIndexQueue
from tests.support.fakes_search import MeasuredEmbedder
from tests.support.revisions import Contents, contents, span, write

EMBEDDER = MeasuredEmbedder()
FUNCTIONS: dict[str, ModuleType] = {"repos": repos, "search": search, "ask": ask, "health": health}

LONG = "the long table of names " * 1_000

SPANS = [
    span(0, "func NewV7() (UUID, error) {\n\treturn makeV7(uuid)\n}", symbol="NewV7"),
    span(1, "func Parse(s string) (UUID, error) {\n\treturn parse(s)\n}", symbol="Parse"),
    span(2, "Install with go get.", symbol="uuid > Install", kind=Kind.SECTION, path="docs/dïr ñ.md"),
    span(3, LONG, symbol="names", kind=Kind.VAR),
]

Call = Callable[[Event], Answer]


# All that a test may have written; what belongs to a revision goes with it.
EMPTY = "truncate jobs, repos restart identity cascade"


@pytest.fixture(scope="module")
def database_url(database_server: DatabaseServer) -> Iterator[str]:
    """One migrated database for the tests of a file, emptied before each: a new one for each costs more."""
    with database_server.fresh() as url:
        yield url


@pytest.fixture
def queue() -> FakeIndexQueue:
    return FakeIndexQueue()


@pytest.fixture(autouse=True)
def wired(database: Database, queue: FakeIndexQueue, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Real stores over an empty database; a fake embedder; settings at their defaults."""
    with database.session() as connection:
        connection.execute(EMPTY)
    stands_for = {
        "jobs": PostgresJobStore(database),
        "repos": PostgresRepoStore(database),
        "spans": PostgresSearchStore(database),
        "readiness": Readiness(database),
        "embedder": EMBEDDER,
        "stemmer": SnowballStemmer(),
        "index_queue": queue,
    }
    for port, thing in stands_for.items():
        monkeypatch.setattr(wiring, port, lambda thing=thing: thing)
    for name in ("ALLOWED_HOSTS", "LOCAL_REMOTES", "RETRIEVAL_MODE", "ANSWER_SCORE_FLOOR"):
        monkeypatch.delenv(name, raising=False)
    forget_settings()
    yield
    forget_settings()


def forget_settings() -> None:
    for group in (config.admission, config.retrieval):
        group.cache_clear()


@pytest.fixture
def setting(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Set a variable of the environment, as a deployment would before the start."""

    def change(name: str, value: str) -> None:
        monkeypatch.setenv(name, value)
        forget_settings()

    return change


@pytest.fixture
def published(connection: psycopg.Connection[TupleRow]) -> Contents:
    """One repository that is indexed."""
    held = contents(SPANS, EMBEDDER)
    write(connection, held)
    return held


@pytest.fixture
def call() -> Call:
    """Hand an event to the function whose route it is, as API Gateway does."""

    def handed(event: Event) -> Answer:
        resource = event["resource"]
        name = "health"
        if resource.startswith("/api/"):
            name = next((name for name in ("search", "ask") if resource.endswith(f"/{name}")), "repos")
        return read(FUNCTIONS[name].handler(event, Context()))

    return handed
