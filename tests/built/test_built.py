"""Each zip function answers its event out of its built artefact and its built layers alone."""

import filecmp
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from codetrail.adapters.bucket import S3Artifacts
from codetrail.adapters.embedder.onnx import OnnxEmbedder
from codetrail.domain.span import Kind
from tests.support.bucket import Sealed, seal
from tests.support.cloud import ENVIRONMENT, Cloud, loopback_cloud
from tests.support.database import DatabaseServer
from tests.support.events import Answer, event, read
from tests.support.revisions import COMMIT, Contents, contents, span, write
from tests.support.runtime_api import BuiltFunction
from tests.support.template import PARAMETERS, ROOT, functions

BUILD = ROOT / ".aws-sam" / "build"
RUNTIME = ROOT / ".aws-sam" / "runtime"
LAMBDA_LIMIT_BYTES = 250 * 1024 * 1024

REMOTE = "https://github.com/google/uuid"
COPY = "https://github.com/google/uuid-copy"
ZIPPED = {name: one for name, one in functions().items() if one.get("PackageType") != "Image"}


class Invoke:
    """Invokes a function by its logical id; each environment stays warm for the tests of this file."""

    def __init__(self, start: Callable[[str], BuiltFunction]) -> None:
        self._start = start
        self._running: dict[str, BuiltFunction] = {}

    def __call__(self, name: str, payload: object) -> Any:
        if name not in self._running:
            self._running[name] = self._start(name)
        return self._running[name].invoke(payload)

    def logged(self, name: str) -> str:
        return self._running[name].logged()


def differing(compared: filecmp.dircmp[str], prefix: str = "") -> list[str]:
    names = [*compared.left_only, *compared.right_only, *compared.diff_files, *compared.funny_files]
    found = [prefix + name for name in names if not name.endswith(".pyc")]
    for name, below in compared.subdirs.items():
        found += differing(below, f"{prefix}{name}/")
    return found


def stale() -> list[str]:
    """What of the artefacts is not this checkout's."""
    built = [
        f"{name}/app.py"
        for name, one in ZIPPED.items()
        if not (BUILD / name / "app.py").exists()
        or not filecmp.cmp(ROOT / one["CodeUri"] / "app.py", BUILD / name / "app.py", shallow=False)
    ]
    core = filecmp.dircmp(
        ROOT / "layers/core/codetrail", BUILD / "CoreLayer/python/codetrail", ignore=["__pycache__"]
    )
    return built + differing(core)


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """The artefacts of this very checkout: made now where `make build` has not made them."""
    if not (BUILD / "template.yaml").exists() or stale():
        run = subprocess.run([ROOT / ".ci" / "build"], capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stdout + run.stderr
    assert stale() == []


@pytest.fixture(scope="module")
def cloud() -> Iterator[Cloud]:
    with loopback_cloud() as cloud:
        yield cloud


@pytest.fixture(scope="module")
def database_url(database_server: DatabaseServer) -> Iterator[str]:
    with database_server.fresh() as url:
        yield url


@pytest.fixture(scope="module")
def resources(cloud: Cloud) -> dict[str, str]:
    """What the template's references lead to here."""
    queues = {name: cloud.queue() for name in ("IndexQueue", "LoadQueue", "EventsQueue")}
    return {**PARAMETERS, **queues, "ArtifactBucket": cloud.bucket()}


@pytest.fixture(scope="module")
def invoke(
    database_url: str, resources: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Invoke]:
    with ExitStack() as environments:

        def start(name: str) -> BuiltFunction:
            code = tmp_path_factory.mktemp(name) / "task"
            shutil.copytree(BUILD / name, code)
            return environments.enter_context(
                BuiltFunction(
                    name,
                    code=code,
                    layers=[BUILD / layer["Ref"] for layer in ZIPPED[name]["Layers"]],
                    handler=ZIPPED[name]["Handler"],
                    python=(RUNTIME / "python").resolve(),
                    client=RUNTIME / "packages",
                    environment=environment(name, database_url, resources),
                )
            )

        yield Invoke(start)


def environment(name: str, database_url: str, resources: dict[str, str]) -> dict[str, str]:
    """The template's variables, the database by its address and AWS by its stand-in."""
    given = ZIPPED[name]["Environment"]["Variables"]
    variables = {
        key: resources[value["Ref"]] if isinstance(value, dict) else value for key, value in given.items()
    }
    own = {key: value for key, value in variables.items() if not key.startswith("DATABASE_")}
    return {
        **own,
        **ENVIRONMENT,
        "PYTHONPYCACHEPREFIX": str(RUNTIME / "bytecode"),  # or each function compiles the same layers anew
        "DATABASE_URL": database_url,
        "AWS_ENDPOINT_URL": os.environ["AWS_ENDPOINT_URL"],
    }


@pytest.fixture(scope="module")
def held() -> Contents:
    """One small repository, embedded here by the model that the layer carries too."""
    spans = [
        span(
            0,
            "// NewV7 is how a version 7 UUID is generated.\nfunc NewV7() (UUID, error) {\n"
            "\tuuid, err := NewRandom()\n\treturn makeV7(uuid)\n}",
            symbol="NewV7",
        ),
        span(1, "// Parse decodes s into a UUID.\nfunc Parse(s string) (UUID, error) {\n}", symbol="Parse"),
        span(2, "Install with go get.", symbol="uuid > Install", kind=Kind.SECTION, path="README.md"),
    ]
    named = [replace(spans[0], id=event("repos.span")["pathParameters"]["span"]), *spans[1:]]
    return contents(named, OnnxEmbedder())


@pytest.fixture(scope="module")
def published(database_url: str, held: Contents) -> None:
    """The repository and the job that the events speak of."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        write(connection, held)
        connection.execute(
            "insert into jobs (id, remote, remote_key, ref) values (%s, %s, %s, 'refs/heads/old')",
            (event("repos.job")["pathParameters"]["id"], REMOTE, REMOTE),
        )


def answer(invoke: Invoke, function: str, name: str) -> Answer:
    return read(invoke(function, event(name)))


@pytest.mark.parametrize("name", sorted(ZIPPED))
def test_an_artefact_is_one_file_and_fits_with_its_layers(name):
    files = [
        path.relative_to(BUILD / name).as_posix() for path in (BUILD / name).rglob("*") if path.is_file()
    ]
    parts = [BUILD / name, *(BUILD / layer["Ref"] for layer in ZIPPED[name]["Layers"])]
    size = sum(path.stat().st_size for part in parts for path in part.rglob("*") if path.is_file())

    assert files == ["app.py"]
    assert size < LAMBDA_LIMIT_BYTES


def test_the_model_layer_holds_the_two_files_of_the_model_and_no_other_copy():
    model = sorted(path.name for path in (BUILD / "ModelLayer/model").iterdir())
    other = [path.name for path in (BUILD / "ModelLayer/python").rglob("*.onnx")]
    other += [path.name for path in (BUILD / "ModelLayer/python").rglob("*.safetensors")]

    assert (model, other) == (["model.onnx", "tokenizer.json"], [])


@pytest.mark.usefixtures("published")
class TestTheFrontAnswers:
    def test_a_submission_with_a_job_and_a_message(self, invoke, cloud, resources):
        given = answer(invoke, "ReposFunction", "repos.submit")

        assert given.status == 202, given.text
        (message,) = cloud.drain(resources["IndexQueue"])
        assert (message["job_id"], message["remote"]) == (given.json["id"], REMOTE)

    @pytest.mark.parametrize("name", ["repos.list", "repos.get", "repos.span", "repos.job"])
    def test_what_is_looked_up_with_what_is_stored(self, invoke, name):
        given = answer(invoke, "ReposFunction", name)

        assert given.status == 200, given.text

    def test_a_search_with_the_cosine_that_the_model_gives_here(self, invoke, held):
        given = answer(invoke, "SearchFunction", "search")
        question = json.loads(event("search")["body"])["q"]
        cosines = held.vectors @ OnnxEmbedder().embed([question])[0]

        assert given.status == 200, given.text
        assert given.json["hits"][0]["symbol"] == "NewV7"
        assert given.json["hits"][0]["vector_score"] == pytest.approx(float(cosines[0]), abs=0.005)

    @pytest.mark.parametrize(("function", "name"), [("SearchFunction", "search"), ("AskFunction", "ask")])
    def test_a_question_that_no_log_line_holds(self, invoke, function, name):
        sent = event(
            name, body={"q": "where does the purple elephant sleep"}, headers={"X-Request-Id": "mine-1"}
        )

        assert read(invoke(function, sent)).status == 200

        lines = [line for line in invoke.logged(function).split("\n") if "mine-1" in line]
        assert "answered" in [json.loads(line)["message"] for line in lines]
        assert {json.loads(line)["service"] for line in lines} == {"codetrail"}
        assert "elephant" not in invoke.logged(function)

    def test_a_question_with_a_cited_answer(self, invoke, held):
        given = answer(invoke, "AskFunction", "ask")

        assert given.status == 200, given.text
        assert given.json["citations"][0]["citation"]["digest"] == held.spans[0].digest

    @pytest.mark.parametrize(
        ("name", "status"), [("health", 200), ("health.ready", 200), ("health.no_route", 404)]
    )
    def test_how_it_is(self, invoke, name, status):
        assert answer(invoke, "HealthFunction", name).status == status


@pytest.fixture(scope="module")
def sealed(cloud: Cloud, resources: dict[str, str], held: Contents) -> Sealed:
    """An artifact of another repository, in the bucket."""
    return seal(S3Artifacts(cloud.s3, resources["ArtifactBucket"]), held, remote=COPY, commit=COMMIT)


@pytest.fixture(scope="module")
def job(database_url: str) -> str:
    """The job that the artifact was made for."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "insert into jobs (id, remote, remote_key, ref) values ('copied', %s, %s, 'HEAD')", (COPY, COPY)
        )
    return "copied"


class TestTheInsideTakes:
    def test_reports_and_moves_their_job(self, invoke, database_url, job):
        reports = event("track")
        for record in reports["Records"]:
            body = json.loads(record["body"]) | {"job_id": job}
            if body["kind"] == "sealed":
                body["repo_id"] = None
            record["body"] = json.dumps(body)

        assert invoke("TrackFunction", reports) == {"batchItemFailures": []}
        assert status(database_url, job) == "leased"

    def test_batches_and_publishes_what_they_fill(self, invoke, database_url, job, sealed):
        record = event("load")["Records"][0]
        for batch in sealed.batches(job):
            body = json.loads(record["body"]) | {
                "job_id": job,
                "manifest_key": batch.manifest_key,
                "manifest_sha256": batch.manifest_sha256,
                "batch": batch.batch,
            }

            assert invoke("LoadFunction", {"Records": [record | {"body": json.dumps(body)}]}) == {
                "batchItemFailures": []
            }

        assert status(database_url, job) == "done"

    def test_the_schedule(self, invoke):
        assert invoke("SweepFunction", event("sweep")).keys() == {"woken", "silent", "sent"}

    def test_an_operator_who_migrates_what_is_migrated(self, invoke):
        assert invoke("AdminFunction", event("admin")) == {"applied": []}


def status(database_url: str, job: str) -> str:
    with psycopg.connect(database_url, autocommit=True) as connection:
        row = connection.execute("select status from jobs where id = %s", (job,)).fetchone()
    assert row is not None
    return str(row[0])
