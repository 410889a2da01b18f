"""The table of languages that are cut by declaration.

To add a language: its wheel in pyproject.toml, one entry here, `queries/<name>.scm`, and one fixture in
tests/repos/languages with its expectations in tests/unit/adapters/treesitter/test_languages.py.

A query captures a declaration by its kind (@func, @type, @const, @var, @package) or as a @scope, which only
qualifies the names inside; and its @name, and its @owner where that does not enclose it. The first pattern
that matches a node wins. `.line` after a kind says that neighbours of one line each may stand together.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from tree_sitter import Language, Node, Query

from codetrail.adapters.treesitter import names

_QUERIES = Path(__file__).parent / "queries"


@dataclass(frozen=True, slots=True)
class Grammar:
    """What of a language's syntax the cutting needs to know, by node types."""

    module: str
    query: str
    function: str = "language"
    comments: frozenset[str] = frozenset(["comment"])
    # Stand before a declaration and belong to it, as its comments do.
    attached: frozenset[str] = frozenset()
    # Enclose a declaration and belong to it: `export`, a decorated definition, `const (`.
    wrappers: frozenset[str] = frozenset()
    # Hold words and answer no question.
    imports: frozenset[str] = frozenset()
    name: Callable[[Node, bytes], str] = names.plain
    clean: Callable[[str], str] = names.clean
    is_import: Callable[[bytes], bool] = lambda _text: False
    docstrings: bool = False
    # Whether a comment that opens the file, and is no licence, documents it.
    opening: bool = True
    # Macros make a parser stumble where a compiler does not: an error inside a declaration says nothing
    # there.
    macros: bool = False

    @property
    def distribution(self) -> str:
        """The wheel that carries the grammar."""
        return self.module.replace("_", "-")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


GRAMMARS: dict[str, Grammar] = {
    "go": Grammar(
        module="tree_sitter_go",
        query="go",
        wrappers=_words("const_declaration var_declaration type_declaration var_spec_list"),
        imports=_words("import_declaration package_clause"),
        opening=False,
    ),
    "python": Grammar(
        module="tree_sitter_python",
        query="python",
        wrappers=_words("decorated_definition"),
        imports=_words("import_statement import_from_statement future_import_statement"),
        docstrings=True,
        opening=False,
    ),
}


@cache
def language(name: str) -> Language:
    """Load a grammar, once a process."""
    grammar = GRAMMARS[name]
    return Language(getattr(import_module(grammar.module), grammar.function)())


@cache
def query(name: str) -> Query:
    """Compile a language's query, once a process. Raises QueryError when grammar and query do not fit."""
    return Query(language(name), query_text(name))


def query_text(name: str) -> str:
    """Return the text of a language's query."""
    return (_QUERIES / f"{GRAMMARS[name].query}.scm").read_text(encoding="utf-8")


def versions() -> dict[str, str]:
    """Return the version of the parser and of each grammar."""
    return {name: version(name) for name in ["tree-sitter", *(g.distribution for g in GRAMMARS.values())]}
