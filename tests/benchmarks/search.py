"""How long a search takes beyond the embedding of its question, and how long its arms take beside what
anybody has at hand: python -m tests.benchmarks.search.

Made-up revisions, of 1,300, 10,000 and 100,000 spans, among two hundred small ones in the same tables; with
words as frequent as words are, and vectors as unevenly spread as an embedder's. The texts are indexed by the
product's own rules, and SQLite's FTS5 indexes the same ones in a file; the vectors lie in one float32 matrix
too, which numpy multiplies and cuts in this process, where no round trip (`select 1`) is needed. Each
question is asked of all in turn, so that what else the machine does meets all alike. Nothing is asserted:
times are for people to read.

They are those of a warm process, which keeps the vectors of a revision, or their signs, when it was asked a
few questions. What the first takes stands beside them: each is asked of a store that keeps nothing yet.
"""

import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import psycopg

from codetrail.adapters.embedder.onnx import OnnxEmbedder
from codetrail.adapters.postgres.connection import Database
from codetrail.adapters.postgres.kept import Shelf
from codetrail.adapters.postgres.repos import PostgresRepoStore
from codetrail.adapters.postgres.search import PostgresSearchStore
from codetrail.adapters.stemmer import SnowballStemmer
from codetrail.domain import ranking
from codetrail.domain.question import Question
from codetrail.domain.repo import Revision
from codetrail.domain.search import Mode, Query
from codetrail.domain.span import Span, embedded_text
from codetrail.domain.terms import TermReader
from codetrail.services.ports import Vector, Vectors
from codetrail.services.search import ARM_DEPTH, gather, lexical_arm, search
from tests.evaluation.baselines import Fts5
from tests.support.database import DatabaseServer, open_database
from tests.support.revisions import contents, span, write

SIZES = (1_300, 10_000, 100_000)
QUESTIONS = 60
WARM_UP = 10
HITS = 10
# What else lies in the tables: a scan that filters too late would find little of a revision among these.
OTHERS = 200
OTHER_SPANS = 60
DIMENSION = 384
MODEL = "benchmark"
# The most that an arm's median may be of its rival's.
BAR = 3.0

# The threads of numpy's BLAS spin for about 30 ms after a product, and would take a core from whoever comes
# next.
BLAS_SPIN_SECONDS = 0.05

# Of the packages in a Python environment, cut by declaration: a text holds 37 distinct words, and 20,000
# texts hold 53,000; with pairs of words 80 and 270,000. A line that stands somewhere often stands elsewhere
# too.
LINES_PER_SPAN = 10
WORDS_PER_LINE = 4
VOCABULARY_FACTOR, VOCABULARY_POWER = 12, 0.85
# A word's rank and its frequency: Zipf, flattened at the top since function words are not indexed.
ZIPF_OFFSET = 30
WORDS_PER_QUESTION = 6
# Embeddings use their dimensions unevenly, gather around themes, and share a direction.
SPECTRUM_DECAY = 0.6
SPANS_PER_THEME = 40

Ask = Callable[[str], object]
Times = dict[str, list[float]]  # milliseconds


@dataclass(frozen=True, slots=True)
class Made:
    """A made-up revision in the database, and questions that it has answers to, with their vectors."""

    revision: Revision
    spans: tuple[Span, ...]
    stored: Vectors  # of the spans
    questions: dict[str, Vector]


class Given:
    """An embedder whose vectors were made before the clock started."""

    model = MODEL
    dimension = DIMENSION

    def __init__(self, vectors: dict[str, Vector]) -> None:
        self._vectors = vectors

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._vectors[text] for text in texts])


def main() -> None:
    print(machine())
    print(f"embedding one question of eight words: {embedding_milliseconds():.1f} ms (median)\n")
    with tempfile.TemporaryDirectory() as folder:
        server = DatabaseServer(Path(folder))
        server.start()
        try:
            with server.fresh() as url:
                database = open_database(url)
                with psycopg.connect(url, autocommit=True) as connection:
                    others = [make(connection, OTHER_SPANS, seed) for seed in range(OTHERS)]
                    made = [make(connection, size, seed) for seed, size in enumerate(SIZES, OTHERS)]
                    connection.execute("vacuum analyze")
                print(f"{QUESTIONS} questions of a warm process, each asked of all in turn; milliseconds")
                for one in made:
                    shelf = Shelf()
                    report(one, timed(database, one, shelf, Path(folder)), shelf)
                print(f"\nrecall of the nearest {ARM_DEPTH}, {OTHERS + len(SIZES)} revisions in the tables")
                for one in made:
                    print(f"{one.revision.stats.spans:>8,}  {recall(database, one):.4f}")
                least = min(recall(database, one) for one in others)
                print(f"{OTHER_SPANS:>8,}  {least:.4f}, the least of the {OTHERS} small ones")
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


def timed(database: Database, made: Made, shelf: Shelf, folder: Path) -> Times:
    """Return how long each way took for each question but the first few, after which *shelf* keeps all that
    it may of the revision."""
    fts5 = Fts5(made.spans, database=str(folder / f"{made.revision.revision}.sqlite"))
    store, stemmer = PostgresSearchStore(database, shelf), SnowballStemmer()
    matrix = made.stored

    def round_trip(text: str) -> object:
        with database.session() as connection:
            return connection.execute("select 1").fetchone()

    def words(text: str) -> object:
        question = Question.read(text, TermReader(stemmer.stems))
        return lexical_arm(question, made.revision, store, ARM_DEPTH)

    def meaning(text: str) -> object:
        return store.nearest(made.revision, made.questions[text], ARM_DEPTH)

    def first(text: str) -> object:
        return PostgresSearchStore(database).nearest(made.revision, made.questions[text], ARM_DEPTH)

    def numpy(text: str) -> object:
        cosines = matrix @ made.questions[text]
        nearest = np.argpartition(-cosines, ARM_DEPTH)[:ARM_DEPTH]
        return nearest[np.argsort(-cosines[nearest])]

    def whole(mode: Mode, kept: Shelf | None = shelf) -> Ask:
        def ask(text: str) -> object:
            found = search(
                Query(made.revision.repo_id, text, HITS),
                repos=PostgresRepoStore(database), spans=PostgresSearchStore(database, kept),
                embedder=Given(made.questions), stemmer=stemmer, mode=mode,
            )  # fmt: skip
            if len(found.hits) != HITS:
                sys.exit(f"a question found {len(found.hits)} spans: the made-up revision is not as meant")
            return found

        return ask

    ways: dict[str, Ask] = {
        "select 1": round_trip,
        "words": words,
        "FTS5": lambda text: fts5.ranked(text, ARM_DEPTH),
        "meaning": meaning,
        "meaning, first": first,
        "fusion": fusion(made, store),
        **{f"whole, {mode}": whole(mode) for mode in Mode},
        "hybrid, first": whole(Mode.HYBRID, kept=None),
        "numpy": numpy,
    }
    times: Times = {way: [] for way in ways}
    for text in made.questions:
        for way, ask in ways.items():
            start = time.perf_counter()
            ask(text)
            times[way].append((time.perf_counter() - start) * 1_000)
        time.sleep(BLAS_SPIN_SECONDS)
    fts5.close()
    return {way: taken[WARM_UP:] for way, taken in times.items()}


def fusion(made: Made, store: PostgresSearchStore) -> Ask:
    """Return how to score and order one question's candidates, gathered before the clock starts."""
    gathered = {}
    for text, vector in made.questions.items():
        reader = TermReader(SnowballStemmer().stems)
        question = Question.read(text, reader)
        evidence = gather(question, made.revision, store, vector, reader, ARM_DEPTH).evidence
        worth = lexical_arm(question, made.revision, store, ARM_DEPTH).worth
        named = store.named(made.revision, question.names)
        bearers = {name: frozenset(ordinals.tolist()) for name, ordinals in named.items()}
        gathered[text] = (question, evidence, worth, bearers)

    def fuse(text: str) -> object:
        question, evidence, worth, bearers = gathered[text]
        reader = TermReader(SnowballStemmer().stems)
        features = ranking.features(question, evidence, worth=worth, bearers=bearers, reader=reader)
        return sorted(map(ranking.score, features), reverse=True)

    return fuse


def report(made: Made, times: Times, shelf: Shelf) -> None:
    """Print the times of one revision, what each arm takes of what its rival takes, and what is kept."""
    load = f"load {os.getloadavg()[0]:.1f}"
    print(f"\n{made.revision.stats.spans:>9,} spans      {'median':>9}  {'p95':>9}   {load}")
    for way, taken in times.items():
        print(f"  {way:17}  {statistics.median(taken):9.2f}  {p95(taken):9.2f}")
    for arm, rival in (("words", "FTS5"), ("meaning", "numpy")):
        ratio = statistics.median(times[arm]) / statistics.median(times[rival])
        told = "within" if ratio <= BAR else "over"
        print(f"  {arm} / {rival:7}  {ratio:9.2f}  {told} the bar of {BAR:.0f}")
    print(f"  kept, MB           {shelf.nbytes / 1e6:9.2f}")
    sys.stdout.flush()


def p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


def recall(database: Database, made: Made) -> float:
    """Return how much of the truly nearest the store's own way finds; both sides rounded to halves, as they
    are compared there."""
    store = PostgresSearchStore(database)
    stored = made.stored.astype(np.float16).astype(np.float32)
    stored /= np.linalg.norm(stored, axis=1, keepdims=True)
    depth = min(ARM_DEPTH, len(stored))
    shares = []
    for vector in made.questions.values():
        truly = np.argsort(-(stored @ vector.astype(np.float16).astype(np.float32)))[:depth]
        found = [ordinal for ordinal, _ in store.nearest(made.revision, vector, ARM_DEPTH)]
        shares.append(len(set(truly.tolist()) & set(found)) / depth)
    return statistics.mean(shares)


def make(connection: psycopg.Connection, size: int, seed: int) -> Made:
    """Write a published revision of *size* spans, indexed by the product's rules."""
    random = np.random.default_rng(seed)
    words = _vocabulary(int(VOCABULARY_FACTOR * size**VOCABULARY_POWER))
    chance = 1 / (np.arange(len(words)) + ZIPF_OFFSET)
    chance /= chance.sum()

    def draw(*shape: int) -> list[list[str]]:
        drawn: list[list[str]] = words[random.choice(len(words), shape, p=chance)].tolist()
        return drawn

    lines = ["\t" + " ".join(line) for line in draw(size, WORDS_PER_LINE)]
    spans = []
    for ordinal, (name, at) in enumerate(
        zip(draw(size, 2), random.integers(size, size=(size, LINES_PER_SPAN)), strict=True)
    ):
        symbol = "".join(part.title() for part in name)
        text = "\n".join([f"func {symbol}() {{", *(lines[number] for number in at), "}"])
        spans.append(
            span(ordinal, text, symbol=symbol, path=f"pkg/file{ordinal // 12}.go", test=ordinal % 5 == 0)
        )
    vectors, question_vectors = _vectors(random, size)
    texts = (embedded_text(one.path, one.symbol, one.text) for one in spans)
    held = contents(
        spans,
        Given(dict(zip(texts, vectors, strict=True))),
        remote=f"https://example.com/made/up{seed}",
    )
    asked = [
        f"how does {spans[int(at)].symbol} {' '.join(said)}"
        for at, said in zip(
            random.integers(size, size=len(question_vectors)),
            draw(len(question_vectors), WORDS_PER_QUESTION),
            strict=True,
        )
    ]
    return Made(
        revision=write(connection, held),
        spans=held.spans,
        stored=held.vectors,
        questions=dict(zip(asked, question_vectors, strict=True)),
    )


def _vocabulary(count: int) -> npt.NDArray[np.str_]:
    """Words that a stemmer leaves alone, each of one part only."""
    letters = "bcdfghklmnprtvz"
    vowels = "aou"
    syllables = [a + b + c for a in letters for b in vowels for c in letters]
    return np.array([
        syllables[at % len(syllables)] + syllables[at // len(syllables) % len(syllables)]
        for at in range(count)
    ])  # fmt: skip


def _vectors(random: np.random.Generator, size: int) -> tuple[Vectors, Vectors]:
    spectrum = (1 + np.arange(DIMENSION)) ** -SPECTRUM_DECAY
    turn = _turn()
    themes = random.standard_normal((max(1, size // SPANS_PER_THEME), DIMENSION)) * spectrum
    common = random.standard_normal(DIMENSION) * spectrum * 0.5

    def draw(count: int, noise: float) -> Vectors:
        rows = common + themes[random.integers(len(themes), size=count)]
        rows += noise * random.standard_normal((count, DIMENSION)) * spectrum
        units: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True) @ turn).astype(np.float32)
        return units

    return draw(size, 1.0), draw(WARM_UP + QUESTIONS, 1.0)


@cache
def _turn() -> npt.NDArray[np.float64]:
    """A rotation, after which no dimension is more telling than another."""
    random = np.random.default_rng(DIMENSION)
    turn: npt.NDArray[np.float64] = np.linalg.qr(random.standard_normal((DIMENSION, DIMENSION)))[0]
    return turn


if __name__ == "__main__":
    main()
