import io

import pytest

from codetrail_local.terminal import Style, Terminal, style_of, visible, visible_json, visible_line


class TerminalStream(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def terminal_stream(encoding: str = "utf-8") -> TerminalStream:
    return TerminalStream(io.BytesIO(), encoding=encoding, newline="\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("a\rb", "a\\x0db"),
        ("a\bb", "a\\x08b"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("a\u2028b", "a\\u2028b"),
        ("\ufeffa", "\\ufeffa"),
        ("\U000e0041", "\\U000e0041"),
        ("\udc80", "\\udc80"),
        ("\x7f", "\\x7f"),
    ],
)
def test_what_a_terminal_would_obey_is_written_out(text, shown):
    assert visible(text) == shown


def test_lines_tabs_and_every_script_stay_as_they_are():
    text = "func\tпример()\n\n  日本語 👩\u200d💻 é\u00a0x\n"

    assert visible(text) == text


def test_a_carriage_return_that_ends_a_line_is_a_line_ending():
    assert visible("a\r\nb\r\n") == "a\nb\n"


def test_a_name_stays_on_its_line():
    assert visible_line("a\nb\tc\r\nd") == "a\\nb\\tc\\nd"


def test_a_json_body_on_a_terminal_is_the_same_document_without_what_steers_it():
    assert visible_json('{"a":"\x9b2J \u202e \U000e0041"}') == '{"a":"\\u009b2J \\u202e \\udb40\\udc41"}'


def test_prose_is_wrapped_and_an_address_is_never_broken():
    address = "https://example.com/" + "a" * 100
    lines = Style(columns=40).prose(f"one two three four five six seven eight nine {address}").split("\n")

    assert lines[-1] == address
    assert all(len(line) <= 40 for line in lines[:-1])


def test_marks_fall_back_to_ascii():
    assert Style(unicode=False).mark(good=True) == "ok"
    assert Style(unicode=True).mark(good=False) == "✗"


def test_a_pipe_gets_no_colour():
    assert not style_of(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")).colour


def test_a_terminal_gets_colour_unless_it_says_no(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert style_of(terminal_stream()).colour

    monkeypatch.setenv("NO_COLOR", "1")
    assert not style_of(terminal_stream()).colour

    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not style_of(terminal_stream()).colour


def test_a_character_that_the_encoding_lacks_is_written_as_its_escape():
    written = io.BytesIO()
    terminal = Terminal(out=TerminalStream(written, encoding="ascii"), err=terminal_stream())
    terminal.prepare()

    terminal.say("ключ ✓")
    terminal.out.flush()

    assert written.getvalue() == b"\\u043a\\u043b\\u044e\\u0447 \\u2713\n"


def test_a_body_into_a_pipe_is_byte_for_byte():
    written = io.BytesIO()
    terminal = Terminal(out=io.TextIOWrapper(written, encoding="ascii"), err=terminal_stream())

    terminal.body('{"a":"\u202e\x9bé"}'.encode())

    assert written.getvalue() == '{"a":"\u202e\x9bé"}'.encode()


def test_quiet_leaves_out_notes_and_keeps_warnings():
    written = io.BytesIO()
    err = io.TextIOWrapper(written, encoding="utf-8")
    terminal = Terminal(quiet=True, out=terminal_stream(), err=err)

    terminal.note("on the way")
    terminal.warn("must be seen")

    assert written.getvalue() == b"must be seen\n"
