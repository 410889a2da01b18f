"""`codetrail eval`: measure search, by the instrument of the checkout that codetrail is installed from."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from codetrail_local.errors import Trouble
from codetrail_local.stack import ROOT

# The instrument belongs to the tests, which nothing imports; as a process of its own it needs no door.
INSTRUMENT = "tests.evaluation"
# Its options that name a folder.
FOLDERS = ("--clones", "--cache")


def evaluate(arguments: Sequence[str], *, root: Path = ROOT) -> int:
    """Hand *arguments* to the instrument, with this terminal, and return its exit code. Raises Trouble where
    no checkout is."""
    if not (root / Path(*INSTRUMENT.split(".")) / "__main__.py").is_file():
        raise Trouble(
            f"codetrail is not installed from a checkout: there is no {INSTRUMENT} in {root}. Clone codetrail"
            " and run `make ask` once; `.venv/bin/codetrail eval` is there then"
        )
    command = [sys.executable, "-m", INSTRUMENT, *_absolute(arguments)]
    return subprocess.run(command, cwd=root, check=False).returncode


def _absolute(arguments: Sequence[str]) -> list[str]:
    # The process runs in the checkout's folder, and paths are meant from this one. A corpus may have the name
    # of a folder that is here.
    found: list[str] = []
    for argument in arguments:
        option, equals, path = argument.partition("=")
        if found and found[-1] in FOLDERS:
            found.append(str(Path(argument).resolve()))
        elif equals and option in FOLDERS:
            found.append(f"{option}={Path(path).resolve()}")
        else:
            found.append(argument)
    return found
