"""Applies migrations/: numbered files, forward only, each once, however many starters there are."""

import logging
import random
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import LiteralString

from psycopg import sql
from psycopg.rows import class_row, scalar_row

from codetrail.adapters.postgres.connection import Connection, Database
from codetrail.errors import Unavailable

DIRECTORY = Path(__file__).parent / "migrations"
# The first line of a file whose one statement cannot run in a transaction (an index built concurrently).
NO_TRANSACTION = "-- no transaction"

# Any number will do that nothing else in the database locks.
LOCK_KEY = 7_163_842_915
POLL_SECONDS = 0.1
# Longer than any migration may take; an invocation of admin ends before.
WAIT_SECONDS = 600
STATEMENT_TIMEOUT_MS = 600_000

log = logging.getLogger(__name__)


class MigrationError(Exception):
    """The ledger and the files do not fit together; the message says which one and why."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file. `checksum` is the SHA-256 of its text."""

    version: str
    checksum: str
    text: str

    @property
    def transactional(self) -> bool:
        """Whether the file runs in one transaction with its own record."""
        return self.text.partition("\n")[0].strip() != NO_TRANSACTION


@dataclass(frozen=True, slots=True)
class Applied:
    """A row of the ledger."""

    version: str
    checksum: str


def migrate(database: Database, *, directory: Path = DIRECTORY) -> list[str]:
    """Bring the schema up to the files of *directory*; return the names of those applied now.

    Raises MigrationError for a file that was edited after it was applied, and for a schema newer than the
    files; Unavailable when another starter held the lock for too long.
    """
    migrations = read(directory)
    with database.session() as connection:
        if not _pending(connection, migrations):
            return []
        with _lock(connection), _long_statements(connection):
            connection.execute(CREATE_LEDGER)
            pending = _pending(connection, migrations)
            for migration in pending:
                _apply(connection, migration)
    log.info("migrated", extra={"versions": [migration.version for migration in pending]})
    return [migration.version for migration in pending]


def read(directory: Path = DIRECTORY) -> list[Migration]:
    """Return the migrations in order. Raises MigrationError for a file without a number of its own."""
    migrations: list[Migration] = []
    for path in sorted(directory.glob("*.sql")):
        if not re.fullmatch(r"\d{4}_[a-z0-9_]+", path.stem):
            raise MigrationError(f"{path.name}: a migration is named like 0007_add_symbol_kind.sql")
        if migrations and migrations[-1].version[:4] == path.stem[:4]:
            raise MigrationError(f"{path.name}: its number is used by {migrations[-1].version} already")
        text = path.read_text(encoding="utf-8")
        migrations.append(Migration(path.stem, sha256(text.encode()).hexdigest(), text))
    return migrations


HAS_LEDGER: LiteralString = "select to_regclass('schema_migrations') is not null"
CREATE_LEDGER: LiteralString = """
create table if not exists schema_migrations (
    version    text primary key,
    checksum   text not null,
    applied_at timestamptz not null default now()
)
"""
LEDGER: LiteralString = "select version, checksum from schema_migrations order by version"


def _pending(connection: Connection, migrations: list[Migration]) -> list[Migration]:
    if not connection.cursor(row_factory=scalar_row).execute(HAS_LEDGER).fetchone():
        return migrations
    known = {migration.version: migration for migration in migrations}
    applied = connection.cursor(row_factory=class_row(Applied)).execute(LEDGER).fetchall()
    for row in applied:
        if row.version not in known:
            raise MigrationError(f"the database is newer than this codetrail: it has {row.version}")
        if row.checksum != known[row.version].checksum:
            raise MigrationError(
                f"{row.version} was edited after it was applied here: put it back, write a new one"
            )
    done = {row.version for row in applied}
    pending = [migration for migration in migrations if migration.version not in done]
    if done and pending and pending[0].version < max(done):
        raise MigrationError(
            f"{pending[0].version} comes before {max(done)}, which is applied: give it the next number"
        )
    return pending


RECORD: LiteralString = "insert into schema_migrations (version, checksum) values (%(version)s, %(checksum)s)"


def _apply(connection: Connection, migration: Migration) -> None:
    record = {"version": migration.version, "checksum": migration.checksum}
    if migration.transactional:
        with connection.transaction():
            connection.execute(migration.text.encode())
            connection.execute(RECORD, record)
        return
    _drop_invalid_indexes(connection)
    connection.execute(migration.text.encode())
    connection.execute(RECORD, record)


INVALID_INDEXES: LiteralString = """
select class.relname from pg_index join pg_class class on class.oid = pg_index.indexrelid
where not pg_index.indisvalid and class.relnamespace = current_schema()::regnamespace
"""
DROP_INDEX: LiteralString = "drop index concurrently if exists {}"


def _drop_invalid_indexes(connection: Connection) -> None:
    # A build that died leaves an index that serves nothing and that `if not exists` takes for a finished one.
    for name in connection.cursor(row_factory=scalar_row).execute(INVALID_INDEXES).fetchall():
        connection.execute(sql.SQL(DROP_INDEX).format(sql.Identifier(name)))


TRY_LOCK: LiteralString = "select pg_try_advisory_lock(%(key)s)"
UNLOCK: LiteralString = "select pg_advisory_unlock(%(key)s)"


@contextmanager
def _lock(connection: Connection) -> Iterator[None]:
    # Polled, and outside a transaction: a waiter inside one holds a snapshot that a concurrent index build
    # waits for, and the two are a deadlock.
    deadline = time.monotonic() + WAIT_SECONDS
    while not connection.cursor(row_factory=scalar_row).execute(TRY_LOCK, {"key": LOCK_KEY}).fetchone():
        if time.monotonic() > deadline:
            raise Unavailable("another migration of this database is still running; try again later")
        time.sleep(POLL_SECONDS * random.uniform(0.5, 1.5))  # noqa: S311 - jitter, not a secret
    try:
        yield
    finally:
        if not connection.closed:
            connection.execute(UNLOCK, {"key": LOCK_KEY})


ALLOW_LONG: LiteralString = "select set_config('statement_timeout', %(value)s, false)"
TIMEOUT: LiteralString = "select current_setting('statement_timeout')"


@contextmanager
def _long_statements(connection: Connection) -> Iterator[None]:
    before = connection.cursor(row_factory=scalar_row).execute(TIMEOUT).fetchone()
    connection.execute(ALLOW_LONG, {"value": str(STATEMENT_TIMEOUT_MS)})
    try:
        yield
    finally:
        if not connection.closed:
            connection.execute(ALLOW_LONG, {"value": before})
