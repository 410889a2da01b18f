"""What language a file is in, by its name and, where that does not tell, its first bytes."""

import re

# Cut by declaration, by a tree-sitter grammar.
CODE = frozenset(
    [
        *("bash", "c", "cpp", "csharp", "go", "java", "javascript", "php", "python", "ruby", "rust"),
        *("tsx", "typescript"),
    ]
)
# Cut by heading, and by cell.
MARKDOWN = "markdown"
NOTEBOOK = "notebook"
# Cut into windows, which is how they are meant to be cut: nothing is missing from such a file.
PLAIN = frozenset(["css", "html", "json", "rst", "sql", "text", "toml", "xml", "yaml"])

_EXTENSIONS = {
    "bash": "bash bats bash_profile bashrc ksh sh zsh",
    "c": "c h",
    "cpp": "c++ cc cppm cpp cxx h++ hh hpp hxx inl ipp ixx tcc tpp",
    "csharp": "cs csx",
    "css": "css less sass scss",
    "go": "go",
    "html": "htm html jinja jinja2 svelte vue xhtml",
    "java": "java",
    "javascript": "cjs es6 js jsx mjs",
    "json": "geojson json json5 jsonc jsonl ndjson webmanifest",
    "markdown": "markdown md mdown mdx mkd",
    "notebook": "ipynb",
    "php": "php php3 php4 php5 php7 php8 phps phpt phtml",
    "python": "py pyi pyw wsgi",
    "rst": "rest rst",
    "ruby": "gemspec podspec rake rb ru",
    "rust": "rs",
    "sql": "ddl dml pgsql psql sql",
    "text": "adoc asciidoc bat cfg cmake cmd conf csv dockerfile editorconfig env gitattributes gitignore "
    "ini lock log mak mk mod org pod properties sum texi tex text tsv txt work",
    "toml": "toml",
    "tsx": "tsx",
    "typescript": "cts mts ts",
    "xml": "axaml config csproj dtd fsproj plist props resx rng ruleset svg targets vbproj wsdl xaml xml xsd "
    "xsl xslt",
    "yaml": "cff clang-format clang-tidy yaml yml",
    # Code without a grammar here: searchable in windows, and its outcome says no_grammar.
    "clojure": "clj cljc cljs edn",
    "dart": "dart",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "fsharp": "fs fsi fsx",
    "groovy": "gradle groovy",
    "haskell": "hs",
    "julia": "jl",
    "kotlin": "kt kts",
    "lua": "lua",
    "nim": "nim",
    "objectivec": "m mm",
    "ocaml": "ml mli",
    "perl": "pl pm t",
    "powershell": "ps1 psd1 psm1",
    "proto": "proto",
    "r": "r",
    "scala": "sc scala",
    "swift": "swift",
    "terraform": "hcl tf tfvars",
    "vb": "vb",
    "jq": "jq",
    "zig": "zig",
}
_BY_EXTENSION = {extension: name for name, words in _EXTENSIONS.items() for extension in words.split()}

_BY_NAME = {
    "brewfile": "ruby",
    "gemfile": "ruby",
    "guardfile": "ruby",
    "podfile": "ruby",
    "rakefile": "ruby",
    "vagrantfile": "ruby",
    "sconscript": "python",
    "sconstruct": "python",
    "pipfile": "toml",
    "build": "text",
    "codeowners": "text",
    "containerfile": "text",
    "dockerfile": "text",
    "gnumakefile": "text",
    "justfile": "text",
    "makefile": "text",
    "procfile": "text",
    "workspace": "text",
}

_BY_INTERPRETER = {
    "ash": "bash",
    "bash": "bash",
    "bats": "bash",
    "dash": "bash",
    "ksh": "bash",
    "node": "javascript",
    "nodejs": "javascript",
    "php": "php",
    "python": "python",
    "ruby": "ruby",
    "sh": "bash",
    "ts-node": "typescript",
    "zsh": "bash",
}
# Every language that a file here may be in.
LANGUAGES = frozenset([*_EXTENSIONS, *_BY_NAME.values(), *_BY_INTERPRETER.values()])
_SHEBANG_BYTES = 256
# What C cannot say: enough to tell a C++ header called .h.
_CPP = re.compile(
    rb"^[ \t]*(?:namespace\b|template[ \t]*<|class[ \t]+\w|using[ \t]+\w|(?:public|private|protected)[ \t]*:"
    rb"|#[ \t]*include[ \t]*<(?:c?(?:algorithm|atomic|functional|iterator|limits|map|memory|mutex|optional"
    rb"|ostream|iostream|string|string_view|tuple|type_traits|utility|vector|cstddef|cstdint|cstdio|cstring))>)",
    re.MULTILINE,
)


def language_of(path: bytes, head: bytes = b"") -> str:
    """Return the language of the file *path*, or an empty string; *head* is its content, or the start of it.

    A file without an extension and without a known name is read by its `#!` line, and is text without one.
    """
    name = path.rpartition(b"/")[2].decode("utf-8", "replace").lower()
    if name in _BY_NAME:
        return _BY_NAME[name]
    stem, dot, extension = name.rpartition(".")
    # Makefile.am, Dockerfile.dev; but test.build.js has an extension of its own.
    if stem in _BY_NAME and extension not in _BY_EXTENSION:
        return _BY_NAME[stem]
    if extension == "h" and dot and _CPP.search(head):
        return "cpp"
    if dot and extension in _BY_EXTENSION:
        return _BY_EXTENSION[extension]
    interpreter = _interpreter(head[:_SHEBANG_BYTES])
    if interpreter:
        return interpreter
    return "text" if not dot or not stem else ""


def has_grammar(language: str) -> bool:
    """Return whether *language* is cut by declaration."""
    return language in CODE


def is_supported(language: str) -> bool:
    """Return whether *language* is cut as well as it can be. Code without a grammar is not: it comes in
    windows.

    A file of no known language counts as text, since nothing says that it is code.
    """
    return not language or language in CODE or language in PLAIN or language in (MARKDOWN, NOTEBOOK)


def _interpreter(head: bytes) -> str:
    if not head.startswith(b"#!"):
        return ""
    line = head.partition(b"\n")[0][2:].decode("utf-8", "replace")
    for word in line.split():
        program = word.rpartition("/")[2]
        if program == "env" or program.startswith("-") or "=" in program:
            continue
        return _BY_INTERPRETER.get(program, _BY_INTERPRETER.get(program.rstrip("0123456789."), ""))
    return ""
