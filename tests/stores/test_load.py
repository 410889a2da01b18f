"""Loading into a real Postgres, through the service: whatever order, however often, whoever dies."""

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import psycopg
import pytest

from codetrail.adapters.bucket import S3Artifacts
from codetrail.adapters.embedder.fake import FakeEmbedder
from codetrail.adapters.postgres.connection import Database
from codetrail.adapters.postgres.jobs import PostgresJobStore
from codetrail.adapters.postgres.load import PostgresLoadStore
from codetrail.adapters.postgres.repos import PostgresRepoStore
from codetrail.adapters.postgres.search import PostgresSearchStore
from codetrail.domain.job import FailureReason, Job, JobError, JobStatus, LoadBatch, Stage
from codetrail.domain.manifest import BatchKind
from codetrail.domain.span import Span, embedded_text
from codetrail.errors import NotFound, Unavailable
from codetrail.services.load import cache_key, load
from codetrail.services.ports import Embedder, Vectors
from tests.support.bucket import Sealed, seal
from tests.support.database import counted, open_database
from tests.support.fakes_index import MemoryS3
from tests.support.revisions import contents, span

UUID = "https://github.com/google/uuid"
OLD, NEW = "1" * 40, "2" * 40
SPANS = [
    span(
        number,
        f"func Name{number}() {{\n\treturn {number}\n}}",
        symbol=f"Name{number}",
        path=f"{number // 3}.go",
    )
    for number in range(7)
]


class CountingEmbedder:
    """The fake embedder, and all texts that it was ever asked for."""

    def __init__(self, dimension: int = 256) -> None:
        self._fake = FakeEmbedder(dimension)
        self.model = self._fake.model
        self.dimension = dimension
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        return self._fake.embed(texts)


@dataclass
class Loader:
    """One execution environment of the load function."""

    database: Database
    artifacts: S3Artifacts
    embedder: Embedder

    def __post_init__(self) -> None:
        self.jobs = PostgresJobStore(self.database)
        self.repos = PostgresRepoStore(self.database)

    def load(self, batch: LoadBatch, *, pauses: Sequence[float] = ()) -> bool:
        return load(
            batch, jobs=self.jobs, loads=PostgresLoadStore(self.database), artifacts=self.artifacts,
            embedder=self.embedder, pauses=pauses,
        )  # fmt: skip


@pytest.fixture
def s3() -> MemoryS3:
    return MemoryS3()


@pytest.fixture
def artifacts(s3: MemoryS3) -> S3Artifacts:
    return S3Artifacts(s3, "artifacts")


@pytest.fixture
def loader(database: Database, artifacts: S3Artifacts) -> Loader:
    return Loader(database, artifacts, CountingEmbedder())


@pytest.fixture
def another(database_url: str, artifacts: S3Artifacts) -> Iterator[Callable[[], Loader]]:
    """Makes loaders beside the first, each with a connection of its own."""
    opened: list[Database] = []

    def make() -> Loader:
        opened.append(open_database(database_url))
        return Loader(opened[-1], artifacts, CountingEmbedder())

    yield make
    for database in opened:
        database.close()


def sealed_at(loader: Loader, commit: str, spans: Sequence[Span] = SPANS, **more) -> Sealed:
    held = contents(spans, FakeEmbedder(256))
    return seal(loader.artifacts, held, **({"remote": UUID, "commit": commit} | more))


def tables(connection: psycopg.Connection) -> dict[str, int]:
    """How many rows each table has, found from the catalog."""
    names = connection.execute(
        "select tablename from pg_tables where schemaname = 'public' order by 1"
    ).fetchall()
    counts = {}
    for (name,) in names:
        row = connection.execute(
            psycopg.sql.SQL("select count(*) from {}").format(psycopg.sql.Identifier(name))
        )
        counts[name] = row.fetchall()[0][0]
    return {name: rows for name, rows in counts.items() if rows and name != "schema_migrations"}


COMPLETE = {
    "cached_vectors_256": 7, "files": 4, "jobs": 1, "names": 7, "refs": 1, "repos": 1, "revisions": 1,
    "signs_256": 7, "spans": 7, "vectors_256": 7,
}  # fmt: skip


def is_complete(counts: dict[str, int]) -> bool:
    return {name: rows for name, rows in counts.items() if name != "postings"} == COMPLETE


def orders() -> list[Callable[[list[LoadBatch]], list[LoadBatch]]]:
    return [
        lambda batches: batches,
        lambda batches: batches[::-1],
        lambda batches: batches[-1:] + batches[:-1],
        lambda batches: random.Random(1).sample(batches, len(batches)),
        lambda batches: random.Random(2).sample(batches * 3, len(batches) * 3),
    ]


@pytest.mark.parametrize(
    "order", orders(), ids=["as sent", "backwards", "last first", "shuffled", "three times"]
)
def test_a_revision_is_published_by_whatever_batch_is_the_last_to_come(loader, connection, order):
    artifact = sealed_at(loader, OLD)
    job = loader.jobs.submit(UUID, "HEAD")
    batches = order(artifact.batches(job.id))
    seen: set[int] = set()

    for batch in batches:
        published = loader.load(batch)
        seen.add(batch.batch)
        assert published == (len(seen) == len(artifact.manifest.batches))
        if not published:
            with pytest.raises(NotFound):
                loader.repos.current(artifact.manifest.repo_id)

    assert is_complete(tables(connection))
    done = loader.jobs.get(job.id)
    assert (done.status, done.stage, done.repo_id) == (
        JobStatus.DONE,
        Stage.PUBLISHED,
        artifact.manifest.repo_id,
    )
    assert done.counts == {"spans": 7, "loaded": 7}
    assert len(loader.embedder.texts) == 7


def test_readers_get_back_what_was_indexed(loader, connection):
    artifact = sealed_at(loader, OLD)
    for batch in artifact.batches(loader.jobs.submit(UUID, "HEAD").id):
        loader.load(batch)

    revision = loader.repos.current(artifact.manifest.repo_id)
    search = PostgresSearchStore(loader.database)

    assert (revision.remote, revision.ref, revision.commit) == (UUID, "HEAD", OLD)
    assert (revision.model, revision.dimension) == ("fake/256", 256)
    assert revision.stats.spans == 7
    assert revision.stats.average_length == pytest.approx(artifact.manifest.stats.average_length)
    assert (revision.files, revision.files_with_spans) == (4, 3)
    assert revision.coverage == artifact.manifest.coverage
    assert search.spans(revision, range(7)) == dict(enumerate(SPANS))
    assert loader.repos.span(revision, SPANS[3].id) == SPANS[3]
    texts = [embedded_text(one.path, one.symbol, one.text) for one in SPANS]
    for ordinal, vector in enumerate(FakeEmbedder(256).embed(texts)):
        (nearest, cosine), *_ = search.nearest(revision, vector, 1)
        assert nearest == ordinal
        assert cosine == pytest.approx(1, abs=1e-3)
    signs = connection.execute(
        "select bool_and(signs = binary_quantize(embedding))"
        " from signs_256 join vectors_256 using (revision, ordinal)"
    ).fetchone()
    assert signs == (True,)
    files = connection.execute("select path, outcome, reason from files order by path").fetchall()
    assert ("logo.png", "skipped", "binary") in files


def test_progress_tells_how_many_spans_are_stored(loader):
    artifact = sealed_at(loader, OLD)
    job = loader.jobs.submit(UUID, "HEAD")

    loader.load(artifact.batches(job.id)[0])

    now = loader.jobs.get(job.id)
    assert (now.status, now.stage, now.counts) == (JobStatus.LEASED, Stage.LOAD, {"spans": 7, "loaded": 2})


def test_loaders_side_by_side_load_one_revision_without_a_deadlock(loader, another, connection):
    """Four loaders take all batches in orders of their own: most are stored twice at the same time."""
    spans = [replace(SPANS[0], ordinal=n, id=f"{n:016x}", text=f"func f{n % 20}() {{}}") for n in range(60)]
    artifact = sealed_at(loader, OLD, spans, spans_per_batch=5)
    job = loader.jobs.submit(UUID, "HEAD")
    loaders = [another() for _ in range(4)]
    failures: list[BaseException] = []

    def run(one: Loader, seed: int) -> None:
        batches = artifact.batches(job.id)
        try:
            for batch in random.Random(seed).sample(batches, len(batches)):
                one.load(batch)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(one, seed)) for seed, one in enumerate(loaders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert loader.jobs.get(job.id).status is JobStatus.DONE
    counts = tables(connection)
    assert (counts["spans"], counts["vectors_256"], counts["signs_256"]) == (60, 60, 60)
    assert counts["cached_vectors_256"] == 20


def test_two_loaders_with_the_last_two_batches_publish_between_them(loader, another):
    """Neither sees the other's rows while it stores its own; whoever takes the lock second sees them all."""
    first, second = another(), another()
    for round_ in range(10):
        commit = f"{round_:040x}"
        artifact = sealed_at(loader, commit)
        job = loader.jobs.submit(UUID, "HEAD")
        batches = artifact.batches(job.id)
        for batch in batches[:-2]:
            loader.load(batch)
        barrier = threading.Barrier(2)

        def run(one: Loader, batch: LoadBatch, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            one.load(batch)

        threads = [
            threading.Thread(target=run, args=pair)
            for pair in zip((first, second), batches[-2:], strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert loader.jobs.get(job.id).repo_id == artifact.manifest.repo_id


def test_readers_see_all_of_a_revision_or_none_while_it_is_replaced(loader, another, database_url):
    repo = sealed_at(loader, OLD).manifest.repo_id
    stop = threading.Event()
    torn: list[object] = []
    seen: set[str] = set()

    def read() -> None:
        database = open_database(database_url)
        repos, search = PostgresRepoStore(database), PostgresSearchStore(database)
        while not stop.is_set():
            try:
                revision = repos.current(repo)
            except NotFound:
                continue
            seen.add(revision.fingerprint)
            spans = search.spans(revision, range(100))
            vectors = search.nearest(revision, np.ones(256, dtype=np.float32), 100)
            if not len(spans) == len(vectors) == revision.stats.spans:
                torn.append((revision.fingerprint, len(spans), len(vectors)))
        database.close()

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for version in range(8):
        artifact = sealed_at(loader, OLD, SPANS[: 3 + version % 4], fingerprint=f"{version:016x}")
        for batch in artifact.batches(loader.jobs.submit(UUID, "HEAD").id):
            loader.load(batch)
    stop.set()
    for reader in readers:
        reader.join()

    assert torn == []
    assert len(seen) > 1


def test_a_batch_that_is_not_what_the_manifest_promises_ends_the_job_and_the_artifact(loader, s3, connection):
    artifact = sealed_at(loader, OLD)
    job = loader.jobs.submit(UUID, "HEAD")
    batches = artifact.batches(job.id)
    key = artifact.manifest.batches[2].key
    right, s3.objects[key] = s3.objects[key], s3.objects[artifact.manifest.batches[1].key]

    for batch in batches:
        assert not loader.load(batch)

    failed = loader.jobs.get(job.id)
    assert (failed.status, failed.error) == (JobStatus.FAILED, JobError(FailureReason.INTERNAL))
    assert artifact.key not in s3.objects
    counts = tables(connection)
    assert {
        "spans",
        "vectors_256",
        "signs_256",
        "postings",
        "names",
        "files",
        "revisions",
    } & counts.keys() == set()
    assert loader.artifacts.sealed(artifact.manifest.repo_id, artifact.manifest.fingerprint) is None

    s3.objects[key] = right
    again = sealed_at(loader, OLD)
    retry = loader.jobs.submit(UUID, "HEAD")
    for batch in again.batches(retry.id):
        loader.load(batch)
    assert loader.jobs.get(retry.id).status is JobStatus.DONE


def test_a_message_with_another_digest_than_the_manifests_leaves_the_artifact_alone(loader, s3):
    artifact = sealed_at(loader, OLD)
    job = loader.jobs.submit(UUID, "HEAD")
    batch = replace(artifact.batches(job.id)[0], manifest_sha256="0" * 64)

    assert not loader.load(batch)

    assert artifact.key in s3.objects
    assert loader.jobs.get(job.id).status is JobStatus.FAILED


def test_an_artifact_of_another_repository_is_not_loaded_for_a_job(loader, s3, connection):
    artifact = sealed_at(loader, OLD, remote="https://github.com/evil/twin")
    job = loader.jobs.submit(UUID, "HEAD")

    for batch in artifact.batches(job.id):
        assert not loader.load(batch)

    assert loader.jobs.get(job.id).error == JobError(FailureReason.INTERNAL)
    assert tables(connection) == {"jobs": 1}
    assert artifact.key in s3.objects


def test_a_batch_of_a_job_that_nobody_knows_is_dropped(loader, connection):
    artifact = sealed_at(loader, OLD)

    for batch in artifact.batches("0000000000000000"):
        assert not loader.load(batch)

    assert tables(connection) == {}


def test_batches_that_come_again_after_the_job_is_done_change_nothing(loader, connection):
    artifact = sealed_at(loader, OLD)
    job = loader.jobs.submit(UUID, "HEAD")
    batches = artifact.batches(job.id)
    for batch in batches:
        loader.load(batch)
    before = connection.execute("select xmin, * from repos").fetchall()
    done = loader.jobs.get(job.id)

    for batch in batches:
        assert loader.load(batch)

    assert connection.execute("select current_revision, indexed_at from repos").fetchall() == (
        connection.execute("select current_revision, published_at from revisions, repos").fetchall()
    )
    assert [row[1:] for row in before] == connection.execute("select * from repos").fetchall()
    assert loader.jobs.get(job.id) == done
    assert is_complete(tables(connection))
    assert len(loader.embedder.texts) == 7


def test_a_revision_that_is_published_already_still_ends_the_job_that_asks_for_it(loader, connection):
    artifact = sealed_at(loader, OLD)
    for batch in artifact.batches(loader.jobs.submit(UUID, "HEAD").id):
        loader.load(batch)
    before = connection.execute("select indexed_at from repos").fetchall()

    second = loader.jobs.submit(UUID, "v1.0")
    loader.load(artifact.batches(second.id)[0])

    done = loader.jobs.get(second.id)
    assert (done.status, done.repo_id) == (JobStatus.DONE, artifact.manifest.repo_id)
    assert connection.execute("select indexed_at from repos").fetchall() == before
    assert [one.repo_id for one in loader.repos.list(remote=UUID, ref="v1.0", after=None, limit=9)] == [
        done.repo_id
    ]


def test_a_stale_attempts_rows_are_right_and_publish(loader):
    artifact = sealed_at(loader, OLD)
    job = loader.jobs.submit(UUID, "HEAD")
    batches = artifact.batches(job.id)
    loader.load(batches[0])
    loader.jobs.fail_attempt(job.id, 1, FailureReason.CRASHED, transient=True)

    loader.load(batches[1])
    waiting = loader.jobs.get(job.id)
    for batch in batches[2:]:
        loader.load(batch)

    assert (waiting.status, waiting.attempt, waiting.counts) == (JobStatus.PENDING, 2, {})
    done = loader.jobs.get(job.id)
    assert (done.status, done.repo_id) == (JobStatus.DONE, artifact.manifest.repo_id)
    assert loader.jobs.due(10) == []


def named(loader: Loader, ref: str = "HEAD") -> list[str]:
    return [one.commit for one in loader.repos.list(remote=UUID, ref=ref, after=None, limit=9)]


def test_a_later_attempt_that_resolved_the_ref_anew_is_not_undone_by_the_earlier(loader):
    old, new = sealed_at(loader, OLD), sealed_at(loader, NEW)
    job = loader.jobs.submit(UUID, "HEAD")
    loader.jobs.fail_attempt(job.id, 1, FailureReason.CRASHED, transient=True)
    for batch in new.batches(job.id, attempt=2):
        loader.load(batch)

    for batch in old.batches(job.id, attempt=1):
        loader.load(batch)

    assert named(loader) == [NEW]
    assert loader.jobs.get(job.id).repo_id == new.manifest.repo_id


def test_an_attempt_number_that_was_made_up_does_not_keep_the_real_ones_out(loader):
    old, new = sealed_at(loader, OLD), sealed_at(loader, NEW)
    job = loader.jobs.submit(UUID, "HEAD")
    loader.jobs.fail_attempt(job.id, 1, FailureReason.CRASHED, transient=True)
    for batch in old.batches(job.id, attempt=1_000_000):
        loader.load(batch)

    for batch in new.batches(job.id, attempt=2):
        loader.load(batch)

    assert named(loader) == [NEW]


def test_an_older_job_that_comes_in_late_never_overwrites_a_newer_ref(loader):
    old, new = sealed_at(loader, OLD), sealed_at(loader, NEW)
    first = loader.jobs.submit(UUID, "HEAD")
    for attempt in (1, 2, 3):
        loader.jobs.fail_attempt(first.id, attempt, FailureReason.CRASHED, transient=True)
    second = loader.jobs.submit(UUID, "HEAD")
    for batch in new.batches(second.id):
        loader.load(batch)

    for batch in old.batches(first.id, attempt=3):
        loader.load(batch)

    assert named(loader) == [NEW]
    assert loader.jobs.get(first.id).status is JobStatus.FAILED
    assert loader.repos.current(old.manifest.repo_id).newer_commit == NEW
    assert loader.repos.current(new.manifest.repo_id).newer_commit is None


def test_another_indexers_revision_takes_over_and_the_older_does_not_come_back(loader, connection):
    old = sealed_at(loader, OLD, fingerprint="a" * 16)
    new = sealed_at(loader, OLD, SPANS[:3], fingerprint="b" * 16)
    first = loader.jobs.submit(UUID, "HEAD")
    for batch in old.batches(first.id):
        loader.load(batch)
    for batch in new.batches(loader.jobs.submit(UUID, "HEAD").id):
        loader.load(batch)

    assert loader.repos.current(old.manifest.repo_id).fingerprint == "b" * 16
    for batch in old.batches(first.id):
        loader.load(batch)
    assert loader.repos.current(old.manifest.repo_id).fingerprint == "b" * 16
    states = connection.execute("select fingerprint, state from revisions order by 1").fetchall()
    assert states == [("a" * 16, "retired"), ("b" * 16, "published")]

    for batch in old.batches(loader.jobs.submit(UUID, "HEAD").id):
        loader.load(batch)
    assert loader.repos.current(old.manifest.repo_id).fingerprint == "a" * 16


def test_a_late_message_does_not_replace_what_a_later_job_found_published(loader):
    """The later job had nothing to write, and its word counts all the same."""
    one = sealed_at(loader, OLD, fingerprint="a" * 16)
    two = sealed_at(loader, OLD, fingerprint="b" * 16)
    for batch in one.batches(loader.jobs.submit(UUID, "HEAD").id):
        loader.load(batch)
    second = loader.jobs.submit(UUID, "v1")
    loader.jobs.fail_attempt(second.id, 1, FailureReason.CRASHED, transient=False)
    for batch in one.batches(loader.jobs.submit(UUID, "HEAD").id):
        loader.load(batch)

    for batch in two.batches(second.id):
        loader.load(batch)

    assert loader.repos.current(one.manifest.repo_id).fingerprint == "a" * 16


def test_two_runs_that_cut_one_commit_otherwise_never_mix(loader, s3, connection):
    """The bucket was lost after half of the first artifact was loaded, and a parser had less time: the second
    artifact has as many rows, and other ones under the same numbers."""
    first = sealed_at(loader, OLD)
    job = loader.jobs.submit(UUID, "HEAD")
    for batch in first.batches(job.id)[:3]:
        loader.load(batch)
    s3.objects.clear()
    moved = [replace(one, ordinal=6 - one.ordinal, id=f"{one.ordinal + 100:016x}") for one in reversed(SPANS)]
    second = sealed_at(loader, OLD, moved)
    loader.jobs.fail_attempt(job.id, 1, FailureReason.CRASHED, transient=True)

    for batch in second.batches(job.id, attempt=2):
        loader.load(batch)

    revision = loader.repos.current(second.manifest.repo_id)
    assert PostgresSearchStore(loader.database).spans(revision, range(7)) == dict(enumerate(moved))
    assert connection.execute("select state, count(*) from revisions group by 1 order by 1").fetchall() == [
        ("loading", 1), ("published", 1),
    ]  # fmt: skip


def test_the_same_contents_written_by_another_run_are_the_same_revision(loader, s3, connection):
    first = sealed_at(loader, OLD)
    job = loader.jobs.submit(UUID, "HEAD")
    for batch in first.batches(job.id)[:3]:
        loader.load(batch)
    s3.objects.clear()
    second = sealed_at(loader, OLD, run="another-run")
    assert second.sha256 != first.sha256

    for batch in second.batches(job.id):
        loader.load(batch)

    assert is_complete(tables(connection))
    assert len(loader.embedder.texts) == 7


def test_a_published_revision_takes_no_more_rows(loader, s3, connection):
    """A batch that is gone from the bucket, or worse, is not looked at again once its rows are read."""
    artifact = sealed_at(loader, OLD)
    batches = artifact.batches(loader.jobs.submit(UUID, "HEAD").id)
    for batch in batches:
        loader.load(batch)
    s3.objects = {artifact.key: s3.objects[artifact.key]}

    second = loader.jobs.submit(UUID, "v1")
    assert loader.load(artifact.batches(second.id)[0])

    assert loader.jobs.get(second.id).status is JobStatus.DONE


def test_another_model_has_a_revision_of_its_own_in_a_table_of_its_own(loader, connection):
    artifact = sealed_at(loader, OLD)
    for batch in artifact.batches(loader.jobs.submit(UUID, "HEAD").id):
        loader.load(batch)
    loader.embedder = CountingEmbedder(384)

    for batch in artifact.batches(loader.jobs.submit(UUID, "HEAD").id):
        loader.load(batch)

    revision = loader.repos.current(artifact.manifest.repo_id)
    assert (revision.model, revision.dimension) == ("fake/384", 384)
    counts = tables(connection)
    assert (counts["vectors_256"], counts["vectors_384"], counts["cached_vectors_384"]) == (7, 7, 7)


def test_only_texts_without_a_vector_are_embedded(loader):
    first = sealed_at(loader, OLD, SPANS[:4])
    second = sealed_at(loader, NEW, SPANS)
    for batch in first.batches(loader.jobs.submit(UUID, "HEAD").id):
        loader.load(batch)
    loader.embedder = CountingEmbedder()

    for batch in second.batches(loader.jobs.submit(UUID, "HEAD").id):
        loader.load(batch)

    assert loader.embedder.texts == [embedded_text(one.path, one.symbol, one.text) for one in SPANS[4:]]


def test_equal_spans_of_one_batch_are_embedded_once(loader, connection):
    same = [replace(SPANS[0], ordinal=number, id=f"{number:016x}") for number in range(4)]
    artifact = sealed_at(loader, OLD, same, spans_per_batch=4)

    for batch in artifact.batches(loader.jobs.submit(UUID, "HEAD").id):
        loader.load(batch)

    assert len(loader.embedder.texts) == 1
    assert tables(connection)["vectors_256"] == 4


def test_texts_of_the_odder_kind_come_back_as_they_are(loader):
    odd = [
        "line\u2028separator\u2029and\x85next", "\x01\x02\x1f\x7f bell\a", "\ufeffbom", "𝒳 emoji 📧👩‍👩‍👧",
        "\u202eright to left\u202c", "back\\slash 'quote' \"double\" {brace,}",
        "null? NULL, \\N \\. \\x00", "\ufffd\ufffd",
        "cr\rlf\r\n\ttab", "e\u0301 combining", "%s %(name)s %%",
    ]  # fmt: skip
    spans = [
        replace(
            SPANS[0], ordinal=number, id=f"{number:016x}", text=text, symbol=text, path=f"{number}/{text}"
        )
        for number, text in enumerate(odd)
    ]
    artifact = sealed_at(loader, OLD, spans)

    for batch in artifact.batches(loader.jobs.submit(UUID, "HEAD").id):
        loader.load(batch)

    revision = loader.repos.current(artifact.manifest.repo_id)
    assert PostgresSearchStore(loader.database).spans(revision, range(len(odd))) == dict(enumerate(spans))


def test_a_path_may_be_as_long_as_git_lets_it_be(loader, connection):
    paths = [("d/" * 2_047) + letter for letter in "ab"]
    spans = [replace(SPANS[n], path=path) for n, path in enumerate(paths)]
    artifact = sealed_at(loader, OLD, spans)

    for batch in artifact.batches(loader.jobs.submit(UUID, "HEAD").id):
        loader.load(batch)

    assert loader.repos.current(artifact.manifest.repo_id).files == 3
    assert connection.execute("select max(length(path)) from files").fetchone() == (4_095,)


def test_a_repository_without_a_span_is_published_too(loader):
    artifact = sealed_at(loader, OLD, [])

    for batch in artifact.batches(loader.jobs.submit(UUID, "HEAD").id):
        loader.load(batch)

    revision = loader.repos.current(artifact.manifest.repo_id)
    assert (revision.stats.spans, revision.files) == (0, 1)


def nan(vectors: Vectors) -> Vectors:
    vectors[0, 0] = np.nan
    return vectors


@pytest.mark.parametrize(
    "lie",
    [
        nan,
        np.zeros_like,
        lambda vectors: vectors * 3,
        lambda vectors: vectors[:, :128],
        lambda vectors: vectors[1:],
        lambda vectors: np.concatenate([vectors, vectors]),
        lambda vectors: vectors * np.inf,
    ],
    ids=["NaN", "zeros", "not of unit length", "too narrow", "too few", "too many", "infinite"],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the lies are numbers that numpy warns of
def test_a_lying_embedder_stores_nothing_and_the_batch_comes_again(loader, connection, lie):
    class Liar(CountingEmbedder):
        def embed(self, texts: Sequence[str]) -> Vectors:
            vectors: Vectors = lie(super().embed(texts))
            return vectors

    artifact = sealed_at(loader, OLD)
    job = loader.jobs.submit(UUID, "HEAD")
    honest, loader.embedder = loader.embedder, Liar()

    with pytest.raises(Unavailable):
        loader.load(artifact.batches(job.id)[0])

    assert tables(connection).keys() == {"jobs", "repos", "revisions"}
    assert loader.jobs.get(job.id).status is JobStatus.PENDING
    loader.embedder = honest
    for batch in artifact.batches(job.id):
        loader.load(batch)
    assert is_complete(tables(connection))


def test_a_database_that_goes_away_in_mid_load_loses_and_doubles_nothing(loader, connection):
    """Each batch's first delivery has its connection cut while the embedder works; the next gets through."""

    class Cutting(CountingEmbedder):
        def embed(self, texts: Sequence[str]) -> Vectors:
            if texts[0] not in self.texts:
                connection.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity"
                    " where application_name = 'codetrail' and datname = current_database()"
                )
            return super().embed(texts)

    artifact = sealed_at(loader, OLD)
    job = loader.jobs.submit(UUID, "HEAD")
    loader.embedder = Cutting()

    for batch in artifact.batches(job.id):
        for _ in range(3):
            try:
                loader.load(batch)
            except Unavailable:
                continue
            break

    assert is_complete(tables(connection))
    assert loader.jobs.get(job.id).status is JobStatus.DONE


def test_a_short_absence_of_the_embedder_is_waited_out(loader):
    class Waking(CountingEmbedder):
        def embed(self, texts: Sequence[str]) -> Vectors:
            vectors = super().embed(texts)
            if len(self.texts) < 3 * len(texts):
                raise Unavailable("the embedder is not answering")
            return vectors

    artifact = sealed_at(loader, OLD)
    batch = artifact.batches(loader.jobs.submit(UUID, "HEAD").id)[0]

    loader.embedder = Waking()
    with pytest.raises(Unavailable):
        loader.load(batch, pauses=(0,))
    loader.embedder = Waking()
    assert not loader.load(batch, pauses=(0, 0))

    assert loader.jobs.get(batch.job_id).counts == {"spans": 7, "loaded": 2}


@pytest.mark.parametrize("table", ["spans", "vectors_256", "signs_256", "jobs", "repos", "refs", "revisions"])
def test_a_transaction_that_is_cut_at_any_table_leaves_all_or_nothing(loader, connection, table):
    """A trigger ends the session at the first write to the table, as a crash there would."""
    artifact = sealed_at(loader, OLD)
    job = loader.jobs.submit(UUID, "HEAD")
    batches = artifact.batches(job.id)
    event = "insert or update" if table in ("jobs", "repos", "revisions", "refs") else "insert"
    connection.execute(f"""
        create sequence cuts;
        create function cut() returns trigger language plpgsql as $$ begin
            if nextval('cuts') = 1 then perform pg_terminate_backend(pg_backend_pid()); end if;
            return new;
        end $$;
        create trigger cut before {event} on {table} for each row execute function cut();
    """)

    deliveries = 0
    for batch in batches:
        for _ in range(4):
            deliveries += 1
            try:
                loader.load(batch)
            except Unavailable:
                continue
            break

    assert deliveries == len(batches) + 1
    assert is_complete(tables(connection))
    assert loader.jobs.get(job.id).status is JobStatus.DONE


def test_a_cached_vector_that_goes_away_at_the_wrong_moment_is_embedded_again(loader, connection):
    artifact = sealed_at(loader, OLD)
    job = loader.jobs.submit(UUID, "HEAD")
    first = artifact.batches(job.id)[0]
    loads = PostgresLoadStore(loader.database)
    revision, _ = loads.open(artifact.manifest, model="fake/256", dimension=256)
    rows = loader.artifacts.read_batch(artifact.manifest, first.batch)
    keys = [cache_key("fake/256", "a text whose vector was evicted"), cache_key("fake/256", "another")]

    with pytest.raises(Unavailable):
        loads.store(revision, BatchKind.SPANS, rows, dimension=256, keys=keys, fresh={})

    assert "spans" not in tables(connection)


def test_a_repository_that_is_removed_while_it_is_loaded_begins_again(loader, connection):
    artifact = sealed_at(loader, OLD)
    job = loader.jobs.submit(UUID, "HEAD")
    batches = artifact.batches(job.id)
    loader.load(batches[0])

    loader.repos.remove(artifact.manifest.repo_id)
    for batch in batches[1:]:
        assert not loader.load(batch)
    assert loader.load(batches[0])

    assert is_complete(tables(connection))


def test_removing_a_repository_removes_its_rows_from_every_table(loader, connection):
    artifact, other = sealed_at(loader, OLD), sealed_at(loader, NEW)
    for one in (artifact, other):
        for batch in one.batches(loader.jobs.submit(UUID, "HEAD").id):
            loader.load(batch)

    loader.repos.remove(artifact.manifest.repo_id)

    assert is_complete(tables(connection))
    assert named(loader) == [NEW]
    with pytest.raises(NotFound):
        loader.repos.remove(artifact.manifest.repo_id)


def test_the_hot_paths_take_few_statements(loader):
    artifact = sealed_at(loader, OLD)
    job: Job = loader.jobs.submit(UUID, "HEAD")
    *firsts, last = artifact.batches(job.id)
    loader.load(firsts[0])

    with counted(loader.database) as spans:
        loader.load(firsts[1])
    with counted(loader.database) as again:
        loader.load(firsts[1])
    for batch in firsts[2:]:
        loader.load(batch)
    with counted(loader.database) as publishing:
        loader.load(last)

    # job, revision, missing keys, cache, spans, vectors and signs; lock, count, progress
    assert len(spans) == 9
    assert len(again) == 8
    # job, revision, files; lock, two counts, five to switch, ref, job done
    assert len(publishing) == 13


def test_two_repositories_that_share_their_texts_cache_them_side_by_side(loader, another, connection):
    """The same keys come in opposite orders; whoever is first makes the other wait, and never both."""
    one, other = another(), another()
    vector = np.full(256, 1 / 16, dtype=np.float32)
    revisions = [
        PostgresLoadStore(loader.database).open(
            sealed_at(loader, commit).manifest, model="fake/256", dimension=256
        )[0]
        for commit in (OLD, NEW)
    ]
    rounds = [[cache_key("fake/256", f"{round_}/{number}") for number in range(200)] for round_ in range(10)]
    barrier = threading.Barrier(2)
    failures: list[BaseException] = []

    def run(environment: Loader, revision: int, step: int) -> None:
        store = PostgresLoadStore(environment.database)
        for keys in rounds:
            barrier.wait()
            fresh = dict.fromkeys(keys[::step], vector)
            try:
                store.store(revision, BatchKind.SPANS, [], dimension=256, keys=[], fresh=fresh)
            except BaseException as error:
                failures.append(error)

    threads = [
        threading.Thread(target=run, args=arguments)
        for arguments in zip((one, other), revisions, (1, -1), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert tables(connection)["cached_vectors_256"] == 2_000
