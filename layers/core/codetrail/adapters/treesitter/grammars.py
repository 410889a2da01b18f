"""The table of languages that are cut by declaration.

To add a language: its wheel in pyproject.toml, one entry here, `queries/<name>.scm`, and one fixture in
tests/repos/languages with its expectations in tests/unit/adapters/treesitter/test_languages.py.

A query captures a declaration by its kind (@func, @type, @const, @var, @package) or as a @scope, which only
qualifies the names inside; and its @name, and its @owner where that does not enclose it. The first pattern
that matches a node wins. `.line` after a kind lets what one statement declares stand together, and a
signature join what it announces.
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
    name: Callable[[Node, bytes], list[str]] = names.plain
    clean: Callable[[str], str] = names.clean
    is_import: Callable[[bytes], bool] = lambda _text: False
    docstrings: bool = False
    # Whether a comment that opens the file, and is no licence, documents it.
    opening: bool = True
    # Macros make a parser stumble where a compiler does not; an error inside a declaration says nothing.
    macros: bool = False

    @property
    def distribution(self) -> str:
        """The wheel that carries the grammar."""
        return self.module.replace("_", "-")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_JAVASCRIPT_WRAPPERS = _words("export_statement lexical_declaration variable_declaration ambient_declaration")
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
    "javascript": Grammar(
        module="tree_sitter_javascript",
        query="javascript",
        comments=_words("comment hash_bang_line"),
        attached=_words("decorator"),
        wrappers=_JAVASCRIPT_WRAPPERS,
        imports=_words("import_statement"),
        clean=names.javascript,
        is_import=names.is_require,
    ),
    "typescript": Grammar(
        module="tree_sitter_typescript",
        query="typescript",
        function="language_typescript",
        comments=_words("comment hash_bang_line"),
        attached=_words("decorator"),
        wrappers=_JAVASCRIPT_WRAPPERS,
        imports=_words("import_statement import_alias"),
        clean=names.javascript,
        is_import=names.is_require,
    ),
    "tsx": Grammar(
        module="tree_sitter_typescript",
        query="typescript",
        function="language_tsx",
        comments=_words("comment hash_bang_line"),
        attached=_words("decorator"),
        wrappers=_JAVASCRIPT_WRAPPERS,
        imports=_words("import_statement import_alias"),
        clean=names.javascript,
        is_import=names.is_require,
    ),
    "rust": Grammar(
        module="tree_sitter_rust",
        query="rust",
        comments=_words("line_comment block_comment"),
        attached=_words("attribute_item"),
        imports=_words("use_declaration extern_crate_declaration mod_item inner_attribute_item"),
    ),
    "java": Grammar(
        module="tree_sitter_java",
        query="java",
        comments=_words("line_comment block_comment"),
        imports=_words("import_declaration package_declaration"),
        opening=False,
    ),
    "c": Grammar(
        module="tree_sitter_c",
        query="c",
        imports=_words("preproc_include preproc_call"),
        name=names.declarator,
        macros=True,
    ),
    "cpp": Grammar(
        module="tree_sitter_cpp",
        query="cpp",
        attached=_words("access_specifier"),
        wrappers=_words("template_declaration"),
        imports=_words("preproc_include preproc_call using_declaration namespace_alias_definition"),
        name=names.declarator,
        macros=True,
    ),
    "csharp": Grammar(
        module="tree_sitter_c_sharp",
        query="csharp",
        attached=_words("preproc_region preproc_endregion"),
        imports=_words("using_directive extern_alias_directive file_scoped_namespace_declaration"),
        name=names.csharp,
        macros=True,
    ),
    "ruby": Grammar(
        module="tree_sitter_ruby", query="ruby", clean=names.ruby, is_import=names.is_ruby_require
    ),
    "php": Grammar(
        module="tree_sitter_php",
        query="php",
        function="language_php",
        wrappers=_words("const_declaration"),
        imports=_words("namespace_use_declaration php_tag declare_statement namespace_definition"),
        is_import=names.is_php_require,
    ),
    "bash": Grammar(module="tree_sitter_bash", query="bash", is_import=names.is_source),
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
    carried = [grammar.distribution for grammar in GRAMMARS.values()]
    return {name: version(name) for name in ["tree-sitter", "tree-sitter-markdown", *carried]}
