"""Where the command speaks: answers on standard output, everything else on standard error.

What comes out of a repository or an API is a stranger's text: nothing that moves a cursor, paints, renames a
window or turns the reading direction reaches a terminal as it is.
"""

import os
import shutil
import sys
import textwrap
import unicodedata
from dataclasses import dataclass, field
from typing import TextIO

# Joiners shape emoji and several scripts and do nothing else; every other format character may deceive.
_HARMLESS_FORMAT = frozenset("\u200c\u200d\u00ad")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})

# Prose wider than this is hard to read; a terminal narrower than the other is not one to lay out for.
MAX_PROSE_COLUMNS = 100
MIN_PROSE_COLUMNS = 30


def visible(text: str) -> str:
    """Return *text* with every control and deceiving character written out as an escape; LF and TAB stay.

    A CR that ends a line stays out: it is a line ending and hides nothing.
    """
    if text.isprintable():
        return text
    return "".join(_shown(character) for character in text.replace("\r\n", "\n"))


def visible_line(text: str) -> str:
    """Return *text* as one line: as `visible`, and LF and TAB are written out too."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def visible_json(body: str) -> str:
    """Return a JSON document with what a terminal would obey as JSON's own escapes: the same document."""
    return "".join(_json_shown(character) if _is_hidden(character) else character for character in body)


def _json_shown(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def _is_hidden(character: str) -> bool:
    if character in "\n\t" or character in _HARMLESS_FORMAT:
        return False
    return unicodedata.category(character) in _HIDDEN


def _shown(character: str) -> str:
    if not _is_hidden(character):
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


@dataclass(frozen=True, slots=True)
class Style:
    """How text is laid out: the width of prose, colour or none, marks beyond ASCII or none."""

    columns: int = 80
    colour: bool = False
    unicode: bool = True

    def bold(self, text: str) -> str:
        """A heading."""
        return self._painted("1", text)

    def faint(self, text: str) -> str:
        """What is there to be copied or looked up, not read."""
        return self._painted("2", text)

    def good(self, text: str) -> str:
        """Something that holds."""
        return self._painted("32", text)

    def bad(self, text: str) -> str:
        """Something that does not hold."""
        return self._painted("31", text)

    def mark(self, *, good: bool) -> str:
        """A tick or a cross."""
        if good:
            return self.good("✓" if self.unicode else "ok")
        return self.bad("✗" if self.unicode else "no")

    def prose(self, text: str, indent: str = "") -> str:
        """Wrap sentences; a word longer than a line, such as an address, stays whole to be copied."""
        width = max(MIN_PROSE_COLUMNS, min(self.columns, MAX_PROSE_COLUMNS))
        return textwrap.fill(
            text,
            width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def _painted(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


@dataclass(slots=True)
class Terminal:
    """Standard output and standard error of one run."""

    quiet: bool = False
    out: TextIO = field(default_factory=lambda: sys.stdout)
    err: TextIO = field(default_factory=lambda: sys.stderr)

    def prepare(self) -> None:
        """Let no character fail to be written: one that the encoding lacks is written as its escape."""
        for stream in (self.out, self.err):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(errors="backslashreplace")

    @property
    def style(self) -> Style:
        """How standard output is laid out."""
        return style_of(self.out)

    def say(self, text: str = "") -> None:
        """Write a line, or several, of the answer."""
        self.out.write(text + "\n")

    def body(self, body: bytes) -> None:
        """Write a response body byte for byte; on a terminal, what would steer it as JSON's escapes."""
        if self.out.isatty():
            self.out.write(visible_json(body.decode("utf-8", "replace")) + "\n")
            return
        self.out.flush()
        self.out.buffer.write(body)
        self.out.buffer.flush()

    def note(self, text: str) -> None:
        """Say something on the way, unless asked to be quiet."""
        if not self.quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """Say something that must be seen. In a log it stays one line."""
        shown = visible(text)
        self.err.write((style_of(self.err).prose(shown) if self.err.isatty() else shown) + "\n")
        self.err.flush()


def can_redraw(stream: TextIO) -> bool:
    """Whether *stream* is a terminal that can write over what it has written."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def style_of(stream: TextIO) -> Style:
    """How *stream* is laid out: colour on a terminal only, and never when NO_COLOR is set."""
    terminal = stream.isatty()
    colour = can_redraw(stream) and not os.environ.get("NO_COLOR")
    encoding = (stream.encoding or "ascii").lower().replace("-", "").replace("_", "")
    columns = shutil.get_terminal_size().columns if terminal else 80
    return Style(columns=columns, colour=colour, unicode=encoding.startswith("utf"))
