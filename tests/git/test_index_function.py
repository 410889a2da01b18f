"""The index function on its own event: real git, a real parser, SQS and S3 on loopback."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from codetrail import config
from codetrail.adapters.bucket import S3Artifacts, s3
from codetrail.domain.manifest import IndexedSpan, Manifest, Row
from codetrail.domain.paths import to_bytes
from codetrail.domain.repo import Outcome, SourceFile, repo_id
from functions.index import app
from tests.support.cloud import Cloud, loopback_cloud
from tests.support.events import Context
from tests.support.gitrepos import ODD_CONTENTS, ODD_NAMES, Repository, gitlink, symlink

EVENT: dict[str, Any] = json.loads((Path(__file__).parents[2] / "events" / "index.json").read_text())
# The runtime's own context is a class that only Lambda fills; the tests' stands in for it.
HANDLER: Any = app.handler
SETTINGS = (config.queues, config.bucket, config.admission, config.indexing)

GO = b"""// Package clock tells the time.
package clock

import "time"

// Now returns the time in UTC.
func Now() time.Time {
\treturn time.Now().UTC()
}

// A Clock can be stopped.
type Clock struct{ stopped bool }
"""
PYTHON = (
    b'"""Doc."""\n\n\ndef first():\n    return 1\n\n\nclass Second:\n    def third(self):\n        return 3\n'
)
MARKDOWN = b"# Clock\n\nTells the time.\n\n## Use\n\nCall Now.\n"


@dataclass
class Deployed:
    """The function and what stands around it."""

    cloud: Cloud
    bucket: str
    loads: str
    events: str

    def send(
        self, *, body: str | None = None, deliveries: int = 1, seconds: float = 300, **job: object
    ) -> dict[str, Any]:
        """Deliver a message and return what the handler answers."""
        event = deepcopy(EVENT)
        (record,) = event["Records"]
        record["body"] = body if body is not None else json.dumps({**json.loads(record["body"]), **job})
        record["attributes"]["ApproximateReceiveCount"] = str(deliveries)
        answer: dict[str, Any] = HANDLER(event, Context(seconds=seconds))
        return answer

    def reported(self) -> list[dict[str, Any]]:
        """All events, in the order of their sequence."""
        return sorted(self.cloud.drain(self.events), key=lambda event: event["sequence"])

    def keys(self) -> list[str]:
        found = self.cloud.s3.list_objects_v2(Bucket=self.bucket)
        return [item["Key"] for item in found.get("Contents", [])]

    def read(self) -> tuple[Manifest, list[Row]]:
        """The one artifact that was sealed, as load reads it by the messages that it was sent."""
        messages = self.cloud.drain(self.loads)
        artifacts = S3Artifacts(s3(), self.bucket)
        manifest = artifacts.read_manifest(messages[0]["manifest_key"], messages[0]["manifest_sha256"])
        assert sorted(message["batch"] for message in messages) == list(range(len(manifest.batches)))
        return manifest, [
            row for n in range(len(manifest.batches)) for row in artifacts.read_batch(manifest, n)
        ]


@pytest.fixture(scope="module")
def cloud() -> Iterator[Cloud]:
    with loopback_cloud() as cloud:
        yield cloud


@pytest.fixture
def deployed(cloud: Cloud, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Deployed]:
    place = Deployed(cloud, cloud.bucket(), cloud.queue(), cloud.queue())
    settings = {
        "ARTIFACT_BUCKET": place.bucket,
        "LOAD_QUEUE_URL": place.loads,
        "EVENTS_QUEUE_URL": place.events,
        "LOCAL_REMOTES": "true",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    # No credential of a database: the function must not need one.
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    forget()
    yield place
    forget()


def forget() -> None:
    for group in SETTINGS:
        group.cache_clear()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository.create(tmp_path / "clock.git")
    commit = repository.commit(
        {b"clock.go": GO, b"tools/first.py": PYTHON, b"README.md": MARKDOWN, b"link": symlink(b"clock.go")}
    )
    repository.branch("main", commit)
    return repository


def blob(repository: Repository, commit: str, path: bytes) -> bytes:
    return subprocess.run(
        ["git", "--git-dir", repository.path, "cat-file", "blob", commit.encode() + b":" + path],
        check=True,
        capture_output=True,
    ).stdout


def check_digests(repository: Repository, manifest: Manifest, rows: list[Row]) -> int:
    """Hash each span's lines as git, LF and hashlib see them; return how many there were."""
    spans = [row.span for row in rows if isinstance(row, IndexedSpan)]
    for span in spans:
        lines = blob(repository, manifest.commit, to_bytes(span.path)).split(b"\n")
        cited = b"\n".join(lines[span.start_line - 1 : span.end_line])
        assert (sha256(cited).hexdigest(), len(cited)) == (span.digest, span.length), span.path
    return len(spans)


def test_the_example_event_is_a_message_that_is_understood(deployed: Deployed, monkeypatch):
    # A host that is not allowed is the end of it, before anything is looked up.
    monkeypatch.setenv("ALLOWED_HOSTS", "codeberg.org")
    config.admission.cache_clear()

    assert HANDLER(deepcopy(EVENT), Context(seconds=300)) == {"batchItemFailures": []}
    assert deployed.reported()[-1]["kind"] == "failed"


def test_a_repository_is_indexed_and_every_digest_is_right(deployed: Deployed, repository: Repository):
    assert deployed.send(remote=repository.url) == {"batchItemFailures": []}

    manifest, rows = deployed.read()
    assert manifest.repo_id == repo_id(repository.url, manifest.commit)
    assert check_digests(repository, manifest, rows) == manifest.spans
    symbols = {(row.span.path, row.span.symbol) for row in rows if isinstance(row, IndexedSpan)}
    assert {("clock.go", "Now"), ("clock.go", "Clock"), ("tools/first.py", "first")} <= symbols
    outcomes = {row.path: row.outcome for row in rows if isinstance(row, SourceFile)}
    assert outcomes["link"] is Outcome.SKIPPED
    events = deployed.reported()
    assert [event["stage"] for event in events] == ["resolve", "fetch", "chunk", "seal", "load"]
    assert (events[-1]["kind"], events[-1]["repo_id"]) == ("sealed", manifest.repo_id)


def test_a_message_that_comes_again_writes_nothing(deployed: Deployed, repository: Repository):
    deployed.send(remote=repository.url)
    keys, first = deployed.keys(), deployed.read()
    deployed.send(remote=repository.url, deliveries=2)

    assert deployed.keys() == keys
    assert deployed.read() == first
    assert "fetch" not in [event["stage"] for event in deployed.reported() if event["sequence"] > 2_000_000]


def test_a_ref_that_names_what_is_published_is_unchanged(deployed: Deployed, repository: Repository):
    deployed.send(remote=repository.url)
    manifest, _ = deployed.read()
    deployed.reported()

    known = {"repo_id": manifest.repo_id, "commit": manifest.commit, "fingerprint": manifest.fingerprint}
    deployed.send(remote=repository.url, published=known)

    assert [event["kind"] for event in deployed.reported()] == ["progress", "unchanged"]
    assert deployed.cloud.drain(deployed.loads) == []


def test_odd_names_and_odd_bytes_are_each_cited_right_or_said_to_be_skipped(
    deployed: Deployed, tmp_path: Path
):
    repository = Repository.create(tmp_path / "odd.git")
    files: dict[bytes, Any] = {
        b"contents/" + name.encode() + b".py": data for name, data in ODD_CONTENTS.items()
    }
    files |= {b"names/" + name: b"words of %d\n" % n for n, name in enumerate(ODD_NAMES)}
    files[b"submodule"] = gitlink("1" * 40)
    commit = repository.commit(files)
    repository.branch("main", commit)
    assert deployed.send(remote=repository.url) == {"batchItemFailures": []}

    manifest, rows = deployed.read()
    assert check_digests(repository, manifest, rows) == manifest.spans > len(ODD_NAMES)
    paths = [to_bytes(row.path) for row in rows if isinstance(row, SourceFile)]
    assert sorted(paths) == sorted(files)


def test_a_repository_that_is_not_there_fails_for_its_reason_and_the_message_is_done_with(
    deployed: Deployed, tmp_path: Path
):
    assert deployed.send(remote=f"file://{tmp_path}/nothing") == {"batchItemFailures": []}

    last = deployed.reported()[-1]
    assert (last["kind"], last["reason"], last["stage"]) == ("failed", "no_such_folder", "resolve")


def test_a_host_that_is_not_there_ends_its_job_at_the_first_attempt(deployed: Deployed, monkeypatch):
    ours = socket.getaddrinfo

    def resolver(host: Any, *rest: Any, **more: Any) -> Any:
        if host == "git.codetrail.invalid":
            raise OSError("Temporary failure in name resolution")
        return ours(host, *rest, **more)

    monkeypatch.setenv("ALLOWED_HOSTS", "git.codetrail.invalid")
    config.admission.cache_clear()
    monkeypatch.setattr("socket.getaddrinfo", resolver)
    deployed.send(remote="https://git.codetrail.invalid/owner/name")

    [failed] = [event for event in deployed.reported() if event["kind"] == "failed"]
    assert (failed["reason"], failed["transient"]) == ("host_unreachable", False)


def test_an_empty_repository_says_so(deployed: Deployed, tmp_path: Path):
    repository = Repository.create(tmp_path / "empty.git")
    deployed.send(remote=repository.url)

    assert deployed.reported()[-1]["reason"] == "empty_repository"


def test_a_job_without_time_left_ends_by_its_deadline(deployed: Deployed, repository: Repository):
    deployed.send(remote=repository.url, seconds=15)

    last = deployed.reported()[-1]
    assert (last["kind"], last["reason"]) == ("failed", "deadline")
    assert deployed.keys() == []


def test_a_local_remote_is_not_met_where_they_are_not_admitted(
    deployed: Deployed, repository: Repository, monkeypatch
):
    monkeypatch.setenv("LOCAL_REMOTES", "false")
    config.admission.cache_clear()
    deployed.send(remote=repository.url)

    assert [event["kind"] for event in deployed.reported()] == ["progress", "failed"]


def without(field: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda body: {name: value for name, value in body.items() if name != field}


@pytest.mark.parametrize(
    "change",
    [
        *(without(field) for field in ("version", "job_id", "attempt", "remote", "ref")),
        lambda body: {**body, "version": 2},
        lambda body: {**body, "attempt": 0},
        lambda body: {**body, "attempt": "1"},
        lambda body: {**body, "job_id": "../x"},
        lambda body: {**body, "surprise": 1},
        lambda body: {**body, "published": {"commit": "main"}},
        lambda body: [],
    ],
)
def test_a_message_that_is_not_understood_comes_back_until_it_is_a_dead_letter(deployed: Deployed, change):
    body = json.dumps(change(json.loads(EVENT["Records"][0]["body"])))

    answer = deployed.send(body=body)

    assert answer == {"batchItemFailures": [{"itemIdentifier": EVENT["Records"][0]["messageId"]}]}
    assert deployed.reported() == []


def test_trouble_of_our_own_brings_the_message_back(deployed: Deployed, repository: Repository, monkeypatch):
    monkeypatch.setenv("ARTIFACT_BUCKET", "no-such-bucket")
    config.bucket.cache_clear()

    assert len(deployed.send(remote=repository.url)["batchItemFailures"]) == 1


def test_one_message_that_fails_does_not_take_another_with_it(deployed: Deployed, repository: Repository):
    event = deepcopy(EVENT)
    good, bad = event["Records"][0], deepcopy(event["Records"][0])
    good["body"] = json.dumps({**json.loads(good["body"]), "remote": repository.url})
    bad |= {"body": "not JSON", "messageId": "bad"}
    event["Records"] = [bad, good]

    assert HANDLER(event, Context(seconds=300)) == {"batchItemFailures": [{"itemIdentifier": "bad"}]}
    assert deployed.reported()[-1]["kind"] == "sealed"


def test_nothing_of_a_repository_stays_behind(deployed: Deployed, repository: Repository, tmp_path: Path):
    deployed.send(remote=repository.url)

    left = [path for path in (tmp_path / "scratch").rglob("*") if path.is_file() and path.stat().st_size]
    assert left == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows one process's environment to another")
def test_a_child_of_the_same_user_cannot_read_the_functions_environment():
    program = """
import ctypes
from functions.index import app
from tests.support.events import Context
app.handler({"Records": []}, Context())
PR_GET_DUMPABLE = 3
print(ctypes.CDLL(None).prctl(PR_GET_DUMPABLE, 0, 0, 0, 0))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.strip() == "0"
