"""A local stack in a process of its own, so that a test may kill it."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from codetrail_local.errors import LocalError
from codetrail_local.home import Home
from codetrail_local.stack import ROOT, LocalStack
from tests.support.local_stack import until


class Supervised:
    """A stack that runs until it is told to stop or killed."""

    def __init__(
        self, home: Path, *, root: Path = ROOT, port: int = 0, settings: Mapping[str, str] | None = None
    ) -> None:
        self.home = home
        self._errors = home.parent / f"{home.name}.errors"
        arguments = json.dumps(
            {"home": str(home), "root": str(root), "port": port, "settings": dict(settings or {})}
        )
        with self._errors.open("ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.supervised", arguments],
                cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            )  # fmt: skip

    @property
    def api(self) -> str:
        running = Home(self.home).running()
        assert running is not None
        return running.api

    def ready(self) -> "Supervised":
        until(lambda: Home(self.home).running() or self.process.poll() is not None, seconds=60)
        assert self.process.poll() is None, self.said()
        return self

    def said(self) -> str:
        return self._errors.read_text()

    def processes(self) -> dict[str, list[int]]:
        """Ask the supervisor what runs."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        found: dict[str, list[int]] = json.loads(self.process.stdout.readline())
        return found

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(60)
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        return code


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def main() -> None:
    said = json.loads(sys.argv[1])
    stack = LocalStack(
        Path(said["home"]),
        root=Path(said["root"]),
        port=said["port"],
        settings=said["settings"],
        lasting=True,
        sweep_seconds=1,
        warm=(),
    )

    def tell() -> None:
        for _ in sys.stdin:
            sys.stdout.write(f"{json.dumps(stack.processes())}\n")
            sys.stdout.flush()

    # A thread that reads, not a signal: a handler runs when the main thread next comes round to it, and asks
    # for locks that the thread may hold.
    threading.Thread(target=tell, daemon=True).start()
    try:
        with stack:
            stack.wait()
    except LocalError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
