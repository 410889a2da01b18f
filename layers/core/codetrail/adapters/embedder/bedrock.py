"""Amazon Titan Text Embeddings V2, by Bedrock."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, Protocol

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from codetrail.adapters.embedder.vectors import unit_rows
from codetrail.errors import Unavailable
from codetrail.services.ports import Vectors

CONNECT_SECONDS = 3
ANSWER_SECONDS = 15
# Bedrock takes one text a call; a batch of spans would otherwise wait for 128 round trips in a row.
CALLS_AT_ONCE = 8
# The model refuses more than 8,192 tokens. No tokenizer of it is published, and a token is never less than a
# character.
MAX_CHARACTERS = 8_000


class BedrockRuntime(Protocol):
    """What is used of boto3's client; that package publishes no types."""

    def invoke_model(self, **request: str) -> dict[str, Any]:
        """Call one model with one text."""


class BedrockEmbedder:
    """One model of Bedrock, in the region and with the credentials that boto3 finds."""

    def __init__(self, model: str, dimension: int, client: BedrockRuntime | None = None) -> None:
        self.model = f"bedrock:{model}/{dimension}"
        self.dimension = dimension
        self._id = model
        self._given = client

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector a text, in order. Raises Unavailable."""
        if len(texts) == 1:
            rows: list[object] = [self._ask(texts[0])]
        else:
            _ = self._client  # made before the threads, which would each make one
            with ThreadPoolExecutor(CALLS_AT_ONCE) as pool:
                rows = list(pool.map(self._ask, texts))
        return unit_rows(rows, count=len(texts), dimension=self.dimension, provider="bedrock")

    @cached_property
    def _client(self) -> BedrockRuntime:
        client: BedrockRuntime = self._given or boto3.client(
            "bedrock-runtime",
            config=Config(
                connect_timeout=CONNECT_SECONDS,
                read_timeout=ANSWER_SECONDS,
                retries={"mode": "standard", "max_attempts": 3},
                max_pool_connections=CALLS_AT_ONCE,
            ),
        )
        return client

    def _ask(self, text: str) -> object:
        body = {"inputText": text[:MAX_CHARACTERS], "dimensions": self.dimension, "normalize": True}
        try:
            answer = self._client.invoke_model(
                modelId=self._id,
                body=json.dumps(body),
                accept="application/json",
                contentType="application/json",
            )
            return json.loads(answer["body"].read())["embedding"]
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "unknown")
            raise Unavailable(f"Bedrock refused to embed with {self._id}: {code}") from error
        except BotoCoreError as error:
            raise Unavailable("Bedrock did not answer") from error
        except (ValueError, KeyError, TypeError) as error:
            raise Unavailable("Bedrock's answer held no vector") from error
