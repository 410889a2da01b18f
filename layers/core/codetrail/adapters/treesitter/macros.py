"""What a C parser stumbles over, made blank: macros in the place of keywords, and conditionals.

A parser without a preprocessor takes `API void f();` for an error, and loses what follows. The blanked
copy has the bytes of the original in their places, so that what is found in it stands at the same offsets.
"""

import re
from collections.abc import Iterator

_DIRECTIVE = re.compile(rb"[ \t]*#[ \t]*(\w*)")
_CONDITIONALS = frozenset([b"if", b"ifdef", b"ifndef", b"elif", b"elifdef", b"elifndef", b"else", b"endif"])
# An all-capitals name with an underscore, with its arguments on the same line.
_MACRO = re.compile(
    rb"(?<![\w.>:\"'])[A-Z][A-Z0-9]*_[A-Z0-9_]*(?!\w)"
    rb"([ \t]*\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\))?[ \t]*"
)
_WORD_BEFORE = re.compile(rb"(\w+)[ \t]*$")
_NAMED_BY_NEXT = frozenset([b"enum", b"struct", b"union", b"class", b"namespace"])
_EXPECTS_NAME = frozenset([b"goto", b"return", b"case", b"define", b"sizeof", b"else", b"typename", b"throw"])
_QUALIFIERS = frozenset([b"const", b"noexcept", b"override", b"final"])


def blanked(source: bytes) -> bytes:
    """Return *source* without its conditionals and keyword-like macros, byte for byte in place."""
    return b"\n".join(_lines(source))


def _lines(source: bytes) -> Iterator[bytes]:
    continued = drop = False
    for line in source.split(b"\n"):
        directive = None if continued else _DIRECTIVE.match(line)
        if directive:
            drop = directive.group(1) in _CONDITIONALS
        inside = continued or directive is not None
        continued = inside and line.rstrip(b"\r").endswith(b"\\")
        if not inside:
            yield _without_macros(line)
        elif drop:
            yield b" " * len(line)
        else:
            yield line


def _without_macros(line: bytes) -> bytes:
    kept = bytearray(line)
    for match in _MACRO.finditer(line):
        if _stands_for_keyword(line, match):
            end = match.end()
            # A call that is a whole line, semicolon and all.
            if match.group(1) and line[end : end + 1] == b";" and not line[: match.start()].strip():
                end += 1
            kept[match.start() : end] = b" " * (end - match.start())
    return bytes(kept)


def _stands_for_keyword(line: bytes, match: re.Match[bytes]) -> bool:
    before = line[: match.start()].rstrip()
    after = line[match.end() : match.end() + 1]
    word = _WORD_BEFORE.search(before)
    last = word.group(1) if word else before[-1:]
    if last in _EXPECTS_NAME:
        return False
    if after.isalpha() or after in (b"_", b"~"):
        return (
            not before or last.isalnum() or b"_" in last or last in (b")", b">", b"]", b";", b"{", b"}", b":")
        )
    if last in _NAMED_BY_NEXT:
        return False
    if not before:
        return after in (b"", b"\r") or (after == b";" and match.group(1) is not None)
    return after in (b";", b"{", b"", b"\r") and (last == b")" or last in _QUALIFIERS)
