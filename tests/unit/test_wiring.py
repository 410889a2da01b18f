"""What stands behind each port, by the settings alone: nothing is opened, nothing is asked."""

import os
from collections.abc import Iterator

import pytest

from codetrail import config, wiring
from codetrail.adapters.bucket import S3Artifacts
from codetrail.adapters.embedder.fake import FakeEmbedder
from codetrail.config import SettingError

FACTORIES = [thing for thing in vars(wiring).values() if hasattr(thing, "cache_clear")]
SETTINGS = [thing for thing in vars(config).values() if hasattr(thing, "cache_clear")]


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("DATABASE_URL", "DATABASE_HOST", "DATABASE_NAME", "DATABASE_USER", "ARTIFACT_BUCKET"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-a-secret")
    forget()
    yield
    forget()


def forget() -> None:
    for cached in FACTORIES + SETTINGS:
        cached.cache_clear()


def test_every_store_shares_the_one_connection_of_its_environment(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing")

    assert wiring.jobs() is wiring.jobs()
    assert {
        id(vars(store())["_database"]) for store in (wiring.jobs, wiring.repos, wiring.spans, wiring.loads)
    } == {id(wiring.database())}


def test_without_a_url_the_database_is_reached_by_a_signed_token(monkeypatch):
    for name, value in {"HOST": "db.example", "NAME": "codetrail", "USER": "codetrail_edge"}.items():
        monkeypatch.setenv(f"DATABASE_{name}", value)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")

    conninfo = vars(wiring.database())["_conninfo"]()

    assert "host=db.example" in conninfo
    assert "sslmode=verify-full" in conninfo


def test_a_function_without_a_database_says_which_setting_it_misses():
    with pytest.raises(SettingError, match="DATABASE_HOST"):
        wiring.jobs()


def test_queues_bucket_and_embedder_come_from_their_settings(monkeypatch):
    monkeypatch.setenv("ARTIFACT_BUCKET", "artifacts")
    monkeypatch.setenv("EMBED_PROVIDER", "fake")
    monkeypatch.setenv("INDEX_QUEUE_URL", "http://127.0.0.1:1/1/index")

    assert isinstance(wiring.artifacts(), S3Artifacts)
    assert isinstance(wiring.embedder(), FakeEmbedder)
    assert wiring.embedder().model == "fake/256"
    assert vars(wiring.index_queue())["_url"] == os.environ["INDEX_QUEUE_URL"]
    assert wiring.stemmer().stems(["indexing"]) == ["index"]
