"""How long work is shown while it goes on: a bar where a terminal is there, plain lines where not."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from codetrail_local.replies import Job
from codetrail_local.terminal import can_redraw, style_of, visible_line

# A log that is read later needs a sign of life, and not a line a second.
LINE_EVERY_SECONDS = 10.0

_WORDS = {
    "queued": "waiting",
    "resolve": "looking the ref up",
    "fetch": "fetching",
    "chunk": "cutting files into spans",
    "seal": "writing the artifact",
    "load": "embedding and storing",
    "published": "published",
}
# stage: what is done, what there is to do, and what both are counted in
_MEASURES = {
    "chunk": ("files_done", "files", "files"),
    "load": ("loaded", "spans", "spans"),
}


class Watcher(Protocol):
    """Somebody who is told how work goes on."""

    def step(self, words: str) -> None:
        """Something new is being done, of unknown length."""

    def job(self, job: Job) -> None:
        """A job has been looked at again."""

    def done(self) -> None:
        """Nothing more is shown: what comes now is the result."""


@contextmanager
def watching(
    stream: TextIO, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic
) -> Iterator[Watcher]:
    """Show on *stream* what the block does; a bar is gone when it ends."""
    if quiet:
        yield _Silence()
    elif can_redraw(stream):
        with _bars(stream) as bars:
            yield bars
    else:
        yield _Lines(stream, clock)


def state(job: Job) -> tuple[str, int | None, int | None]:
    """What a job does now, in words, how much of it is done and how much there is; None where not known."""
    stage = job.progress.stage if job.progress else ""
    counts: Mapping[str, int] = job.progress.counts if job.progress else {}
    words = _WORDS.get(stage, visible_line(stage) or job.status)
    if job.put_back:
        return "waiting for another attempt", None, None
    if stage not in _MEASURES:
        return words, None, None
    done_key, total_key, noun = _MEASURES[stage]
    done, total = counts.get(done_key, 0), counts.get(total_key)
    if not total:
        return words, None, None
    return f"{words} ({min(done, total):,} of {total:,} {noun})", min(done, total), total


class _Silence:
    def step(self, words: str) -> None:
        """Nothing."""

    def job(self, job: Job) -> None:
        """Nothing."""

    def done(self) -> None:
        """Nothing."""


class _Lines:
    def __init__(self, stream: TextIO, clock: Callable[[], float]) -> None:
        self._stream = stream
        self._clock = clock
        self._stage = ""
        self._said = ""
        self._at = 0.0

    def step(self, words: str) -> None:
        self._stage = words
        self._say(words)

    def job(self, job: Job) -> None:
        words, _, _ = state(job)
        stage = words.partition(" (")[0]
        due = self._clock() - self._at >= LINE_EVERY_SECONDS
        if words != self._said and (stage != self._stage or due):
            self._stage = stage
            self._say(words)

    def done(self) -> None:
        """Lines stay where they are."""

    def _say(self, words: str) -> None:
        self._said, self._at = words, self._clock()
        self._stream.write(f"{words}\n")
        self._stream.flush()


class _Bars:
    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=None)

    def step(self, words: str) -> None:
        self._progress.update(self._task, description=words, total=None, completed=0)

    def job(self, job: Job) -> None:
        words, done, total = state(job)
        self._progress.update(self._task, description=words, total=total, completed=done or 0)

    def done(self) -> None:
        self._progress.stop()


@contextmanager
def _bars(stream: TextIO) -> Iterator[_Bars]:
    style = style_of(stream)
    console = Console(
        file=stream, force_terminal=True, no_color=not style.colour, highlight=False, markup=False
    )
    spinner = SpinnerColumn("dots" if style.unicode else "line")
    # The description comes last, so that what is cut off on a narrow terminal is its end.
    columns = (
        spinner,
        TimeElapsedColumn(),
        BarColumn(bar_width=16),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Bars(progress)
