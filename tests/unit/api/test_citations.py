"""What responses say of a revision and of its spans."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from codetrail.adapters.embedder.fake import FakeEmbedder
from codetrail.api.citations import MAX_TEXT_BYTES, Coverage, Staleness, shown_text
from codetrail.domain import repo
from tests.support.revisions import contents, span

REVISION = contents([span(0, "func Parse() {}", symbol="Parse")], FakeEmbedder()).revision


def test_a_ref_that_was_indexed_later_at_another_commit_makes_a_revision_superseded():
    later = datetime.now(UTC) - timedelta(hours=3)
    moved = replace(REVISION, newer_commit="f" * 40, newer_indexed_at=later)

    told = Staleness.of(moved)

    assert (told.state, told.newer_commit, told.newer_indexed_at) == ("superseded", "f" * 40, later)
    assert told.forge_checked is False
    assert "HEAD has since been indexed here at commit fffffff, 3 hours ago." in told.note


def test_coverage_tells_the_most_frequent_reason_first():
    told = Coverage.of(repo.Coverage(skipped=9, reasons={"binary": 2, "empty": 2, "too_large": 5}))

    assert list(told.reasons.items()) == [("too_large", 5), ("binary", 2), ("empty", 2)]


@given(st.text("aé漢🦀\n", max_size=50), st.integers(0, 5_000))
def test_a_shown_text_is_the_longest_beginning_that_fits(piece, times):
    text = piece * times

    shown, cut = shown_text(text)

    assert text.startswith(shown)
    assert cut == (shown != text)
    assert len(shown.encode()) <= MAX_TEXT_BYTES
    if cut:
        assert len((shown + text[len(shown)]).encode()) > MAX_TEXT_BYTES
