"""How a declaration's name is read out of its node."""

import re

from tree_sitter import Node

_SPACE = re.compile(r"\s+")
# Deeper declarators are not written by people.
_MAX_DECLARATORS = 64

_C_NAMES = frozenset(
    [
        *("identifier", "field_identifier", "type_identifier", "qualified_identifier", "operator_name"),
        *("destructor_name", "operator_cast", "template_function", "primitive_type"),
    ]
)
_C_UNNAMED = frozenset(["parenthesized_declarator", "reference_declarator", "attributed_declarator"])


def plain(node: Node, source: bytes) -> list[str]:
    """A declaration whose query names nothing has no name."""
    return []


def csharp(node: Node, source: bytes) -> list[str]:
    """Return the name of an operator: `operator==`, or `operator int` for a conversion."""
    named = node.child_by_field_name("operator") or node.child_by_field_name("type")
    return (
        [f"operator {source[named.start_byte : named.end_byte].decode('utf-8', 'replace')}"] if named else []
    )


def ruby(text: str) -> str:
    """Return a name in one form; `[]`, `<=>` and `value=` are names."""
    return _SPACE.sub("", text).replace("::", ".").strip(".")


def declarator(node: Node, source: bytes) -> list[str]:
    """Return the names that C writes innermost, one a declarator: of `*(*f(int))[3]` it is f."""
    found = []
    for at in node.children_by_field_name("declarator"):
        inner: Node | None = at
        for _ in range(_MAX_DECLARATORS):
            if inner is None or inner.type in _C_NAMES:
                break
            # A parenthesised declarator has no field.
            unnamed = inner.named_children if inner.type in _C_UNNAMED else []
            inner = inner.child_by_field_name("declarator") or next(iter(unnamed), None)
        if inner is not None:
            found.append(source[inner.start_byte : inner.end_byte].decode("utf-8", "replace"))
    return found


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


def javascript(text: str) -> str:
    """Return a name as callers write it: without `exports.`, `prototype.` and quotes."""
    text = _SPACE.sub("", text)
    if text.startswith("{"):
        # const { a, b: c } = ...: what is bound, not where it comes from.
        return ", ".join(
            part.rpartition(":")[2].partition("=")[0] for part in text.strip("{}").split(",") if part
        )
    text = text.replace(".prototype.", ".").removeprefix("module.exports.").removeprefix("exports.")
    return text.removeprefix("this.").replace("?.", ".").strip("\"'`.#")


_REQUIRE = re.compile(
    rb"(?:(?:const|let|var)\s)?(?:(?:[^=(]{1,400}=\s*)?require\s*\([^()]{0,400}\)(?:\([^()]{0,100}\))?[\w.]*\s*,?\s*)+;?\s*\Z"
)
_DIRECTIVE = re.compile(rb"""["']use \w+["'];?\Z""")
_RUBY_REQUIRE = re.compile(rb"(?:require|require_relative|load|autoload)\b[^\n]*\Z")
_PHP_REQUIRE = re.compile(rb"(?:require|require_once|include|include_once)\b[^\n]*\Z")
_SOURCE = re.compile(rb"(?:source|\.)\s[^\n]*\Z")


def is_require(text: bytes) -> bool:
    """Return whether a statement only binds a CommonJS module, which is an import, or is a directive."""
    return bool(_REQUIRE.match(text) or _DIRECTIVE.match(text))


def is_ruby_require(text: bytes) -> bool:
    """Return whether a statement only loads a file."""
    return bool(_RUBY_REQUIRE.match(text))


def is_php_require(text: bytes) -> bool:
    """Return whether a statement only loads a file."""
    return bool(_PHP_REQUIRE.match(text))


def is_source(text: bytes) -> bool:
    """Return whether a command only reads another script."""
    return bool(_SOURCE.match(text))
