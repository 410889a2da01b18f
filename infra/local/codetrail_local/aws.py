"""The local AWS: SQS and S3 on loopback by moto, with the queues and buckets of the template made in it.

moto keeps all of it in memory, and never calls a function: that is `worker`'s part. What a stopped stack
loses with it is harmless, since a job's row is the truth and a message only a wake-up.
"""

import json
import logging
import os
import urllib.request
from dataclasses import dataclass
from typing import Any

from codetrail_local.routes import ACCOUNT, REGION, Queue, Template

AwsClient = Any  # boto3 publishes no types
# moto looks at no credentials, but boto3 does not send a request without.
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}  # a user's own stay out of it
# Requests in flight to moto at once: receivers, and deletes beside them.
CONNECTIONS = 50
READ_TIMEOUT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class QueueAddress:
    """Where a queue is."""

    url: str
    arn: str


class LocalAws:
    """moto's server, and the template's queues and buckets in it."""

    def __init__(self, template: Template) -> None:
        from moto.server import ThreadedMotoServer  # noqa: PLC0415 - a third of a second: Postgres starts in it

        logging.getLogger("werkzeug").setLevel(logging.ERROR)  # or it prints every request
        self.template = template
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._server.start()
        host, port = self._server.get_host_and_port()
        self.endpoint = f"http://{host}:{port}"
        session = _session()
        self.sqs = _client(session, "sqs", self.endpoint)
        self.s3 = _client(session, "s3", self.endpoint)
        for name in template.buckets.values():
            self.s3.create_bucket(Bucket=name)
        self.queues: dict[str, QueueAddress] = {}
        for logical in _dead_letters_first(template.queues):
            self.queues[logical] = self._make(template.queues[logical])

    def stop(self) -> None:
        """Forget everything. (moto's memory is the process's, not the server's.)"""
        # A user's proxy is not for loopback.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        opener.open(f"{self.endpoint}/moto-api/reset", data=b"", timeout=READ_TIMEOUT_SECONDS).close()
        self._server.stop()

    def _make(self, queue: Queue) -> QueueAddress:
        attributes = dict(queue.attributes)
        if queue.dead_letters is not None:
            attributes["RedrivePolicy"] = json.dumps(
                {
                    "deadLetterTargetArn": self.queues[queue.dead_letters].arn,
                    "maxReceiveCount": queue.max_receives,
                }
            )
        url = self.sqs.create_queue(QueueName=queue.name, Attributes=attributes)["QueueUrl"]
        return QueueAddress(url, f"arn:aws:sqs:{REGION}:{ACCOUNT}:{queue.name}")


def _dead_letters_first(queues: dict[str, Queue]) -> list[str]:
    return sorted(queues, key=lambda logical: queues[logical].dead_letters is not None)


def _session() -> AwsClient:
    import boto3  # noqa: PLC0415 - slow to import: Postgres starts meanwhile
    import botocore.session  # noqa: PLC0415 - slow to import

    # A profile or an endpoint of the user's own must reach no client of ours.
    none = (None, None, None, None)
    own = {
        "profile": none,
        "config_file": (None, None, os.devnull, None),
        "credentials_file": (None, None, os.devnull, None),
    }
    return boto3.Session(
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        region_name=REGION,
        botocore_session=botocore.session.Session(session_vars=own),
    )


def _client(session: AwsClient, service: str, endpoint: str) -> AwsClient:
    from botocore.config import Config  # noqa: PLC0415 - slow to import

    config = Config(
        max_pool_connections=CONNECTIONS,
        read_timeout=READ_TIMEOUT_SECONDS,
        proxies={},
        retries={"max_attempts": 2},
    )
    return session.client(service, endpoint_url=endpoint, config=config)
