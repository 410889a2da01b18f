import os
import subprocess
import sys

import pytest

from codetrail import config
from codetrail.config import SettingError

READERS = (config.database, config.admission, config.embedding, config.retrieval, config.indexing)


@pytest.fixture
def read(monkeypatch):
    """Read one group of settings out of an environment that holds only the given ones."""

    def read(reader, **settings):
        for name in tuple(os.environ):
            if name not in ("PYTEST_VERSION", "PATH"):
                monkeypatch.delenv(name, raising=False)
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        reader.cache_clear()
        return reader()

    yield read
    for reader in READERS:
        reader.cache_clear()


@pytest.mark.parametrize(
    ("reader", "settings", "named"),
    [
        (config.database, {}, "DATABASE_HOST"),
        (config.database, {"DATABASE_URL": "x", "STATEMENT_TIMEOUT_MS": "1"}, "STATEMENT_TIMEOUT_MS"),
        (config.admission, {"ALLOWED_HOSTS": "https://github.com"}, "ALLOWED_HOSTS"),
        (config.admission, {"ALLOWED_HOSTS": "GitHub.com"}, "ALLOWED_HOSTS"),
        (config.admission, {"LOCAL_REMOTES": "yes"}, "LOCAL_REMOTES"),
        (config.embedding, {"EMBED_PROVIDER": "openai"}, "EMBED_PROVIDER"),
        (config.embedding, {"EMBED_MODEL": "bert"}, "EMBED_MODEL"),
        (config.embedding, {"EMBED_DIM": "768"}, "EMBED_DIM"),
        (config.embedding, {"EMBED_PROVIDER": "ollama", "EMBED_DIM": "300"}, "EMBED_DIM"),
        (config.retrieval, {"RETRIEVAL_MODE": "magic"}, "RETRIEVAL_MODE"),
        (config.retrieval, {"ANSWER_SCORE_FLOOR": "nan"}, "ANSWER_SCORE_FLOOR"),
        (config.retrieval, {"ANSWER_SCORE_FLOOR": "1.5"}, "ANSWER_SCORE_FLOOR"),
        (config.retrieval, {"ANSWER_MAX_SPANS": "0"}, "ANSWER_MAX_SPANS"),
        (config.indexing, {"MAX_REPO_FILES": "many"}, "MAX_REPO_FILES"),
        (config.indexing, {"CHUNK_WINDOW_OVERLAP": "40"}, "CHUNK_WINDOW_OVERLAP"),
        (config.indexing, {"CHUNK_STRATEGY": "regex"}, "CHUNK_STRATEGY"),
    ],
)
def test_a_setting_that_cannot_be_is_named_in_the_error(read, reader, settings, named):
    with pytest.raises(SettingError, match=named):
        read(reader, **settings)


@pytest.mark.parametrize(
    ("mode", "value", "range_of"),
    [
        ("hybrid", "-0.1", "0..1, the range of a confidence"),
        ("vector", "-1.1", "-1..1, the range of a cosine"),
    ],
)
def test_a_floor_that_its_mode_cannot_compare_is_refused_with_the_range(read, mode, value, range_of):
    with pytest.raises(SettingError, match=f"ANSWER_SCORE_FLOOR: {value} is outside {range_of}"):
        read(config.retrieval, RETRIEVAL_MODE=mode, ANSWER_SCORE_FLOOR=value)


@pytest.mark.parametrize(
    ("mode", "value"), [("hybrid", 0.0), ("hybrid", 1.0), ("vector", -1.0), ("vector", 1.0)]
)
def test_a_floor_at_either_end_of_its_range_is_taken(read, mode, value):
    assert read(config.retrieval, RETRIEVAL_MODE=mode, ANSWER_SCORE_FLOOR=str(value)).floor == value


def test_a_floor_that_is_not_set_is_left_to_the_mode(read):
    assert read(config.retrieval).floor is None


def test_an_empty_list_of_hosts_admits_none(read):
    assert read(config.admission, ALLOWED_HOSTS="").hosts == ()


def test_the_password_of_the_database_is_not_printed(read):
    assert "secret" not in repr(read(config.database, DATABASE_URL="postgresql://u:secret@h/d"))


def test_the_fake_embedder_is_refused_outside_tests():
    outside = subprocess.run(
        [sys.executable, "-c", "from codetrail import config; config.embedding()"],
        env={"EMBED_PROVIDER": "fake"}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert outside.returncode == 1
    assert "EMBED_PROVIDER" in outside.stderr
