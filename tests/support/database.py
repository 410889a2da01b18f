"""Postgres for tests: one server a run, and a fresh migrated database for each test that asks."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from codetrail.adapters.postgres.connection import Database
from codetrail.adapters.postgres.migrate import migrate
from codetrail_local.postgres import EmbeddedPostgres

TEMPLATE = "template_codetrail"
STATEMENT_TIMEOUT_MS = 60_000


class DatabaseServer:
    """A server that makes databases: empty ones, or copies of a migrated template."""

    def __init__(self, home: Path) -> None:
        self._postgres = EmbeddedPostgres(home, durable=False)
        self._numbers = count(1)
        self._migrated = False

    def start(self) -> None:
        self._postgres.start()

    def stop(self) -> None:
        self._postgres.stop()

    def url(self, name: str) -> str:
        return make_conninfo(self._postgres.url, dbname=name)

    @contextmanager
    def fresh(self, *, migrated: bool = True) -> Iterator[str]:
        """Lend the URL of a new database, dropped at the end of the block."""
        if migrated and not self._migrated:
            self._make_template()
        name = f"test_{next(self._numbers)}"
        self._create(name, TEMPLATE if migrated else "template0")
        try:
            yield self.url(name)
        finally:
            self._execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))

    def _make_template(self) -> None:
        self._create(TEMPLATE, "template0")
        database = open_database(self.url(TEMPLATE))
        migrate(database)
        database.close()
        self._migrated = True

    def _create(self, name: str, template: str) -> None:
        # Copying files is several times faster than writing them through the log, which no test reads.
        statement = sql.SQL("create database {} template {} strategy file_copy")
        self._execute(statement.format(sql.Identifier(name), sql.Identifier(template)))

    def _execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(self._postgres.url, autocommit=True) as connection:
            connection.execute(statement)


def open_database(url: str, *, statement_timeout_ms: int = STATEMENT_TIMEOUT_MS) -> Database:
    return Database(lambda: url, statement_timeout_ms=statement_timeout_ms)


@contextmanager
def counted(database: Database) -> Iterator[list[str]]:
    """Collect the statements that run on *database* in the block (BEGIN and COMMIT are not among them)."""
    statements: list[str] = []

    class CountingCursor(psycopg.Cursor[Any]):
        def execute(self, query, *arguments, **options):
            statements.append(str(query))
            return super().execute(query, *arguments, **options)

        def executemany(self, query, *arguments, **options):
            statements.append(str(query))
            return super().executemany(query, *arguments, **options)

        def copy(self, statement, *arguments, **options):
            statements.append(str(statement))
            return super().copy(statement, *arguments, **options)

    with database.session() as connection:
        before, connection.cursor_factory = connection.cursor_factory, CountingCursor
    try:
        yield statements
    finally:
        connection.cursor_factory = before
