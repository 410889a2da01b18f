"""The repositories that search is measured on: which they are, where their clones lie, and their spans.

Each is named in `repos.json` with its commit before anything is measured on it; the one that CI asks, in
`ci.json`. A clone is found as FOLDER/NAME or FOLDER/OWNER/NAME, bare or not; nothing is fetched here.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import numpy as np

from codetrail.adapters.git.program import GitProgram
from codetrail.adapters.treesitter.chunker import TreeSitterChunker
from codetrail.domain.bm25 import HEADING_SEPARATOR
from codetrail.domain.languages import MARKDOWN
from codetrail.domain.remote import admit
from codetrail.domain.repo import CorpusStats, Coverage, Outcome, Revision, repo_id
from codetrail.domain.span import embedded_text
from codetrail.services.ports import Chunked, Chunker, Embedder, Vectors
from tests.evaluation.sealing import Sealed, seal
from tests.support.revisions import INDEXED_AT, Contents

_T = TypeVar("_T")

LIST = Path(__file__).with_name("repos.json")
CI_LIST = Path(__file__).with_name("ci.json")
# Texts embedded between two writes of the cache: what an interrupted run loses.
CACHE_TEXTS = 256


class Half(StrEnum):
    """What a corpus is for."""

    LEARN = "learn"
    REPORT = "report"
    FRESH = "fresh"
    SIBLING = "sibling"
    CI = "ci"


class Variant(StrEnum):
    """How a corpus is indexed. Where a question is a piece of the repository, that piece is not there."""

    PLAIN = "plain"  # as shipped
    UNCOMMENTED = "uncommented"  # doc comments made blank
    UNTITLED = "untitled"  # innermost headings made blank, and left out of the names
    WINDOWS = "windows"  # 40 lines each, doc comments made blank


@dataclass(frozen=True, slots=True)
class Corpus:
    """One repository at one commit, or the part of it under *paths*."""

    name: str
    remote: str
    commit: str
    half: Half
    language: str
    paths: tuple[str, ...] = ()
    siblings: tuple[str, ...] = ()


def corpora(listed: Path = LIST) -> dict[str, Corpus]:
    """Return every corpus that a list names, by name."""
    rows = json.loads(listed.read_text())["corpora"]
    return {
        row["name"]: Corpus(
            name=row["name"],
            remote=row["remote"],
            commit=row["commit"],
            half=Half(row["half"]),
            language=row["language"],
            paths=tuple(row.get("paths", ())),
            siblings=tuple(row.get("siblings", ())),
        )
        for row in rows
    }


def clone_of(corpus: Corpus, folder: Path) -> Path:
    """Return where the clone lies. Raises SystemExit, which says what to do, when there is none."""
    owner, _, name = corpus.remote.removeprefix("https://github.com/").partition("/")
    for path in (folder / corpus.name, folder / owner / name):
        if (path / "HEAD").exists() or (path / ".git").exists():
            return path.resolve()
    raise SystemExit(f"no clone of {corpus.remote} under {folder}: git clone it to {folder / corpus.name}")


class VectorCache:
    """Vectors by model and text, in one file: a text is embedded once, whatever is measured on it."""

    def __init__(self, path: Path, embedder: Embedder) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, timeout=120, isolation_level=None)
        self._connection.execute("pragma journal_mode = wal")
        self._connection.execute("create table if not exists vectors (key blob primary key, vector blob)")
        self._embedder = embedder
        self.model = embedder.model
        self.dimension = embedder.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one vector a text, in order, as the tables of Postgres would hold it."""
        keys = [sha256(f"{self.model}\0{text}".encode("utf-8", "replace")).digest() for text in texts]
        found = dict(self._read(keys))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        for some in _pieces(list(missing.items()), CACHE_TEXTS):
            vectors = self._embedder.embed([text for _, text in some]).astype(np.float16)
            rows = [(key, vector.tobytes()) for (key, _), vector in zip(some, vectors, strict=True)]
            self._connection.executemany("insert or ignore into vectors values (?, ?)", rows)
            found |= dict(rows)
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return np.stack([np.frombuffer(found[key], dtype=np.float16) for key in keys]).astype(np.float32)

    def _read(self, keys: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        for some in _pieces(list(dict.fromkeys(keys)), CACHE_TEXTS):
            marks = ",".join("?" * len(some))
            yield from self._connection.execute(
                f"select key, vector from vectors where key in ({marks})",  # noqa: S608 - only marks
                some,
            )


def _pieces(items: list[_T], size: int) -> Iterator[list[_T]]:
    for at in range(0, len(items), size):
        yield items[at : at + size]


class Untitled:
    """A chunker whose innermost sections have lost their headings. Those around them keep theirs, as no
    question is made of them: their headings stand in the names of what they hold."""

    def __init__(self, chunker: Chunker) -> None:
        self._chunker = chunker
        self.fingerprint = f"{chunker.fingerprint}-untitled"

    def chunk(self, path: str, language: str, source: bytes) -> Chunked:
        """Cut as ever; of Markdown, make the innermost headings blank and leave them out of the names."""
        chunked = self._chunker.chunk(path, language, source)
        if language != MARKDOWN:
            return chunked
        inner = innermost([piece.symbol for piece in chunked.pieces])
        headings = list(_headings(source))
        return Chunked(
            pieces=tuple(
                replace(piece, symbol=piece.symbol.rpartition(HEADING_SEPARATOR)[0])
                if piece.symbol in inner
                else piece
                for piece in chunked.pieces
            ),
            reason=chunked.reason,
            blanks=tuple(
                (start, end)
                for start, end in headings
                if any(
                    piece.symbol in inner and piece.start_byte <= start and end <= piece.end_byte
                    for piece in chunked.pieces
                )
            ),
        )


def innermost(symbols: Iterable[str]) -> set[str]:
    """Return the paths of headings that no other path goes on from."""
    every = set(symbols) - {""}
    outer = set()
    for symbol in every:
        while symbol := symbol.rpartition(HEADING_SEPARATOR)[0]:
            outer.add(symbol)
    return every - outer


def _headings(source: bytes) -> Iterator[tuple[int, int]]:
    """The byte ranges of heading lines; inside fenced code `#` is a comment and stays."""
    at, fence = 0, b""
    lines = source.split(b"\n")
    for number, line in enumerate(lines):
        told = line.strip()
        if fence:
            fence = b"" if told.startswith(fence) else fence
        elif told.startswith((b"```", b"~~~")):
            fence = told[:3]
        elif told.startswith(b"#"):
            yield at, at + len(line)
        elif told and number + 1 < len(lines) and _underlines(lines[number + 1]):
            yield at, at + len(line) + 1 + len(lines[number + 1])
        at += len(line) + 1


def _underlines(line: bytes) -> bool:
    told = line.strip()
    return len(told) > 1 and (not told.strip(b"=") or not told.strip(b"-"))


class _Pinned:
    """Git, but for what a name means: always the corpus's commit."""

    def __init__(self, program: GitProgram, commit: str) -> None:
        self._program = program
        self._commit = commit
        self.fetch = program.fetch

    def resolve(self, remote: str, ref: str) -> str:
        """Return the pinned commit."""
        return self._commit


def sealed(corpus: Corpus, clone: Path, variant: Variant) -> Sealed:
    """Index the corpus in one variant. Raises SystemExit when its clone lacks the commit."""
    with _chunker(variant) as chunker:
        return seal(
            admit(str(clone), (), local=True),
            "HEAD",
            git=lambda scratch: _Pinned(GitProgram(scratch=scratch, protocols=("file",)), corpus.commit),
            chunker=chunker,
            paths=corpus.paths,
        )


@contextmanager
def _chunker(variant: Variant) -> Iterator[Chunker]:
    strategy = "window" if variant is Variant.WINDOWS else "ast"
    strip = variant in (Variant.UNCOMMENTED, Variant.WINDOWS)
    with TreeSitterChunker(strategy=strategy, strip_doc_comments=strip) as chunker:
        yield Untitled(chunker) if variant is Variant.UNTITLED else chunker


def embedded(corpus: Corpus, found: Sealed, embedder: Embedder) -> Contents:
    """Return the revision that would be published, its vectors included."""
    indexed = sum(file.outcome is not Outcome.SKIPPED for file in found.files)
    total = sum(one.length for one in found.spans)
    return Contents(
        revision=Revision(
            revision=1,
            repo_id=repo_id(corpus.remote, corpus.commit),
            remote=corpus.remote,
            ref="HEAD",
            commit=corpus.commit,
            fingerprint=found.manifest.fingerprint,
            model=embedder.model,
            dimension=embedder.dimension,
            indexed_at=INDEXED_AT,
            last_used_at=INDEXED_AT,
            files=len(found.files),
            files_with_spans=len({one.path for one in found.spans}),
            stats=CorpusStats(spans=len(found.spans), average_length=total / max(1, len(found.spans))),
            coverage=Coverage(indexed=indexed),
        ),
        spans=found.spans,
        masses=found.masses,
        postings=found.postings,
        names=found.names,
        vectors=embedder.embed([embedded_text(one.path, one.symbol, one.text) for one in found.spans]),
    )
