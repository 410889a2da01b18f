"""The command line: which commands there are, what each takes, and the help that teaches them."""

import argparse
import os
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from textwrap import fill
from typing import TypeAlias

from platformdirs import user_data_path

from codetrail.domain.languages import LANGUAGES
from codetrail.domain.remote import admit_ref
from codetrail.domain.search import MAX_QUERY_BYTES, Filter, read_glob
from codetrail.domain.span import Kind
from codetrail.domain.words import has_word
from codetrail.errors import NotAdmitted
from codetrail_local import commands, doctor, local
from codetrail_local.client import ALL
from codetrail_local.commands import Target
from codetrail_local.errors import Misused
from codetrail_local.evaluating import evaluate
from codetrail_local.session import Place
from codetrail_local.terminal import Terminal

Run = Callable[[Terminal, argparse.Namespace], int]
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

# One file of help texts for every terminal.
COLUMNS = 80
DEFAULT_PORT = 8400
# What the API takes; refused here already, before anything is started or indexed for it.
MAX_LIMIT = 50

_INTRODUCTION = """\
Ask a codebase a question; get an answer whose every claim is a citation that
anybody can check.

  codetrail ask https://github.com/google/uuid "how is a v7 UUID generated"
  codetrail ask . "where are retries decided"

REMOTE is a URL (https://HOST/OWNER/NAME) or a git repository on this machine: a
path such as "." or a file:// URL. What is indexed is a commit, not the working
tree. A command starts what it needs on this machine and stops it again;
"codetrail up" keeps it running, and --api asks a deployment instead.
"""

_CLOSING = """\
exit codes:
  0 answered, 3 refused (nothing in the index is worth answering from),
  2 bad usage, 1 failure, 130 interrupted
"""


def command_line() -> argparse.ArgumentParser:
    """Return the parser; what it parses has `run`, which does the command."""
    parser = argparse.ArgumentParser(
        prog="codetrail",
        usage="codetrail COMMAND ... [--api URL] [--key KEY] [--home DIR] [--quiet]",
        description=_INTRODUCTION,
        epilog=_CLOSING,
        formatter_class=_Formatter,
        allow_abbrev=False,
        add_help=False,
    )
    listed = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)

    _asking(listed)
    _looking(listed)
    _running(listed)
    _everywhere(parser, suppress=False)
    return parser


def _asking(listed: Commands) -> None:
    """The commands that are about one repository."""
    ask = _command(
        listed,
        "ask",
        "REMOTE QUESTION [--ref REF] [--json] [--verify] ...",
        _ask,
        summary="answer a question, with citations",
        description="Index the repository if needed, answer the question out of it, and print each citation "
        "with the command that checks it.",
        examples=[
            'codetrail ask https://github.com/google/uuid "how is a v7 UUID generated"',
            'codetrail ask . "where are retries decided" --path src/ --exclude-tests',
            'codetrail ask . "where are retries decided" --json | codetrail verify',
        ],
    )
    _remote(ask)
    ask.add_argument(
        "question", metavar="QUESTION", nargs="+", help="in your own words; at least one letter or digit"
    )
    _ref(ask)
    _json(ask)
    ask.add_argument(
        "--verify", action="store_true", help="check the citations of the answer too; exit 1 on a mismatch"
    )
    _part(ask)
    _only(ask)
    _as_indexed(ask)

    search = _command(
        listed,
        "search",
        "REMOTE QUERY [--ref REF] [--limit N] [--json] ...",
        _search,
        summary="list the spans that match best",
        description="Index the repository if needed and list the spans that match the query best.",
        examples=[
            'codetrail search https://github.com/google/uuid "parse urn" --limit 3',
            'codetrail search . "retries" --path docs/ --language markdown',
        ],
    )
    _remote(search)
    search.add_argument("query", metavar="QUERY", nargs="+", help="words, names, or a question")
    _ref(search)
    search.add_argument(
        "--limit", metavar="N", type=_limit, help=f"how many, 1 to {MAX_LIMIT}; without it 10"
    )
    _json(search)
    _part(search)
    _only(search)
    _as_indexed(search)

    index = _command(
        listed,
        "index",
        "REMOTE [--ref REF] [--json] ...",
        _index,
        summary="index a repository, or bring it up to date",
        description="Index a repository and say what of it was indexed, and what was not. "
        "One that has not moved since costs a single look at its refs.",
        examples=["codetrail index https://github.com/rs/zerolog", "codetrail index . --ref v1.2.0"],
    )
    _remote(index)
    _ref(index)
    _json(index)
    _only(index)


def _looking(listed: Commands) -> None:
    """The commands that are about what is there already."""
    verify = _command(
        listed,
        "verify",
        "[FILE|-] [--clone DIR]",
        _verify,
        summary="check citations against a clone",
        description="Check citations: hash the cited lines out of a clone and compare the digests. "
        "FILE holds JSON as the API answers it: an answer, a search, a list of citations or a single "
        "one. Exit 0 when each holds, 1 when one does not.",
        examples=[
            'codetrail ask . "where are retries decided" --json | codetrail verify',
            "codetrail verify answer.json --clone ~/src/uuid",
        ],
    )
    verify.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        default="-",
        help="citations as JSON; without it, or with -, standard input",
    )
    verify.add_argument(
        "--clone", metavar="DIR", type=Path, help="a clone that has the commits; without it they are fetched"
    )

    repos = _command(
        listed,
        "repos",
        "[--json]",
        _repos,
        summary="list what is indexed",
        description="List what is indexed, newest first.",
        examples=["codetrail repos"],
    )
    _json(repos)

    jobs = _command(
        listed,
        "jobs",
        "[JOB] [--json]",
        _jobs,
        summary="list indexing jobs, or show one",
        description="List the latest indexing jobs of this machine, or show one by its id.",
        examples=["codetrail jobs", "codetrail jobs JOB --json"],
    )
    jobs.add_argument("job", metavar="JOB", nargs="?", help="the id of one job; the only way with --api")
    _json(jobs)

    rm = _command(
        listed,
        "rm",
        "REPO",
        _rm,
        summary="remove a repository from the index",
        description="Remove a repository from the index of this machine. The repository itself is "
        "not touched.",
        examples=["codetrail rm 9f2c1a7b3d5e4088", "codetrail rm https://github.com/google/uuid"],
    )
    rm.add_argument("repo", metavar="REPO", help="an id that `codetrail repos` lists, or a REMOTE: all of it")


def _running(listed: Commands) -> None:
    """The commands that are about codetrail itself."""
    up = _command(
        listed,
        "up",
        "[--port N]",
        _up,
        summary="run codetrail here until Ctrl-C",
        description="Start the whole of codetrail on this machine and serve its API until Ctrl-C. Other "
        "commands use it while it runs.",
        examples=["codetrail up --port 8400"],
    )
    up.add_argument(
        "--port",
        metavar="N",
        type=_port,
        default=DEFAULT_PORT,
        help=f"where the API listens on 127.0.0.1; without it {DEFAULT_PORT}; 0: any free one",
    )
    _command(
        listed,
        "down",
        "",
        _down,
        summary="stop what `up` started",
        description="Stop the codetrail that `codetrail up` started, in whatever terminal.",
        examples=["codetrail down"],
    )
    _command(
        listed,
        "status",
        "",
        _status,
        summary="say what runs where, and what it holds",
        description="Say what runs where, and what it holds.",
        examples=["codetrail status"],
    )
    doctor = _command(
        listed,
        "doctor",
        "[--remake [--yes]]",
        _doctor,
        summary="say what is wrong with this machine",
        description="Look at what codetrail needs of this machine and at its data folder; say what is wrong "
        "and what to do. Exit 0 when all is well.",
        examples=["codetrail doctor", "codetrail doctor --remake"],
    )
    doctor.add_argument(
        "--remake",
        action="store_true",
        help="remove the database and make a new one; what it held must be indexed again",
    )
    doctor.add_argument("--yes", action="store_true", help="do not ask whether to")
    measured = _command(
        listed,
        "eval",
        "COMMAND [NAMES] [--clones DIR] [--cache DIR]",
        _evaluate,
        summary="measure how well search finds and refuses",
        description="Ask the questions that are made from pinned repositories, and print how often the right "
        "lines come first. COMMAND is run, learn, ablate, floor, chunking, ci or tables; `tables` prints "
        "what is committed, the others need clones.",
        examples=[
            "codetrail eval tables",
            "git clone https://github.com/google/uuid clones/uuid",
            "codetrail eval run uuid --clones clones",
        ],
    )
    measured.add_argument("arguments", nargs=argparse.REMAINDER, help="see tests/evaluation/README.md")


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=24, width=COLUMNS)

    def _format_action(self, action: argparse.Action) -> str:
        text = super()._format_action(action)
        # Above the commands argparse prints their metavar, under a title that has said it already.
        return text.partition("\n")[2] if isinstance(action, argparse._SubParsersAction) else text


def _command(
    listed: Commands, name: str, takes: str, run: Run, *, summary: str, description: str, examples: list[str]
) -> argparse.ArgumentParser:
    lines = "\n".join(f"  {example}" for example in examples)
    parser = listed.add_parser(
        name,
        prog=f"codetrail {name}",  # argparse would make it of the other parser's whole usage
        help=summary,
        usage=f"codetrail {name} {takes}".rstrip(),
        description=f"{fill(description, COLUMNS)}\n\n{lines}",
        formatter_class=_Formatter,
        allow_abbrev=False,
        add_help=False,
    )
    parser.set_defaults(run=run)
    _everywhere(parser, suppress=True)
    return parser


def _everywhere(parser: argparse.ArgumentParser, *, suppress: bool) -> None:
    """Options that may stand before and after the command; a command's own default would undo the former."""

    def default(value: object) -> object:
        return argparse.SUPPRESS if suppress else value

    group = parser.add_argument_group("options of every command")
    group.add_argument("-h", "--help", action="help", help="print this and exit")
    group.add_argument(
        "--api", metavar="URL", default=default(""), help="ask the API at this address (or CODETRAIL_API)"
    )
    group.add_argument(
        "--key", metavar="KEY", default=default(""), help="the key that the API asks for (or CODETRAIL_KEY)"
    )
    group.add_argument(
        "--home",
        metavar="DIR",
        type=Path,
        default=default(None),
        help="where this machine's data lie (or CODETRAIL_HOME)",
    )
    group.add_argument("--quiet", action="store_true", default=default(False), help="say nothing on the way")
    if not suppress:
        name = f"codetrail {version('codetrail')}"
        group.add_argument("--version", action="version", version=name, help="print it and exit")


def _remote(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("remote", metavar="REMOTE", help="https://HOST/OWNER/NAME, a path, or a file:// URL")


def _ref(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ref", metavar="REF", default="HEAD", help="a branch or a tag, by its full name; without it HEAD"
    )


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the API's response body, byte for byte")


def _part(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--path",
        metavar="GLOB",
        type=_glob,
        help='search only these paths, such as "src/**/*.py"; src/ is all below it',
    )
    parser.add_argument(
        "--language", metavar="L", type=_language, help="search only this language, such as python"
    )
    parser.add_argument(
        "--kind", metavar="K", type=_kind, help=f"search only this kind: {', '.join(sorted(Kind))}"
    )
    parser.add_argument(
        "--exclude-tests", action="store_true", help="leave out test, example and benchmark files"
    )


def _glob(text: str) -> str:
    try:
        return read_glob(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _language(text: str) -> str:
    if text not in LANGUAGES:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(sorted(LANGUAGES))}")
    return text


def _kind(text: str) -> Kind:
    if text not in list(Kind):
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(sorted(Kind))}")
    return Kind(text)


def _only(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--only",
        metavar="PATHS",
        type=_paths,
        default=(),
        help="index only these folders or files, separated by commas; not with --api, nor while "
        "`codetrail up` runs",
    )


def _as_indexed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--as-indexed",
        action="store_true",
        help="use what is indexed already; do not look for a newer commit",
    )


def _limit(text: str) -> int:
    return _bounded(text, 1, MAX_LIMIT)


def _port(text: str) -> int:
    return _bounded(text, 0, 65_535)


def _bounded(text: str, low: int, high: int) -> int:
    if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {low} to {high}")
    return int(text)


def _paths(text: str) -> tuple[str, ...]:
    paths = tuple(part.strip().strip("/").removeprefix("./") for part in text.split(","))
    if not all(paths) or any(part == ".." for path in paths for part in path.split("/")):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of folders inside the repository, such as src,docs"
        )
    return paths


def _place(options: argparse.Namespace) -> Place:
    home = options.home or os.environ.get("CODETRAIL_HOME") or user_data_path("codetrail", appauthor=False)
    return Place(
        home=_expanded(Path(home)).absolute(),
        api=options.api or os.environ.get("CODETRAIL_API", ""),
        key=options.key or os.environ.get("CODETRAIL_KEY", ""),
    )


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()  # CODETRAIL_HOME may be set where no shell expands it
    except RuntimeError as error:
        raise Misused(f"{path}: there is no such user") from error


def _words(words: list[str], what: str) -> str:
    text = " ".join(words).strip()
    if not has_word(text):
        raise Misused(f"{what} holds no letter and no digit: there is nothing to look for")
    if len(text.encode("utf-8", "surrogateescape")) > MAX_QUERY_BYTES:
        raise Misused(f"{what} is longer than {MAX_QUERY_BYTES:,} bytes: ask in fewer words")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise Misused(f"{what} is not valid UTF-8")
    return text


def _target(options: argparse.Namespace) -> Target:
    try:
        ref = admit_ref(options.ref)
    except NotAdmitted as error:
        raise Misused(str(error)) from error
    return Target(
        remote=options.remote,
        ref=ref,
        only=options.only,
        as_indexed=getattr(options, "as_indexed", False),
        # `index` asks nothing.
        part=_filter(options) if "path" in options else ALL,
    )


def _filter(options: argparse.Namespace) -> Filter:
    return Filter(
        path=options.path or "",
        language=options.language or "",
        kind=options.kind,
        exclude_tests=options.exclude_tests,
    )


def _ask(terminal: Terminal, options: argparse.Namespace) -> int:
    question = _words(options.question, "the question")
    return commands.ask(
        terminal, _place(options), _target(options), question, as_json=options.json, verify=options.verify
    )


def _search(terminal: Terminal, options: argparse.Namespace) -> int:
    query = _words(options.query, "the query")
    return commands.search(
        terminal, _place(options), _target(options), query, limit=options.limit, as_json=options.json
    )


def _index(terminal: Terminal, options: argparse.Namespace) -> int:
    return commands.index(terminal, _place(options), _target(options), as_json=options.json)


def _repos(terminal: Terminal, options: argparse.Namespace) -> int:
    return commands.repos(terminal, _place(options), as_json=options.json)


def _jobs(terminal: Terminal, options: argparse.Namespace) -> int:
    return commands.jobs(terminal, _place(options), options.job, as_json=options.json)


def _verify(terminal: Terminal, options: argparse.Namespace) -> int:
    return commands.verify(terminal, options.file, options.clone)


def _rm(terminal: Terminal, options: argparse.Namespace) -> int:
    return commands.rm(terminal, _place(options), options.repo)


def _up(terminal: Terminal, options: argparse.Namespace) -> int:
    return local.up(terminal, _here(options), options.port)


def _down(terminal: Terminal, options: argparse.Namespace) -> int:
    return local.down(terminal, _here(options))


def _status(terminal: Terminal, options: argparse.Namespace) -> int:
    return local.status(terminal, _place(options))


def _doctor(terminal: Terminal, options: argparse.Namespace) -> int:
    return doctor.doctor(
        terminal, _here(options), port=DEFAULT_PORT, remake=options.remake, consent=options.yes
    )


def _evaluate(_: Terminal, options: argparse.Namespace) -> int:
    return evaluate(options.arguments)


def _here(options: argparse.Namespace) -> Place:
    """This machine, for a command that is about nothing else."""
    if options.api:
        raise Misused(f"codetrail {options.command} is about this machine: leave out --api")
    return replace(_place(options), api="")
