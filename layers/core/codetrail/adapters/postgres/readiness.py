"""Is Postgres there, does it let us in, and has it been migrated."""

from collections.abc import Callable

import psycopg

from codetrail.errors import Unavailable

TIMEOUT_SECONDS = 2

# Needs the schema, and reads one row at most.
PROBE = "select from repos limit 1"


class PostgresProbe:
    """Opens a connection of its own each time: an open one says nothing of whether the next would open."""

    def __init__(self, conninfo: Callable[[], str]) -> None:
        self._conninfo = conninfo

    def check(self) -> None:
        """Raises Unavailable when there is no right answer within the time."""
        try:
            with psycopg.connect(
                self._conninfo(),
                autocommit=True,
                connect_timeout=TIMEOUT_SECONDS,
                options=f"-c statement_timeout={TIMEOUT_SECONDS}s",
                application_name="codetrail readiness",
            ) as connection:
                connection.execute(PROBE)
        except psycopg.Error as error:
            raise Unavailable("The database is not ready.") from error
