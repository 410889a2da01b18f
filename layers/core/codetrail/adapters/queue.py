"""SQS: what is sent to the index, load and events queues.

A body is the JSON of a domain dataclass and a version; `api/index.py`, `api/load.py` and `api/track.py` read
them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Protocol

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from codetrail.domain.job import IndexJob, JobEvent, LoadBatch
from codetrail.errors import Unavailable

VERSION = 1
# SQS takes ten messages a call.
BATCH = 10
# Entries of a batch may fail alone (a throttled shard); SQS asks its callers to send those again.
ROUNDS = 3

# A request that waits longer than this has no answer coming; botocore's own retries add jitter between.
_CONFIG = Config(connect_timeout=5, read_timeout=10, retries={"total_max_attempts": 3, "mode": "standard"})


class Sqs(Protocol):
    """The two calls that are made of boto3's client, which publishes no types."""

    def send_message(self, **request: object) -> object:
        """Send one message."""

    def send_message_batch(self, **request: object) -> Mapping[str, Sequence[Mapping[str, str]]]:
        """Send up to ten; those that failed stand under `Failed`."""


def sqs() -> Sqs:
    """Return a client with bounded waits. AWS_ENDPOINT_URL, where it is set, is boto3's own to read."""
    client: Sqs = boto3.client("sqs", config=_CONFIG)
    return client


class SqsIndexQueue:
    """Where index jobs wait."""

    def __init__(self, client: Sqs, url: str) -> None:
        self._client = client
        self._url = url

    def send(self, job: IndexJob) -> None:
        """At least once. Raises Unavailable."""
        _send(self._client, self._url, _body(job))


class SqsJobEvents:
    """Where an index attempt reports."""

    def __init__(self, client: Sqs, url: str) -> None:
        self._client = client
        self._url = url

    def send(self, event: JobEvent) -> None:
        """At least once. Raises Unavailable."""
        _send(self._client, self._url, _body(event))


class SqsLoadQueue:
    """Where batches wait to be loaded."""

    def __init__(self, client: Sqs, url: str) -> None:
        self._client = client
        self._url = url

    def send(self, batches: Sequence[LoadBatch]) -> None:
        """At least once each. Raises Unavailable."""
        for at in range(0, len(batches), BATCH):
            self._send([_body(batch) for batch in batches[at : at + BATCH]])

    def _send(self, bodies: list[str]) -> None:
        left = {str(number): body for number, body in enumerate(bodies)}
        for _ in range(ROUNDS):
            entries = [{"Id": number, "MessageBody": body} for number, body in left.items()]
            try:
                answer = self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
            except (BotoCoreError, ClientError) as error:
                raise Unavailable("the load queue is not answering") from error
            left = {failed["Id"]: left[failed["Id"]] for failed in answer.get("Failed", [])}
            if not left:
                return
        raise Unavailable(f"the load queue refused {len(left)} of {len(bodies)} messages")


def _body(message: IndexJob | JobEvent | LoadBatch) -> str:
    return json.dumps({"version": VERSION, **asdict(message)}, separators=(",", ":"))


def _send(client: Sqs, url: str, body: str) -> None:
    try:
        client.send_message(QueueUrl=url, MessageBody=body)
    except (BotoCoreError, ClientError) as error:
        raise Unavailable("the queue is not answering") from error
