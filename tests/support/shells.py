"""Shells to run a printed command in: this machine's own, busybox's alone, and one without sha256sum."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# What a check command may use, and nothing else is on the PATH.
WORDS = ("git", "tail", "head", "sha256sum")


@dataclass(frozen=True)
class Shell:
    """A shell, and all that its commands can find."""

    name: str
    argv: tuple[str, ...]
    path: str

    def run(self, command: str, folder: Path) -> bytes:
        """Run one command as a user would paste it, and return what it prints."""
        done = subprocess.run(
            [*self.argv, "-c", command], cwd=folder, env=self._environment(), capture_output=True, check=False
        )
        return done.stdout

    def run_all(self, commands: Sequence[str], folder: Path) -> list[bytes]:
        """Run many commands of one output line each in one shell, and return their lines."""
        script = "\n".join(commands).encode("utf-8", "surrogateescape")
        done = subprocess.run(
            [*self.argv, "-s"],
            cwd=folder,
            env=self._environment(),
            input=script,
            capture_output=True,
            check=False,
        )
        return done.stdout.split(b"\n")[:-1]

    def _environment(self) -> dict[str, str]:
        return {"PATH": self.path, "HOME": "/nonexistent", "LC_ALL": "C"}


def program(name: str) -> str:
    """Where a program is. A test that needs one that is missing fails; it does not skip."""
    found = shutil.which(name)
    if found is None:
        raise AssertionError(f"these tests need {name}: install the package of that name")
    return found


def gnu(folder: Path) -> Shell:
    """This machine's sh, with just the tools that a check command names."""
    return Shell("gnu", (program("sh"),), _only(folder, {word: program(word) for word in WORDS}))


def busybox(folder: Path) -> Shell:
    """busybox's sh, with git and busybox's own tools."""
    box = program("busybox")
    applets = {word: box for word in WORDS if word != "git"}
    return Shell("busybox", (box, "sh"), _only(folder, {"git": program("git"), **applets}))


def without_sha256sum(folder: Path) -> Shell:
    """As on macOS: shasum in the place of sha256sum."""
    tools = {word: program(word) for word in WORDS if word != "sha256sum"}
    path = _only(folder, tools)
    script = folder / "shasum"
    script.write_text(f'#!/bin/sh\n[ "$*" = "-a 256" ] && exec {program("sha256sum")}\nexit 2\n')
    script.chmod(0o755)
    return Shell("shasum", (program("sh"),), path)


def _only(folder: Path, tools: dict[str, str]) -> str:
    """Make a folder of just these tools, by links; busybox reads from its name which tool it is."""
    folder.mkdir(parents=True)
    for name, target in tools.items():
        (folder / name).symlink_to(os.path.realpath(target))
    return str(folder)
