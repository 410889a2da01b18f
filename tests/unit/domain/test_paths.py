"""A path's text form leads back to its bytes, and no two paths share one."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codetrail.domain.paths import to_bytes, to_text
from tests.support.gitrepos import ODD_NAMES

paths = st.binary(max_size=40) | st.lists(
    st.sampled_from(
        [b"\\", b"\\x", b"41", b"\\x41", b"\\\\", b"\xff", b"\xc3", b"\xa9", b"a", b"n", b"/", b"\n"]
    )
).map(b"".join)


@given(paths)
@example(b"\\xff")
@example(b"\xff")
@example(b"\\\\xff")
@example(b"\\\xff")
def test_the_text_of_a_path_leads_back_to_its_bytes(path):
    assert to_bytes(to_text(path)) == path


@given(paths, paths)
@example(b"\\xff", b"\xff")
def test_two_paths_never_share_a_text(one, other):
    assert (to_text(one) == to_text(other)) == (one == other)


@given(paths)
def test_the_text_of_a_path_survives_json_and_a_database(path):
    text = to_text(path)

    assert json.loads(json.dumps(text)) == text
    assert text.encode("utf-8").decode("utf-8") == text


@pytest.mark.parametrize("path", ODD_NAMES, ids=ascii)
def test_every_odd_name_leads_back_to_its_bytes(path):
    assert to_bytes(to_text(path)) == path


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (b"a/b.py", "a/b.py"),
        ("日本語.txt".encode(), "日本語.txt"),
        (b"back\\slash", "back\\\\slash"),
        (b"caf\xe9", "caf\\xe9"),
        (b"\xc3(", "\\xc3("),
        (b"\xed\xa0\x80", "\\xed\\xa0\\x80"),
        (b"\\xe9", "\\\\xe9"),
    ],
)
def test_what_is_text_stays_and_what_is_not_is_written_in_hex(path, text):
    assert to_text(path) == text
