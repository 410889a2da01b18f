"""What import contracts cannot say, read out of the source: who starts git, whose verb a function calls."""

import ast
import socket
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import codetrail

PACKAGE = Path(codetrail.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
GIT = "adapters/git/commands.py"
# The parser's child is the only other process; it is Python and never git.
MAY_START_PROCESSES = {GIT} | {
    str(path.relative_to(PACKAGE)) for path in (PACKAGE / "adapters" / "treesitter").rglob("*.py")
}
STARTERS = {"subprocess", "multiprocessing", "pty", "asyncio"}
# What reaches files and the network: an adapter's business. (`os` also names and encodes paths.)
OUTSIDE = {"io", "pathlib", "tempfile", "shutil", "socket", "urllib.request", "http"}
INNER = [module for module in MODULES if module.parent.name in ("services", "domain")]
ROOT = PACKAGE.parents[2]
FUNCTIONS = sorted((ROOT / "functions").glob("*/app.py"))
# What of the wire is no single feature's, and whose messages or verbs a function needs beside its own.
SHARED_API = {"gateway", "parameters", "records"}
BESIDE_ITS_OWN = {
    "admin": {"services.repos"},
    "track": {"api.index", "api.load"},  # it buries their dead letters
}
OS_STARTERS = ("os.system", "os.popen", "os.exec", "os.spawn", "os.posix_spawn", "os.fork", "os.startfile")


def ids(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def starts_processes(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] in STARTERS)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in STARTERS:
            yield node.module or ""
        elif isinstance(node, ast.Attribute) and ast.unparse(node).startswith(OS_STARTERS):
            yield ast.unparse(node)


def words(tree: ast.AST) -> set[str]:
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {value.partition(" ")[0] for value in constants if isinstance(value, str)}


def test_there_is_something_to_look_at():
    assert len(MODULES) > 20
    assert (PACKAGE / GIT) in MODULES


@pytest.mark.parametrize("module", MODULES, ids=ids)
def test_only_the_git_adapter_and_the_parser_start_processes(module):
    started = list(starts_processes(ast.parse(module.read_text())))

    assert ids(module) in MAY_START_PROCESSES or not started


@pytest.mark.parametrize("module", sorted(MAY_START_PROCESSES - {GIT}))
def test_no_other_process_is_git(module):
    assert not words(ast.parse((PACKAGE / module).read_text())) & {"git", "/usr/bin/git"}


def test_one_function_of_the_git_adapter_starts_processes():
    tree = ast.parse((PACKAGE / GIT).read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = [ast.unparse(call.func) for call in calls]

    assert names.count("subprocess.Popen") == 1
    assert not [name for name in names if name.startswith("subprocess.") and name != "subprocess.Popen"]
    assert names.count("Child") == 1


@pytest.mark.parametrize("module", INNER, ids=ids)
def test_services_and_domain_do_no_input_or_output(module):
    tree = ast.parse(module.read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}

    assert not imported & OUTSIDE
    assert "open" not in called


def features(tree: ast.AST) -> Iterator[str]:
    """The modules of `api` and `services` that a function imports, as "api.search"."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            room, _, module = name.removeprefix("codetrail.").partition(".")
            if room in ("api", "services"):
                yield f"{room}.{module.partition('.')[0]}"


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda path: path.parent.name)
def test_a_function_imports_the_messages_and_the_verbs_of_its_own_name(function):
    name = function.parent.name
    own = {f"api.{name}", f"services.{name}"} | {f"api.{shared}" for shared in SHARED_API}

    assert set(features(ast.parse(function.read_text()))) <= own | BESIDE_ITS_OWN.get(name, set())


def test_every_function_is_under_the_import_contracts():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    sources = [set(contract.get("source_modules", [])) for contract in contracts]
    found = {f"functions.{function.parent.name}" for function in FUNCTIONS}

    named = [{name for name in source if name.startswith("functions.")} for source in sources]
    assert found - {"functions.index"} in named, "they must not reach git and the grammars"
    assert found - {"functions.index", "functions.admin"} in named, "they get their adapters from the wiring"


@pytest.mark.parametrize("module", MODULES, ids=ids)
def test_nothing_is_split_at_ends_that_git_does_not_know(module):
    tree = ast.parse(module.read_text())

    assert not [
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "splitlines"
    ]


def test_no_test_meets_another_machine():
    with socket.socket() as one, pytest.raises(PermissionError, match="another machine"):
        one.connect(("192.0.2.1", 443))
