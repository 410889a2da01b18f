import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from codetrail_local import cli
from tests.support.recorded_api import Recorded, recorded_api

URL = "https://github.com/google/uuid"
REPO = "9f2c1a7b3d5e4088"
JOB = {"id": "j1", "remote": URL, "ref": "HEAD", "status": "pending", "repo_id": None}
CITATION = {
    "repo_id": REPO,
    "remote": URL,
    "commit": "c" * 40,
    "ref": "HEAD",
    "path": "a.go",
    "start_line": 1,
    "end_line": 2,
    "digest": "d" * 64,
    "length": 9,
    "check": "git cat-file …",
    "permalink": "",
    "staleness": {"note": "n"},
}
ANSWERED = {
    "repo_id": REPO,
    "refused": False,
    "answered_by": "extractive",
    "answer": "[1] a.go:1-2\ntext ✓\n",
    "citations": [{"marker": 1, "kind": "func", "symbol": "F", "citation": CITATION}],
    "dropped": 0,
    "mode": "hybrid",
}
ANSWER = json.dumps(ANSWERED, ensure_ascii=False, indent=1).encode()
REFUSAL = json.dumps(
    {"repo_id": REPO, "refused": True, "reason": "no_spans", "detail": "Nothing matched."}
).encode()


def failed_with(error: dict[str, str]) -> bytes:
    return json.dumps({**JOB, "status": "failed", "error": error}).encode()


@pytest.fixture
def api(monkeypatch):
    with recorded_api() as api:
        api.answer("POST", "/api/repos", Recorded(json.dumps(JOB).encode(), 202))
        api.answer("GET", "/api/jobs/j1", json.dumps({**JOB, "status": "done", "repo_id": REPO}).encode())
        api.answer("POST", f"/api/repos/{REPO}/ask", ANSWER)
        monkeypatch.setenv("CODETRAIL_API", api.url)
        monkeypatch.delenv("CODETRAIL_KEY", raising=False)
        yield api


@pytest.fixture
def run(capfdbinary, monkeypatch):
    """Run the command in this process; give its exit code, standard output and standard error."""

    def run(*arguments: str) -> tuple[int, bytes, str]:
        before = signal.getsignal(signal.SIGTERM)
        try:
            with pytest.raises(SystemExit) as caught:
                cli.main(arguments)
        finally:
            signal.signal(signal.SIGTERM, before)
        out, err = capfdbinary.readouterr()
        return int(caught.value.code or 0), out, err.decode()

    # pytest's own streams have no file descriptor; the command is given real ones.
    with (
        open(1, "w", encoding="utf-8", closefd=False) as out,
        open(2, "w", encoding="utf-8", closefd=False) as err,
    ):
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        yield run


def test_an_answer_exits_0_with_its_citations(api, run):
    code, out, err = run("ask", URL, "what", "is", "F")

    assert code == 0
    assert "text ✓" in out.decode()
    assert "git clone https://github.com/google/uuid && cd uuid" in out.decode()
    assert [json.loads(asked.body)["q"] for asked in api.asked if asked.path.endswith("/ask")] == [
        "what is F"
    ]
    assert err == "asking\n"


PART = ["--path", "src/", "--language", "go", "--kind", "func", "--exclude-tests"]


@pytest.mark.parametrize("command", ["ask", "search"])
def test_a_part_of_the_repository_is_asked_for_in_the_body(api, run, command):
    api.answer("POST", f"/api/repos/{REPO}/search", b'{"mode": "hybrid", "hits": []}')

    assert run(command, URL, "what is F", *PART)[0] == 0
    assert run(command, URL, "what is F")[0] == 0

    filtered, whole = [json.loads(asked.body) for asked in api.asked if asked.path.endswith(f"/{command}")]
    assert whole == {"q": "what is F"}
    assert filtered == {
        "q": "what is F", "path": "src/**", "language": "go", "kind": "func", "exclude_tests": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--path", "", "it is empty"),
        ("--path", "x" * 201, "over 200 bytes"),
        ("--language", "golang", "'golang' is none of bash, c,"),
        ("--kind", "function", "'function' is none of const, file, func, package, section, type, var"),
    ],
)
def test_a_part_that_there_cannot_be_is_refused_before_anything_is_asked(api, run, option, value, told):
    code, _, err = run("ask", URL, "what is F", option, value)

    assert (code, api.asked) == (2, [])
    assert told in " ".join(err.split())


def test_json_is_the_body_byte_for_byte(api, run):
    assert run("ask", URL, "what is F", "--json", "--quiet") == (0, ANSWER, "")


def test_a_refusal_exits_3(api, run):
    api.answer("POST", f"/api/repos/{REPO}/ask", REFUSAL)

    code, out, _ = run("ask", URL, "what is F")

    assert code == 3
    assert out.decode().startswith("No answer.\nNothing matched.\n")
    assert run("ask", URL, "what is F", "--json")[:2] == (3, REFUSAL)


def test_a_failed_job_exits_1_with_its_sentence(api, run):
    error = {"reason": "not_found", "sentence": "There is no public repository at this address."}
    body = failed_with(error)
    api.answer("GET", "/api/jobs/j1", body)
    api.answer("GET", "/api/repos", b'{"repos": []}')

    assert run("ask", URL, "what is F", "--quiet") == (
        1, b"", "codetrail: There is no public repository at this address.\n",
    )  # fmt: skip
    assert run("ask", URL, "what is F", "--json")[:2] == (1, body)


def test_a_host_that_is_away_leaves_what_was_indexed_before(api, run):
    error = {"reason": "host_unreachable", "sentence": "The host did not answer."}
    api.answer("GET", "/api/jobs/j1", failed_with(error))
    repo = {"id": REPO, "remote": URL, "ref": "HEAD", "commit": "c" * 40}
    api.answer("GET", "/api/repos", json.dumps({"repos": [repo]}).encode())

    code, out, err = run("ask", URL, "what is F", "--quiet")

    assert code == 0
    assert b"text" in out
    assert (
        " ".join(err.split()) == "note: The host did not answer. The answer is from what was indexed before."
    )


def test_a_repository_that_is_gone_is_not_answered_from_memory(api, run):
    error = {"reason": "not_found", "sentence": "There is no public repository at this address."}
    api.answer("GET", "/api/jobs/j1", failed_with(error))
    repo = {"id": REPO, "remote": URL, "ref": "HEAD", "commit": "c" * 40}
    api.answer("GET", "/api/repos", json.dumps({"repos": [repo]}).encode())

    assert run("ask", URL, "what is F")[0] == 1


def test_as_indexed_submits_nothing(api, run):
    repo = {"id": REPO, "remote": URL, "ref": "HEAD", "commit": "c" * 40}
    api.answer("GET", "/api/repos", json.dumps({"repos": [repo]}).encode())

    assert run("ask", URL, "what is F", "--as-indexed")[0] == 0
    assert [asked.method for asked in api.asked] == ["GET", "POST"]
    assert api.asked[1].path.endswith("/ask")


def test_what_the_api_calls_a_mistake_exits_2(api, run):
    body = b'{"error":"evil.example is not an allowed host; allowed: github.com","rule":"host"}'
    api.answer("POST", "/api/repos", Recorded(body, 400))

    code, out, err = run("index", "https://evil.example/a/b", "--json", "--quiet")

    assert (code, out) == (2, body)
    assert err == "codetrail: evil.example is not an allowed host; allowed: github.com\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("ask", URL, "?!", "…"), "holds no letter and no digit"),
        (("ask", URL, "x" * 1001), "longer than 1,000 bytes"),
        (("search", URL, "--", "-"), "holds no letter and no digit"),
        (("ask", "google/uuid", "what"), "https://github.com/google/uuid"),
        (("ask", URL, "what", "--ref", "a..b"), "plain git ref name"),
        (("ask", URL, "what", "--api", "localhost:1"), "is not an API's address"),
        (("ask", URL, "what", "--key", "a\nb"), "copied whole"),
        (("search", URL, "what", "--limit", "51"), "not a whole number from 1 to 50"),
        (("ask", URL, "what", "--only", "../x"), "inside the repository"),
        (("ask", URL), "the following arguments are required: QUESTION"),
        (("ask", URL, "what", "--only", "src"), "leave out --api (and CODETRAIL_API), or --only"),
        (("jobs",), "the API does not list jobs"),
        (("rm", REPO), "the API removes nothing"),
        (("up", "--api", "http://127.0.0.1:1"), "is about this machine"),
        (("up", "--port", "65536"), "not a whole number from 0 to 65535"),
        (("repos", "--home", "~nobody-of-that-name/x", "--api", ""), "there is no such user"),
        (("verify", "/nothing/here"), "cannot be read"),
        (("nonsense",), "invalid choice"),
        (("ask", URL, "what", "--nonsense"), "unrecognized arguments"),
    ],
)
def test_bad_usage_exits_2_with_a_sentence_and_asks_nothing(api, run, arguments, sentence):
    code, out, err = run(*arguments)

    assert (code, out) == (2, b"")
    assert sentence in " ".join(err.split())
    assert "Traceback" not in err
    assert api.asked == []


def test_one_job_and_the_state_of_an_api_can_be_asked_for(api, run):
    api.answer("GET", "/ready", b"")
    api.answer("GET", "/api/repos", b'{"repos": [], "count": 0, "next": null}')

    assert run("jobs", "j1")[1].decode().splitlines()[1].split() == ["j1", "done", URL, "(HEAD)"]
    assert run("status")[1].decode() == f"The API at {api.url} is ready.\n  holds     0 repositories\n"

    api.answer("GET", "/ready", Recorded(b"", 503))
    assert run("status")[::2] == (1, f"codetrail: the API at {api.url} is not ready.\n")


def test_no_command_prints_the_help_and_exits_2(run):
    code, out, err = run()

    assert (code, out) == (2, b"")
    assert err.startswith("usage: codetrail COMMAND")


def test_options_of_every_command_may_stand_before_and_after_it(api, run):
    assert run("--key", "ct_1", "--quiet", "ask", URL, "what is F")[0] == 0
    assert run("ask", URL, "what is F", "--key", "ct_2")[0] == 0

    keys = [asked.headers["Authorization"] for asked in api.asked]
    assert {*keys[:3]} == {"Bearer ct_1"}
    assert {*keys[3:]} == {"Bearer ct_2"}


def test_a_dirty_working_tree_is_said(api, run, tmp_path, monkeypatch):
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    (tmp_path / "new.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)

    _, _, err = run("ask", ".", "what is x")

    assert err.startswith("note: 1 file in ")
    assert json.loads(api.asked[0].body)["remote"] == f"file://{tmp_path}"


def test_every_page_of_the_corpus_is_listed_and_json_is_the_first(api, run):
    def page(number: int, following: str | None) -> bytes:
        repo = {"id": f"id{number}", "remote": URL, "ref": "HEAD", "commit": "c" * 40}
        return json.dumps({"repos": [repo], "count": 1, "next": following}).encode()

    api.answer("GET", "/api/repos", page(1, "c1"), page(2, None))
    assert [line.split()[0] for line in run("repos")[1].decode().splitlines()] == ["ID", "id1", "id2"]
    assert [asked.path for asked in api.asked] == ["/api/repos?limit=50", "/api/repos?limit=50&cursor=c1"]

    api.answer("GET", "/api/repos", page(1, "c1"))
    assert run("repos", "--json")[1] == page(1, "c1")


def spawn(api, *arguments: str, **options) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "CODETRAIL_API": api.url, **options.pop("env", {})}
    command = [sys.executable, "-m", "codetrail_local", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, **options)


def test_a_reader_that_leaves_is_no_error(api):
    reading, writing = os.pipe()
    os.close(reading)
    process = spawn(api, "ask", URL, "what is F", "--quiet", stdout=writing)
    os.close(writing)

    _, err = process.communicate(timeout=20)

    assert err == b""
    assert process.returncode == 141


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a device that is always full")
def test_a_full_disk_is_said(api):
    with Path("/dev/full").open("wb") as full:
        process = spawn(api, "ask", URL, "what is F", "--quiet", stdout=full)
        _, err = process.communicate(timeout=20)

    assert err == b"codetrail: No space left on device\n"
    assert process.returncode == 1


def test_a_terminal_that_is_not_utf_8_gets_escapes(api):
    process = spawn(
        api, "ask", URL, "what is F", "--quiet", stdout=subprocess.PIPE, env={"PYTHONIOENCODING": "ascii"}
    )

    out, err = process.communicate(timeout=20)

    assert (process.returncode, err) == (0, b"")
    assert b"text \\u2713\n" in out
    assert out.isascii()


def test_ctrl_c_exits_130_with_a_sentence(api):
    api.answer(
        "GET",
        "/api/jobs/j1",
        json.dumps({**JOB, "status": "leased", "progress": {"stage": "fetch"}}).encode(),
    )
    process = spawn(api, "ask", URL, "what is F", stdout=subprocess.PIPE)
    assert process.stderr is not None
    assert process.stderr.readline() == b"fetching\n"

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)

    assert process.returncode == 130
    assert out == b""
    assert err == b"codetrail: stopped; the job goes on (codetrail jobs j1).\n"
