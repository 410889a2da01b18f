"""Execution environments: a worker process for each concurrent execution of a function, started when needed.

As on Lambda an environment answers one invocation at a time and is used again; one that overruns its
function's timeout is killed with everything it started, one that crashed is replaced at the next invocation,
and its variables are built for it, never copied from ours.
"""

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from codetrail_local.errors import LocalError
from codetrail_local.home import rotate
from codetrail_local.routes import ACCOUNT, REGION, Function

# Importing a function's module, its model included, on a laptop that has other things to do.
INIT_TIMEOUT_SECONDS = 120
# How long a killed process group may take to be gone before we go on without it.
KILL_TIMEOUT_SECONDS = 5


class InvocationFailed(LocalError):
    """A function did not answer; the message says which and where its log is."""


class FunctionError(InvocationFailed):
    """The handler raised."""

    def __init__(self, function: str, kind: str, message: str, log: Path) -> None:
        super().__init__(f"the function {function} failed ({kind}: {message}); its log is {log}")


class FunctionTimedOut(InvocationFailed):
    """The handler took longer than its function may."""

    def __init__(self, function: str, seconds: int, log: Path) -> None:
        super().__init__(f"the function {function} did not finish within {seconds} s; its log is {log}")


class FunctionCrashed(InvocationFailed):
    """The process ended without an answer."""

    def __init__(self, function: str, log: Path) -> None:
        super().__init__(f"the process of the function {function} ended without an answer; its log is {log}")


class Stopped(InvocationFailed):
    """The stack is stopping: nothing is invoked any more."""

    def __init__(self) -> None:
        super().__init__("the local stack is stopping")


class Environment:
    """One worker process."""

    def __init__(
        self, function: Function, variables: Mapping[str, str], *, root: Path, log: Path, scratch: Path
    ) -> None:
        self._function = function
        self._log = log
        self._scratch = scratch
        self._replies: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._ready = False
        scratch.mkdir(parents=True, mode=0o700)
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "codetrail_local.runtime", function.module, function.handler],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output, cwd=root,
                env={**variables, "TMPDIR": str(scratch)},
                start_new_session=True,  # a group of its own: killed whole, and Ctrl-C is ours alone
            )  # fmt: skip
        threading.Thread(target=self._listen, daemon=True).start()
        threading.Thread(target=self._reap, daemon=True).start()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it can take another invocation."""
        return self._process.poll() is None

    def wait_ready(self) -> None:
        """Wait until the function's module is imported."""
        if self._ready:
            return
        reply = self._receive(INIT_TIMEOUT_SECONDS)
        self._raise_error(reply)
        self._ready = True

    def invoke(self, event: object) -> Any:  # noqa: ANN401 - whatever JSON it returns
        """Return what the handler returns for *event*."""
        self.wait_ready()
        seconds = self._function.timeout_seconds
        arn = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{self._function.name}"
        request = {"id": str(uuid.uuid4()), "arn": arn, "seconds": seconds, "event": event}
        assert self._process.stdin is not None  # noqa: S101 - it was asked for above
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise FunctionCrashed(self._function.name, self._log) from None
        reply = self._receive(seconds)
        self._raise_error(reply)
        return reply["result"]

    def kill(self) -> None:
        """End the process and everything that it started."""
        _kill_group(self._process.pid)
        try:
            self._process.wait(KILL_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            return  # it hangs in the kernel; nothing more can be done from here
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _receive(self, seconds: float) -> dict[str, Any]:
        try:
            reply = self._replies.get(timeout=seconds)
        except queue.Empty:
            self.kill()
            raise FunctionTimedOut(self._function.name, int(seconds), self._log) from None
        if reply is None:
            raise FunctionCrashed(self._function.name, self._log)
        return reply

    def _raise_error(self, reply: dict[str, Any]) -> None:
        if "error" in reply:
            error = reply["error"]
            raise FunctionError(self._function.name, error["errorType"], error["errorMessage"], self._log)

    def _listen(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - it was asked for above
        with self._process.stdout as replies:
            for line in replies:
                self._replies.put(json.loads(line))
        self._replies.put(None)

    def _reap(self) -> None:
        # Whatever it started must not outlive it, and may hold the pipe open that _listen reads.
        self._process.wait()
        _kill_group(self._process.pid)
        assert self._process.stdin is not None  # noqa: S101 - it was asked for above
        with contextlib.suppress(OSError):  # a request that was not taken any more
            self._process.stdin.close()


class Functions:
    """The environments of all functions, at most *concurrency* of each."""

    def __init__(
        self,
        functions: Mapping[str, Function],
        variables: Callable[[Function], Mapping[str, str]],
        *,
        root: Path,
        logs: Path,
        scratch: Path,
        concurrency: int,
    ) -> None:
        self._functions = functions
        self._variables = variables
        self._root = root
        self._logs = logs
        self._scratch = scratch
        self._concurrency = concurrency
        self._changed = threading.Condition()
        self._idle: dict[str, list[Environment]] = {name: [] for name in functions}
        self._busy: dict[str, set[Environment]] = {name: set() for name in functions}
        self._starting: dict[str, int] = dict.fromkeys(functions, 0)
        self._stopped = False
        shutil.rmtree(scratch, ignore_errors=True)  # what a killed stack left behind
        logs.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name in functions:
            rotate(logs / f"{name}.log")

    def invoke(self, name: str, event: object) -> Any:  # noqa: ANN401 - whatever JSON it returns
        """Invoke a function, waiting for a free environment. Raises InvocationFailed."""
        with self._lease(name) as environment:
            return environment.invoke(event)

    def warm(self, name: str) -> None:
        """Have an environment of the function ready. Raises InvocationFailed."""
        with self._lease(name) as environment:
            environment.wait_ready()

    def idle(self, seconds: float) -> bool:
        """Wait until no invocation runs, at most *seconds*; return whether none does."""
        with self._changed:
            return self._changed.wait_for(lambda: not any(self._busy.values()), seconds)

    def stop(self) -> None:
        """Kill every environment; waiting and running invocations fail."""
        with self._changed:
            self._stopped = True
            environments = [one for pool in (*self._idle.values(), *self._busy.values()) for one in pool]
            self._changed.notify_all()
        for environment in environments:
            environment.kill()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def pids(self) -> dict[str, list[int]]:
        """Process ids by function."""
        with self._changed:
            return {
                name: [one.pid for one in (*self._idle[name], *self._busy[name])] for name in self._functions
            }

    @contextlib.contextmanager
    def _lease(self, name: str) -> Iterator[Environment]:
        environment = self._take(name)
        try:
            yield environment
        except FunctionError:
            raise  # the handler's own affair: the process is well
        except BaseException:
            environment.kill()
            raise
        finally:
            self._give_back(name, environment)

    def _take(self, name: str) -> Environment:
        with self._changed:
            while True:
                if self._stopped:
                    raise Stopped
                while self._idle[name]:
                    environment = self._idle[name].pop()
                    if environment.alive:
                        self._busy[name].add(environment)
                        return environment
                if len(self._busy[name]) + self._starting[name] < self._concurrency:
                    self._starting[name] += 1
                    break
                self._changed.wait()
        return self._start(name)

    def _start(self, name: str) -> Environment:
        function = self._functions[name]
        scratch = self._scratch / f"{name}-{uuid.uuid4().hex[:8]}"
        environment = None
        try:
            environment = Environment(
                function, self._variables(function),
                root=self._root, log=self._logs / f"{name}.log", scratch=scratch,
            )  # fmt: skip
        except OSError as error:
            raise LocalError(f"cannot start a process for the function {name}: {error}") from error
        finally:
            with self._changed:
                self._starting[name] -= 1
                if environment is not None:
                    self._busy[name].add(environment)
                self._changed.notify_all()
        if self._stopped:
            environment.kill()
        return environment

    def _give_back(self, name: str, environment: Environment) -> None:
        with self._changed:
            self._busy[name].discard(environment)
            if environment.alive and not self._stopped:
                self._idle[name].append(environment)
            self._changed.notify_all()


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # all of it is gone already (macOS says so with the second)
