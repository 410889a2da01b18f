"""What many tests share: a fresh migrated database, as a URL, a raw connection, or the product's own."""

import signal
import sys
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.rows import TupleRow

from codetrail.adapters.postgres.connection import Database
from tests.support.database import DatabaseServer, open_database

# A shell starts its background jobs with Ctrl-C ignored, and nohup ignores the end of a terminal; whatever
# the tests start would ignore them too. A handler of ours is taken back to the default in each child.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


LOOPBACK = ("127.0.0.1", "::1", "localhost")


def _loopback_alone(event: str, arguments: tuple[object, ...]) -> None:
    address = arguments[1] if event == "socket.connect" else None
    if isinstance(address, tuple) and address[0] not in LOOPBACK:
        raise PermissionError(f"a test would meet another machine: {address[0]}")


sys.addaudithook(_loopback_alone)


@pytest.fixture(scope="session")
def database_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DatabaseServer]:
    server = DatabaseServer(tmp_path_factory.mktemp("postgres"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def database_url(database_server: DatabaseServer) -> Iterator[str]:
    """A fresh, migrated database of this test alone."""
    with database_server.fresh() as url:
        yield url


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """The product's own connection to the fresh database."""
    database = open_database(database_url)
    yield database
    database.close()


@pytest.fixture
def connection(database_url: str) -> Iterator[psycopg.Connection[TupleRow]]:
    """A connection beside the product's, to look at rows from outside."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection
