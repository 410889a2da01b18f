"""One contract of reading a revision, held by the fake and by Postgres alike."""

import random
from dataclasses import replace
from datetime import timedelta

import numpy as np
import psycopg
import pytest

from codetrail.adapters.embedder.fake import FakeEmbedder
from codetrail.adapters.postgres.kept import Shelf
from codetrail.adapters.postgres.search import PostgresSearchStore
from codetrail.domain.repo import Revision
from codetrail.domain.search import Copies, Filter, Place, read_glob
from codetrail.domain.span import Kind
from codetrail.errors import Unavailable
from codetrail.services.ports import SearchStore, TextDigests, Vectors
from tests.support.database import counted
from tests.support.fakes_search import FakeSearchStore, matches, text_digest
from tests.support.revisions import INDEXED_AT, Contents, contents, span, write

EMBEDDER = FakeEmbedder(256)
SPANS = [
    span(0, "func Parse(s string) (UUID, error) {\n\treturn parse(s)\n}", symbol="Parse"),
    span(1, "func ParseBytes(b []byte) (UUID, error) {\n}", symbol="ParseBytes"),
    span(2, "func NewV7() (UUID, error) {\n\treturn makeV7(uuid)\n}", symbol="NewV7"),
    span(3, "func (u UUID) Parse() {}", symbol="UUID.Parse"),
    span(
        4,
        "Install with go get\x01\u2028 the module.",
        symbol="uuid > Install",
        kind=Kind.SECTION,
        path="README.md",
    ),
    span(5, "func TestParse(t *testing.T) {}", symbol="TestParse", test=True, path="uuid_test.go"),
]
OTHER = [span(0, "func Parse of another repository", symbol="Parse")]


@pytest.fixture
def held() -> Contents:
    return contents(SPANS, EMBEDDER)


@pytest.fixture(params=["fake", "postgres", "postgres before it keeps any"])
def store_and_revision(request, held) -> tuple[SearchStore, Revision]:
    other = contents(OTHER, EMBEDDER, number=2, remote="https://github.com/other/one")
    if request.param == "fake":
        return FakeSearchStore(held, other), held.revision
    connection: psycopg.Connection = request.getfixturevalue("connection")
    write(connection, other)
    read_spans = len(SPANS) if request.param == "postgres" else 1
    store = PostgresSearchStore(request.getfixturevalue("database"), read_spans=read_spans)
    return store, write(connection, held)


@pytest.fixture
def store(store_and_revision: tuple[SearchStore, Revision]) -> SearchStore:
    return store_and_revision[0]


@pytest.fixture
def revision(store_and_revision: tuple[SearchStore, Revision]) -> Revision:
    return store_and_revision[1]


def test_the_nearest_are_those_of_the_largest_cosine_best_first(store, revision, held):
    (vector,) = EMBEDDER.embed(["parse bytes of a uuid"])
    cosines = held.vectors @ vector

    near = store.nearest(revision, vector, 4)

    assert [ordinal for ordinal, _ in near] == np.argsort(-cosines)[:4].tolist()
    assert np.allclose([cosine for _, cosine in near], np.sort(cosines)[::-1][:4], atol=2e-3)


def test_cosines_are_told_for_the_spans_that_are_asked_for(store, revision, held):
    (vector,) = EMBEDDER.embed(["parse"])

    cosines = store.cosines(revision, vector, [5, 0, 77])

    assert sorted(cosines) == [0, 5]
    assert np.allclose([cosines[0], cosines[5]], (held.vectors @ vector)[[0, 5]], atol=2e-3)


def test_postings_are_those_of_the_terms_that_there_are(store, revision, held):
    postings = {posting.term: posting for posting in store.postings(revision, ["pars", "v7", "nowhere"])}

    assert "nowhere" not in postings
    assert postings["pars"].ordinals.tolist() == [0, 1, 3, 5]
    assert postings["pars"].weights.dtype == np.dtype("<f4")
    assert len(postings["pars"].weights) == 4
    assert (postings["pars"].weights > 0).all()


def test_a_name_leads_to_all_that_bear_it(store, revision):
    named = store.named(revision, ["parse", "uuid.parse", "install", "nothing"])

    assert {name: ordinals.tolist() for name, ordinals in named.items()} == {
        "parse": [0, 3],
        "uuid.parse": [3],
        "install": [4],
    }


def test_candidates_tell_what_ranking_needs(store, revision, held):
    found = {candidate.ordinal: candidate for candidate in store.candidates(revision, [5, 4, 99])}

    assert sorted(found) == [4, 5]
    assert (found[5].symbol, found[5].kind, found[5].test) == ("TestParse", "func", True)
    assert (found[4].symbol, found[4].kind, found[4].test) == ("uuid > Install", "section", False)
    assert found[5].name_mass == pytest.approx(held.masses[5], rel=1e-6)


def test_spans_come_back_as_they_were_stored(store, revision):
    assert store.spans(revision, [4, 0, 99]) == {0: SPANS[0], 4: SPANS[4]}


def test_digests_are_those_of_the_spans_that_there_are(store, revision):
    assert store.digests(revision, [2, 0, 99]) == {
        ordinal: TextDigests(SPANS[ordinal].digest, text_digest(SPANS[ordinal])) for ordinal in (0, 2)
    }


@pytest.mark.parametrize(
    ("only", "ordinals", "files"),
    [
        (Filter(path="*.go"), [0, 1, 2, 3, 5], 2),
        (Filter(path="README.md"), [4], 1),
        (Filter(kind=Kind.SECTION), [4], 1),
        (Filter(language="go"), [0, 1, 2, 3, 4, 5], 3),
        (Filter(language="python"), [], 0),
        (Filter(exclude_tests=True), [0, 1, 2, 3, 4], 2),
        (Filter(path="uuid*", kind=Kind.FUNC, language="go", exclude_tests=True), [0, 1, 2, 3], 1),
        (Filter(path="nowhere/**"), [], 0),
    ],
)
def test_a_filter_leaves_what_it_says(store, revision, only, ordinals, files):
    left = store.eligible(revision, only)

    assert (left.ordinals.tolist(), left.files) == (ordinals, files)


def test_the_nearest_among_some_are_as_near_as_among_all(store, revision):
    (vector,) = EMBEDDER.embed(["parse bytes of a uuid"])
    everywhere = store.nearest(revision, vector, 10)

    assert store.nearest(revision, vector, 10, np.array([1, 4, 5], "<i4")) == [
        pair for pair in everywhere if pair[0] in (1, 4, 5)
    ]
    assert store.nearest(revision, vector, 10, np.zeros(0, "<i4")) == []


COPIED = [
    *(span(at, "same", path=f"n{at}/a.go", start_line=1, digest="a" * 64) for at in range(5)),
    span(5, "same", path="n0/a.go", symbol="inside", start_line=1, digest="a" * 64),
    span(6, "other", path="b.go", start_line=7, digest="b" * 64),
]


@pytest.mark.parametrize("kind", ["fake", "postgres"])
def test_the_places_of_a_text_are_counted_and_the_first_are_told(kind, connection, database):
    copied = contents(COPIED, EMBEDDER)
    stored = write(connection, copied)
    store: SearchStore = FakeSearchStore(copied) if kind == "fake" else PostgresSearchStore(database)
    revision = copied.revision if kind == "fake" else stored

    everywhere = store.copies(revision, ["a" * 64, "b" * 64, "c" * 64], 3)
    some = store.copies(revision, ["a" * 64], 3, np.array([4, 6], "<i4"))

    places = [Place(f"{at:016x}", f"n{at}/a.go", 1, 1) for at in range(5)]
    assert everywhere == {
        "a" * 64: Copies(5, tuple(places[:3])),
        "b" * 64: Copies(1, (Place(f"{6:016x}", "b.go", 7, 7),)),
    }
    assert some == {"a" * 64: Copies(1, (places[4],))}


PATHS = [
    "a", "b.py", "src/a.py", "src/x/a.py", "src/x/y/b.test.py", "srcs/a.py", "doc/src/a.py", "x/[a].py",
    "x/{a,b}.py", "x/a\\\\b.py", "x/caf\\xe9.py", "ünï/日本.md", "a b/c+d$.(go)", "x/%_.go", "x/a\n.go",
    "x/***.go", "src/.hidden/a.py", "a" * 300 + "/x.go", "A/B.PY", "x//y",
]  # fmt: skip
GLOBS = [
    "a", "*", "*.py", "**", "**/*", "**/*.py", "src/**", "src/", "./src/", "/src/*", "src/*/a.py",
    "src/**/a.py", "**/a.py", "**/src/**", "src**",
    "sr?/*.py", "?", "???", "x/[a].py", "x/{a,b}.py", "x/a\\\\b.py", "x/*é*",
    "ünï/??.md", "a b/c+d$.(go)", "x/%_.go", "x/__.go", "%", "x/***.go", "**/**/**/a.py", "a**/x.go", "*/*/*",
    "**.py", "**a**", "x/*\\*", "(?i)a/b.py", "***=a", "^a$", "a|b", "a/*" * 60, "*" * 200, "?*" * 100,
]  # fmt: skip


def test_a_glob_means_the_same_to_postgres_as_by_definition(connection, database):
    drawn = random.Random(7)
    globs = [read_glob(text) for text in GLOBS]
    globs += ["".join(drawn.choices("ab/*?.", k=drawn.randint(1, 9))).lstrip("/") or "*" for _ in range(300)]
    paths = [*PATHS, *{"".join(drawn.choices("ab/.", k=drawn.randint(1, 8))) for _ in range(200)}]
    held = contents([span(at, "x", path=path) for at, path in enumerate(paths)], EMBEDDER)
    revision = write(connection, held)
    store = PostgresSearchStore(database)

    for glob in globs:
        found = [paths[at] for at in store.eligible(revision, Filter(path=glob)).ordinals]
        assert found == [path for path in paths if matches(glob, path)], glob


def test_a_path_longer_than_a_key_of_an_index_is_filtered_as_any_other(connection, database):
    path = "folder/" * 585 + "a.go"
    held = contents([span(0, "x", path=path), span(1, "x", path="b.go")], EMBEDDER)
    revision = write(connection, held)

    left = PostgresSearchStore(database).eligible(revision, Filter(path="folder/**/a.go"))

    assert (left.ordinals.tolist(), left.files) == ([0], 1)


def test_nothing_asked_for_is_nothing_found(store, revision):
    (vector,) = EMBEDDER.embed(["parse"])

    assert store.cosines(revision, vector, []) == {}
    assert store.postings(revision, []) == []
    assert store.named(revision, []) == {}
    assert store.candidates(revision, []) == []
    assert store.spans(revision, []) == {}
    assert store.copies(revision, [], 10) == {}
    assert store.digests(revision, []) == {}


@pytest.mark.parametrize("word", ["':*", "a|b", "x' or '1'='1", "%", "\\", "{vectors}", "%(revision)s"])
def test_a_term_is_only_ever_a_value(store, revision, word):
    assert store.postings(revision, [word]) == []
    assert store.named(revision, [word]) == {}


def spread(count: int, dimension: int, seed: int) -> Vectors:
    """Vectors as embedders give them: in clusters around themes, with a part that all share."""
    random = np.random.default_rng(seed)
    themes = random.standard_normal((max(count // 50, 1), dimension))
    common = random.standard_normal(dimension) * 0.5
    vectors = (
        common + themes[random.integers(len(themes), size=count)] + random.standard_normal((count, dimension))
    )
    units: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return units


def test_a_small_repository_among_large_ones_is_searched_whole(connection, database):
    tiny = contents([span(at, f"func Tiny{at}", symbol=f"Tiny{at}") for at in range(12)], EMBEDDER)
    large = [
        contents([span(at, "x") for at in range(400)], EMBEDDER, remote=f"https://github.com/large/n{number}")
        for number in range(10)
    ]
    for number, one in enumerate(large):
        write(connection, replace(one, vectors=spread(400, 256, number)))
    revision = write(connection, tiny)
    connection.execute("analyze")

    near = PostgresSearchStore(database).nearest(revision, spread(1, 256, 99)[0], 200)

    assert sorted(ordinal for ordinal, _ in near) == list(range(12))


def test_no_index_on_distance_exists_that_could_filter_after_its_scan(connection):
    methods = connection.execute(
        "select distinct am.amname from pg_index i join pg_class c on c.oid = i.indexrelid"
        " join pg_am am on am.oid = c.relam join pg_namespace n on n.oid = c.relnamespace"
        " where n.nspname = 'public'"
    ).fetchall()

    assert methods == [("btree",)]


def test_a_scan_by_signs_finds_what_an_exact_scan_finds(connection, database):
    count = 3_000
    held = contents([span(at, "x") for at in range(count)], EMBEDDER)
    revision = write(connection, replace(held, vectors=spread(count, 256, 1)))
    exactly = PostgresSearchStore(database)
    by_signs = PostgresSearchStore(database, exact_spans=100, sign_candidates=200)
    questions = spread(20, 256, 1)

    exact = [exactly.nearest(revision, question, 50) for question in questions]
    found = [by_signs.nearest(revision, question, 50) for question in questions]

    shared = [len({o for o, _ in a} & {o for o, _ in b}) for a, b in zip(exact, found, strict=True)]
    assert sum(shared) / (50 * len(questions)) >= 0.98
    for a, b in zip(exact, found, strict=True):
        assert b == sorted(b, key=lambda pair: (-pair[1], pair[0]))
        assert_same(b[:1], a[:1])


def test_a_filter_acts_before_the_scan_by_signs_is_cut(connection, database):
    count = 3_000
    held = contents([span(at, "x") for at in range(count)], EMBEDDER)
    revision = write(connection, replace(held, vectors=spread(count, 256, 1)))
    (question,) = spread(1, 256, 1)
    exactly = PostgresSearchStore(database)
    farthest = [ordinal for ordinal, _ in exactly.nearest(revision, question, count)][-300:]
    among = np.array(sorted(farthest), "<i4")

    exact = exactly.nearest(revision, question, 50, among)
    by_signs = PostgresSearchStore(database, exact_spans=100, sign_candidates=300)
    few_by_signs = PostgresSearchStore(database, exact_spans=100, sign_candidates=60)

    assert {ordinal for ordinal, _ in exact} == set(farthest[:50])
    assert by_signs.nearest(revision, question, 50, among) == exact
    assert {ordinal for ordinal, _ in few_by_signs.nearest(revision, question, 50, among)} <= set(farthest)


def test_what_a_filter_leaves_of_a_large_revision_is_scanned_exactly(connection, database):
    revision, vectors = made(connection, 200)
    connection.execute("truncate signs_256")
    store = PostgresSearchStore(database, exact_spans=150)
    (question,) = spread(1, 256, 1)

    near = store.nearest(revision, question, 10, np.arange(100, dtype="<i4"))

    assert [ordinal for ordinal, _ in near] == np.argsort(-(vectors[:100] @ question))[:10].tolist()
    with pytest.raises(Unavailable):  # by signs, of which there are none
        store.nearest(revision, question, 10)


@pytest.mark.parametrize("read_spans", [1, len(SPANS)])
def test_a_vector_that_is_not_finite_comes_last_and_not_first(connection, database, held, read_spans):
    revision = write(connection, held)
    zeros = "[" + ",".join(["0"] * 256) + "]"
    connection.execute("update vectors_256 set embedding = %s::halfvec where ordinal in (2, 4)", (zeros,))
    (vector,) = EMBEDDER.embed(["newv7"])
    store = PostgresSearchStore(database, read_spans=read_spans)

    everywhere, five, four = (store.nearest(revision, vector, limit) for limit in (10, 5, 4))

    assert [ordinal for ordinal, _ in everywhere[4:]] == [2, 4]
    assert np.isnan([cosine for _, cosine in everywhere]).tolist() == [False] * 4 + [True] * 2
    assert [ordinal for ordinal, _ in five] == [ordinal for ordinal, _ in everywhere[:5]]
    assert four == everywhere[:4]
    assert np.isnan(store.cosines(revision, vector, [2])[2])


def test_each_question_to_the_store_is_one_statement_or_none(connection, database, held):
    revision = write(connection, held)
    store = PostgresSearchStore(database)
    (vector,) = EMBEDDER.embed(["parse"])

    def ask() -> int:
        with counted(database) as statements:
            store.nearest(revision, vector, 200)
            store.postings(revision, ["pars", "byte"])
            store.named(revision, ["parse", "bytes"])
            store.cosines(revision, vector, [1, 2])
            store.candidates(revision, [1, 2, 3])
            store.spans(revision, [1, 2])
            store.eligible(revision, Filter(path="**", kind=Kind.FUNC))
            store.copies(revision, [SPANS[0].digest], 10)
            store.digests(revision, [1])
        return len(statements)

    assert [ask(), ask()] == [8, 7]


def assert_same(near: list[tuple[int, float]], as_told: list[tuple[int, float]]) -> None:
    """Numpy and Postgres add up in another order: the cosines may differ in the last digits."""
    assert [ordinal for ordinal, _ in near] == [ordinal for ordinal, _ in as_told]
    assert [cosine for _, cosine in near] == pytest.approx([cosine for _, cosine in as_told], abs=1e-6)


def made(
    connection: psycopg.Connection, count: int, seed: int = 1, name: str = "made"
) -> tuple[Revision, Vectors]:
    """A published revision of made-up vectors, and these as they are stored."""
    held = contents([span(at, "x") for at in range(count)], EMBEDDER, remote=f"https://github.com/up/{name}")
    vectors = spread(count, 256, seed)
    return write(connection, replace(held, vectors=vectors)), vectors.astype(np.float16).astype(np.float32)


def test_a_process_reads_the_vectors_some_at_a_question_and_then_no_more(connection, database):
    revision, vectors = made(connection, 1_000)
    store = PostgresSearchStore(database, read_spans=400)
    (question,) = spread(1, 256, 5)
    some = np.arange(0, 1_000, 7, dtype="<i4")

    answers, counts = [], []
    for _ in range(4):
        with counted(database) as statements:
            everywhere = store.nearest(revision, question, 50)
        counts.append(len(statements))
        answers.append(everywhere)
        cosines = store.cosines(revision, question, [3, 999, 1_000])
        assert cosines == pytest.approx({at: vectors[at] @ question for at in (3, 999)}, abs=1e-3)

    # Two of Postgres' own, of which each reads a part beside; the last part; and nothing.
    assert counts == [2, 2, 1, 0]
    for answer in answers:
        assert [ordinal for ordinal, _ in answer] == [ordinal for ordinal, _ in answers[0]]
        assert [cosine for _, cosine in answer] == pytest.approx(
            [cosine for _, cosine in answers[0]], abs=1e-6
        )
    fresh = PostgresSearchStore(database, read_spans=400)
    assert_same(store.nearest(revision, question, 20, some), fresh.nearest(revision, question, 20, some))


def test_a_large_revision_is_read_by_its_signs_once(connection, database):
    revision, _ = made(connection, 300)
    store = PostgresSearchStore(database, exact_spans=100, sign_candidates=60)
    (question,) = spread(1, 256, 5)

    with counted(database) as first:
        before = store.nearest(revision, question, 20)
    with counted(database) as second:
        after = store.nearest(revision, question, 20)

    assert (len(first), len(second)) == (2, 1)
    assert before == after


def test_of_equal_vectors_the_first_is_the_nearest_also_when_they_are_kept(connection, database):
    held = contents([span(at, "x") for at in range(700)], EMBEDDER)
    vectors = spread(700, 256, 3)
    copies = np.arange(1, 700, 2)
    vectors[copies] = vectors[1]
    revision = write(connection, replace(held, vectors=vectors))
    store = PostgresSearchStore(database, read_spans=700)

    near = store.nearest(revision, vectors[1], 200)
    among = store.nearest(revision, vectors[1], 200, np.arange(300, 700, dtype="<i4"))

    assert [ordinal for ordinal, _ in near] == copies[:200].tolist()
    assert [ordinal for ordinal, _ in among] == copies[150:350].tolist()
    assert {cosine for _, cosine in near} == {near[0][1]}


def test_the_longest_unused_is_not_kept_when_there_is_no_more_room(connection, database):
    revisions = [made(connection, 10, number, f"n{number}")[0] for number in range(3)]
    taken = 10 * 256 * 4
    shelf = Shelf(most_bytes=2 * taken + 1)
    store = PostgresSearchStore(database, shelf)
    (question,) = spread(1, 256, 5)

    def read(number: int) -> bool:
        with counted(database) as statements:
            store.nearest(revisions[number], question, 5)
        assert shelf.nbytes <= 2 * taken
        return bool(statements)

    assert [read(number) for number in (0, 1, 0, 2, 0, 1)] == [True, True, False, True, False, True]


def test_what_is_larger_than_all_the_room_is_read_each_time(connection, database):
    revision, _ = made(connection, 10)
    shelf = Shelf(most_bytes=1_000)
    stores = [PostgresSearchStore(database, shelf), PostgresSearchStore(database, Shelf())]
    (question,) = spread(1, 256, 5)

    assert [stores[0].nearest(revision, question, 5) for _ in range(2)] == [
        stores[1].nearest(revision, question, 5) for _ in range(2)
    ]
    assert shelf.nbytes == 0


@pytest.mark.parametrize("exact_spans", [10, 5])
def test_what_is_kept_answers_for_no_other_publication(connection, database, exact_spans):
    store = PostgresSearchStore(database, exact_spans=exact_spans)
    (question,) = spread(1, 256, 5)
    first, _ = made(connection, 10, 1)
    store.nearest(first, question, 10)

    connection.execute("delete from repos")
    anew, vectors = made(connection, 10, 2)
    found = dict(store.nearest(anew, question, 10))

    assert anew.revision != first.revision
    assert [found[at] for at in range(10)] == pytest.approx((vectors @ question).tolist(), abs=1e-3)


@pytest.mark.parametrize(
    "other",
    [
        {"indexed_at": INDEXED_AT + timedelta(microseconds=1)},
        {"repo_id": "0" * 16, "remote": "https://github.com/up/other"},
        {"fingerprint": "f" * 16},
        {"model": "other"},
    ],
    ids=lambda other: next(iter(other)),
)
@pytest.mark.parametrize("exact_spans", [10, 5])
def test_a_number_that_is_given_out_again_is_another_revision(connection, database, exact_spans, other):
    store = PostgresSearchStore(database, exact_spans=exact_spans, sign_candidates=3)
    (question,) = spread(1, 256, 5)
    first, _ = made(connection, 10, 1)
    store.nearest(first, question, 3)

    # As in a database that was put back to an earlier state.
    connection.execute("truncate repos, revisions restart identity cascade")
    held = contents([span(at, "x") for at in range(10)], EMBEDDER, remote=first.remote)
    anew = replace(held, vectors=spread(10, 256, 2), revision=replace(held.revision, **other))
    again = write(connection, anew)

    assert again.revision == first.revision
    fresh = PostgresSearchStore(database, exact_spans=exact_spans, sign_candidates=3)
    assert store.nearest(again, question, 3) == fresh.nearest(again, question, 3)


GONE = {
    "all": "delete from repos",
    "one vector": "delete from vectors_256 where ordinal = 7",
    "one sign": "delete from signs_256 where ordinal = 7",
}


@pytest.mark.parametrize(
    ("gone", "options"),
    [
        ("all", {}),
        ("one vector", {}),
        ("all", {"read_spans": 4}),
        ("one vector", {"read_spans": 8}),
        ("all", {"exact_spans": 5}),
        ("one sign", {"exact_spans": 5}),
    ],
)
def test_of_a_revision_that_is_swept_while_it_is_read_nothing_is_told_or_kept(
    connection, database, gone, options
):
    revision, _ = made(connection, 10)
    shelf = Shelf()
    store = PostgresSearchStore(database, shelf, **options)
    (question,) = spread(1, 256, 5)
    connection.execute(GONE[gone])

    for _ in range(2):
        with pytest.raises(Unavailable, match="indexed anew"):
            store.nearest(revision, question, 5)

    assert shelf.nbytes == 0


def test_a_revision_that_is_swept_after_a_part_was_read_is_not_compared(connection, database):
    revision, _ = made(connection, 10)
    by_parts = PostgresSearchStore(database, read_spans=4)
    by_signs = PostgresSearchStore(database, exact_spans=5, sign_candidates=5)
    (question,) = spread(1, 256, 5)
    by_parts.nearest(revision, question, 5)
    by_signs.nearest(revision, question, 5)

    connection.execute("delete from repos")

    for store in (by_parts, by_signs):
        with pytest.raises(Unavailable, match="indexed anew"):
            store.nearest(revision, question, 5)


@pytest.mark.parametrize("dimension", [256, 384, 512, 768, 1024])
def test_every_dimension_has_its_table(connection, database, dimension):
    embedder = FakeEmbedder(dimension)
    revision = write(connection, contents(SPANS, embedder))
    (vector,) = embedder.embed(["parse"])

    scanned = PostgresSearchStore(database, read_spans=1).nearest(revision, vector, 3)

    assert len(scanned) == 3
    assert_same(PostgresSearchStore(database).nearest(revision, vector, 3), scanned)
    assert PostgresSearchStore(database, exact_spans=0).nearest(revision, vector, 3) == scanned


def test_a_dimension_without_a_table_is_no_table_name(database, held):
    with pytest.raises(ValueError, match="100 dimensions"):
        PostgresSearchStore(database).nearest(replace(held.revision, dimension=100), held.vectors[0], 1)
