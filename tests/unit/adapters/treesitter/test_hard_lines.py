"""Lines and bytes that other tools get wrong. The judge is sed, not our own counting."""

import hashlib
import subprocess

import pytest

from tests.support.chunking import Cut, CutFile, cut_file


def sed_lines(data: bytes, start: int, end: int) -> bytes:
    """Return lines *start* to *end* as sed cuts them, without the last one's LF."""
    command = ["sed", "-n", f"{start},{end}p"]
    found = subprocess.run(command, input=data, capture_output=True, check=True, env={"LC_ALL": "C"}).stdout
    return found.removesuffix(b"\n")


def is_right(data: bytes, piece: Cut) -> bool:
    return piece.digest == hashlib.sha256(sed_lines(data, piece.start, piece.end)).hexdigest()


def all_right(data: bytes, cut: CutFile) -> bool:
    return bool(cut.pieces) and all(is_right(data, piece) for piece in cut.pieces)


@pytest.mark.parametrize(
    "odd",
    ["\x0c", "\x0b", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"],
    ids=lambda odd: f"U+{ord(odd):04X}",
)
def test_a_separator_of_pythons_own_ends_no_line(odd: str) -> None:
    data = f"x = '{odd}'\n{'' if odd not in chr(12) else odd}\ndef f():\n    return 1\n".encode()

    cut = cut_file("a.py", data)

    assert cut.named("f").start == 3
    assert sed_lines(data, 3, 3) == b"def f():"
    assert all_right(data, cut)


@pytest.mark.parametrize("ending", [b"\r\n", b"\r\r\n"])
def test_a_carriage_return_before_the_line_feed_is_a_byte_of_the_line(ending: bytes) -> None:
    data = ending.join([b"x = 1", b"", b"def f():", b"    return 1", b"", b"y = 2", b""])

    cut = cut_file("a.py", data)

    assert (cut.named("f").start, cut.named("f").end) == (3, 4)
    assert all_right(data, cut)


def test_a_file_without_any_line_feed_is_one_line() -> None:
    data = b"x = 1\rdef f():\r    return 1\r"

    cut = cut_file("a.py", data)

    assert {(piece.start, piece.end) for piece in cut.pieces} == {(1, 1)}
    assert all_right(data, cut)


def test_the_last_function_of_a_file_without_a_final_newline_keeps_its_last_byte() -> None:
    data = b"package a\r\n\r\nfunc f() {\r\n\treturn\r\n}"

    cut = cut_file("a.go", data)

    assert cut.named("f").end == 5
    assert cut.named("f").text.endswith("}")
    assert all_right(data, cut)


def test_wide_characters_above_a_function_move_neither_its_name_nor_its_lines() -> None:
    data = "# 大大大 😀\ndef f():\n    return '😀'\n".encode()

    cut = cut_file("a.py", data)

    assert cut.where == [("func", "f", 1, 3)]
    assert all_right(data, cut)


def test_decorators_of_several_lines_belong_to_the_function() -> None:
    data = b"import functools\n\n\n@functools.cache(\n    1,\n)\n@other\ndef f():\n    return 1\n"

    cut = cut_file("a.py", data)

    assert cut.where == [("func", "f", 4, 9)]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_encodings_are_searchable_and_numbered_as_sed_numbers_them(encoding: str) -> None:
    # U+010A and U+0A05 hold the byte 0x0A and end a line for sed in the middle of a character.
    text = "class A\r\n{\r\n    // \u010a \u0a05\r\n    void Save() { }\r\n}\r\n"
    data = ("\ufeff" + text).encode(encoding)

    cut = cut_file("a.cs", data)

    save = cut.named("A.Save")
    assert b"Save" in sed_lines(data, save.start, save.end).replace(b"\0", b"")
    assert "void Save() { }" in save.text
    assert save.end == data[: data.index("Save".encode(encoding))].count(b"\n") + 1
    assert "\ufeff" not in "".join(piece.text for piece in cut.pieces)
    assert all_right(data, cut)
    assert cut.reason is None


def test_wide_bytes_that_do_not_decode_are_listed_as_not_indexed() -> None:
    cut = cut_file("a.ps1", b"\xff\xfea\0\0\xd8")

    assert cut.reason == "encoding"
    assert cut.pieces == []


def test_a_byte_order_mark_is_no_text_but_is_in_the_digest() -> None:
    data = b"\xef\xbb\xbfdef f():\n    return 1\n"

    cut = cut_file("a.py", data)

    assert cut.where == [("func", "f", 1, 2)]
    assert cut.pieces[0].text.startswith("def f")
    assert cut.pieces[0].digest == hashlib.sha256(b"\xef\xbb\xbfdef f():\n    return 1").hexdigest()


def test_front_matter_behind_a_byte_order_mark_is_still_front_matter() -> None:
    cut = cut_file("a.md", b"\xef\xbb\xbf---\ntitle: secret\n---\n\n# A\n\nText.\n")

    assert cut.where == [("section", "A", 5, 7)]


def test_latin_1_is_indexed_with_replacements_and_a_digest_of_its_bytes() -> None:
    data = b"# caf\xe9\ndef f():\n    return 1\n"

    cut = cut_file("a.py", data)

    assert cut.reason == "encoding_replaced"
    assert "caf\ufffd" in cut.named("f").text
    assert all_right(data, cut)


@pytest.mark.parametrize("data", [b"", b"\n", b"   \n\n  ", b"\r\n"])
def test_a_file_that_says_nothing_has_no_pieces(data: bytes) -> None:
    cut = cut_file("a.py", data)

    assert cut.pieces == []
    assert cut.reason in ("empty", "no_words")


def test_declarations_on_one_line_are_told_apart() -> None:
    data = b"package a; func f() {}; func g() {}\n"

    cut = cut_file("a.go", data)

    assert [piece.symbol for piece in cut.pieces] == ["f", "g"]
    assert all_right(data, cut)
