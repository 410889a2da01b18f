"""A whole codetrail on a laptop: Postgres, queues and a bucket, the functions, and the API before them.

    with LocalStack(home, port=8400, lasting=True) as stack:   codetrail up
        stack.wait()
    with borrowed(home) as stack:                              any other command
        ... stack.api ...

Things start in the order in which they lean on one another, and stop in the opposite one: first no more
requests, then no more messages, then the functions' processes, moto, Postgres, and last the folder is let go.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType, TracebackType
from typing import Any, Self

from codetrail_local.aws import CREDENTIALS, LocalAws
from codetrail_local.environment import Functions
from codetrail_local.errors import AlreadyRunning, LocalError, PostgresError
from codetrail_local.gateway import Gateway
from codetrail_local.home import Home, rotate
from codetrail_local.postgres import EmbeddedPostgres
from codetrail_local.routes import PSEUDO_PARAMETERS, REGION, Function, Template, read_template
from codetrail_local.worker import Clock, Poller

ROOT = Path(__file__).resolve().parents[3]
STAGE = "local"
# Enough for two loaders side by side on the smallest machine; more than the cores would only take turns.
CONCURRENCY = max(2, min(4, os.cpu_count() or 2))
# On AWS the sweep runs each minute; here nobody pays for it, and a person waits.
SWEEP_SECONDS = 5.0
WATCH_SECONDS = 1.0
# What nearly every command asks first: their imports, and the model's, pass while something else is done.
WARM = ("repos", "index", "ask", "track")
# How long running invocations may go on once the stack is told to stop. What is cut short is taken up again
# by the next stack.
GRACE_SECONDS = 3.0
# How long a command waits for another one's stack to be ready, or to be gone.
TURN_SECONDS = 120.0
POLL_SECONDS = 0.05
# What may be set for a local stack by variables of the same names in the user's environment: all of config.py
# but what the stack itself decides.
SETTINGS = (
    "ALLOWED_HOSTS", "ANSWER_MAX_CHARS", "ANSWER_MAX_SPANS", "ANSWER_SCORE_FLOOR", "CHUNK_MAX_DECL_LINES",
    "CHUNK_STRATEGY", "CHUNK_WINDOW_LINES", "CHUNK_WINDOW_OVERLAP", "EMBED_DIM", "EMBED_MODEL",
    "EMBED_PROVIDER", "INDEX_PATHS", "JOB_DEADLINE_SECONDS", "MAX_FILE_BYTES", "MAX_REPO_BYTES",
    "MAX_REPO_FILES", "OLLAMA_URL", "RETRIEVAL_MODE", "STRIP_DOC_COMMENTS",
)  # fmt: skip
# What a process needs of the machine: programs, certificates, the way out.
MACHINE = (
    "PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy",
    "https_proxy", "all_proxy",
    "PYTEST_VERSION",  # set by pytest alone: tests may name the fake embedder
)  # fmt: skip
# In these variables a function names a database of AWS's; here one DATABASE_URL takes their place.
DATABASE_VARIABLES = ("DATABASE_HOST", "DATABASE_NAME", "DATABASE_USER")

log = logging.getLogger(__name__)


def local_settings() -> dict[str, str]:
    """Return the user's own settings, out of the environment."""
    return {name: os.environ[name] for name in SETTINGS if name in os.environ}


class LocalStack:
    """One codetrail on one data folder.

    `port` 0 takes any free one. `lasting` tells other commands that it goes on when its starter is done.
    `step` is told in a few words what is being started. `root` is the checkout: template.yaml and functions/.
    """

    def __init__(
        self,
        home: Path,
        *,
        port: int = 0,
        lasting: bool = False,
        settings: Mapping[str, str] | None = None,
        root: Path = ROOT,
        step: Callable[[str], None] = lambda words: None,
        sweep_seconds: float = SWEEP_SECONDS,
        warm: tuple[str, ...] = WARM,
    ) -> None:
        self.home = Home(home)
        self._port = port
        self._lasting = lasting
        self._settings = local_settings() if settings is None else dict(settings)
        self._root = root
        self._step = step
        self._sweep_seconds = sweep_seconds
        self._warm_first = warm
        self._postgres = EmbeddedPostgres(self.home.postgres)
        self._database_url = ""
        self._aws: LocalAws | None = None
        self._functions: Functions | None = None
        self._gateway: Gateway | None = None
        self._exits = ExitStack()
        # Set in a signal's handler: a plain value, since the main thread may hold an Event's lock just then.
        self._hurry = False
        self._previous: dict[signal.Signals, Callable[[int, FrameType | None], object] | int | None] = {}

    @property
    def api(self) -> str:
        """The API's address."""
        if self._gateway is None:
            raise LocalError("the local stack is not started")
        return self._gateway.url

    @property
    def aws(self) -> LocalAws:
        """The queues and the bucket."""
        if self._aws is None:
            raise LocalError("the local stack is not started")
        return self._aws

    def start(self) -> None:
        """Start everything, or nothing. Raises LocalError: AlreadyRunning, PortInUse and others."""
        self.home.acquire()
        self._exits.callback(self.home.release)
        try:
            self._start()
        except BaseException:
            self._exits.close()
            raise

    def stop(self) -> None:
        """Stop everything, in order."""
        try:
            self._exits.close()
        finally:
            # Last: a second Ctrl-C while things stop must not leave half of them behind.
            while self._previous:
                signal.signal(*self._previous.popitem())

    def invoke(self, function: str, event: object) -> Any:  # noqa: ANN401 - whatever JSON it returns
        """Invoke a function as an operator would, or a queue. Raises InvocationFailed."""
        if self._functions is None:
            raise LocalError("the local stack is not started")
        return self._functions.invoke(function, event)

    def warm(self, *functions: str) -> None:
        """Have these functions ready before they are asked for, without waiting for it."""
        for function in functions:
            threading.Thread(target=self._warm, args=(function,), daemon=True).start()

    def wait(self) -> None:
        """Return when the process is told to stop: Ctrl-C, SIGTERM, or the terminal is gone.

        Told twice, the stack stops without waiting for what runs.
        """
        told = False
        # The one queue that a handler may put into whatever it interrupts.
        wake: SimpleQueue[int] = SimpleQueue()

        def stop(number: int, frame: FrameType | None) -> None:
            nonlocal told
            self._hurry = told
            told = True
            wake.put(number)

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:  # as nohup asks for
                self._previous[number] = signal.signal(number, stop)
        # Not for ever at a time: a signal that the kernel gives to another thread does not wake this one.
        while not told:
            with suppress(Empty):
                wake.get(timeout=WATCH_SECONDS)

    def processes(self) -> dict[str, list[int]]:
        """Ids of the processes that belong to the stack, by what they run."""
        running = self._functions.pids() if self._functions is not None else {}
        database = self._postgres.pid
        return {"supervisor": [os.getpid()], "postgres": [database] if database else [], **running}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start(self) -> None:
        template = read_template(self._root / "template.yaml", self._settings)
        self._log_to_file()
        self._gateway = Gateway(template, self.invoke, port=self._port, stage=STAGE)
        self._exits.callback(self._gateway.stop)
        self._step("starting Postgres")
        with ThreadPoolExecutor(1) as beside:
            starting = beside.submit(LocalAws, template)
            self._exits.callback(self._postgres.stop)
            try:
                self._database_url = self._postgres.start()
            finally:
                self._aws = starting.result()
                self._exits.callback(self._aws.stop)
        watching = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(watching,), name="watch", daemon=True)
        self._exits.callback(watcher.join)
        self._exits.callback(watching.set)
        watcher.start()
        self._functions = Functions(
            template.functions, self._variables,
            root=self._root, logs=self.home.logs, scratch=self.home.scratch, concurrency=CONCURRENCY,
        )  # fmt: skip
        self._exits.callback(self._functions.stop)
        self._step("starting the functions")
        if "sweep" in template.functions:
            self.warm("sweep")
        if "admin" in template.functions:
            self.invoke("admin", {"action": "migrate"})
        self._poll(template)
        if "sweep" in template.functions:
            # The queues are new and empty; every live job's message was in the old ones.
            self.invoke("sweep", {"wake_all": True})
        self._gateway.start()
        self.home.announce(self.api, lasting=self._lasting)
        self._exits.callback(self._leave)
        self.warm(*(name for name in self._warm_first if name in template.functions))

    def _poll(self, template: Template) -> None:
        pollers: list[Poller | Clock] = []
        for source in template.sources:
            address = self.aws.queues[source.queue]
            dying = [
                self.aws.queues[name].arn
                for name, queue in template.queues.items()
                if queue.dead_letters == source.queue
            ]
            pollers.append(
                Poller(
                    source, address, sqs=self.aws.sqs, invoke=self.invoke, concurrency=CONCURRENCY,
                    dead_letters_of=dying[0] if dying else None,
                )
            )  # fmt: skip
        pollers += [
            Clock(schedule, invoke=self.invoke, seconds=self._sweep_seconds)
            for schedule in template.schedules
        ]
        self._exits.callback(self._finish_running)
        for poller in pollers:
            self._exits.callback(poller.stop)
            poller.start()

    def _finish_running(self) -> None:
        assert self._functions is not None  # noqa: S101 - _start made it
        deadline = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < deadline and not self._hurry:
            if self._functions.idle(POLL_SECONDS):
                return

    def _leave(self) -> None:
        # A stack that a command started for itself stays until the commands that joined it are done.
        while not self.home.withdraw(wait_for_guests=not (self._lasting or self._hurry)):
            time.sleep(POLL_SECONDS)

    def _warm(self, function: str) -> None:
        assert self._functions is not None  # noqa: S101 - warm is called after _start made it
        try:
            self._functions.warm(function)
        except LocalError as error:
            log.warning("a function did not start: %s", error)

    def _watch(self, done: threading.Event) -> None:
        """Start Postgres again when it was killed, where the functions look for it."""
        while not done.wait(WATCH_SECONDS):
            if self._postgres.running():
                continue
            log.warning("Postgres is gone; starting it again")
            try:
                self._postgres.start()
            except PostgresError as error:
                log.error("Postgres does not start again: %s", error)

    def _log_to_file(self) -> None:
        self.home.logs.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = self.home.logs / "stack.log"
        rotate(file)
        handler = logging.FileHandler(file, encoding="utf-8")
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        logger = logging.getLogger("codetrail_local")
        logger.addHandler(handler)
        logger.propagate = False
        self._exits.callback(handler.close)
        self._exits.callback(logger.removeHandler, handler)

    def _variables(self, function: Function) -> dict[str, str]:
        """Build a function's environment: Lambda's own variables, the template's, and the user's settings."""
        given = {name: self._resolve(value) for name, value in function.environment.items()}
        variables = {name: os.environ[name] for name in MACHINE if name in os.environ}
        variables |= {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
        variables |= {
            "LANG": "C.UTF-8",
            "TZ": ":UTC",
            "PYTHONUNBUFFERED": "1",
        }
        variables |= {
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": self.aws.endpoint,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_LAMBDA_FUNCTION_NAME": function.name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory_mb),
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{function.name}",
            "AWS_LAMBDA_LOG_STREAM_NAME": "local",
            **CREDENTIALS,
        }
        variables |= self._settings
        variables |= {
            name: value
            for name, value in given.items()
            if value is not None and name not in DATABASE_VARIABLES
        }
        variables["LOCAL_REMOTES"] = "true"
        # Only a function that the template tells of the database is told of it here.
        if "DATABASE_HOST" in function.environment:
            variables["DATABASE_URL"] = self._database_url
        return variables

    def _resolve(self, value: object) -> str | None:
        """What a value of the template comes to here; None for what there is only on AWS."""
        if not isinstance(value, dict | list):
            return str(value)
        if not isinstance(value, dict):
            return None
        named = value.get("Ref")
        if named in self.aws.queues:
            return self.aws.queues[named].url
        if named is not None:
            template = self.aws.template
            return (
                template.buckets.get(named) or template.parameters.get(named) or PSEUDO_PARAMETERS.get(named)
            )
        logical, attribute = value.get("Fn::GetAtt", ["", ""])
        if logical in self.aws.queues and attribute in ("Arn", "QueueName"):
            arn = self.aws.queues[logical].arn
            return arn if attribute == "Arn" else arn.rpartition(":")[2]
        return None


@dataclass(frozen=True, slots=True)
class Borrowed:
    """A stack to use. `lasting`: it was there before and goes on after."""

    api: str
    lasting: bool


@contextmanager
def borrowed(
    home: Path,
    *,
    settings: Mapping[str, str] | None = None,
    root: Path = ROOT,
    step: Callable[[str], None] = lambda words: None,
    alone: bool = False,
) -> Iterator[Borrowed]:
    """Use the stack that runs on *home*, or start one for the time of the block.

    Of two commands at once the first one's stack serves both, and stays until both are done. *alone*: only a
    stack of these settings will do, and another command's is waited for. Raises AlreadyRunning for one that
    lasts, and for one that is still there after the wait.
    """
    place = Home(home)
    deadline = time.monotonic() + TURN_SECONDS
    while True:
        if not alone and place.running() is not None:
            with place.visit():
                running = place.running()  # asked again: it may have gone before we were counted
                if running is not None:
                    yield Borrowed(running.api, running.lasting)
                    return
        stack = LocalStack(home, settings=settings, root=root, step=step)
        try:
            stack.start()
        except AlreadyRunning:
            running = place.running()
            in_vain = alone and running is not None and running.lasting
            if in_vain or time.monotonic() > deadline:
                raise
            time.sleep(POLL_SECONDS)
            continue
        try:
            yield Borrowed(stack.api, lasting=False)
        finally:
            stack.stop()
        return
