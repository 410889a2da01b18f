"""Lines and digests against plain splitting at LF, which is how git, sed and head count."""

from hashlib import sha256

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codetrail.domain.lines import Lines
from tests.support.gitrepos import ODD_CONTENTS

# Everything that some other way of counting takes for the end of a line.
SEPARATORS = [
    "\r",
    "\r\n",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x1d",
    "\x1e",
    "\x85",
    "\u2028",
    "\u2029",
    "\x00",
    "\n\r",
]

blobs = st.one_of(
    st.binary(max_size=200),
    st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\r\n", b"\x0c", b"\x00", b"\xe2\x80\xa8"])).map(b"".join),
    st.sampled_from(list(ODD_CONTENTS.values())),
)  # fmt: skip


def lines_of(blob: bytes) -> list[bytes]:
    """The oracle: pieces that end at LF, and a last one without it."""
    pieces = blob.split(b"\n")
    return pieces[:-1] if not pieces[-1] else pieces


@given(blobs)
def test_a_line_ends_at_lf_and_nowhere_else(blob):
    assert len(Lines(blob)) == len(lines_of(blob))


@given(blobs, st.data())
def test_lines_by_number_are_cut_without_the_last_lf(blob, data):
    expected = lines_of(blob)
    if not expected:
        return
    start = data.draw(st.integers(1, len(expected)))
    end = data.draw(st.integers(start, len(expected)))

    location = Lines(blob).between(start, end)

    cut = b"\n".join(expected[start - 1 : end])
    assert blob[location.start_byte : location.start_byte + location.length] == cut
    assert location.digest == sha256(cut).hexdigest()
    assert (location.start_line, location.end_line) == (start, end)


@given(blobs, st.data())
def test_a_piece_of_bytes_becomes_the_lines_that_it_touches(blob, data):
    if not blob:
        return
    start = data.draw(st.integers(0, len(blob) - 1))
    end = data.draw(st.integers(start + 1, len(blob)))

    location = Lines(blob).locate(start, end)

    assert location.start_line == blob[:start].count(b"\n") + 1
    assert location.end_line == blob[: end - 1].count(b"\n") + 1
    assert location == Lines(blob).between(location.start_line, location.end_line)


@given(blobs.filter(bool), st.data())
def test_a_byte_stands_on_the_line_that_its_newlines_before_say(blob, data):
    offset = data.draw(st.integers(0, len(blob) - 1))

    assert Lines(blob).of_byte(offset) == blob[:offset].count(b"\n") + 1


@given(blobs)
@example(b"\n")
@example(b"\n\n")
def test_the_lines_of_a_blob_put_together_are_the_blob(blob):
    lines = Lines(blob)
    cuts = [lines.between(n, n) for n in range(1, len(lines) + 1)]

    whole = b"\n".join(blob[cut.start_byte : cut.start_byte + cut.length] for cut in cuts)
    assert whole == blob or whole + b"\n" == blob


@pytest.mark.parametrize("separator", SEPARATORS, ids=ascii)
def test_what_others_take_for_a_line_end_shifts_no_declaration(separator):
    before = f"text = '{separator}'\n".encode()
    source = before + b"def found():\n    pass\n"

    location = Lines(source).locate(source.index(b"def"), len(source))

    assert location.start_line == before.count(b"\n") + 1
    assert location.end_line == location.start_line + 1


def test_a_form_feed_alone_on_a_line_is_one_line():
    source = b"x = 1\n\x0c\ndef f():\n"

    assert Lines(source).of_byte(source.index(b"def")) == 3


def test_a_carriage_return_belongs_to_its_line_and_to_the_digest():
    source = b"one\r\ntwo\r\r\nthree"

    assert len(Lines(source)) == 3
    assert Lines(source).between(2, 2).digest == sha256(b"two\r\r").hexdigest()


def test_a_file_of_carriage_returns_alone_is_one_line():
    source = b"class A\rclass B\r"

    assert Lines(source).locate(8, 15) == Lines(source).between(1, 1)
    assert len(Lines(source)) == 1


def test_wide_characters_before_a_piece_do_not_shift_it():
    source = "# 大大大 😀\ndef f(): pass\n".encode()
    start = source.index(b"def")

    location = Lines(source).locate(start, start + 13)

    assert location.start_line == 2
    assert location.start_byte == start
    assert source[location.start_byte :].startswith(b"def f")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_counted_by_its_bytes_like_any_other_file(encoding):
    # U+010A and U+0A05 hold the byte 0x0A too, and sed counts it.
    source = "a\n\u010a\u0a05b".encode(encoding)

    assert len(Lines(source)) == source.count(b"\n") + 1


@pytest.mark.parametrize(
    ("blob", "count"), [(b"", 0), (b"\n", 1), (b"   ", 1), (b"\n\n", 2), (b"a", 1), (b"a\n", 1)]
)
def test_an_empty_file_has_no_line_and_a_lone_newline_is_one(blob, count):
    assert len(Lines(blob)) == count


@pytest.mark.parametrize(("start", "end"), [(0, 0), (0, 1), (-1, 1), (2, 1), (1, 4), (4, 4)])
def test_lines_that_are_not_there_are_never_located(start, end):
    with pytest.raises(ValueError, match="not lines"):
        Lines(b"one\ntwo\nthree\n").between(start, end)


@pytest.mark.parametrize(("start", "end"), [(0, 0), (2, 1), (-1, 1), (0, 9), (8, 9)])
def test_bytes_that_are_not_there_are_never_located(start, end):
    with pytest.raises(ValueError, match="not a piece"):
        Lines(b"one\ntwo\n").locate(start, end)


def test_no_line_of_an_empty_file_can_be_cited():
    with pytest.raises(ValueError, match="not lines"):
        Lines(b"").between(1, 0)
