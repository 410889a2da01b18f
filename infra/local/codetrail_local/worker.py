"""Event source mappings and schedules: what AWS does between a queue or a clock and a function.

One receiver a mapping waits for a free slot, receives with long polling, and hands the batch on; so no
message lies received, with its visibility running out, while no environment is free to take it. A message is
deleted when the function answered well for it. Any other end leaves it alone: it is seen again when its
visibility timeout has passed, and after too many receives the queue itself moves it to its dead letters.

Of one end more is known here than on AWS: when a function's process died, nobody holds its messages any more,
and they are seen again at once. They have been received all the same, and count as that.
"""

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from logging import getLogger
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from codetrail_local.aws import AwsClient, QueueAddress
from codetrail_local.environment import FunctionCrashed, InvocationFailed
from codetrail_local.routes import ACCOUNT, REGION, EventSource, Schedule

# SQS's own ceiling for one receive or one batch of a request, and for its long polling.
MAX_RECEIVE = 10
WAIT_SECONDS = 10
# How long a receiver rests when the queue does not answer.
REST_SECONDS = 0.5

log = getLogger(__name__)

Invoke = Callable[[str, object], Any]


class Poller:
    """One event source mapping."""

    def __init__(
        self,
        source: EventSource,
        address: QueueAddress,
        *,
        sqs: AwsClient,
        invoke: Invoke,
        concurrency: int,
        dead_letters_of: str | None = None,
    ) -> None:
        self._source = source
        self._url = address.url
        self._arn = address.arn
        self._dead_letters_of = dead_letters_of
        self._sqs = sqs
        self._invoke = invoke
        self._slots = threading.Semaphore(min(concurrency, source.concurrency or concurrency))
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._receive, name=f"poll-{source.queue}", daemon=True)

    def start(self) -> None:
        """Receive from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Receive no more; what is being handled goes on."""
        self._stopping.set()

    def _receive(self) -> None:
        while not self._stopping.is_set():
            if not self._slots.acquire(timeout=REST_SECONDS):
                continue
            messages: list[dict[str, Any]] = []
            try:
                messages = self._gather()
            except (BotoCoreError, ClientError) as error:
                if not self._stopping.wait(REST_SECONDS):
                    log.warning("a queue did not answer: %s: %s", self._source.queue, error)
            if not messages or self._stopping.is_set():
                self._slots.release()
                continue
            threading.Thread(target=self._handle, args=(messages,), daemon=True).start()

    def _gather(self) -> list[dict[str, Any]]:
        messages = self._receive_once(min(self._source.batch_size, MAX_RECEIVE), WAIT_SECONDS)
        deadline = time.monotonic() + self._source.window_seconds
        while messages and len(messages) < self._source.batch_size and not self._stopping.is_set():
            left = deadline - time.monotonic()
            if left <= 0:
                break
            messages += self._receive_once(
                min(self._source.batch_size - len(messages), MAX_RECEIVE), min(1, int(left))
            )
        return messages

    def _receive_once(self, count: int, wait_seconds: int) -> list[dict[str, Any]]:
        reply = self._sqs.receive_message(
            QueueUrl=self._url, MaxNumberOfMessages=count, WaitTimeSeconds=wait_seconds,
            MessageSystemAttributeNames=["All"], MessageAttributeNames=["All"],
        )  # fmt: skip
        messages: list[dict[str, Any]] = reply.get("Messages", [])
        return messages

    def _handle(self, messages: Sequence[Mapping[str, Any]]) -> None:
        try:
            event = {"Records": [record(message, self._arn, self._dead_letters_of) for message in messages]}
            try:
                reply = self._invoke(self._source.function, event)
            except InvocationFailed as error:
                log.warning("a batch was not handled, and will be seen again: %s", error)
                # A stack that stops ends its processes too; then nobody is there to see them.
                if isinstance(error, FunctionCrashed) and not self._stopping.is_set():
                    self._show(messages)
                return
            failed = (
                failures(reply, [message["MessageId"] for message in messages])
                if self._source.partial
                else set()
            )
            self._delete([message for message in messages if message["MessageId"] not in failed])
        finally:
            self._slots.release()

    def _delete(self, messages: Sequence[Mapping[str, Any]]) -> None:
        try:
            for entries in _entries(messages):
                self._sqs.delete_message_batch(QueueUrl=self._url, Entries=entries)
        except (BotoCoreError, ClientError) as error:
            # They come again, which every consumer must bear anyway.
            log.warning("handled messages were not deleted: %s", error)

    def _show(self, messages: Sequence[Mapping[str, Any]]) -> None:
        try:
            for entries in _entries(messages, VisibilityTimeout=0):
                self._sqs.change_message_visibility_batch(QueueUrl=self._url, Entries=entries)
        except (BotoCoreError, ClientError) as error:
            # They come again all the same, when their visibility timeout has passed.
            log.warning("messages were not shown again: %s", error)


def _entries(messages: Sequence[Mapping[str, Any]], **more: int) -> Iterator[list[dict[str, Any]]]:
    """Name received messages to SQS, as many at once as it takes."""
    for start in range(0, len(messages), MAX_RECEIVE):
        yield [
            {"Id": str(number), "ReceiptHandle": message["ReceiptHandle"], **more}
            for number, message in enumerate(messages[start : start + MAX_RECEIVE])
        ]


def record(message: Mapping[str, Any], arn: str, dead_letters_of: str | None) -> dict[str, Any]:
    """Return a received message as Lambda hands it to a function.

    *dead_letters_of* is the ARN of the queue whose dead letters these are; SQS tells it, and moto does not.
    """
    attributes = dict(message.get("Attributes", {}))
    if dead_letters_of is not None:
        attributes.setdefault("DeadLetterQueueSourceArn", dead_letters_of)
    made = {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": attributes,
        "messageAttributes": {
            name: {
                **({"stringValue": value["StringValue"]} if "StringValue" in value else {}),
                "stringListValues": [],
                "binaryListValues": [],
                "dataType": value["DataType"],
            }
            for name, value in message.get("MessageAttributes", {}).items()
        },
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": arn,
        "awsRegion": REGION,
    }
    if "MD5OfMessageAttributes" in message:
        made["md5OfMessageAttributes"] = message["MD5OfMessageAttributes"]
    return made


def failures(reply: object, ids: Sequence[str]) -> set[str]:
    """Return the ids of the messages that a partial batch response calls failed.

    As in Lambda: no answer, or none about failures, means that all is well; a response that is not
    understood, or names a message that was not in the batch, means that all of the batch failed.
    """
    if not reply:
        return set()
    everything = set(ids)
    if not isinstance(reply, dict):
        return everything
    said = reply.get("batchItemFailures")
    if not said:
        return set()
    if not isinstance(said, list):
        return everything
    failed = {item.get("itemIdentifier") if isinstance(item, dict) else None for item in said}
    return {str(one) for one in failed} if failed <= everything else everything


class Clock:
    """Invokes a scheduled function again and again, one at a time, each *seconds*."""

    def __init__(self, schedule: Schedule, *, invoke: Invoke, seconds: float) -> None:
        self._schedule = schedule
        self._invoke = invoke
        self._seconds = seconds
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"clock-{schedule.function}", daemon=True)

    def start(self) -> None:
        """Invoke from now on, the first time after one period."""
        self._thread.start()

    def stop(self) -> None:
        """Invoke no more."""
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.wait(self._seconds):
            try:
                self._invoke(self._schedule.function, self._event())
            except InvocationFailed as error:
                log.warning("a scheduled run failed: %s", error)

    def _event(self) -> object:
        if self._schedule.input is not None:
            return json.loads(self._schedule.input)
        return {
            "version": "0",
            "id": str(uuid.uuid4()),
            "detail-type": "Scheduled Event",
            "source": "aws.scheduler",
            "account": ACCOUNT,
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "region": REGION,
            "resources": [f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/{self._schedule.name}"],
            "detail": "{}",
        }
