"""Which real thing stands behind each port, made once an execution environment at first use.

Git and tree-sitter are not here: only the index function may reach them, and it builds them itself.
"""

from functools import cache

from codetrail import config
from codetrail.adapters.bucket import S3Artifacts, s3
from codetrail.adapters.embedder import embedder_from
from codetrail.adapters.postgres.connection import Database, signed_conninfo
from codetrail.adapters.postgres.jobs import PostgresJobStore
from codetrail.adapters.postgres.load import PostgresLoadStore
from codetrail.adapters.postgres.repos import PostgresRepoStore
from codetrail.adapters.postgres.search import PostgresSearchStore
from codetrail.adapters.queue import SqsIndexQueue, sqs
from codetrail.adapters.stemmer import SnowballStemmer
from codetrail.services.health import Readiness
from codetrail.services.ports import (
    Artifacts,
    Embedder,
    IndexQueue,
    JobStore,
    LoadStore,
    RepoStore,
    SearchStore,
    Stemmer,
)


@cache
def database() -> Database:
    """The one connection that all stores of this environment share."""
    settings = config.database()
    if settings.url:
        return Database(lambda: settings.url, statement_timeout_ms=settings.statement_timeout_ms)
    signed = signed_conninfo(settings.host, settings.name, settings.user, settings.region)
    return Database(signed, statement_timeout_ms=settings.statement_timeout_ms)


@cache
def readiness() -> Readiness:
    """Whether the database answers, as it was last asked."""
    return Readiness(database())


@cache
def jobs() -> JobStore:
    """Job rows."""
    return PostgresJobStore(database())


@cache
def repos() -> RepoStore:
    """Published revisions."""
    return PostgresRepoStore(database())


@cache
def spans() -> SearchStore:
    """What search reads."""
    return PostgresSearchStore(database())


@cache
def loads() -> LoadStore:
    """What load writes."""
    return PostgresLoadStore(database())


@cache
def embedder() -> Embedder:
    """The embedder of this process. Its weights are opened by the first text, so naming its model is free."""
    settings = config.embedding()
    return embedder_from(
        provider=settings.provider, model=settings.model, dimension=settings.dimension, url=settings.url
    )


@cache
def stemmer() -> Stemmer:
    """Word stems."""
    return SnowballStemmer()


@cache
def artifacts() -> Artifacts:
    """The artifact bucket."""
    return S3Artifacts(s3(), config.bucket())


@cache
def index_queue() -> IndexQueue:
    """Where index jobs wait."""
    return SqsIndexQueue(sqs(), config.queues().index)
