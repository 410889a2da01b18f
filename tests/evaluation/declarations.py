"""Are all declarations found, on their lines? Held against universal-ctags, and for Python against its own
parser.

    python -m tests.evaluation.declarations --clone /path/to/clone [--clone ...] [--show 20]

Prints a row for each language: declarations that the other tool lists, those that a span names on that line
(recall), those whose span begins on that very line but for comments and decorators, and the share of files
that are degraded. What is compared: functions, methods, types, and constants and variables of a file.
Fields, enum members, locals, parameters, imports, packages and namespaces are no declarations here.
"""

import argparse
import ast
import json
import re
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from codetrail.adapters.treesitter.chunker import TreeSitterChunker
from codetrail.domain.attributes import Attributes
from codetrail.domain.classify import read
from codetrail.domain.languages import CODE
from codetrail.domain.lines import Lines
from codetrail.domain.repo import Outcome
from codetrail.domain.span import names

# ctags' language and the kinds that are declarations; the rest is what the docstring leaves out.
_SCRIPT = {"function", "class", "method", "generator", "constant"}
_TYPED = {*_SCRIPT, "interface", "enum", "alias"}
_C = {"function", "struct", "union", "enum", "typedef", "macro", "variable"}
CTAGS = {
    "go": ("Go", {"func", "type", "struct", "interface", "talias", "const", "var"}),
    "javascript": ("JavaScript", {*_SCRIPT, "variable"}),
    "typescript": ("TypeScript", _TYPED),
    "tsx": ("TypeScript", _TYPED),
    "rust": (
        "Rust",
        {"function", "method", "struct", "enum", "interface", "macro", "typedef", "constant", "variable"},
    ),
    "java": ("Java", {"class", "interface", "method", "enum", "annotation"}),
    "c": ("C", _C),
    "cpp": ("C++", {*_C, "class"}),
    "csharp": ("C#", {"class", "interface", "struct", "enum", "method", "property", "event"}),
    "ruby": ("Ruby", {"class", "module", "method", "singletonMethod", "constant"}),
    "php": ("PHP", {"function", "class", "interface", "trait", "define"}),
    "bash": ("Sh", {"function"}),
}


@dataclass
class Row:
    """One language's figures."""

    declared: int = 0
    found: int = 0
    exact: int = 0
    files: int = 0
    degraded: int = 0
    missing: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Declaration:
    """What the other tool lists."""

    name: str
    line: int
    kind: str
    begins: int = 0  # with its decorators, where the other tool tells


def blobs(clone: Path) -> Iterator[tuple[bytes, str, bytes]]:
    """Yield path, mode and content of each blob at HEAD, by git alone."""
    listing = _git(clone, "ls-tree", "-rz", "HEAD")
    for entry in listing.split(b"\0")[:-1]:
        head, _, path = entry.partition(b"\t")
        mode, kind, blob = head.decode().split()
        # A partial clone may lack its largest blobs.
        if kind == "blob" and (clone_has := _blob(clone, blob)) is not None:
            yield path, mode, clone_has


def python_declarations(source: bytes) -> list[Declaration]:
    """List what Python's own parser finds; an empty list for a file that it refuses."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    found = [
        Declaration(
            node.name,
            node.lineno,
            type(node).__name__,
            min(part.lineno for part in [node, *node.decorator_list]),
        )
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        found += [Declaration(t.id, node.lineno, "Assign") for t in targets if isinstance(t, ast.Name)]
    return found


def ctags_declarations(path: Path, language: str) -> list[Declaration]:
    """List what universal-ctags finds."""
    parser, kinds = CTAGS[language]
    command = ["ctags", "--options=NONE", "--output-format=json", "--fields=+nKsS", "--sort=no", "-o", "-"]
    command += [f"--language-force={parser}", str(path)]
    output = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
    lines = path.read_bytes().split(b"\n")
    found = []
    for line in output.decode("utf-8", "replace").split("\n"):
        tag = json.loads(line) if line else {}
        name = tag.get("name", "")
        if tag.get("kind") not in kinds or name.lower().startswith(("__anon", "anonymous")):
            continue
        # A local of a function; a field of a type.
        if tag["kind"] in ("variable", "constant", "const", "var") and "scope" in tag:
            continue
        if _is_real(language, tag, lines[tag["line"] - 1]):
            found.append(Declaration(name, tag["line"], tag["kind"]))
    return found


def _is_real(language: str, tag: dict[str, object], line: bytes) -> bool:
    """Leave out what ctags takes for a declaration and the language does not."""
    name, kind = str(tag["name"]), str(tag["kind"])
    if language == "bash":
        return not name.endswith("=")  # an array
    if language == "java" and kind == "method":
        return b"(" in line and not line.strip().startswith(name.encode() + b'("')  # an enum's constant
    if language not in ("javascript", "typescript", "tsx"):
        return True
    word = re.escape(name).encode()
    looks = {
        "class": rb".*\bclass\b",  # else an object with functions in it
        # Else a local whose scope was lost, the variable of a loop, or the name of a type.
        "variable": rb"(?:export |declare )*var[^=]*\b" + word,
        "constant": rb"(?:export |declare )*const " + word,
        "alias": rb"(?:export |declare )*type " + word + rb"\b[^,]*=",
    }
    if kind == "method" and tag.get("scopeKind") == "interface":
        return False  # a field of a type, here
    return bool(re.match(looks[kind], line)) if kind in looks else name.encode() in line


def evaluate(clone: Path, rows: dict[str, Row], chunker: TreeSitterChunker) -> None:
    """Add one clone's figures."""
    files = [entry for entry in blobs(clone) if entry[1] in ("100644", "100755")]
    attributes = Attributes({path: data for path, _, data in files if path.endswith(b".gitattributes")})
    with tempfile.TemporaryDirectory() as scratch:
        for path, mode, data in files:
            decision = read(path, mode, len(data), data, attributes)
            if decision.source is None or decision.language not in CODE:
                continue
            name = path.decode("utf-8", "replace")
            chunked = chunker.chunk(name, decision.language, decision.source.utf8)
            row = rows[decision.language]
            row.files += 1
            row.degraded += chunked.reason is not None or decision.outcome is Outcome.DEGRADED
            lines = Lines(data)
            spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
            for piece in chunked.pieces:
                place = lines.locate(*decision.source.raw_range(piece.start_byte, piece.end_byte))
                for symbol in names(piece.symbol):
                    spans[symbol.rpartition(".")[2]].append((place.start_line, place.end_line))
            if decision.language == "python":
                declared = python_declarations(data)
            else:
                copy = Path(scratch, f"file{Path(name).suffix}")
                copy.write_bytes(data)
                declared = ctags_declarations(copy, decision.language)
            _compare(
                row, f"{clone.parent.name}:{name}", declared, spans, data.split(b"\n"), decision.language
            )


def _compare(
    row: Row,
    where: str,
    declared: list[Declaration],
    spans: dict[str, list[tuple[int, int]]],
    lines: list[bytes],
    language: str,
) -> None:
    for declaration in declared:
        if b"require(" in lines[declaration.line - 1]:
            continue
        row.declared += 1
        last = declaration.name.replace("::", ".").replace(" ", "").rpartition(".")[2].removeprefix("$")
        places = spans.get(last, []) or spans.get(f"${last}", []) or spans.get(declaration.name, [])
        if language in ("c", "cpp") and declaration.kind == "function" and declaration.name.isupper():
            # ctags takes the macro in `TEST_IMPL(stops) {` for the name; what it declares is behind it.
            for word in re.findall(rb"\w+", lines[declaration.line - 1]):
                places = [*places, *spans.get(word.decode(), [])]
        around = [place for place in places if place[0] <= declaration.line <= place[1]]
        if not around:
            row.missing.append(f"{where}:{declaration.line} {declaration.kind} {declaration.name}")
            continue
        row.found += 1
        begins = (declaration.line, declaration.begins)
        if any({start, _first_code_line(lines, start, language)} & set(begins) for start, _ in around):
            row.exact += 1
        else:
            row.elsewhere.append(f"{where}:{declaration.line} {declaration.kind} {declaration.name}")


_HASH, _SLASH = (b"#", b"@"), (b"//", b"*", b"@")
_ABOVE = dict.fromkeys(CODE, _SLASH) | dict.fromkeys(("python", "ruby", "bash"), _HASH)
_ABOVE |= {
    "rust": (b"//", b"#["),
    "csharp": (b"//", b"["),
    "php": (b"//", b"*", b"#"),
    "cpp": (b"//", b"template"),
}


def _first_code_line(lines: list[bytes], start: int, language: str) -> int:
    """Skip comments, decorators and attributes by their look; good enough to compare by."""
    at, block = start, False
    while at < len(lines):
        text = lines[at - 1].strip()
        if block or text.startswith(b"/*"):
            block = b"*/" not in text
        elif text and not text.startswith(_ABOVE[language]):
            return at
        at += 1
    return start


def _git(clone: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(clone), *arguments], capture_output=True, check=True).stdout


def _blob(clone: Path, blob: str) -> bytes | None:
    command = ["git", "-C", str(clone), "cat-file", "blob", blob]
    found = subprocess.run(command, capture_output=True, check=False)
    return found.stdout if found.returncode == 0 else None


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--clone", type=Path, action="append", required=True)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="list N that are missing")
    arguments = parser.parse_args()
    rows: dict[str, Row] = defaultdict(Row)
    with TreeSitterChunker() as chunker:
        for clone in arguments.clone:
            evaluate(clone, rows, chunker)
    print(f"{'language':12}{'files':>7}{'degraded':>10}{'declared':>10}{'recall':>9}{'own line':>10}")
    for language, row in sorted(rows.items()):
        recall = row.found / row.declared if row.declared else 1.0
        exact = row.exact / row.found if row.found else 1.0
        share = row.degraded / row.files
        print(f"{language:12}{row.files:7}{share:10.1%}{row.declared:10}{recall:9.4f}{exact:10.4f}")
        kinds = Counter(line.split()[1] for line in row.missing)
        if arguments.show and row.missing:
            print(f"    missing by kind: {dict(kinds)}")
        for line in row.missing[: arguments.show]:
            print(f"    missing {line}")
        for line in row.elsewhere[: arguments.show]:
            print(f"    elsewhere {line}")


if __name__ == "__main__":
    main()
