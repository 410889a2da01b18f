"""How long a search takes beyond the embedding of its question: python -m tests.benchmarks.search.

Two made-up revisions, of 1,300 and of 100,000 spans, with words as frequent as words are and vectors as
unevenly spread as an embedder's. What is timed is the whole service on Postgres, clock winding included, with
the question's vector given; what an embedding costs is told beside it. Nothing is asserted: times are for
people to read.
"""

import itertools
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg import sql

from codetrail.adapters.embedder.onnx import OnnxEmbedder
from codetrail.adapters.postgres.connection import Database
from codetrail.adapters.postgres.repos import PostgresRepoStore
from codetrail.adapters.postgres.search import PostgresSearchStore
from codetrail.adapters.stemmer import SnowballStemmer
from codetrail.domain.repo import Revision, repo_id
from codetrail.domain.search import Mode, Query
from codetrail.services.ports import Vectors
from codetrail.services.search import ARM_DEPTH, search
from tests.support.database import DatabaseServer, open_database

SIZES = (1_300, 100_000)
QUESTIONS = 60
WARM_UP = 10
DIMENSION = 384
MODEL = "benchmark"

# Of real repositories: distinct terms grow with the square root of spans, and a span holds about sixty.
TERMS_PER_SPAN = 60
VOCABULARY_FACTOR = 600
# A word's rank and its frequency: Zipf, flattened at the top since function words are not indexed.
ZIPF_OFFSET = 30
# Embeddings use their dimensions unevenly, gather around themes, and share a direction.
SPECTRUM_DECAY = 0.6
SPANS_PER_THEME = 40

Copy = Callable[[Sequence[object]], None]


@dataclass(frozen=True, slots=True)
class Made:
    """A made-up revision in the database, and questions that it has answers to."""

    revision: Revision
    texts: list[str]
    vectors: Vectors  # of the questions
    stored: Vectors  # of the spans


class Given:
    """An embedder whose vectors were made before the clock started."""

    model = MODEL
    dimension = DIMENSION

    def __init__(self, made: Made) -> None:
        self._vectors = dict(zip(made.texts, made.vectors, strict=True))

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._vectors[text] for text in texts])


def main() -> None:
    print(machine())
    print(f"embedding one question of eight words: {embedding_milliseconds():.1f} ms (median)\n")
    print(f"{'spans':>8}  {'mode':8}  {'median':>9}  {'p95':>9}   (ms beyond it, {QUESTIONS} questions)")
    with tempfile.TemporaryDirectory() as folder:
        server = DatabaseServer(Path(folder))
        server.start()
        try:
            for size in SIZES:
                with server.fresh() as url:
                    database = open_database(url)
                    with psycopg.connect(url, autocommit=True) as connection:
                        made = make(connection, size, PostgresRepoStore(database))
                    for mode in Mode:
                        times = timed(database, made, mode)
                        print(f"{size:>8,}  {mode:8}  {statistics.median(times):9.1f}  {p95(times):9.1f}")
                    print(f"{size:>8,}  recall of the nearest {ARM_DEPTH}: {recall(database, made):.4f}")
                    database.close()
        finally:
            server.stop()


def machine() -> str:
    """Return what the times belong to."""
    model = next(
        (line.partition(":")[2].strip() for line in _cpuinfo() if line.startswith("model name")),
        platform.processor(),
    )
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    python = platform.python_version()
    return f"{model}, {os.cpu_count()} cores, load {load}, {platform.system()}, Python {python}"


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().split("\n") if path.exists() else []


def embedding_milliseconds() -> float:
    embedder = OnnxEmbedder()
    embedder.open()
    times = []
    for number in range(QUESTIONS):
        start = time.perf_counter()
        embedder.embed([f"how does the reader handle closed connection number {number}"])
        times.append((time.perf_counter() - start) * 1_000)
    return statistics.median(times)


def timed(database: Database, made: Made, mode: Mode) -> list[float]:
    """Return the milliseconds of each search but the first few."""
    repos, spans = PostgresRepoStore(database), PostgresSearchStore(database)
    embedder, stemmer = Given(made), SnowballStemmer()
    times = []
    for text in made.texts[: WARM_UP + QUESTIONS]:
        start = time.perf_counter()
        found = search(
            Query(made.revision.repo_id, text, 10),
            repos=repos, spans=spans, embedder=embedder, stemmer=stemmer, mode=mode,
        )  # fmt: skip
        times.append((time.perf_counter() - start) * 1_000)
        if len(found.hits) != 10:
            sys.exit(f"a question found {len(found.hits)} spans: the made-up revision is not as meant")
    return times[WARM_UP:]


def p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


def recall(database: Database, made: Made) -> float:
    """Return how much of the truly nearest the store's own way finds."""
    store = PostgresSearchStore(database)
    stored = made.stored.astype(np.float16).astype(np.float32)
    shares = []
    for vector in made.vectors:
        truly = np.argpartition(-(stored @ vector), ARM_DEPTH)[:ARM_DEPTH]
        found = [ordinal for ordinal, _ in store.nearest(made.revision, vector, ARM_DEPTH)]
        shares.append(len(set(truly.tolist()) & set(found)) / ARM_DEPTH)
    return statistics.mean(shares)


def make(connection: psycopg.Connection, size: int, repos: PostgresRepoStore) -> Made:
    """Write a published revision of *size* spans by binary COPY."""
    random = np.random.default_rng(size)
    terms = _vocabulary(int(VOCABULARY_FACTOR * size**0.5))
    postings = _postings(random, size, len(terms))
    vectors, question_vectors = _vectors(random, size)
    public = repo_id("https://example.com/made/up", str(size))
    connection.execute(
        "insert into repos (repo_id, remote, remote_key, ref, commit, indexed_at, last_used_at)"
        " values (%(id)s, %(remote)s, %(remote)s, 'HEAD', %(id)s, now(), now())",
        {"id": public, "remote": "https://example.com/made/up"},
    )
    row = connection.execute(
        "insert into revisions (repo_id, fingerprint, model, dimension, state, spans, files, postings, names,"
        " average_length, coverage)"
        " values (%s, 'f', %s, %s, 'published', %s, 1, %s, %s, %s, '{}') returning revision",
        (public, MODEL, DIMENSION, size, len(terms), len(terms), TERMS_PER_SPAN),
    ).fetchone()
    number = row[0] if row else 0
    connection.execute("update repos set current_revision = %s where repo_id = %s", (number, public))

    words = [" ".join(terms[term] for term in random.integers(0, len(terms), 2)) for _ in range(size)]
    array = np.array(terms)
    symbols = [pair.title().replace(" ", "") for pair in words]
    with _copy(
        connection, "spans", "int8 int4 text text text text text int4 int4 int4 text text bool float4"
    ) as put:
        lines = array[random.integers(0, len(terms), (size, 8))].tolist()
        for ordinal, (symbol, line) in enumerate(zip(symbols, lines, strict=True)):
            text = f"func {symbol}() {{\n" + "\n".join([" ".join(line)] * 10) + "\n}"
            digest = sha256(text.encode()).hexdigest()
            put((
                number, ordinal, digest[:16], f"pkg/file{ordinal // 12}.go", "func", symbol, "go", ordinal,
                ordinal + 12,
                len(text), digest, text, ordinal % 5 == 0, 12.0,
            ))  # fmt: skip
    with _copy(connection, "postings", "int8 text bytea bytea") as put:
        for term, (ordinals, weights) in zip(terms, postings, strict=True):
            if len(ordinals):
                put((number, term, ordinals.astype("<i4").tobytes(), weights.astype("<f4").tobytes()))
    with _copy(connection, "names", "int8 text bytea") as put:
        bearers: dict[str, list[int]] = {}
        for ordinal, symbol in enumerate(symbols):
            bearers.setdefault(symbol.casefold(), []).append(ordinal)
        for name, at in bearers.items():
            put((number, name, np.array(at, dtype="<i4").tobytes()))
    _write_vectors(connection, number, vectors)
    connection.execute("vacuum analyze")

    rank = np.arange(len(terms))
    chance = 1 / (rank + ZIPF_OFFSET)
    chosen = [random.choice(len(terms), 6, p=chance / chance.sum()) for _ in question_vectors]
    texts = [
        f"how does {symbols[at]} {' '.join(terms[term] for term in six)}" for at, six in enumerate(chosen)
    ]
    return Made(repos.current(public), texts, question_vectors, vectors)


def _vocabulary(count: int) -> list[str]:
    """Words that a stemmer leaves alone, each of one part only."""
    letters = "bcdfghklmnprtvz"
    vowels = "aou"
    syllables = [a + b + c for a in letters for b in vowels for c in letters]
    return [
        syllables[at % len(syllables)] + syllables[at // len(syllables) % len(syllables)]
        for at in range(count)
    ]


def _postings(
    random: np.random.Generator, size: int, terms: int
) -> list[tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]]:
    chance = 1 / (np.arange(terms) + ZIPF_OFFSET)
    drawn = random.choice(terms, (size, TERMS_PER_SPAN), p=chance / chance.sum())
    pairs = np.unique(drawn + np.arange(size)[:, None] * terms)
    ordinals, of = pairs // terms, pairs % terms
    order = np.argsort(of, kind="stable")
    ends = np.searchsorted(of[order], np.arange(terms + 1))
    by_term = ordinals[order].astype(np.int32)
    weights = random.uniform(0.2, 0.8, len(by_term)).astype(np.float32)
    return [(by_term[a:b], weights[a:b]) for a, b in itertools.pairwise(ends)]


def _vectors(random: np.random.Generator, size: int) -> tuple[Vectors, Vectors]:
    spectrum = (1 + np.arange(DIMENSION)) ** -SPECTRUM_DECAY
    turn = np.linalg.qr(random.standard_normal((DIMENSION, DIMENSION)))[0]
    themes = random.standard_normal((size // SPANS_PER_THEME, DIMENSION)) * spectrum
    common = random.standard_normal(DIMENSION) * spectrum * 0.5

    def draw(count: int, noise: float) -> Vectors:
        rows = common + themes[random.integers(len(themes), size=count)]
        rows += noise * random.standard_normal((count, DIMENSION)) * spectrum
        units: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True) @ turn).astype(np.float32)
        return units

    return draw(size, 1.0), draw(WARM_UP + QUESTIONS, 1.0)


def _write_vectors(connection: psycopg.Connection, number: int, vectors: Vectors) -> None:
    # Psycopg knows no halfvec: two bytes of width, two unused, then big-endian halves.
    head = DIMENSION.to_bytes(2, "big") + b"\0\0"
    halves = vectors.astype(">f2")
    with connection.cursor() as cursor, cursor.copy("copy vectors_384 from stdin (format binary)") as copy:
        copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
        for ordinal, row in enumerate(halves):
            value = head + row.tobytes()
            copy.write(
                (3).to_bytes(2, "big")
                + (8).to_bytes(4, "big") + number.to_bytes(8, "big")
                + (4).to_bytes(4, "big") + ordinal.to_bytes(4, "big")
                + len(value).to_bytes(4, "big") + value
            )  # fmt: skip
        copy.write(b"\xff\xff")
    connection.execute(
        "insert into signs_384 select revision, ordinal, binary_quantize(embedding) from vectors_384"
    )


@contextmanager
def _copy(connection: psycopg.Connection, table: str, types: str) -> Iterator[Copy]:
    """A binary COPY into one table, whose columns have these types."""
    statement = sql.SQL("copy {} from stdin (format binary)").format(sql.Identifier(table))
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(types.split())
        yield copy.write_row


if __name__ == "__main__":
    main()
