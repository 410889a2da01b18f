"""Windows: every line in one, each no longer than it may be."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from codetrail.adapters.treesitter.windows import WINDOW_BYTES, Rows, Rules, window_file, windows


def test_windows_overlap_by_ten_lines() -> None:
    source = b"".join(b"%d\n" % number for number in range(100))

    cut = [
        source[piece.start_byte : piece.end_byte].split(b"\n")[:-1] for piece in window_file(source, Rules())
    ]

    assert [(lines[0], lines[-1]) for lines in cut] == [(b"0", b"39"), (b"30", b"69"), (b"60", b"99")]


def test_a_short_file_is_one_window() -> None:
    assert [(piece.start_byte, piece.end_byte) for piece in window_file(b"a\nb", Rules())] == [(0, 3)]


def test_giant_lines_stand_alone() -> None:
    source = b"a\n" + b"x" * (WINDOW_BYTES * 3) + b"\nb\n"

    cut = [source[piece.start_byte : piece.end_byte] for piece in window_file(source, Rules())]

    assert [len(piece) for piece in cut] == [2, WINDOW_BYTES * 3 + 1, 2]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.binary(max_size=3_000).filter(lambda line: b"\n" not in line), min_size=1, max_size=150),
    st.integers(2, 50),
    st.data(),
)
def test_every_line_is_in_a_window_and_windows_go_forward(
    lines: list[bytes], size: int, data: st.DataObject
) -> None:
    rules = Rules(window_lines=size, window_overlap=data.draw(st.integers(0, size - 1)))
    source = b"\n".join(lines) or b"x"
    rows = Rows(source)

    cut = list(windows(rows, 0, len(rows) - 1, rules))

    starts = [piece.start_byte for piece in cut]
    assert starts == sorted(set(starts))
    assert cut[0].start_byte == 0
    assert cut[-1].end_byte == len(source)
    for before, after in pairwise(cut):
        assert after.start_byte <= before.end_byte
    for piece in cut:
        text = source[piece.start_byte : piece.end_byte]
        assert text.removesuffix(b"\n").count(b"\n") < size
        assert len(text) <= WINDOW_BYTES or b"\n" not in text[:-1]
