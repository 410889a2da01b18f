import logging
from collections import Counter
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest

from codetrail.adapters.bucket import S3Artifacts
from codetrail.adapters.stemmer import SnowballStemmer
from codetrail.domain.job import EventKind, FailureReason, IndexingFailed, IndexJob, Published, Stage
from codetrail.domain.manifest import BatchKind, IndexedSpan, Manifest, Name, Posting, Row
from codetrail.domain.repo import Outcome, Reason, SourceFile, repo_id
from codetrail.domain.span import MAX_TEXT_BYTES
from codetrail.errors import Unavailable
from codetrail.services import index as index_module
from codetrail.services.index import Reports, fingerprint, index
from codetrail.services.ports import Piece
from tests.support.clock import Clock
from tests.support.fakes_index import (
    COMMIT,
    REMOTE,
    Deadline,
    LineChunker,
    MemoryGit,
    MemoryS3,
    MemorySpool,
    OnePiece,
    SentEvents,
    SentLoads,
)

JOB = IndexJob(job_id="job1", attempt=1, remote=REMOTE, ref="HEAD")
FINGERPRINT = "f" * 16
REPO = repo_id(REMOTE, COMMIT)
MANIFEST = f"artifacts/{REPO}/{FINGERPRINT}/manifest.json"
FILES = {
    b"app.py": b"def first returns a random uuid\n\ndef second reads the clock\n",
    b"README.txt": b"A library of identifiers.\n",
}


class Run:
    """One bucket, one set of queues, and as many runs of index as a test wants."""

    def __init__(self, files=FILES, **limits):
        self.git = MemoryGit(files, **limits)
        self.chunker = LineChunker()
        self.s3 = MemoryS3()
        self.artifacts = S3Artifacts(self.s3, "bucket")
        self.loads = SentLoads()
        self.events = SentEvents()
        self.clock = Clock()
        self.spool = MemorySpool()

    def __call__(self, job=JOB, *, delivery=1, run="job1-1-a", paths=(), check_time=lambda: None):
        index(
            job,
            git=self.git,
            chunker=self.chunker,
            stemmer=SnowballStemmer(),
            spool=self.spool,
            artifacts=self.artifacts,
            loads=self.loads,
            reports=Reports(job, self.events, delivery=delivery, clock=self.clock),
            fingerprint=FINGERPRINT,
            hosts=("github.com",),
            local=False,
            paths=paths,
            run=run,
            check_time=check_time,
        )
        return self

    @property
    def manifest(self) -> Manifest:
        sealed = self.artifacts.sealed(REPO, FINGERPRINT)
        assert sealed
        return sealed[2]

    def rows(self, kind: BatchKind) -> list[Row]:
        manifest = self.manifest
        numbers = [n for n, entry in enumerate(manifest.batches) if entry.kind is kind]
        return [row for number in numbers for row in self.artifacts.read_batch(manifest, number)]

    @property
    def spans(self):
        return [row.span for row in self.rows(BatchKind.SPANS) if isinstance(row, IndexedSpan)]

    @property
    def files(self):
        return {row.path: row for row in self.rows(BatchKind.FILES) if isinstance(row, SourceFile)}


def test_a_repository_becomes_a_sealed_artifact_and_one_load_message_a_batch():
    run = Run()()

    manifest = run.manifest
    assert [span.symbol for span in run.spans] == ["", "first", "second"]
    assert (manifest.spans, manifest.files) == (3, 2)
    assert [(batch.batch, batch.manifest_key) for batch in run.loads.batches] == [
        (number, MANIFEST) for number in range(len(manifest.batches))
    ]
    assert run.events.kinds[-1] is EventKind.SEALED
    assert run.events.events[-1].repo_id == REPO
    assert run.git.open == 0


def test_the_manifest_counts_exactly_the_rows_of_its_batches():
    run = Run()()

    manifest = run.manifest
    counted = Counter({kind: len(run.rows(kind)) for kind in BatchKind})
    assert counted == {
        BatchKind.SPANS: manifest.spans,
        BatchKind.FILES: manifest.files,
        BatchKind.POSTINGS: manifest.postings,
        BatchKind.NAMES: manifest.names,
    }
    assert sum(entry.rows for entry in manifest.batches) == counted.total()
    assert manifest.stats.spans == manifest.spans


def test_lines_and_digests_are_of_the_raw_bytes():
    raw = b"def caf\xe9 drinks\r\n\x0c\r\n\ndef tea drinks"
    run = Run({b"app.py": raw})()

    coffee, tea = run.spans
    assert (tea.start_line, tea.end_line, tea.length) == (4, 4, 14)
    # Counted by hand: line 1 is `def caf\xe9 drinks\r`, line 2 is a form feed and a CR, line 3 is empty.
    assert (coffee.start_line, coffee.end_line) == (1, 2)
    assert coffee.length == len(b"def caf\xe9 drinks\r\n\x0c\r")


def test_what_is_published_already_is_neither_fetched_nor_written():
    run = Run()
    run(replace(JOB, published=Published(REPO, COMMIT, FINGERPRINT)))

    assert run.events.kinds == [EventKind.PROGRESS, EventKind.UNCHANGED]
    assert run.events.events[-1].repo_id == REPO
    assert (run.git.resolved, run.git.fetched, run.s3.puts, run.loads.batches) == (1, 0, [], [])


@pytest.mark.parametrize(
    "published", [Published(REPO, "d" * 40, FINGERPRINT), Published(REPO, COMMIT, "0" * 16)]
)
def test_another_commit_or_another_indexer_is_indexed(published):
    run = Run()(replace(JOB, published=published))

    assert run.git.fetched == 1
    assert run.events.kinds[-1] is EventKind.SEALED


def test_a_sealed_artifact_is_sent_again_and_not_made_again():
    run = Run()()
    first, written = list(run.loads.batches), list(run.s3.puts)
    run.loads.batches.clear()

    run(replace(JOB, job_id="job2", attempt=3), run="job2-3-b")

    assert run.git.fetched == 1
    assert run.s3.puts == written
    assert [replace(batch, job_id="job1", attempt=1) for batch in run.loads.batches] == first
    assert run.events.kinds[-1] is EventKind.SEALED


def test_a_message_delivered_twice_changes_nothing_and_its_reports_come_after_the_first_ones():
    run = Run()()
    before = dict(run.s3.objects)
    run(delivery=2, run="job1-1-b")

    assert run.s3.objects == before
    sequences = [event.sequence for event in run.events.events]
    assert sequences == sorted(set(sequences))
    assert sequences[-1] > 2_000_000


def test_of_two_runs_at_once_the_second_goes_on_with_what_the_first_sealed():
    run, rival = Run(), Run()
    rival.s3 = run.s3
    rival.artifacts = run.artifacts

    def finish_first_at_the_end(*, looks=[0]):  # noqa: B006 - a counter of this test's own
        looks[0] += 1
        if looks[0] == 5 and rival.git.fetched == 0:
            rival(run="job1-1-rival")

    run(check_time=finish_first_at_the_end)

    assert rival.git.fetched == run.git.fetched == 1
    assert all("rival" in entry.key for entry in run.manifest.batches)
    assert run.loads.batches == rival.loads.batches
    assert run.events.kinds[-1] is EventKind.SEALED


def test_the_same_commit_gives_the_same_batches_whoever_makes_them():
    one, other = Run()(run="x"), Run()(run="y")

    assert [entry.sha256 for entry in one.manifest.batches] == [
        entry.sha256 for entry in other.manifest.batches
    ]


@pytest.mark.parametrize("transient", [True, False])
def test_a_failure_is_reported_with_its_reason_and_the_message_is_done_with(transient):
    run = Run()
    run.git.failure = IndexingFailed(FailureReason.UNREACHABLE, transient=transient)
    run()

    last = run.events.events[-1]
    assert (last.kind, last.reason, last.transient) == (
        EventKind.FAILED,
        FailureReason.UNREACHABLE,
        transient,
    )
    assert last.stage is Stage.RESOLVE
    assert run.s3.puts == []


def test_a_failed_fetch_is_reported_from_its_stage():
    run = Run()
    run.git.fetch_failure = IndexingFailed(FailureReason.TOO_LARGE)
    run()

    assert (run.events.kinds[-1], run.events.stages[-1]) == (EventKind.FAILED, Stage.FETCH)


@pytest.mark.parametrize("looks", [0, 1, 3])
def test_work_stops_at_the_deadline_and_nothing_fetched_or_put_aside_is_left(looks):
    run = Run()(check_time=Deadline(looks))

    assert run.events.events[-1].reason is FailureReason.DEADLINE
    assert run.artifacts.sealed(REPO, FINGERPRINT) is None
    assert run.loads.batches == []
    assert run.git.open == 0
    assert run.spool.closed or run.git.fetched == 0


def test_a_tree_without_files_is_published_by_one_empty_batch():
    run = Run({})()

    assert [(entry.kind, entry.rows) for entry in run.manifest.batches] == [(BatchKind.FILES, 0)]
    assert len(run.loads.batches) == 1


def test_a_repository_without_spans_still_says_what_became_of_its_files():
    run = Run({b"logo.png": b"\x89PNG\0\0", b"empty.py": b""})()

    assert run.manifest.spans == run.manifest.postings == run.manifest.names == 0
    assert {path: file.reason for path, file in run.files.items()} == {
        "logo.png": Reason.BINARY,
        "empty.py": Reason.EMPTY,
    }
    assert run.manifest.coverage.reasons == {"binary": 1, "empty": 1}


def test_every_entry_of_the_tree_has_one_row_with_its_outcome():
    run = Run(
        {
            b"app.py": b"def f does x\n",
            b"big.py": b"def f does x\n" * 100,
            b"link": ("120000", b"app.py"),
            b"module": ("160000", b"not a blob at all"),
            b"vendor/dep.py": b"def dep does y\n",
        },
        file_bytes=1_000,
    )()

    assert {path: (file.outcome, file.reason) for path, file in run.files.items()} == {
        "app.py": (Outcome.INDEXED, None),
        "big.py": (Outcome.SKIPPED, Reason.TOO_LARGE),
        "link": (Outcome.SKIPPED, Reason.SYMLINK),
        "module": (Outcome.SKIPPED, Reason.SUBMODULE),
        "vendor/dep.py": (Outcome.SKIPPED, Reason.VENDORED),
    }
    coverage = run.manifest.coverage
    assert (coverage.indexed, coverage.degraded, coverage.skipped) == (1, 0, 4)
    assert coverage.languages == {"python": 1}


def test_what_the_chunker_could_not_cut_well_is_degraded():
    run = Run()
    run.chunker = LineChunker({"app.py": "parse_budget"})
    run()

    assert run.files["app.py"].outcome is Outcome.DEGRADED
    assert run.manifest.coverage.reasons == {"parse_budget": 1}


@pytest.mark.parametrize(
    ("data", "cut", "reason", "dropped"),
    [
        (b"import os\n", None, Reason.NO_SPANS, 0),
        (b"---\n\n???\n\nimport os\n", None, Reason.NO_SPANS, 2),
        (b"import caf\xe9\n", None, Reason.NO_SPANS, 0),
        (b"import os\n", Reason.PARSE_BUDGET, Reason.PARSE_BUDGET, 0),
    ],
    ids=["nothing cut", "no words in what was cut", "not UTF-8", "nothing cut, and why"],
)
def test_a_file_in_which_nothing_can_be_found_is_skipped_and_says_why(data, cut, reason, dropped):
    run = Run({b"app.py": data})
    run.chunker = LineChunker({"app.py": cut} if cut else {}, imports=True)
    run()

    file = run.files["app.py"]
    assert (file.outcome, file.reason, file.spans, file.dropped) == (Outcome.SKIPPED, reason, 0, dropped)
    assert run.manifest.coverage.reasons == {reason.value: 1}


def test_only_the_paths_asked_for_are_read():
    files = {b"src/a.py": b"def a does x\n", b"src.py": b"def b does x\n", b"docs/c.md": b"Words.\n"}
    run = Run(files)(paths=("src", "docs/c.md"))

    assert run.files["src.py"].reason is Reason.OUT_OF_SCOPE
    assert {span.path for span in run.spans} == {"src/a.py", "docs/c.md"}
    assert {path for path, _ in run.chunker.chunked} == {"src/a.py", "docs/c.md"}


def test_a_blob_at_several_paths_is_cut_once_and_found_at_each():
    same = b"def copied does x\n"
    run = Run({b"a.py": same, b"b/c.py": same, b"d.txt": same})()

    # Once for each language: the same bytes are not the same text to another grammar.
    assert Counter(language for _, language in run.chunker.chunked) == {"python": 1, "text": 1}
    assert [span.path for span in run.spans] == ["a.py", "b/c.py", "d.txt"]
    assert len({span.id for span in run.spans}) == 3
    assert len({span.digest for span in run.spans}) == 1


def test_spans_without_a_word_are_dropped_and_counted():
    run = Run({b"app.py": b"def f does x\n\n---\n\n???\n"})()

    assert [span.symbol for span in run.spans] == ["f"]
    assert (run.files["app.py"].spans, run.files["app.py"].dropped) == (1, 2)
    assert run.manifest.coverage.dropped_spans == 2


def test_a_long_text_is_cut_between_characters_and_its_digest_covers_the_whole_lines():
    raw = b"def odd " + "€".encode() * 40_000
    run = Run({b"app.txt": raw})()

    (span,) = run.spans
    # 8 bytes, then characters of three: the bound lies inside one.
    assert len(span.text.encode()) == MAX_TEXT_BYTES - 2
    assert span.text.endswith("€")
    assert span.length == len(raw)


def test_a_piece_with_a_text_of_its_own_shows_it_and_its_digest_covers_the_whole_lines():
    raw = b'["first()", "SECRET"]\n'
    run = Run({b"a.txt": raw})
    run.chunker = OnePiece(Piece("file", "", 1, 10, "first()"))
    run()

    (span,) = run.spans
    assert (span.text, span.start_line, span.end_line) == ("first()", 1, 1)
    assert (span.digest, span.length) == (sha256(raw[:-1]).hexdigest(), len(raw) - 1)
    terms = {row.term for row in run.rows(BatchKind.POSTINGS) if isinstance(row, Posting)}
    assert "first" in terms
    assert "secret" not in terms


def test_a_huge_symbol_is_cut():
    run = Run({b"app.txt": b"def " + b"x" * 5_000 + b" does y\n"})()

    assert len(run.spans[0].symbol) == 1_000


def test_words_and_names_lead_to_the_spans_that_bear_them():
    run = Run()()

    postings = {row.term: row for row in run.rows(BatchKind.POSTINGS) if isinstance(row, Posting)}
    names = {row.name: row for row in run.rows(BatchKind.NAMES) if isinstance(row, Name)}
    assert np.frombuffer(postings["random uuid"].ordinals, "<i4").tolist() == [1]
    assert np.frombuffer(postings["identifi"].ordinals, "<i4").tolist() == [0]
    assert np.frombuffer(names["second"].ordinals, "<i4").tolist() == [2]


def test_a_name_of_a_rare_word_has_more_mass_than_one_of_a_common_word():
    text = b"\n\n".join(
        [b"def common does x", *[b"def common%d.common does x" % n for n in range(20)], b"def rare y"]
    )
    run = Run({b"app.py": text})()

    mass = {
        row.span.symbol: row.name_mass for row in run.rows(BatchKind.SPANS) if isinstance(row, IndexedSpan)
    }
    assert mass["rare"] > mass["common"] > 0


def test_counted_words_that_do_not_fit_in_memory_are_put_aside_and_weigh_the_same(monkeypatch):
    files = {b"%d.py" % n: b"def f%d does something with number %d\n" % (n, n % 7) for n in range(50)}
    expected = [entry.sha256 for entry in Run(files)().manifest.batches]

    monkeypatch.setattr(index_module, "MAX_HELD", 20)

    run = Run(files)()

    assert [entry.sha256 for entry in run.manifest.batches] == expected
    assert run.spool.runs > 1


def test_batches_are_closed_by_rows_and_by_bytes(monkeypatch):
    monkeypatch.setattr(index_module, "BYTES_PER_BATCH", 100)
    run = Run({b"%d.py" % n: b"def f%d does x %s\n" % (n, b"y " * 20) for n in range(10)})()

    spans = [entry.rows for entry in run.manifest.batches if entry.kind is BatchKind.SPANS]
    assert sum(spans) == 10
    assert max(spans) == 1


def test_more_spans_than_can_be_numbered_are_too_large(monkeypatch):
    monkeypatch.setattr(index_module, "MAX_SPANS", 2)
    run = Run()()

    assert run.events.events[-1].reason is FailureReason.TOO_LARGE


def test_progress_is_told_by_stage_and_then_by_the_clock_never_by_the_file():
    run = Run({b"%d.py" % n: b"def f%d does x\n" % n for n in range(100)})

    def tick():
        run.clock.now += 0.1

    run(check_time=tick)

    told = [event for event in run.events.events if event.stage is Stage.CHUNK]
    assert 3 <= len(told) <= 5
    assert [event.counts["files_done"] for event in told] == sorted(
        event.counts["files_done"] for event in told
    )
    assert run.events.stages[0] is Stage.RESOLVE
    assert list(dict.fromkeys(run.events.stages)) == [
        Stage.RESOLVE,
        Stage.FETCH,
        Stage.CHUNK,
        Stage.SEAL,
        Stage.LOAD,
    ]


def test_a_report_of_progress_that_cannot_be_sent_costs_nothing():
    run = Run()
    run.events.refused = {EventKind.PROGRESS}
    run()

    assert run.events.kinds == [EventKind.SEALED]


@pytest.mark.parametrize("kind", [EventKind.SEALED, EventKind.FAILED])
def test_an_ending_that_cannot_be_reported_brings_the_message_back(kind):
    run = Run()
    run.events.refused = {kind}
    if kind is EventKind.FAILED:
        run.git.failure = IndexingFailed(FailureReason.NOT_FOUND)

    with pytest.raises(Unavailable):
        run()


def test_a_load_queue_that_does_not_answer_brings_the_message_back_and_nothing_is_made_twice():
    run = Run()
    run.loads.down = True
    with pytest.raises(Unavailable):
        run()
    run.loads.down = False
    run(delivery=2)

    assert run.git.fetched == 1
    assert len(run.loads.batches) == len(run.manifest.batches)


def test_a_bucket_that_does_not_answer_brings_the_message_back():
    run = Run()
    run.s3.down = True

    with pytest.raises(Unavailable):
        run()


def test_a_manifest_that_is_none_is_made_anew():
    run = Run()
    run.s3.objects[MANIFEST] = b"{}"

    run()

    assert run.manifest.spans == 3
    assert run.events.kinds[-1] is EventKind.SEALED
    assert len(run.loads.batches) == len(run.manifest.batches)


def test_a_manifest_that_is_none_and_comes_while_another_is_made_does_not_stay():
    run = Run()

    def forge():
        run.s3.objects[MANIFEST] = b"{}"

    run(check_time=forge)

    assert run.manifest.spans == 3
    assert run.events.kinds[-1] is EventKind.SEALED


@pytest.mark.parametrize(
    "job",
    [
        replace(JOB, remote="https://evil.example/a/b"),
        replace(JOB, remote="file:///etc"),
        replace(JOB, remote="https://github.com/a/b.git"),
        replace(JOB, ref="--upload-pack=x"),
    ],
)
def test_a_remote_or_ref_that_is_not_admitted_is_never_met(job):
    run = Run()(job)

    assert run.git.resolved == 0
    assert run.events.events[-1].reason is FailureReason.INTERNAL


def test_no_source_and_no_question_of_a_stranger_is_logged(caplog):
    caplog.set_level(logging.DEBUG)
    Run({b"app.py": b"def secret holds hunter2\n"})()

    assert "hunter2" not in caplog.text
    assert "indexed" in caplog.messages


def test_the_fingerprint_changes_with_each_rule_and_with_nothing_else():
    base = fingerprint("c1", {"paths": [], "max_file_bytes": 1})

    assert fingerprint("c1", {"max_file_bytes": 1, "paths": []}) == base
    assert len(base) == 16
    others = {
        fingerprint("c2", {"paths": [], "max_file_bytes": 1}),
        fingerprint("c1", {"paths": ["a"], "max_file_bytes": 1}),
    }
    assert base not in others
    assert len(others) == 2
