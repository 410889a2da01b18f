"""The command as a newcomer types it, against the real local stack, over repositories built here with git."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from codetrail_local.home import Home
from codetrail_local.postgres import EmbeddedPostgres
from tests.support.local_stack import until

SECONDS = 120
# The fake embedder brings texts that share words near each other, and all others far from each other.
SETTINGS = {"EMBED_PROVIDER": "fake", "ANSWER_SCORE_FLOOR": "0.3"}
QUESTION = "how is a retry delayed"
SOURCES = {
    "src/retry.py": '''"""Retries."""


def delay_of_retry(attempt: int) -> float:
    """How long a retry is delayed: twice as long each time."""
    return 0.5 * 2**attempt
''',
    "docs/guide.md": "# Guide\n\nHow a retry is delayed, in prose: it waits, then the delay is doubled.\n",
    "docs/ünïcode name.md": "# Weather\n\nRain is followed by sun.\n",
}


@dataclass(frozen=True)
class Codetrail:
    """The command on one data folder."""

    home: Path

    def start(
        self, *arguments: str, settings: dict[str, str] | None = None, **options
    ) -> subprocess.Popen[str]:
        unset = {"CODETRAIL_API", "CODETRAIL_KEY", "CODETRAIL_HOME", "INDEX_PATHS"}
        inherited = {name: value for name, value in os.environ.items() if name not in unset}
        return subprocess.Popen(
            [sys.executable, "-m", "codetrail_local", *arguments, "--home", str(self.home)],
            env={**inherited, **SETTINGS, **(settings or {})},
            stdin=options.pop("stdin", subprocess.DEVNULL), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, **options,
        )  # fmt: skip

    def run(self, *arguments: str, body: str | None = None, **options) -> tuple[int, str, str]:
        stdin = subprocess.DEVNULL if body is None else subprocess.PIPE
        process = self.start(*arguments, stdin=stdin, **options)
        out, err = process.communicate(body, timeout=SECONDS)
        assert "Traceback" not in out + err
        return process.returncode, out, " ".join(err.split())

    @property
    def index_log(self) -> str:
        return (self.home / "logs" / "index.log").read_text()


def git(folder: Path, *arguments: str) -> str:
    author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    done = subprocess.run(
        ["git", "-C", str(folder), *author, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def repository(folder: Path, files: dict[str, str] | None = None) -> Path:
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    for name, text in (files or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    if files:
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "--message=all")
    return folder


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Codetrail]:
    """A codetrail that stays up for all tests here."""
    command = Codetrail(tmp_path_factory.mktemp("up") / "home")
    process = command.start("up", "--port", "0")
    assert process.stdout is not None and process.stderr is not None
    first = process.stdout.readline()
    assert first.startswith("The API is at http://127.0.0.1:"), process.stderr.read()
    yield command
    process.terminate()
    process.communicate(timeout=SECONDS)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repository(tmp_path_factory.mktemp("projects") / "a project", SOURCES)


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Codetrail]:
    """A data folder on which nothing runs."""
    command = Codetrail(tmp_path / "home")
    yield command
    EmbeddedPostgres(Home(command.home).postgres).stop()


def test_each_command_printed_under_a_citation_prints_the_digest_under_it(up, project):
    code, out, _ = up.run("ask", str(project), QUESTION)

    assert code == 0
    assert out.startswith("[1] src/retry.py:") or out.startswith("[1] docs/guide.md:")
    pairs = re.findall(r"^    ((?:git cat-file|p=).*)\n    ([0-9a-f]{64})$", out, re.MULTILINE)
    assert len(pairs) >= 2
    (into,) = re.findall(r"^    (cd .*)$", out, re.MULTILINE)
    for line, digest in pairs:
        printed = subprocess.run(
            ["sh", "-c", f"{into} && {line}"], capture_output=True, text=True, check=True
        )
        assert printed.stdout.split()[0] == digest


def test_an_answer_as_json_is_verified_and_a_changed_one_is_not(up, project, tmp_path):
    code, body, _ = up.run("ask", str(project), QUESTION, "--json")
    assert code == 0
    answer = json.loads(body)

    code, out, _ = up.run("verify", body=body)
    assert (code, out.splitlines()[-1]) == (0, f"All {len(answer['citations'])} citations hold.")

    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(project), str(clone))
    (tmp_path / "answer.json").write_text(body)
    assert up.run("verify", str(tmp_path / "answer.json"), "--clone", str(clone))[0] == 0

    answer["citations"][0]["citation"]["digest"] = "0" * 64
    code, out, _ = up.run("verify", body=json.dumps(answer))
    assert code == 1
    assert out.startswith("✗ ")
    assert out.splitlines()[-1].startswith(f"{len(answer['citations']) - 1} of ")


@pytest.mark.parametrize(
    ("body", "sentence", "exit_code"),
    [
        ("not JSON", "standard input is not JSON", 2),
        ("{}", "there is no citation in standard input", 1),
        ('{"digest":"x","commit":"y"}', "cannot be checked", 2),
        ("[" * 100_000, "is not JSON", 2),
    ],
)
def test_what_is_no_citation_is_said(up, body, sentence, exit_code):
    code, out, err = up.run("verify", body=body)

    assert (code, out) == (exit_code, "")
    assert sentence in err


def test_an_answer_can_be_verified_at_once(up, project):
    code, out, _ = up.run("ask", str(project), QUESTION, "--verify")

    assert code == 0
    assert re.search(r"^All \d+ citations hold\.$", out, re.MULTILINE)


def test_nothing_worth_answering_from_is_a_refusal(up, project):
    code, out, _ = up.run("ask", str(project), "zebras quarrel over marmalade")

    assert code == 3
    assert out.startswith("No answer.\n")
    assert re.search(r"^  searched \d+ spans in 3 files$", out, re.MULTILINE)
    assert re.search(r"^What came nearest. It is not an answer:\n  \S", out, re.MULTILINE)


def test_a_question_may_be_about_a_part_of_the_repository(up, project):
    code, out, _ = up.run("ask", str(project), QUESTION, "--path", "docs/", "--json")
    given = json.loads(out)

    assert code == 0
    assert {one["citation"]["path"] for one in given["citations"]} <= {
        "docs/guide.md",
        "docs/ünïcode name.md",
    }
    assert given["searched"]["files"] == 2

    code, out, _ = up.run("ask", str(project), QUESTION, "--path", "nowhere/")

    assert code == 3
    assert "The filter leaves nothing of this repository's index to search: path nowhere/**." in out


def test_a_search_lists_hits(up, project):
    code, out, _ = up.run("search", str(project), "delay_of_retry", "--limit", "1")

    assert code == 0
    assert out.startswith("1. src/retry.py:4-6 (func delay_of_retry)")


def test_a_second_run_fetches_nothing(up, project):
    up.run("index", str(project))
    before = up.index_log

    assert up.run("ask", str(project), QUESTION)[0] == 0

    said = [
        json.loads(line)["message"] for line in up.index_log[len(before) :].splitlines() if line[:1] == "{"
    ]
    assert said == ["unchanged"]


def test_a_new_commit_is_asked_and_a_dirty_tree_is_said(up, tmp_path):
    folder = repository(tmp_path / "r", {"a.md": "# Apples\n\nApples are red.\n"})
    assert up.run("ask", str(folder), "which colour are apples")[0] == 0

    (folder / "a.md").write_text("# Apples\n\nApples are green.\n")
    _, out, err = up.run("ask", str(folder), "which colour are apples")
    assert "Apples are red." in out
    assert "note: 1 file" in err

    git(folder, "commit", "--quiet", "--all", "--message=green")
    _, out, err = up.run("ask", str(folder), "which colour are apples")
    assert "Apples are green." in out
    assert "note:" not in err


def test_a_second_ref_of_the_same_commit_is_called_by_its_own_name(up, tmp_path):
    folder = repository(tmp_path / "r", {"a.md": "# Apples\n\nApples are red.\n"})
    git(folder, "tag", "v1")
    assert up.run("index", str(folder), "--ref", "main")[0] == 0

    _, indexed, _ = up.run("index", str(folder), "--ref", "v1")
    _, answer, _ = up.run("ask", str(folder), "which colour are apples", "--ref", "v1")

    assert "(v1) is indexed" in " ".join(indexed.split())
    assert "v1 was looked up for this answer" in " ".join(answer.split())


@pytest.mark.parametrize(
    ("remote", "extra", "exit_code", "sentence"),
    [
        ("https://github.com/", (), 2, "remote names no repository"),
        ("http://github.com/google/uuid", (), 2, 'scheme "http"; only https is accepted'),
        ("https://example.com/google/uuid", (), 2, "example.com is not an allowed host"),
        ("git@github.com:google/uuid.git", (), 2, "remote is an ssh address"),
        ("google/uuid", (), 2, "neither a URL nor a folder that exists here"),
        ("PROJECT", ("--ref", "v9"), 1, "no branch or tag of this name"),
        ("PROJECT", ("--ref", "a..b"), 2, "ref must be a plain git ref name"),
        ("EMPTY", (), 1, "The repository is empty"),
        ("BROKEN", (), 1, "This folder is not a git repository"),
        ("PROJECT", ("?!",), 2, "holds no letter and no digit"),
    ],
)
def test_each_mistake_of_a_newcomer_has_its_own_sentence(
    up, project, tmp_path, remote, extra, exit_code, sentence
):
    (tmp_path / "broken" / ".git").mkdir(parents=True)
    folders = {"PROJECT": project, "EMPTY": repository(tmp_path / "empty"), "BROKEN": tmp_path / "broken"}
    question = () if "?!" in extra else (QUESTION,)

    code, out, err = up.run("ask", str(folders.get(remote, remote)), *question, *extra, "--quiet")

    assert (code, out) == (exit_code, "")
    assert sentence in err


@pytest.mark.parametrize(
    ("name", "reason", "sentence"),
    [
        ("nothing", "no_such_folder", "There is no such folder on the machine that codetrail runs on"),
        ("plain", "not_a_repository", "This folder is not a git repository"),
    ],
)
def test_a_path_that_the_api_is_given_and_is_no_repository_has_a_sentence_of_its_own(
    up, tmp_path, name, reason, sentence
):
    (tmp_path / "plain").mkdir()
    running = Home(up.home).running()
    assert running is not None
    with httpx.Client(base_url=running.api, trust_env=False, timeout=SECONDS) as api:
        job = api.post("/api/repos", json={"remote": str(tmp_path / name)}).json()["id"]
        until(lambda: api.get(f"/api/jobs/{job}").json()["status"] == "failed", seconds=SECONDS)

        error = api.get(f"/api/jobs/{job}").json()["error"]

    assert error["reason"] == reason
    assert error["sentence"].startswith(sentence)


def test_what_is_indexed_can_be_listed_looked_at_and_removed(up, tmp_path):
    folder = repository(tmp_path / "gone", {"a.md": "# Apples\n\nApples are red.\n"})
    code, body, _ = up.run("index", str(folder), "--json")
    job = json.loads(body)
    assert (code, job["status"]) == (0, "done")

    assert f"{job['repo_id']}  {git(folder, 'rev-parse', 'HEAD')[:7]}  just now" in up.run("repos")[1]
    assert job["id"] in up.run("jobs")[1]
    assert json.loads(up.run("jobs", job["id"], "--json")[1])["repo_id"] == job["repo_id"]

    assert up.run("rm", str(folder)) == (0, f"Removed {job['repo_id']}.\n", "")
    assert job["repo_id"] not in up.run("repos")[1]
    assert up.run("rm", job["repo_id"]) == (1, "", "codetrail: no such repository")
    assert up.run("rm", str(folder))[0] == 1


def test_status_and_doctor_know_what_runs(up):
    code, out, _ = up.run("status")
    assert code == 0
    assert re.search(r"^codetrail runs at http://127\.0\.0\.1:\d+", out)
    assert "  api       ready" in out

    _, out, _ = up.run("doctor")
    assert "✓ codetrail runs: process " in out
    assert "✓ database of Postgres 18" in out


def test_only_some_folders_need_a_codetrail_of_their_own(up, project):
    code, _, err = up.run("ask", str(project), QUESTION, "--only", "src")

    assert code == 2
    assert "stop it (codetrail down), or leave out --only" in err


def test_a_second_up_says_where_the_first_one_is(up):
    code, out, err = up.run("up", "--port", "0")

    assert (code, out) == (1, "")
    assert "runs on" in err


def test_without_up_a_command_starts_what_it_needs_and_stops_it_again(alone, project):
    code, out, err = alone.run("ask", str(project), QUESTION, "--only", "src", "--verify")

    assert code == 0
    assert "src/retry.py:" in out
    assert "docs/" not in out
    assert err.startswith("starting")
    assert not Home(alone.home).held()
    assert not EmbeddedPostgres(Home(alone.home).postgres).running()
    assert alone.run("jobs")[1].count("done") == 1
    assert alone.run("status")[1].startswith("codetrail is not running.")


@pytest.mark.parametrize("command", [("ask", QUESTION), ("search", QUESTION), ("index",)])
def test_folders_that_are_not_in_the_commit_are_a_mistake_and_no_refusal(alone, project, command):
    name, *words = command
    commit = git(project, "rev-parse", "HEAD")[:7]

    code, out, err = alone.run(name, str(project), *words, "--only", "scr,dosc", "--quiet")

    assert (code, out) == (2, "")
    assert f"nothing in commit {commit} of file://" in err
    assert "lies under scr or dosc" in err


def test_ctrl_c_stops_what_was_started_and_keeps_the_job(alone, project):
    process = alone.start("ask", str(project), QUESTION)
    assert process.stderr is not None
    while process.stderr.readline().strip() not in ("waiting", "asking", ""):
        pass

    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=SECONDS)

    assert process.returncode == 130
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith(("codetrail: stopped; the job is kept", "Stopped."))
    assert not Home(alone.home).held()
    assert not EmbeddedPostgres(Home(alone.home).postgres).running()


def test_down_stops_what_up_started(alone):
    process = alone.start("up", "--port", "0")
    until(lambda: Home(alone.home).running() is not None, seconds=60)

    assert alone.run("down") == (0, "Stopped.\n", "")

    process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert alone.run("down") == (0, "Nothing runs.\n", "")


def test_doctor_remakes_a_database_of_another_postgres_on_consent(alone):
    cluster = Home(alone.home).postgres / "cluster"
    (cluster / "data").mkdir(parents=True)
    (cluster / "data" / "PG_VERSION").write_text("9\n")

    code, out, _ = alone.run("doctor")
    assert code == 1
    assert "✗ database of Postgres 9" in out
    assert "codetrail doctor --remake" in " ".join(out.split())

    code, _, err = alone.run("doctor", "--remake")
    assert code == 2
    assert "Say --yes" in err
    assert cluster.exists()

    assert alone.run("doctor", "--remake", "--yes")[0] == 0
    assert not cluster.exists()


def test_doctor_says_why_a_database_is_not_whole(alone):
    (Home(alone.home).postgres / "cluster" / "data").mkdir(parents=True)

    code, out, _ = alone.run("doctor")

    assert code == 1
    assert "✗ the database is not whole" in out
    assert "codetrail doctor --remake" in " ".join(out.split())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root needs another user's name")
def test_doctor_says_why_postgres_would_not_start_for_root(alone, tmp_path):
    refusing = tmp_path / "unshare"
    refusing.write_text("#!/bin/sh\necho 'unshare failed: Operation not permitted' >&2\nexit 1\n")
    refusing.chmod(0o755)

    code, out, _ = alone.run("doctor", settings={"PATH": f"{tmp_path}:{os.environ['PATH']}"})

    assert code == 1
    assert "✗ Postgres as root" in out
    assert "run codetrail as an ordinary user" in " ".join(out.split())


def test_a_data_folder_that_cannot_be_used_is_said(tmp_path, project):
    (tmp_path / "home").write_text("a file")

    code, out, err = Codetrail(tmp_path / "home").run("ask", str(project), QUESTION)

    assert (code, out) == (1, "")
    assert str(tmp_path / "home") in err


@pytest.mark.parametrize(("name", "value"), [("EMBED_PROVIDER", "none"), ("CHUNK_WINDOW_LINES", "x")])
def test_a_setting_that_cannot_be_used_is_named_before_anything_starts(alone, project, name, value):
    for command in (("ask", str(project), QUESTION), ("up", "--port", "0")):
        code, out, err = alone.run(*command, settings={name: value})

        assert (code, out) == (2, "")
        assert f"a setting in the environment cannot be used: {name}" in err
    assert not alone.home.exists()


def test_a_clone_is_needed_only_once_per_commit(up, project, tmp_path):
    """The repository may be gone from where it was: a clone elsewhere proves the citation as well."""
    moved = tmp_path / "moved"
    folder = repository(tmp_path / "r", {"a.md": "# Apples\n\nApples are red.\n"})
    _, body, _ = up.run("ask", str(folder), "which colour are apples", "--json")
    shutil.move(folder, moved)

    code, out, _ = up.run("verify", body=body)
    assert code == 1
    assert "Not checked: there is no folder" in out

    assert up.run("verify", "--clone", str(moved), body=body)[0] == 0
