import re
from pathlib import Path

import pytest

from codetrail_local.stack import SETTINGS, local_settings

CONFIG = Path(__file__).parents[3] / "layers" / "core" / "codetrail" / "config.py"
# What the stack decides itself, or the template.
OWN = {
    "ARTIFACT_BUCKET", "AWS_REGION", "DATABASE_HOST", "DATABASE_NAME", "DATABASE_URL", "DATABASE_USER",
    "EVENTS_QUEUE_URL", "INDEX_QUEUE_URL", "LOAD_QUEUE_URL", "LOCAL_REMOTES", "STATEMENT_TIMEOUT_MS",
}  # fmt: skip


def test_every_setting_of_the_product_can_be_set_for_a_local_stack_or_is_its_own() -> None:
    read = set(
        re.findall(r'_(?:text|required|integer|boolean|choice|number)\(\s*"([A-Z_]+)"', CONFIG.read_text())
    )

    assert read - OWN == set(SETTINGS)


def test_only_settings_of_the_product_are_taken_from_the_users_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("EMBED_PROVIDER", "fake")
    monkeypatch.setenv("DATABASE_URL", "postgresql://somewhere/else")
    monkeypatch.setenv("LOCAL_REMOTES", "false")

    assert local_settings() == {"EMBED_PROVIDER": "fake"}
