"""One connection an execution environment: opened when needed, looked at before use, dropped when broken."""

import logging
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import boto3
import psycopg
from psycopg import errors
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow

from codetrail.errors import Unavailable

CONNECT_TIMEOUT_SECONDS = 3
LOCK_TIMEOUT_MS = 2_000
IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000
# How long sent bytes may stay unacknowledged: a peer that vanished is noticed within one request's time.
TCP_USER_TIMEOUT_MS = 10_000
KEEPALIVE_IDLE_SECONDS = 30
KEEPALIVE_INTERVAL_SECONDS = 5
KEEPALIVE_COUNT = 3
# A frozen environment may wake after its peer has gone without a word; longer idle than this asks first.
ASK_AFTER_IDLE_SECONDS = 30.0
DATABASE_PORT = 5432
# Amazon's root certificates for RDS, which no system store holds; the vendor layer carries them.
RDS_BUNDLE = Path("/opt/python/rds/global-bundle.pem")

log = logging.getLogger(__name__)

Connection = psycopg.Connection[TupleRow]


def signed_conninfo(host: str, name: str, user: str, region: str) -> Callable[[], str]:
    """Return how to connect with RDS IAM authentication: the password is a token signed at each connect."""
    client = boto3.client("rds", region_name=region)

    def conninfo() -> str:
        token = client.generate_db_auth_token(
            DBHostname=host, Port=DATABASE_PORT, DBUsername=user, Region=region
        )
        return make_conninfo(
            host=host, port=DATABASE_PORT, dbname=name, user=user, password=token,
            sslmode="verify-full", sslrootcert=str(RDS_BUNDLE),
        )  # fmt: skip

    return conninfo


class Database:
    """The connection, lent for a block. Not for several threads: an environment serves one event at a time.

    Inside a block, trouble of the database itself becomes Unavailable, and the connection is not used again.
    """

    def __init__(self, conninfo: Callable[[], str], *, statement_timeout_ms: int) -> None:
        self._conninfo = conninfo
        self._statement_timeout_ms = statement_timeout_ms
        self._connection: Connection | None = None
        self._used_at = 0.0

    @contextmanager
    def session(self) -> Iterator[Connection]:
        """Lend the connection; each statement is a transaction of its own. Raises Unavailable."""
        try:
            connection = self._usable()
            yield connection
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            self.close()
            raise Unavailable("the database is not answering; try again in a moment") from error
        except (errors.ReadOnlySqlTransaction, errors.IdleInTransactionSessionTimeout) as error:
            # Read-only after a failover: here is a replica now, and another connection finds the primary.
            self.close()
            raise Unavailable("the database is changing places; try again in a moment") from error
        self._used_at = time.monotonic()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Lend the connection inside one transaction. Raises Unavailable."""
        with self.session() as connection, connection.transaction():
            yield connection

    def check(self) -> None:
        """Raises Unavailable when the database does not answer, or was never migrated."""
        with self.session() as connection:
            try:
                connection.execute("select from schema_migrations limit 1")
            except errors.UndefinedTable as error:
                raise Unavailable("the database is not migrated yet") from error

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _usable(self) -> Connection:
        if self._connection is not None and not self._alive(self._connection):
            log.warning("dropped a broken database connection")
            self.close()
        if self._connection is None:
            self._connection = self._open()
        return self._connection

    def _alive(self, connection: Connection) -> bool:
        if connection.closed or connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            return False
        # A server that goes away says so on the idle socket; looking there costs no round trip.
        told = select.select([connection.fileno()], [], [], 0)[0]
        if told or time.monotonic() - self._used_at > ASK_AFTER_IDLE_SECONDS:
            try:
                connection.execute("select")
            except (psycopg.OperationalError, psycopg.InterfaceError):
                return False
        return True

    def _open(self) -> Connection:
        options = {
            "statement_timeout": self._statement_timeout_ms,
            "lock_timeout": LOCK_TIMEOUT_MS,
            "idle_in_transaction_session_timeout": IDLE_IN_TRANSACTION_TIMEOUT_MS,
        }
        return psycopg.connect(
            self._conninfo(),
            autocommit=True,
            prepare_threshold=None,  # a prepared statement would pin the session behind a pooler
            connect_timeout=CONNECT_TIMEOUT_SECONDS,
            tcp_user_timeout=TCP_USER_TIMEOUT_MS,
            keepalives=1,
            keepalives_idle=KEEPALIVE_IDLE_SECONDS,
            keepalives_interval=KEEPALIVE_INTERVAL_SECONDS,
            keepalives_count=KEEPALIVE_COUNT,
            application_name="codetrail",
            client_encoding="UTF8",
            options=" ".join(f"-c {name}={value}" for name, value in options.items()),
        )
