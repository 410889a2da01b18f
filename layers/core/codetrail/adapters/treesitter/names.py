"""How a declaration's name is read out of its node."""

import re

from tree_sitter import Node

_SPACE = re.compile(r"\s+")
# Deeper declarators are not written by people.
_MAX_DECLARATORS = 64


def plain(node: Node, source: bytes) -> str:
    """A declaration whose query names nothing has no name."""
    return ""


def clean(text: str) -> str:
    """Return a name in one form: `.` between its parts, without type parameters and blanks."""
    text = _SPACE.sub("", text).replace("::", ".").replace("\\", ".")
    if "operator" not in text:
        text = without_arguments(text)
    return text.strip(".")


def without_arguments(text: str) -> str:
    """Return *text* without what stands in angle or square brackets: `Map<K, List<V>>` is Map."""
    kept, depth = [], 0
    for character in text:
        if character in "<[":
            depth += 1
        elif character in ">]":
            depth = max(0, depth - 1)
        elif not depth:
            kept.append(character)
    return "".join(kept)
