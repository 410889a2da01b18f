import io
from datetime import UTC, datetime, timedelta

from codetrail_local.progress import state, watching
from codetrail_local.replies import Job, Progress
from tests.support.clock import Clock


def job(stage: str, status: str = "leased", **counts: int) -> Job:
    return Job(id="j", remote="r", ref="HEAD", status=status, progress=Progress(stage=stage, counts=counts))


class Pipe(io.StringIO):
    encoding = "utf-8"


class Screen(Pipe):
    def isatty(self) -> bool:
        return True


def test_a_log_gets_a_line_for_each_stage_and_not_one_for_each_look():
    out = Pipe()

    with watching(out, clock=Clock()) as watcher:
        watcher.step("starting")
        for seen in (job("queued"), job("queued"), job("resolve"), job("fetch"), job("fetch")):
            watcher.job(seen)

    assert out.getvalue() == "starting\nwaiting\nlooking the ref up\nfetching\n"


def test_a_log_gets_a_sign_of_life_in_a_long_stage():
    out, clock = Pipe(), Clock()

    with watching(out, clock=clock) as watcher:
        for second in range(0, 25, 5):
            clock.now = float(second)
            watcher.job(job("load", spans=100, loaded=second))

    assert [line for line in out.getvalue().split("\n") if line] == [
        "embedding and storing (0 of 100 spans)",
        "embedding and storing (10 of 100 spans)",
        "embedding and storing (20 of 100 spans)",
    ]


def test_quiet_says_nothing():
    out = Pipe()

    with watching(out, quiet=True) as watcher:
        watcher.step("starting")
        watcher.job(job("fetch"))

    assert out.getvalue() == ""


def test_a_terminal_gets_a_bar_that_is_gone_in_the_end(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    out = Screen()

    with watching(out) as watcher:
        watcher.step("starting")
        watcher.job(job("load", spans=100, loaded=50))

    assert "embedding and storing (50 of 100 spans)" in out.getvalue()
    assert out.getvalue().endswith("\x1b[2K")


def test_a_terminal_that_cannot_redraw_gets_lines(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    out = Screen()

    with watching(out) as watcher:
        watcher.step("starting")

    assert out.getvalue() == "starting\n"


def test_a_result_is_written_where_the_bar_was(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    out = Screen()

    with watching(out) as watcher:
        watcher.step("asking")
        watcher.done()
        out.write("the answer\n")
        watcher.done()

    assert out.getvalue().endswith("\x1b[2Kthe answer\n")


def test_words_of_an_unknown_stage_do_not_steer_the_terminal():
    assert state(job("\x1b[2J"))[0] == "\\x1b[2J"


def test_a_job_that_was_put_back_waits_for_another_attempt():
    first = datetime(2026, 1, 1, tzinfo=UTC)
    waiting = job("queued", status="pending").model_copy(update={"submitted_at": first, "updated_at": first})
    put_back = waiting.model_copy(update={"updated_at": first + timedelta(seconds=2)})

    assert state(waiting)[0] == "waiting"
    assert state(put_back)[0] == "waiting for another attempt"


def test_a_stage_that_has_counted_nothing_yet_has_its_total():
    assert state(job("load", spans=7)) == ("embedding and storing (0 of 7 spans)", 0, 7)
    assert state(job("load")) == ("embedding and storing", None, None)
