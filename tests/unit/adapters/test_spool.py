"""One contract of what waits outside memory, against the files and against the fake that other tests use."""

from pathlib import Path

import pytest

from codetrail.adapters.spool import DiskSpool
from codetrail.services.ports import Spool
from tests.support.artifacts import span
from tests.support.fakes_index import MemorySpool

SPANS = [span(ordinal).span for ordinal in range(3)]
RUNS = [[("alpha", b"\0\1"), ("zürich", b"")], [("alpha", b"\n" * 70_000)]]


@pytest.fixture(params=[DiskSpool, MemorySpool])
def spool(request, monkeypatch, tmp_path) -> Spool:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made: Spool = request.param()
    return made


def test_spans_come_back_in_the_order_in_which_they_were_added(spool: Spool):
    with spool:
        for added in SPANS:
            spool.add(added)

        assert list(spool.spans()) == SPANS


def test_nothing_added_is_nothing_read(spool: Spool):
    with spool:
        assert list(spool.spans()) == []


def test_runs_of_counted_words_come_back_each_as_it_was(spool: Spool):
    with spool:
        aside = [spool.put_aside(iter(run)) for run in RUNS]

        # Read side by side, as they are merged.
        assert [list(pair) for pair in zip(*aside, strict=False)] == [[RUNS[0][0], RUNS[1][0]]]


def test_what_is_put_aside_has_no_name_that_a_killed_process_could_leave(spool: Spool, tmp_path: Path):
    with spool:
        spool.add(SPANS[0])
        spool.put_aside(iter(RUNS[0]))

        assert list(tmp_path.iterdir()) == []
