"""Index one ref of one repository: resolve, fetch, cut, count, and leave a sealed artifact for load.

Everything read here is a stranger's, and nothing here can reach the database. Any step may be repeated: what
is published or sealed already is not made again, and a run that loses the race to seal goes on with what is
there.
"""

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TypeVar

from codetrail.domain import bm25, classify
from codetrail.domain.attributes import NAME as ATTRIBUTES
from codetrail.domain.attributes import Attributes
from codetrail.domain.bm25 import Corpus, Counted
from codetrail.domain.job import (
    EventKind,
    FailureReason,
    IndexingFailed,
    IndexJob,
    JobEvent,
    LoadBatch,
    Stage,
)
from codetrail.domain.lines import Lines
from codetrail.domain.manifest import (
    BYTES_PER_BATCH,
    FILES_PER_BATCH,
    MAX_SPANS,
    MAX_SYMBOL_BYTES,
    NAMES_PER_BATCH,
    POSTINGS_PER_BATCH,
    SPANS_PER_BATCH,
    BatchEntry,
    BatchKind,
    IndexedSpan,
    Manifest,
    Row,
)
from codetrail.domain.paths import to_bytes, to_text
from codetrail.domain.remote import admit, admit_ref
from codetrail.domain.repo import Coverage, Outcome, Reason, SourceFile, repo_id
from codetrail.domain.span import MAX_TEXT_BYTES, Kind, Span, span_id
from codetrail.domain.terms import RULES_VERSION, TermReader
from codetrail.domain.words import has_word
from codetrail.errors import NotAdmitted, Unavailable
from codetrail.services.ports import (
    Artifacts,
    Chunked,
    Chunker,
    Git,
    JobEvents,
    LoadQueue,
    Spool,
    Stemmer,
    Tree,
    TreeEntry,
)

log = logging.getLogger(__name__)

# Another number here makes another artifact of the same commit: for a change of what is written or decided
# that no other part of the fingerprint tells.
ARTIFACT_VERSION = 2

# A report moves a progress bar; more often than this nobody looks.
REPORT_SECONDS = 3.0
# Counted words held in memory before they are written away: about 100 MB, which most repositories stay under.
MAX_HELD = 400_000
# Sequences of one delivery stay above those of the delivery before.
SEQUENCES_PER_DELIVERY = 1_000_000


def fingerprint(chunker: str, settings: Mapping[str, object]) -> str:
    """Return 16 hex digits that change with anything that makes another artifact of the same commit."""
    rules = {
        "artifact": ARTIFACT_VERSION,
        "chunker": chunker,
        "words": RULES_VERSION,
        "bm25": [bm25.K1, bm25.B, bm25.WEIGHTS, bm25.KIND_WORDS, bm25.SIGNATURE_LINES],
        "settings": settings,
    }
    return sha256(json.dumps(rules, sort_keys=True).encode()).hexdigest()[:16]


class Reports:
    """What one delivery of an index job's message tells of itself, numbered."""

    def __init__(
        self, job: IndexJob, events: JobEvents, *, delivery: int, clock: Callable[[], float]
    ) -> None:
        self._job = job
        self._events = events
        self._sequence = delivery * SEQUENCES_PER_DELIVERY
        self._clock = clock
        self._said = float("-inf")
        self.stage = Stage.RESOLVE

    def enter(self, stage: Stage, **counts: int) -> None:
        """Say that a stage begins."""
        self.stage = stage
        self._progress(counts)

    def going_on(self, **counts: int) -> None:
        """Say how far the stage has come, unless something was said just now."""
        if self._clock() - self._said >= REPORT_SECONDS:
            self._progress(counts)

    def end(self, kind: EventKind, *, repo_id: str | None = None, **counts: int) -> None:
        """Say how the run ended well. Raises Unavailable: the job would wait for it."""
        self._send(kind, counts, repo_id=repo_id)

    def failed(self, failure: IndexingFailed) -> None:
        """Say why the run cannot go on. Raises Unavailable."""
        self._send(EventKind.FAILED, {}, reason=failure.reason, transient=failure.transient)

    def _progress(self, counts: dict[str, int]) -> None:
        self._said = self._clock()
        try:
            self._send(EventKind.PROGRESS, counts)
        except Unavailable:
            # Nothing waits for a report of progress, and the work behind it is worth more.
            log.warning("progress not reported", extra={"job": self._job.job_id, "stage": self.stage.value})

    def _send(
        self,
        kind: EventKind,
        counts: dict[str, int],
        *,
        repo_id: str | None = None,
        reason: FailureReason | None = None,
        transient: bool = False,
    ) -> None:
        self._sequence += 1
        self._events.send(
            JobEvent(
                job_id=self._job.job_id,
                attempt=self._job.attempt,
                sequence=self._sequence,
                kind=kind,
                stage=self.stage,
                counts=counts,
                repo_id=repo_id,
                reason=reason,
                transient=transient,
            )
        )


def index(
    job: IndexJob,
    *,
    git: Git,
    chunker: Chunker,
    stemmer: Stemmer,
    spool: Spool,
    artifacts: Artifacts,
    loads: LoadQueue,
    reports: Reports,
    fingerprint: str,
    hosts: Sequence[str],
    local: bool,
    paths: Sequence[str],
    run: str,
    check_time: Callable[[], None],
) -> None:
    """Do one index job, or report why it cannot be done.

    *hosts* and *local* admit the remote once more: whoever can write to the queue still cannot make us fetch
    from elsewhere. *paths* limits what of the tree is read (empty: all); *run* names the folder of this run's
    batches; *check_time* raises IndexingFailed once the deadline has passed. Raises Unavailable when our own
    queues or bucket do not answer: the message then comes again.
    """
    facts: dict[str, object] = {"job": job.job_id, "attempt": job.attempt}
    try:
        reports.enter(Stage.RESOLVE)
        _admit(job, hosts, local)
        commit = git.resolve(job.remote, job.ref)
        repo = repo_id(job.remote, commit)
        known = job.published
        if known and (known.commit, known.fingerprint, known.repo_id) == (commit, fingerprint, repo):
            reports.end(EventKind.UNCHANGED, repo_id=repo)
            log.info("unchanged", extra=facts | {"repo": repo})
            return
        sealed = artifacts.sealed(repo, fingerprint)
        if sealed is None:
            with spool:
                build = _Build(repo, TermReader(stemmer.stems), spool)
                reports.enter(Stage.FETCH)
                with git.fetch(job.remote, commit) as tree:
                    build.cut(tree, chunker=chunker, paths=paths, reports=reports, check_time=check_time)
                files = len(build.files)
                reports.enter(Stage.SEAL, files=files, files_done=files, spans=build.spans)
                batches = build.write(
                    lambda number, kind, rows: artifacts.put_batch(
                        repo, fingerprint, run, number, kind, rows
                    ),
                    check_time=check_time,
                )
                sealed = artifacts.seal(
                    build.manifest(
                        remote=job.remote,
                        ref=job.ref,
                        commit=commit,
                        fingerprint=fingerprint,
                        batches=batches,
                    )
                )
    except IndexingFailed as failure:
        reports.failed(failure)
        log.warning(
            "indexing failed", extra=facts | {"stage": reports.stage.value, "reason": failure.reason.value}
        )
        return
    key, digest, manifest = sealed
    loads.send(
        [LoadBatch(job.job_id, job.attempt, key, digest, batch) for batch in range(len(manifest.batches))]
    )
    reports.stage = Stage.LOAD
    reports.end(EventKind.SEALED, repo_id=repo, spans=manifest.spans, files=manifest.files)
    log.info("indexed", extra=facts | {"repo": repo, "spans": manifest.spans, "files": manifest.files})


def _admit(job: IndexJob, hosts: Sequence[str], local: bool) -> None:
    try:
        canonical = admit(job.remote, hosts, local)
        admit_ref(job.ref)
    except NotAdmitted as error:
        log.warning("not admitted", extra={"job": job.job_id, "rule": error.rule})
        raise IndexingFailed(FailureReason.INTERNAL) from error
    if canonical != job.remote:
        raise IndexingFailed(FailureReason.INTERNAL)


Put = Callable[[int, BatchKind, Iterable[Row]], BatchEntry]
_R = TypeVar("_R", bound=Row)


class _Build:
    """One revision in the making. What grows with the repository waits in the spool."""

    def __init__(self, repo: str, reader: TermReader, spool: Spool) -> None:
        self._repo = repo
        self._corpus = Corpus(reader)
        self._spool = spool
        self._runs: list[Iterable[Counted]] = []
        self._rows: dict[BatchKind, int] = dict.fromkeys(BatchKind, 0)
        self.files: list[SourceFile] = []
        self.spans = 0

    def cut(
        self,
        tree: Tree,
        *,
        chunker: Chunker,
        paths: Sequence[str],
        reports: Reports,
        check_time: Callable[[], None],
    ) -> None:
        """Read each blob of the tree once, and cut it for each path that has it."""
        entries = tree.entries()
        reports.enter(Stage.CHUNK, files=len(entries), files_done=0, spans=0)
        scope = [to_bytes(path).rstrip(b"/") for path in paths]
        attributes = _attributes(tree, entries)
        outcomes: dict[int, SourceFile] = {}
        wanted: dict[str, list[int]] = {}
        for at, entry in enumerate(entries):
            early = None
            if scope and not any(entry.path == path or entry.path.startswith(path + b"/") for path in scope):
                early = classify.Decision(Outcome.SKIPPED, Reason.OUT_OF_SCOPE, "")
            else:
                early = classify.before_reading(entry.path, entry.mode, attributes)
            if early:
                outcomes[at] = _file(entry, 0, early)
            else:
                wanted.setdefault(entry.blob, []).append(at)
        for blob, size, data in tree.blobs(list(wanted)):
            cuts: dict[tuple[str, str], Chunked] = {}
            for at in wanted[blob]:
                check_time()
                outcomes[at] = self._cut_file(entries[at], size, data, attributes, chunker, cuts)
                reports.going_on(files=len(entries), files_done=len(outcomes), spans=self.spans)
        self.files = [outcomes[at] for at in range(len(entries))]

    def _cut_file(
        self,
        entry: TreeEntry,
        size: int,
        data: bytes | None,
        attributes: Attributes,
        chunker: Chunker,
        cuts: dict[tuple[str, str], Chunked],
    ) -> SourceFile:
        decision = classify.read(entry.path, entry.mode, size, data, attributes)
        source = decision.source
        if source is None or data is None:
            return _file(entry, size, decision)
        path = to_text(entry.path)
        how = (decision.language, source.encoding)
        if how not in cuts:
            cuts[how] = chunker.chunk(path, decision.language, source.utf8)
        chunked = cuts[how]
        shown = source.without(chunked.blanks)
        lines = Lines(data)
        test = classify.is_test_path(entry.path)
        seen: set[str] = set()
        dropped = 0
        for piece in chunked.pieces:
            start, end = source.raw_range(piece.start_byte, piece.end_byte)
            location = lines.locate(start, end)
            whole = shown.text(location.start_byte, location.length) if piece.text is None else piece.text
            text = _cut_text(whole, MAX_TEXT_BYTES)
            if not has_word(text):
                dropped += 1
                continue
            symbol = _cut_text(classify.clean(piece.symbol), MAX_SYMBOL_BYTES)
            kind = Kind(piece.kind)
            id_ = span_id(self._repo, path, kind, symbol, location.start_line, location.end_line, start)
            if id_ in seen:  # two pieces with the same lines, kind and name answer the same
                continue
            seen.add(id_)
            self._add(
                Span(
                    ordinal=self.spans,
                    id=id_,
                    path=path,
                    kind=kind,
                    symbol=symbol,
                    language=decision.language,
                    start_line=location.start_line,
                    end_line=location.end_line,
                    length=location.length,
                    digest=location.digest,
                    text=text,
                    test=test,
                )
            )
        return _file(entry, size, decision, chunked.reason, spans=len(seen), dropped=dropped)

    def _add(self, span: Span) -> None:
        if self.spans == MAX_SPANS:
            raise IndexingFailed(FailureReason.TOO_LARGE)
        self.spans += 1
        self._spool.add(span)
        self._corpus.add(span)
        if self._corpus.held >= MAX_HELD:
            self._runs.append(self._spool.put_aside(self._corpus.drain()))

    def write(self, put: Put, *, check_time: Callable[[], None]) -> tuple[BatchEntry, ...]:
        """Write all batches; spans come first, since they take load longest."""
        written: dict[BatchKind, list[BatchEntry]] = {kind: [] for kind in BatchKind}

        def write(kind: BatchKind, rows: Iterable[_R], limit: int, size: Callable[[_R], int]) -> None:
            for batch in _batches(rows, limit, size):
                check_time()
                number = sum(map(len, written.values()))
                written[kind].append(put(number, kind, batch))
                self._rows[kind] += len(batch)

        postings = self._corpus.weigh([*self._runs, self._corpus.drain()])
        write(BatchKind.POSTINGS, postings, POSTINGS_PER_BATCH, lambda posting: 3 * len(posting.ordinals))
        write(BatchKind.NAMES, self._corpus.names(), NAMES_PER_BATCH, lambda name: 2 * len(name.ordinals))
        # The mass of a name is known only now that every term's frequency is.
        spans = (IndexedSpan(span, self._corpus.name_mass(span)) for span in self._spool.spans())
        write(BatchKind.SPANS, spans, SPANS_PER_BATCH, lambda row: len(row.span.text))
        write(BatchKind.FILES, self.files, FILES_PER_BATCH, lambda file: len(file.path))
        if not any(written.values()):
            # Load publishes when a batch arrives, and an empty tree is worth publishing too.
            written[BatchKind.FILES].append(put(0, BatchKind.FILES, []))
        order = (BatchKind.SPANS, BatchKind.POSTINGS, BatchKind.NAMES, BatchKind.FILES)
        return tuple(entry for kind in order for entry in written[kind])

    def manifest(
        self, *, remote: str, ref: str, commit: str, fingerprint: str, batches: tuple[BatchEntry, ...]
    ) -> Manifest:
        """Return the manifest over all that was written."""
        return Manifest(
            repo_id=self._repo,
            remote=remote,
            ref=ref,
            commit=commit,
            fingerprint=fingerprint,
            spans=self._rows[BatchKind.SPANS],
            files=self._rows[BatchKind.FILES],
            postings=self._rows[BatchKind.POSTINGS],
            names=self._rows[BatchKind.NAMES],
            stats=self._corpus.stats,
            coverage=_coverage(self.files),
            batches=batches,
        )


def _attributes(tree: Tree, entries: Sequence[TreeEntry]) -> Attributes:
    files = {
        entry.path: entry.blob
        for entry in entries
        if entry.path.rpartition(b"/")[2] == ATTRIBUTES
        and entry.mode not in (classify.SYMLINK_MODE, classify.SUBMODULE_MODE)
    }
    contents = {blob: data for blob, _, data in tree.blobs(list(dict.fromkeys(files.values()))) if data}
    return Attributes({path: contents[blob] for path, blob in files.items() if blob in contents})


def _file(
    entry: TreeEntry,
    size: int,
    decision: classify.Decision,
    reason: str | None = None,
    *,
    spans: int = 0,
    dropped: int = 0,
) -> SourceFile:
    outcome, why = decision.outcome, decision.reason
    if reason is not None and outcome is Outcome.INDEXED:
        outcome, why = Outcome.DEGRADED, Reason(reason)
    if outcome is not Outcome.SKIPPED and not spans:
        # Whatever was cut, none of it can be found.
        outcome, why = Outcome.SKIPPED, Reason(reason) if reason else Reason.NO_SPANS
    return SourceFile(
        path=to_text(entry.path),
        blob=entry.blob,
        size=size,
        language=decision.language,
        outcome=outcome,
        reason=why,
        spans=spans,
        dropped=dropped,
    )


def _coverage(files: Sequence[SourceFile]) -> Coverage:
    outcomes = Counter(file.outcome for file in files)
    return Coverage(
        indexed=outcomes[Outcome.INDEXED],
        degraded=outcomes[Outcome.DEGRADED],
        skipped=outcomes[Outcome.SKIPPED],
        dropped_spans=sum(file.dropped for file in files),
        reasons=dict(sorted(Counter(file.reason.value for file in files if file.reason).items())),
        languages=dict(sorted(Counter(file.language or "unknown" for file in files if file.spans).items())),
    )


def _batches(rows: Iterable[_R], limit: int, size: Callable[[_R], int]) -> Iterator[list[_R]]:
    """Yield *rows* in batches, each of at most *limit* rows and, unless one row alone is over it, of at most
    BYTES_PER_BATCH bytes."""
    batch: list[_R] = []
    held = 0
    for row in rows:
        weight = size(row)
        if batch and (len(batch) == limit or held + weight > BYTES_PER_BATCH):
            yield batch
            batch, held = [], 0
        batch.append(row)
        held += weight
    if batch:
        yield batch


def _cut_text(text: str, limit: int) -> str:
    if len(text) * 4 <= limit:
        return text
    data = text.encode()
    return text if len(data) <= limit else data[:limit].decode("utf-8", "ignore")
