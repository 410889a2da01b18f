import logging
import math
from dataclasses import replace

import numpy as np
import pytest

from codetrail.adapters.embedder.fake import FakeEmbedder
from codetrail.adapters.stemmer import SnowballStemmer
from codetrail.domain.bm25 import idf
from codetrail.domain.search import Filter, Found, Mode, Query, Searched
from codetrail.domain.span import Kind
from codetrail.errors import NotFound, Unavailable, WrongModel
from codetrail.services import search as service
from codetrail.services.search import search
from tests.support.fakes_search import FakeRepoStore, FakeSearchStore
from tests.support.revisions import Contents, contents, span

EMBEDDER = FakeEmbedder(256)
ALL = Filter()
HELD = contents(
    [
        span(0, "// Parse decodes s into a UUID\nfunc Parse(s string) (UUID, error) {}", symbol="Parse"),
        span(1, "func ParseBytes(b []byte) (UUID, error) {}", symbol="ParseBytes"),
        span(2, "// NewV7 returns a time ordered UUID\nfunc NewV7() (UUID, error) {}", symbol="NewV7"),
        span(3, "func (uuid UUID) String() string {}", symbol="UUID.String"),
        span(
            4, "Install the module with go get.", symbol="uuid > Install", kind=Kind.SECTION, path="README.md"
        ),
        span(
            5, "func TestParse(t *testing.T) { Parse(s) }", symbol="TestParse", test=True, path="uuid_test.go"
        ),
        span(6, "type Clock struct { now func() time }", symbol="Clock", kind=Kind.TYPE),
    ],
    EMBEDDER,
)


def ask(
    text: str,
    mode: Mode = Mode.HYBRID,
    *,
    held: Contents = HELD,
    limit: int = 10,
    store: FakeSearchStore | None = None,
    repos: FakeRepoStore | None = None,
    only: Filter = ALL,
) -> Found:
    return search(
        Query(held.revision.repo_id, text, limit, only),
        repos=repos or FakeRepoStore(held),
        spans=store or FakeSearchStore(held),
        embedder=EMBEDDER,
        stemmer=SnowballStemmer(),
        mode=mode,
    )


def test_vector_mode_ranks_by_cosine_and_by_nothing_else():
    found = ask("time ordered uuid", Mode.VECTOR)

    (question,) = EMBEDDER.embed(["time ordered uuid"])
    cosines = HELD.vectors @ question
    assert [hit.span.ordinal for hit in found.hits] == np.argsort(-cosines, kind="stable").tolist()
    assert [hit.vector_rank for hit in found.hits] == list(range(1, 8))
    assert all(hit.score == hit.vector_score and hit.lexical_rank == 0 for hit in found.hits)
    assert found.top_score == found.hits[0].vector_score


def test_lexical_mode_ranks_by_the_words_as_bm25_adds_them_up():
    found = ask("install module", Mode.LEXICAL)

    by_hand = 0.0
    for posting in HELD.postings:
        ordinals = np.frombuffer(posting.ordinals, "<i4").tolist()
        if posting.term in ("instal", "modul", "instal modul") and 4 in ordinals:
            weight = np.frombuffer(posting.weights, "<f4")[ordinals.index(4)]
            by_hand += float(weight) * idf(7, len(ordinals))
    (hit,) = found.hits
    assert math.isclose(hit.score, by_hand, rel_tol=1e-6)
    assert (hit.span.ordinal, hit.lexical_rank, hit.vector_rank, hit.vector_score) == (4, 1, 0, None)
    assert found.top_score is None


def test_a_pair_that_stands_together_weighs_more_than_its_words_apart():
    held = contents([span(0, "random clock uuid sequence"), span(1, "sequence random uuid clock")], EMBEDDER)

    found = ask("random uuid", Mode.LEXICAL, held=held)

    assert [hit.span.ordinal for hit in found.hits] == [1, 0]


def test_lexical_mode_finds_nothing_where_no_word_stands():
    found = ask("zebra", Mode.LEXICAL)

    assert (found.hits, found.top_score) == ((), None)


def test_lexical_mode_compares_no_vectors_and_minds_no_other_model():
    held = replace(HELD, revision=replace(HELD.revision, model="another/768"))

    assert ask("install", Mode.LEXICAL, held=held).hits[0].span.ordinal == 4


@pytest.mark.parametrize("mode", [Mode.VECTOR, Mode.HYBRID])
def test_a_revision_of_another_embedder_is_refused_with_both_names(mode):
    held = replace(HELD, revision=replace(HELD.revision, model="another/768"))

    with pytest.raises(WrongModel, match=r"another/768.*fake/256"):
        ask("parse", mode, held=held)


@pytest.mark.parametrize(
    ("text", "ordinal"),
    [
        ("what does Parse do", 0),
        ("where is ParseBytes", 1),
        ("how is a time ordered UUID made", 2),
        ("UUID.String", 3),
        ("how do I install the module", 4),
        ("which test covers Parse", 5),
        ("Clock", 6),
    ],
)
def test_hybrid_mode_puts_what_is_asked_for_first(text, ordinal):
    assert ask(text).hits[0].span.ordinal == ordinal


def test_hybrid_hits_tell_what_each_arm_said():
    found = ask("Parse decodes")

    vector = {hit.span.ordinal: hit.vector_rank for hit in ask("Parse decodes", Mode.VECTOR).hits}
    lexical = {hit.span.ordinal: hit.lexical_rank for hit in ask("Parse decodes", Mode.LEXICAL).hits}
    for hit in found.hits:
        assert hit.vector_rank == vector[hit.span.ordinal]
        assert hit.lexical_rank == lexical.get(hit.span.ordinal, 0)
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)
    assert found.top_score == max(hit.vector_score or -1 for hit in found.hits)


@pytest.mark.parametrize("mode", list(Mode))
def test_no_more_hits_are_given_than_asked_for(mode):
    assert len(ask("parse uuid", mode, limit=2).hits) == 2


@pytest.mark.parametrize("mode", list(Mode))
def test_an_empty_revision_gives_no_hits_and_no_error(mode):
    found = ask("parse", mode, held=contents([], EMBEDDER))

    assert (found.hits, found.top_score) == ((), None)


def test_a_span_that_only_its_name_finds_is_a_candidate(monkeypatch):
    # Neither arm of depth one returns it.
    monkeypatch.setattr(service, "ARM_DEPTH", 1)

    found = ask("ParseBytes, install the module, install the module with go get", limit=10)

    by_name = {hit.span.ordinal: hit for hit in found.hits}[1]
    assert (by_name.vector_rank, by_name.lexical_rank) == (0, 0)
    assert by_name.vector_score is not None


def test_the_candidates_of_three_arms_rank_like_every_span(monkeypatch):
    texts = ["Parse", "time ordered uuid", "install", "clock now", "string of a uuid", "test of Parse"]
    few = []
    for text in texts:
        monkeypatch.setattr(service, "ARM_DEPTH", 3)
        few.append(ask(text, limit=1).hits[0].span.ordinal)
        monkeypatch.setattr(service, "ARM_DEPTH", 200)
        assert ask(text, limit=1).hits[0].span.ordinal == few[-1]


def test_a_vector_that_is_not_a_number_ranks_last_and_is_told_as_none():
    vectors = HELD.vectors.copy()
    vectors[0] = np.nan
    held = replace(HELD, vectors=vectors)

    meaning, all_arms = ask("parse a uuid", Mode.VECTOR, held=held), ask("parse a uuid", held=held)

    for found in (meaning, all_arms):
        (hit,) = [hit for hit in found.hits if hit.span.ordinal == 0]
        assert hit.vector_score is None
        assert math.isfinite(hit.score)
        assert found.top_score is not None
    assert all(math.isfinite(hit.score) for hit in all_arms.hits)


def test_equal_scores_keep_the_order_of_the_repository():
    held = contents([span(at, "same words") for at in range(6)], EMBEDDER)

    for mode in Mode:
        assert [hit.span.ordinal for hit in ask("same words", mode, held=held).hits] == list(range(6))


MANY = contents(
    [
        *(span(at, "parse the header", path=f"vendor/n{at:03}/a.js", digest="d" * 64) for at in range(300)),
        *(span(at, f"header parse number {at}", path=f"src/n{at}.js") for at in range(300, 305)),
    ],
    EMBEDDER,
)


@pytest.mark.parametrize("mode", list(Mode))
def test_copies_of_one_text_are_one_hit_that_counts_them_however_many_there_are(mode):
    found = ask("parse the header", mode, held=MANY, limit=6)

    assert sorted(hit.span.ordinal for hit in found.hits if hit.span.ordinal >= 300) == list(range(300, 305))
    (copied,) = [hit for hit in found.hits if hit.copies]
    assert copied.copies == 299
    others = [f"vendor/n{at:03}/a.js" for at in range(11) if at != copied.span.ordinal]
    assert [place.path for place in copied.copy_places] == others[:10]
    assert all(hit.copy_places == () for hit in found.hits if not hit.copies)


def test_the_best_ranked_of_the_copies_is_the_hit():
    held = contents(
        [
            span(0, "x", path="other.go", digest="d" * 64),
            span(1, "clock", path="clock.go"),
            span(2, "x", symbol="Clock", path="clock_x.go", digest="d" * 64),
        ],
        EMBEDDER,
    )

    (first, second) = ask("Clock", held=held).hits

    assert [hit.span.ordinal for hit in (first, second)] == [2, 1]
    assert [place.path for place in first.copy_places] == ["other.go"]


def test_two_spans_of_the_same_lines_are_no_copies_of_one_another():
    held = contents(
        [
            span(0, "class A { f() {} }", symbol="A", kind=Kind.TYPE, start_line=1, digest="d" * 64),
            span(1, "class A { f() {} }", symbol="A.f", start_line=1, digest="d" * 64),
        ],
        EMBEDDER,
    )

    (hit,) = ask("class A", held=held).hits

    assert (hit.copies, hit.copy_places) == (0, ())


def test_cells_that_share_a_line_are_each_found_for_what_they_say():
    cells = [
        span(at, text, symbol="", kind=Kind.FILE, path="all.ipynb", start_line=1, digest="d" * 64)
        for at, text in enumerate(["load the table", "draw the table"])
    ]

    found = ask("table", held=contents(cells, EMBEDDER)).hits

    assert sorted((hit.span.text, hit.copies) for hit in found) == [
        ("draw the table", 0),
        ("load the table", 0),
    ]


FILTERED = contents(
    [
        *(span(at, f"parse header {at}", path=f"lib/n{at}.go", symbol="parse") for at in range(250)),
        span(250, "parse", path="docs/a/guide.md", kind=Kind.SECTION, language="markdown"),
        span(251, "parse header by test", path="docs/b_test.go", symbol="parse_b", test=True),
        span(252, "nothing of it", path="docs/c.go", symbol="other"),
    ],
    EMBEDDER,
)


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize(
    ("only", "ordinals"),
    [
        (Filter(path="docs/**"), {250, 251, 252}),
        (Filter(path="docs/*"), {251, 252}),
        (Filter(language="markdown"), {250}),
        (Filter(kind=Kind.SECTION), {250}),
        (Filter(path="docs/**", exclude_tests=True), {250, 252}),
        (Filter(path="docs/**", language="go", kind=Kind.FUNC, exclude_tests=True), {252}),
    ],
)
def test_a_filter_acts_before_the_arms_are_cut(mode, only, ordinals):
    found = ask("parse header", mode, held=FILTERED, only=only)

    matching = {250, 251} if mode is Mode.LEXICAL else ordinals
    assert {hit.span.ordinal for hit in found.hits} == ordinals & matching
    assert found.searched.spans == len(ordinals)


def test_a_word_is_as_rare_in_a_part_as_it_is_in_the_whole():
    everywhere = {hit.span.ordinal: hit.score for hit in ask("Parse", Mode.LEXICAL).hits}

    part = {
        hit.span.ordinal: hit.score
        for hit in ask("Parse", Mode.LEXICAL, only=Filter(exclude_tests=True)).hits
    }

    assert part == {ordinal: score for ordinal, score in everywhere.items() if ordinal != 5}


def test_the_best_of_what_is_left_has_all_of_the_words_share():
    # Rank 1 and the full share of the score, whatever stands outside the filter.
    (alone,) = ask("Install", only=Filter(path="README.md")).hits

    assert alone.lexical_rank == 1
    assert alone.score == next(hit.score for hit in ask("Install").hits if hit.span.ordinal == 4)


def test_without_a_filter_all_of_the_revision_was_searched():
    assert ask("parse", held=FILTERED).searched == Searched(files=253, spans=253)


def test_a_search_winds_the_clock_of_the_repository():
    repos = FakeRepoStore(HELD)

    ask("parse", repos=repos)

    assert repos.wound == [HELD.revision.repo_id]


def test_an_unknown_repository_is_not_found():
    with pytest.raises(NotFound):
        ask("parse", repos=FakeRepoStore())


def test_rows_that_vanish_in_the_middle_are_no_half_of_a_result():
    class Swept(FakeSearchStore):
        def spans(self, revision, ordinals):
            return {}

    with pytest.raises(Unavailable, match="ask again"):
        ask("parse", store=Swept(HELD))


def test_the_question_reaches_no_log_line(caplog):
    with caplog.at_level(logging.DEBUG):
        ask("Zanzibar parse")

    assert "searched" in caplog.text
    assert all("anzibar" not in str(vars(record)) for record in caplog.records)
