"""The only reader of the environment: each function asks for the group that it needs.

A setting that does not parse or lies out of its range stops the start with its name and value; so does a
required one that is missing. Secrets are masked when printed.
"""

import os
from dataclasses import dataclass, field
from functools import cache

from codetrail.domain.search import Mode


class SettingError(Exception):
    """A setting is missing or wrong; the message names it and says what it may be."""


@dataclass(frozen=True, slots=True)
class Database:
    """Where Postgres is. With an empty `url`: RDS IAM authentication, a signed token for a password."""

    url: str = field(repr=False)
    host: str = ""
    name: str = ""
    user: str = ""
    region: str = ""
    statement_timeout_ms: int = 3_000


@dataclass(frozen=True, slots=True)
class Queues:
    """URLs of the queues; empty where a function has no business with one."""

    index: str
    load: str
    events: str


@dataclass(frozen=True, slots=True)
class Admission:
    """Which remotes are fetched."""

    hosts: tuple[str, ...]
    local: bool  # paths and file:// URLs; a setting that template.yaml cannot carry


@dataclass(frozen=True, slots=True)
class Embedding:
    """Which embedder this process serves."""

    provider: str  # onnx, ollama, bedrock, fake
    model: str
    dimension: int
    url: str


@dataclass(frozen=True, slots=True)
class Retrieval:
    """How questions are answered; chosen for the process."""

    mode: Mode
    floor: float | None  # None: the shipped floor of the mode
    max_spans: int
    max_characters: int


@dataclass(frozen=True, slots=True)
class Indexing:
    """Caps and rules of the indexer. Caps refuse; rules are part of the fingerprint."""

    max_repo_bytes: int
    max_repo_files: int
    max_file_bytes: int
    deadline_seconds: int
    strategy: str  # ast or window
    window_lines: int
    window_overlap: int
    max_declaration_lines: int
    strip_doc_comments: bool
    paths: tuple[str, ...]  # only these folders or files; empty: all


@cache
def database() -> Database:
    """Read DATABASE_URL, or DATABASE_HOST, DATABASE_NAME, DATABASE_USER and AWS_REGION."""
    timeout = _integer("STATEMENT_TIMEOUT_MS", 3_000, 100, 600_000)
    url = _text("DATABASE_URL", "")
    if url:
        return Database(url=url, statement_timeout_ms=timeout)
    return Database(
        url="",
        host=_required("DATABASE_HOST"),
        name=_required("DATABASE_NAME"),
        user=_required("DATABASE_USER"),
        region=_required("AWS_REGION"),
        statement_timeout_ms=timeout,
    )


@cache
def queues() -> Queues:
    """Read INDEX_QUEUE_URL, LOAD_QUEUE_URL and EVENTS_QUEUE_URL."""
    return Queues(_text("INDEX_QUEUE_URL", ""), _text("LOAD_QUEUE_URL", ""), _text("EVENTS_QUEUE_URL", ""))


@cache
def bucket() -> str:
    """Read ARTIFACT_BUCKET."""
    return _required("ARTIFACT_BUCKET")


@cache
def admission() -> Admission:
    """Read ALLOWED_HOSTS (empty: nothing is admitted) and LOCAL_REMOTES."""
    hosts = tuple(host for host in _text("ALLOWED_HOSTS", "github.com,codeberg.org").split(",") if host)
    for host in hosts:
        if host != host.strip().lower() or "/" in host or ":" in host:
            raise SettingError(f"ALLOWED_HOSTS: {host!r} is not a plain lowercase host name")
    return Admission(hosts=hosts, local=_boolean("LOCAL_REMOTES", default=False))


@cache
def embedding() -> Embedding:
    """Read EMBED_PROVIDER, EMBED_MODEL, EMBED_DIM and OLLAMA_URL."""
    # The fake ranks by shared words and would answer with a straight face; pytest says that it is running.
    real = ("onnx", "ollama", "bedrock")
    providers = (*real, "fake") if "PYTEST_VERSION" in os.environ else real
    provider = _choice("EMBED_PROVIDER", "onnx", providers)
    model = {
        "onnx": "all-MiniLM-L6-v2-int8",
        "ollama": "nomic-embed-text",
        "bedrock": "amazon.titan-embed-text-v2:0",
        "fake": "fake",
    }
    width = {"onnx": 384, "ollama": 768, "bedrock": 512, "fake": 256}
    dimension = _integer("EMBED_DIM", width[provider], 1, 4096)
    if dimension not in (256, 384, 512, 768, 1024):
        raise SettingError(f"EMBED_DIM: {dimension} has no table; it may be 256, 384, 512, 768 or 1024")
    name = _text("EMBED_MODEL", model[provider])
    # These two are what their files are; the others are whatever their server holds.
    if provider in ("onnx", "fake") and (name, dimension) != (model[provider], width[provider]):
        raise SettingError(
            f"EMBED_MODEL, EMBED_DIM: {provider} is {model[provider]} with {width[provider]} dimensions,"
            f" not {name} with {dimension}"
        )
    return Embedding(provider, name, dimension, _text("OLLAMA_URL", "http://localhost:11434"))


@cache
def retrieval() -> Retrieval:
    """Read RETRIEVAL_MODE, ANSWER_SCORE_FLOOR, ANSWER_MAX_SPANS and ANSWER_MAX_CHARS."""
    mode = Mode(_choice("RETRIEVAL_MODE", "hybrid", tuple(Mode)))
    return Retrieval(
        mode=mode,
        floor=_floor(mode),
        max_spans=_integer("ANSWER_MAX_SPANS", 5, 1, 50),
        max_characters=_integer("ANSWER_MAX_CHARS", 8_000, 100, 200_000),
    )


def _floor(mode: Mode) -> float | None:
    """In hybrid mode the floor is of a confidence, elsewhere of a cosine."""
    text = _text("ANSWER_SCORE_FLOOR", "")
    if not text:
        return None
    if mode is Mode.HYBRID:
        return _number("ANSWER_SCORE_FLOOR", text, 0.0, 1.0, of=", the range of a confidence (hybrid mode)")
    return _number("ANSWER_SCORE_FLOOR", text, -1.0, 1.0, of=", the range of a cosine")


@cache
def indexing() -> Indexing:
    """Read the MAX_* caps, JOB_DEADLINE_SECONDS, the CHUNK_* rules, STRIP_DOC_COMMENTS and INDEX_PATHS."""
    lines = _integer("CHUNK_WINDOW_LINES", 40, 2, 1_000)
    overlap = _integer("CHUNK_WINDOW_OVERLAP", 10, 0, 999)
    if overlap >= lines:
        raise SettingError(f"CHUNK_WINDOW_OVERLAP: {overlap} must be less than CHUNK_WINDOW_LINES, {lines}")
    return Indexing(
        max_repo_bytes=_integer("MAX_REPO_BYTES", 268_435_456, 1, 10_737_418_240),
        max_repo_files=_integer("MAX_REPO_FILES", 20_000, 1, 1_000_000),
        max_file_bytes=_integer("MAX_FILE_BYTES", 1_048_576, 1, 16_777_216),
        deadline_seconds=_integer("JOB_DEADLINE_SECONDS", 600, 1, 900),
        strategy=_choice("CHUNK_STRATEGY", "ast", ("ast", "window")),
        window_lines=lines,
        window_overlap=overlap,
        max_declaration_lines=_integer("CHUNK_MAX_DECL_LINES", 200, 1, 10_000),
        strip_doc_comments=_boolean("STRIP_DOC_COMMENTS", default=False),
        paths=tuple(path for path in _text("INDEX_PATHS", "").split(",") if path),
    )


def _text(name: str, default: str) -> str:
    return os.environ.get(name, default)


def _required(name: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise SettingError(f"{name} is not set")
    return value


def _integer(name: str, default: int, low: int, high: int) -> int:
    text = os.environ.get(name, "")
    if not text:
        return default
    try:
        value = int(text)
    except ValueError:
        raise SettingError(f"{name}: {text!r} is not a whole number") from None
    if not low <= value <= high:
        raise SettingError(f"{name}: {value} is outside {low}..{high}")
    return value


def _number(name: str, text: str, low: float, high: float, *, of: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise SettingError(f"{name}: {text!r} is not a number") from None
    if not low <= value <= high:  # also refuses NaN
        raise SettingError(f"{name}: {text} is outside {low:g}..{high:g}{of}")
    return value


def _boolean(name: str, *, default: bool) -> bool:
    text = os.environ.get(name, "")
    if not text:
        return default
    if text not in ("true", "false"):
        raise SettingError(f"{name}: {text!r} is neither true nor false")
    return text == "true"


def _choice(name: str, default: str, choices: tuple[str, ...]) -> str:
    text = os.environ.get(name, "") or default
    if text not in choices:
        raise SettingError(f"{name}: {text!r} is not one of {', '.join(choices)}")
    return text
