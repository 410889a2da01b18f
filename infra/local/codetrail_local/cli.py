"""The `codetrail` command.

Exit codes: 0 answered, 3 refused (nothing in the index is worth answering from), 2 bad usage (another command
line would work), 1 failure, 130 interrupted. Without a command it prints its help on standard error and exits
2, since a script that forgot the command should notice. Results go to standard output, all else to standard
error.
"""

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from codetrail_local.errors import LocalError, Misused, Trouble
from codetrail_local.terminal import Terminal

INTERRUPTED = 130
# What a shell reports for a program that a closed pipe ended: nobody reads on, and nothing went wrong.
BROKEN_PIPE = 141


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    terminal = Terminal()
    terminal.prepare()
    try:
        code = _run(terminal, sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        terminal.warn("Stopped.")
        code = INTERRUPTED
    except BrokenPipeError:
        code = BROKEN_PIPE
    except OSError as error:
        code = _failed(terminal, error)
    sys.exit(_flushed(terminal, code))


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _failed(terminal: Terminal, error: OSError) -> int:
    terminal.warn(f"codetrail: {error.strerror or error}{f': {error.filename}' if error.filename else ''}")
    return Trouble.exit_code


def _flushed(terminal: Terminal, code: int) -> int:
    """Write out what is still buffered: at exit it would fail with a traceback that nobody can catch."""
    try:
        terminal.out.flush()
    except OSError as error:
        # What cannot be written goes nowhere, or the interpreter would try again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), terminal.out.fileno())
        if code == 0:
            return BROKEN_PIPE if isinstance(error, BrokenPipeError) else _failed(terminal, error)
    return code


def _run(terminal: Terminal, arguments: Sequence[str]) -> int:
    as_json = False
    try:
        from codetrail_local.command_line import (  # noqa: PLC0415 - a Ctrl-C is answered while it is imported
            Run,
            command_line,
        )

        parser = command_line()
        if not arguments:
            terminal.err.write(parser.format_help())
            return Misused.exit_code
        options = parser.parse_args(arguments)
        terminal.quiet, as_json = options.quiet, getattr(options, "json", False)
        run: Run = options.run
        return run(terminal, options)
    except LocalError as error:
        trouble = error if isinstance(error, Trouble) else Trouble(str(error))
    if trouble.body and as_json:
        terminal.body(trouble.body)
    terminal.out.flush()
    terminal.warn(f"codetrail: {trouble}")
    return trouble.exit_code
