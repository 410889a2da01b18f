"""The four attributes of .gitattributes that say how a file wants to be read.

Only the committed files count. Patterns are matched by a scanner that cannot backtrack far, never by a
regular expression, since a stranger wrote them; what is over a bound is ignored, which costs a stranger's
file an attribute and nobody else a second.
"""

from collections.abc import Mapping
from dataclasses import dataclass

NAME = b".gitattributes"

# Bounds on what a stranger may make us match: rules x files x both lengths.
MAX_RULES = 500
MAX_PATTERN_BYTES = 256
MAX_FILE_BYTES = 262_144
_WANTED = (b"linguist-generated", b"linguist-vendored", b"working-tree-encoding", b"encoding")


@dataclass(frozen=True, slots=True)
class FileAttributes:
    """What .gitattributes say of one file; None or empty where they are silent."""

    generated: bool | None = None
    vendored: bool | None = None
    encoding: str = ""  # how the blob is encoded
    working_tree_encoding: str = ""  # how a checkout is: the blob itself should be UTF-8


@dataclass(frozen=True, slots=True)
class _Rule:
    folder: bytes  # of the .gitattributes file, with a final slash, or empty
    pattern: tuple[bytes, ...]  # segments; a single one without `anchored` matches the last name alone
    anchored: bool
    values: tuple[tuple[bytes, bytes | bool | None], ...]


class Attributes:
    """The .gitattributes of one tree. A later line wins over an earlier, a deeper file over a shallower."""

    def __init__(self, files: Mapping[bytes, bytes] | None = None) -> None:
        """Take the content of each .gitattributes by its path in the tree."""
        self._rules: list[_Rule] = []
        for path, data in sorted((files or {}).items(), key=lambda item: (item[0].count(b"/"), item[0])):
            folder = path[: -len(NAME)]
            for line in data[:MAX_FILE_BYTES].removeprefix(b"\xef\xbb\xbf").split(b"\n"):
                rule = _parse(folder, line.strip())
                if rule and len(self._rules) < MAX_RULES:
                    self._rules.append(rule)

    def of(self, path: bytes) -> FileAttributes:
        """Return what the tree says of the file at *path*."""
        found: dict[bytes, bytes | bool | None] = {}
        for rule in self._rules:
            if path.startswith(rule.folder) and _matches(rule, path[len(rule.folder) :]):
                found.update(rule.values)
        return FileAttributes(
            generated=_flag(found.get(b"linguist-generated")),
            vendored=_flag(found.get(b"linguist-vendored")),
            encoding=_text(found.get(b"encoding")),
            working_tree_encoding=_text(found.get(b"working-tree-encoding")),
        )


def _parse(folder: bytes, line: bytes) -> _Rule | None:
    if not line or line.startswith((b"#", b"!", b"[attr]")):
        return None
    if line.startswith(b'"'):
        pattern, _, rest = line[1:].partition(b'"')
        if b"\\" in pattern:  # a C-quoted name: rarer than it is worth
            return None
        words = rest.split()
    else:
        pattern, *words = line.split()
    values = tuple(value for value in map(_value, words) if value[0] in _WANTED)
    # A pattern with a final slash matches folders, and attributes are of files.
    if not values or len(pattern) > MAX_PATTERN_BYTES or pattern.endswith(b"/"):
        return None
    anchored = b"/" in pattern
    return _Rule(folder, tuple(pattern.removeprefix(b"/").split(b"/")), anchored, values)


def _value(word: bytes) -> tuple[bytes, bytes | bool | None]:
    if word.startswith(b"-"):
        return word[1:], False
    if word.startswith(b"!"):
        return word[1:], None
    name, equals, value = word.partition(b"=")
    return name, value if equals else True


def _flag(value: bytes | bool | None) -> bool | None:
    if isinstance(value, bytes):
        return value.lower() not in (b"false", b"0", b"no")
    return value


def _text(value: bytes | bool | None) -> str:
    return value.decode("ascii", "replace") if isinstance(value, bytes) else ""


def _matches(rule: _Rule, path: bytes) -> bool:
    if not rule.anchored:
        return glob(rule.pattern[0], path.rpartition(b"/")[2])
    # Which tails of the pattern may still match, after each segment of the path.
    live = _open(rule.pattern, {0})
    for segment in path.split(b"/"):
        after = set()
        for at in live:
            if at < len(rule.pattern):
                if rule.pattern[at] == b"**":
                    after.add(at)
                    if at == len(rule.pattern) - 1:
                        after.add(at + 1)  # a last `**` wants at least one segment
                elif glob(rule.pattern[at], segment):
                    after.add(at + 1)
        live = _open(rule.pattern, after)
        if not live:
            return False
    return len(rule.pattern) in live


def _open(pattern: tuple[bytes, ...], live: set[int]) -> set[int]:
    """Let each `**` that is not the last segment also match no folder at all."""
    found = set(live)
    for at in sorted(live):
        step = at
        while step < len(pattern) - 1 and pattern[step] == b"**":
            step += 1
            found.add(step)
    return found


def glob(pattern: bytes, name: bytes) -> bool:
    """Return whether *name* matches *pattern* (`*`, `?`, `[...]`, `\\x`) in at most len * len steps."""
    at = p = 0
    star, resume = -1, 0
    while at < len(name):
        width = _one(pattern, p, name[at])
        if width:
            at, p = at + 1, p + width
        elif p < len(pattern) and pattern[p] == 0x2A:
            star, resume, p = p, at, p + 1
        elif star >= 0:
            resume += 1
            at, p = resume, star + 1
        else:
            return False
    while p < len(pattern) and pattern[p] == 0x2A:
        p += 1
    return p == len(pattern)


def _one(pattern: bytes, p: int, byte: int) -> int:
    """Return how many bytes of the pattern match this one byte of the name; 0 when they do not."""
    if p >= len(pattern) or pattern[p] == 0x2A:
        return 0
    if pattern[p] == 0x3F:
        return 1
    if pattern[p] == 0x5C and p + 1 < len(pattern):
        return 2 if pattern[p + 1] == byte else 0
    if pattern[p] == 0x5B:
        close = pattern.find(b"]", p + 2)
        if close > 0:
            return close - p + 1 if _in_class(pattern[p + 1 : close], byte) else 0
    return 1 if pattern[p] == byte else 0


def _in_class(inner: bytes, byte: int) -> bool:
    negated = inner[:1] in (b"!", b"^")
    body = inner[1:] if negated else inner
    found, at = False, 0
    while at < len(body):
        if at + 2 < len(body) and body[at + 1] == 0x2D:
            found = found or body[at] <= byte <= body[at + 2]
            at += 3
        else:
            found = found or body[at] == byte
            at += 1
    return found != negated
