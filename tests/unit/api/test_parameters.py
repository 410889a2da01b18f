"""Cursors and limits."""

from datetime import UTC, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codetrail.api.parameters import bounded, read_cursor, write_cursor

ids = st.text("0123456789abcdef", min_size=16, max_size=16)
zones = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30)), timezone(-timedelta(hours=8))])


@given(st.datetimes(timezones=zones), ids)
def test_a_cursor_leads_back_to_its_place(when, repo_id):
    assert read_cursor(write_cursor(when, repo_id)) == (when, repo_id)


@given(st.text(max_size=300))
def test_any_other_text_is_refused_by_one_sentence(text):
    with pytest.raises(ValueError, match="not a cursor that this API gave"):
        read_cursor(text)


@given(st.datetimes(timezones=zones), ids, st.integers(0, 60), st.characters(codec="ascii"))
def test_a_cursor_that_was_changed_is_refused_or_names_another_place(when, repo_id, at, character):
    cursor = write_cursor(when, repo_id)
    changed = cursor[:at] + character + cursor[at + 1 :]
    try:
        place = read_cursor(changed)
    except ValueError:
        return

    assert write_cursor(*place) == changed


@pytest.mark.parametrize("limit", [1, 2, 50])
def test_a_limit_within_its_bounds_stays_as_it_is(limit):
    assert bounded(limit) == limit


@pytest.mark.parametrize("limit", [0, -1, 51, 10**30])
def test_a_limit_outside_is_refused(limit):
    with pytest.raises(ValueError, match="from 1 to 50"):
        bounded(limit)
