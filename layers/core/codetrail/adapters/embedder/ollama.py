"""Any embedding model that an Ollama server holds."""

from collections.abc import Sequence
from functools import cached_property
from http import HTTPStatus

import httpx

from codetrail.adapters.embedder.vectors import unit_rows
from codetrail.errors import Unavailable
from codetrail.services.ports import Vectors

CONNECT_SECONDS = 3.0
# A batch of long texts on a CPU that is busy with another one.
ANSWER_SECONDS = 60.0
BATCH = 16


class OllamaEmbedder:
    """POST /api/embed of one server, whose address comes from the operator and from nobody else."""

    def __init__(
        self, model: str, dimension: int, url: str, transport: httpx.BaseTransport | None = None
    ) -> None:
        self.model = f"ollama:{model}/{dimension}"
        self.dimension = dimension
        self._name = model
        self._url = url.rstrip("/")
        self._transport = transport

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector a text, in order. Raises Unavailable."""
        rows: list[object] = []
        for start in range(0, len(texts), BATCH):
            rows += self._ask(list(texts[start : start + BATCH]))
        return unit_rows(rows, count=len(texts), dimension=self.dimension, provider="ollama")

    @cached_property
    def _client(self) -> httpx.Client:
        # No proxy from the environment and no redirect: texts go where the operator said, or nowhere.
        return httpx.Client(
            timeout=httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
            trust_env=False,
            follow_redirects=False,
            transport=self._transport,
        )

    def _ask(self, texts: list[str]) -> list[object]:
        try:
            response = self._client.post(
                f"{self._url}/api/embed", json={"model": self._name, "input": texts, "truncate": True}
            )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Unavailable("Ollama did not answer: check OLLAMA_URL, and that the server runs") from error
        if response.status_code == HTTPStatus.NOT_FOUND:
            raise Unavailable(f"Ollama has no model named {self._name}: run ollama pull {self._name}")
        if response.status_code != HTTPStatus.OK:
            raise Unavailable(f"Ollama answered with status {response.status_code}")
        try:
            rows = response.json()["embeddings"]
        except (ValueError, KeyError, TypeError) as error:
            raise Unavailable("Ollama's answer held no vectors") from error
        if not isinstance(rows, list) or len(rows) != len(texts):
            raise Unavailable("Ollama answered another number of vectors than it was asked for")
        return rows
