"""Check every citation of an export against a clone, by nothing that codetrail is made of.

    python -m tests.evaluation.digests --clone DIR [--run 200] [--seed 0] < export.json

The export is JSON, or JSON Lines: responses of search or ask, citations, or spans that carry path,
start_line, end_line and digest, for which `--commit` names the commit. Each digest is counted again with
`git cat-file`, a split at LF and SHA-256. The shell line beside a citation is then run by `sh`, for `--run`
of them drawn at random: once with this machine's tools, once with busybox's. Exit code 1 on any difference.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path


@dataclass(frozen=True)
class Claim:
    """What an export says of some lines."""

    commit: str
    path: bytes
    start: int
    end: int
    digest: str
    check: str


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation.digests", description=__doc__)
    parser.add_argument("--clone", type=Path, required=True, help="a clone that has the commits")
    parser.add_argument("--commit", default="", help="the commit of spans that do not name one")
    parser.add_argument("--run", type=int, default=200, help="how many shell lines to run, in each shell")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    claims = list(dict.fromkeys(read(sys.stdin.read(), options.commit)))
    if not claims:
        print("no citation in the export", file=sys.stderr)
        return 2
    wrong = [claim for claim in claims if not counts(options.clone, claim)]
    report("digests counted again", len(claims), wrong)
    checkable = [claim for claim in claims if claim.check]
    chosen = random.Random(options.seed).sample(checkable, min(options.run, len(checkable)))
    with tempfile.TemporaryDirectory() as folder:
        for name, shell, path in shells(Path(folder)):
            failed = [claim for claim in chosen if not prints(options.clone, claim, shell, path)]
            report(f"shell lines run by {name}", len(chosen), failed)
            wrong += failed
    return 1 if wrong else 0


def read(text: str, commit: str) -> Iterator[Claim]:
    """Yield what the export claims, in its order."""
    try:
        documents = [json.loads(text)]
    except json.JSONDecodeError:
        documents = [json.loads(line) for line in text.split("\n") if line.strip()]
    waiting: list[object] = documents[::-1]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(reversed(value))
        elif isinstance(value, dict):
            if {"path", "start_line", "end_line", "digest"} <= value.keys():
                yield Claim(
                    str(value.get("commit", commit)), path_of(str(value["path"])), int(value["start_line"]),
                    int(value["end_line"]), str(value["digest"]), str(value.get("check", "")),
                )  # fmt: skip
            waiting.extend(reversed(list(value.values())))


def path_of(text: str) -> bytes:
    """Undo the text form of a path as the documentation states it: `\\\\` and `\\xNN`."""
    path, at = b"", 0
    while at < len(text):
        if text.startswith("\\\\", at):
            path, at = path + b"\\", at + 2
        elif text.startswith("\\x", at):
            path, at = path + bytes([int(text[at + 2 : at + 4], 16)]), at + 4
        else:
            path, at = path + text[at].encode(), at + 1
    return path


def counts(clone: Path, claim: Claim) -> bool:
    """Whether the digest is that of the lines, cut here."""
    shown = subprocess.run(
        ["git", "-C", str(clone), "cat-file", "blob", claim.commit.encode() + b":" + claim.path],
        capture_output=True,
        check=False,
    )
    lines = shown.stdout.split(b"\n")
    if not lines[-1]:
        lines.pop()
    cut = b"\n".join(lines[claim.start - 1 : claim.end])
    there = shown.returncode == 0 and 1 <= claim.start <= claim.end <= len(lines)
    return there and sha256(cut).hexdigest() == claim.digest


def shells(folder: Path) -> Iterator[tuple[str, list[str], str]]:
    """Yield a name, a shell and a PATH: this machine's, then one of busybox and git alone."""
    yield "sh", ["sh"], "/usr/local/bin:/usr/bin:/bin"
    box, git = shutil.which("busybox"), shutil.which("git")
    if box is None or git is None:
        raise SystemExit("busybox and git must be installed")
    for word in ("tail", "head", "sha256sum", "sh"):
        (folder / word).symlink_to(box)
    (folder / "git").symlink_to(git)
    yield "busybox", [box, "sh"], str(folder)


def prints(clone: Path, claim: Claim, shell: list[str], path: str) -> bool:
    """Whether the shell line prints the digest."""
    done = subprocess.run(
        [*shell, "-c", claim.check],
        cwd=clone,
        env={"PATH": path, "LC_ALL": "C"},
        capture_output=True,
        check=False,
    )
    return done.stdout.split()[:1] == [claim.digest.encode()]


def report(what: str, tried: int, wrong: list[Claim]) -> None:
    print(f"{what}: {tried - len(wrong)} of {tried} right")
    for claim in wrong[:10]:
        print(f"  wrong: {claim.path!r}:{claim.start}-{claim.end} at {claim.commit[:7]}")


if __name__ == "__main__":
    sys.exit(main())
