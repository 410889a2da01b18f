"""SQS and S3 on loopback, in this process: boto3's own clients against moto."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import boto3
import pytest
from moto.server import ThreadedMotoServer

# boto3 reads these itself; no machine's own credentials may reach a test.
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_SESSION_TOKEN": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
}


@contextmanager
def loopback_cloud() -> Iterator["Cloud"]:
    """Run the server for the block, with boto3 pointed at it."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("AWS_PROFILE", raising=False)
            for name, value in ENVIRONMENT.items():
                patch.setenv(name, value)
            patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
            yield Cloud()
    finally:
        server.stop()


class Cloud:
    """Queues and buckets of a test's own."""

    def __init__(self) -> None:
        self.sqs: Any = boto3.client("sqs")  # boto3 publishes no types
        self.s3: Any = boto3.client("s3")

    def bucket(self) -> str:
        """Make a bucket and return its name."""
        name = f"test-{uuid4().hex}"
        self.s3.create_bucket(Bucket=name)
        return name

    def queue(self) -> str:
        """Make a queue and return its URL."""
        url: str = self.sqs.create_queue(QueueName=f"test-{uuid4().hex}")["QueueUrl"]
        return url

    def drain(self, url: str) -> list[dict[str, Any]]:
        """Receive and delete all that lies in a queue, read as JSON."""
        bodies: list[dict[str, Any]] = []
        while True:
            got = self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=0)
            messages = got.get("Messages", [])
            if not messages:
                return bodies
            for message in messages:
                bodies.append(json.loads(message["Body"]))
                self.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
