"""Events of /api/repos and /api/jobs in, responses out."""

from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest

from codetrail import wiring
from codetrail.domain.job import EventKind, FailureReason, JobEvent, Stage
from codetrail.domain.repo import repo_id
from tests.functions.conftest import LONG, SPANS
from tests.support.events import event
from tests.support.revisions import COMMIT

REMOTE = "https://github.com/google/uuid"
REPO = repo_id(REMOTE, COMMIT)


def submit(**body: object):
    return event("repos.submit", body={"remote": REMOTE, **body})


def test_a_submitted_repository_is_a_pending_job_and_one_message(call, queue):
    answer = call(submit())

    assert answer.status == 202
    job = answer.json
    assert (job["remote"], job["ref"], job["status"]) == (REMOTE, "HEAD", "pending")
    assert job["repo_id"] is None and job["error"] is None and job["finished_at"] is None
    assert job["progress"] == {"stage": "queued", "counts": {}}
    assert [(message.job_id, message.remote, message.ref) for message in queue.jobs] == [
        (job["id"], REMOTE, "HEAD")
    ]


def test_the_same_repository_again_is_the_same_job(call, queue):
    first, again = call(submit()).json, call(submit(remote=f"{REMOTE}.git", ref="HEAD")).json

    assert again["id"] == first["id"]
    assert len(queue.jobs) == 1


def test_a_queue_that_does_not_answer_loses_no_job(call, queue):
    queue.refuses = True

    answer = call(submit())

    assert answer.status == 202
    assert call(event("repos.job", id=answer.json["id"])).json["status"] == "pending"


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ({"remote": "http://github.com/google/uuid"}, "scheme"),
        ({"remote": "https://github.com.evil.example/google/uuid"}, "host"),
        ({"remote": "https://user:pw@github.com/google/uuid"}, "form"),
        ({"remote": "https://github.com/google"}, "form"),
        ({"remote": ""}, "form"),
        ({"remote": "file:///etc"}, "scheme"),
        ({"remote": "/etc"}, "scheme"),
        ({"ref": ""}, "form"),
        ({"ref": "--upload-pack=x"}, "form"),
        ({"ref": "a..b"}, "form"),
        ({"ref": "x" * 256}, "form"),
        ({"ref": None}, "form"),
        ({"remote": 1}, "form"),
        ({"depth": 1}, "form"),
    ],
)
def test_what_is_not_admitted_is_refused_by_the_name_of_its_rule(call, queue, body, rule):
    answer = call(submit(**body))

    assert answer.status == 400
    assert answer.json["rule"] == rule
    assert answer.json["error"]
    assert not queue.jobs


def test_a_password_in_a_remote_is_not_repeated(call):
    assert "hunter2" not in call(submit(remote="https://me:hunter2@github.com/google/uuid")).text


def test_no_allowed_host_admits_nothing(call, setting):
    setting("ALLOWED_HOSTS", "")

    assert call(submit()).json["rule"] == "host"


def test_a_local_path_is_admitted_where_the_stack_says_so(call, setting):
    setting("LOCAL_REMOTES", "true")

    assert call(submit(remote="/srv/code")).json["remote"] == "file:///srv/code"


def test_a_job_tells_its_stage_and_its_counts(call, queue):
    job = call(submit()).json["id"]
    wiring.jobs().apply(
        JobEvent(job, queue.jobs[0].attempt, 1_000_001, EventKind.PROGRESS, Stage.CHUNK, counts={"files": 99})
    )

    told = call(event("repos.job", id=job)).json

    assert (told["status"], told["progress"]) == ("leased", {"stage": "chunk", "counts": {"files": 99}})


def test_a_failed_job_tells_its_reason_in_a_sentence(call, queue):
    job = call(submit()).json["id"]
    wiring.jobs().apply(
        JobEvent(
            job,
            queue.jobs[0].attempt,
            1_000_001,
            EventKind.FAILED,
            Stage.RESOLVE,
            reason=FailureReason.REF_NOT_FOUND,
        )
    )

    told = call(event("repos.job", id=job)).json

    assert told["status"] == "failed"
    assert told["error"]["reason"] == "ref_not_found"
    assert "no branch or tag" in told["error"]["sentence"]
    assert told["finished_at"]


def test_a_job_that_waits_for_its_next_attempt_shows_no_error(call, queue):
    job = call(submit()).json["id"]
    wiring.jobs().fail_attempt(job, queue.jobs[0].attempt, FailureReason.UNREACHABLE, transient=True)

    told = call(event("repos.job", id=job)).json

    assert (told["status"], told["error"]) == ("pending", None)


@pytest.mark.parametrize("job", ["0" * 16, "x", "a b", "0" * 400, "ünknown"])
def test_an_unknown_job_is_404(call, job):
    answer = call(event("repos.job", id=job))

    assert (answer.status, answer.json) == (404, {"error": "no such job"})


# ---------------------------------------------------------------------------- the corpus


def test_an_empty_corpus_is_an_empty_list(call):
    answer = call(event("repos.list", query={}))

    assert (answer.status, answer.json) == (200, {"repos": [], "count": 0, "next": None})


def test_a_repository_is_listed_by_what_it_is(call, published):
    (repo,) = call(event("repos.list", query={})).json["repos"]

    assert repo.keys() == {"id", "remote", "ref", "commit", "indexed_at", "last_used_at"}
    assert (repo["id"], repo["remote"], repo["ref"], repo["commit"]) == (REPO, REMOTE, "HEAD", COMMIT)
    assert datetime.fromisoformat(repo["indexed_at"]).tzinfo


def test_pages_lead_through_the_whole_corpus_newest_first(call, connection):
    base = datetime(2026, 11, 1, tzinfo=UTC)
    wanted = []
    for number in range(7):
        name = f"{number:016x}"
        # Two of each instant: the id decides.
        when = base + timedelta(microseconds=number // 2)
        wanted.append((when, name))
        publish(connection, name, when)
    seen, cursor, pages = [], None, 0
    while pages == 0 or cursor:
        place: dict[str, str] = {"cursor": cursor} if cursor else {}
        page = call(event("repos.list", query={"limit": "3", **place})).json
        assert page["count"] == len(page["repos"])
        seen += [repo["id"] for repo in page["repos"]]
        cursor, pages = page["next"], pages + 1

    assert seen == [name for _, name in sorted(wanted, reverse=True)]
    assert pages == 3


def publish(connection, name, when):
    connection.execute(
        "insert into repos (repo_id, remote, remote_key, ref, commit, indexed_at)"
        " values (%s, %s, %s, 'HEAD', %s, %s)",
        (name, f"https://github.com/o/{name}", f"https://github.com/o/{name}", COMMIT, when),
    )
    connection.execute(
        "with new as (insert into revisions (repo_id, fingerprint, model, dimension, state, spans, files,"
        " postings, names, average_length, coverage)"
        " values (%s, 'f', 'm', 256, 'published', 0, 0, 0, 0, 0, '{}') returning revision)"
        " update repos set current_revision = new.revision from new where repo_id = %s",
        (name, name),
    )


@pytest.mark.parametrize("limit", ["0", "51", "-1", "1.5", "", "x", "1_0", " 5", "+5", "٥", "9" * 30, "1e1"])
def test_a_limit_outside_its_bounds_is_refused_and_not_clamped(call, limit):
    answer = call(event("repos.list", query={"limit": limit}))

    assert answer.status == 400
    assert answer.json == {"error": "limit: it must be a whole number from 1 to 50", "rule": "form"}


@pytest.mark.parametrize(
    "cursor", ["x", "", "AAAA", "!!!!", "A" * 5_000, "MjAyNi0xMS0zMCB4", "eyJhIjoxfQ", "MjAyNg==", "é"]
)
def test_a_cursor_of_another_make_is_refused(call, cursor):
    answer = call(event("repos.list", query={"cursor": cursor}))

    assert (answer.status, answer.json["rule"]) == (400, "form")


def test_a_repository_is_looked_up_by_its_remote(call, published):
    def count(**query):
        return call(event("repos.list", query=query)).json["count"]

    assert count(remote=REMOTE) == 1
    assert count(remote=f"{REMOTE}.git") == 1
    assert count(remote="https://github.com/Google/UUID") == 1
    assert count(remote="https://github.com/google/other") == 0


def test_a_repository_is_shown_by_the_ref_that_was_asked_for(call, published, connection):
    for ref in ("HEAD", "main", "refs/heads/main"):
        connection.execute(
            "insert into refs (remote_key, ref, repo_id, job_order, attempt) values (%s, %s, %s, 1, 1)",
            (REMOTE, ref, REPO),
        )

    asked = {ref: call(event("repos.list", query={"remote": REMOTE, "ref": ref})) for ref in ("HEAD", "main")}

    assert {ref: [repo["ref"] for repo in answer.json["repos"]] for ref, answer in asked.items()} == {
        "HEAD": ["HEAD"],
        "main": ["main"],
    }


def test_a_remote_that_could_not_be_submitted_cannot_be_looked_up(call):
    answer = call(event("repos.list", query={"remote": "https://evil.example/a/b"}))

    assert (answer.status, answer.json["rule"]) == (400, "host")


def test_one_repository_tells_its_counts_its_coverage_and_its_age(call, published):
    repo = call(event("repos.get", repo=REPO)).json

    assert (repo["files"], repo["spans"], repo["files_with_spans"]) == (1, 4, 2)
    assert repo["coverage"].keys() == {
        "indexed",
        "degraded",
        "skipped",
        "dropped_spans",
        "reasons",
        "languages",
    }
    staleness = repo["staleness"]
    assert (staleness["state"], staleness["forge_checked"], staleness["newer_commit"]) == (
        "unknown",
        False,
        None,
    )
    assert staleness["note"].startswith(f"Correct at commit {COMMIT[:7]}, indexed ")
    assert staleness["note"].endswith(" codetrail has not checked whether HEAD has moved since.")


@pytest.mark.parametrize("repo", ["0" * 16, "x", REPO.upper(), f"{REPO}0", "..", "' or 1=1 --"])
def test_an_unknown_repository_is_404(call, published, repo):
    answer = call(event("repos.get", repo=repo))

    assert (answer.status, answer.json) == (404, {"error": "no such repository"})


# ---------------------------------------------------------------------------- spans


def test_a_span_comes_with_its_citation(call, published):
    wanted = SPANS[0]

    answer = call(event("repos.span", repo=REPO, span=wanted.id)).json

    shown, citation = answer["span"], answer["citation"]
    assert (shown["text"], shown["truncated"], shown["kind"], shown["symbol"]) == (
        wanted.text,
        False,
        "func",
        "NewV7",
    )
    assert (citation["repo_id"], citation["commit"], citation["digest"]) == (REPO, COMMIT, wanted.digest)
    assert citation["length"] == wanted.length
    assert citation["permalink"] == f"{REMOTE}/blob/{COMMIT}/uuid.go#L1-L3"
    assert citation["check"].startswith(f"git cat-file blob {COMMIT}:uuid.go | ")
    assert citation["staleness"]["state"] == "unknown"


def test_a_long_text_is_cut_and_marked_and_its_digest_still_covers_whole_lines(call, published):
    answer = call(event("repos.span", repo=REPO, span=SPANS[3].id)).json

    assert answer["span"]["truncated"] is True
    assert answer["span"]["text"] == LONG[:16_384]
    assert answer["citation"]["length"] == len(LONG)
    assert answer["citation"]["digest"] == sha256(f"3\0{LONG}".encode()).hexdigest()


def test_a_character_is_not_cut_in_two(call, published, connection):
    connection.execute("update spans set text = repeat('é', 20000) where id = %s", (SPANS[0].id,))

    text = call(event("repos.span", repo=REPO, span=SPANS[0].id)).json["span"]["text"]

    assert text == "é" * 8_192


@pytest.mark.parametrize("span", ["f" * 16, "x"])
def test_an_unknown_span_is_404(call, published, span):
    answer = call(event("repos.span", repo=REPO, span=span))

    assert (answer.status, answer.json) == (404, {"error": "no such span in this repository"})
