"""S3: artifacts, as `domain/manifest.py` lays them out and `adapters/artifact.py` writes and reads them.

A manifest is written once and never over another, by a conditional put: of two attempts that race, one seals
and the other goes on with what is there.
"""

import logging
from collections.abc import Iterable
from hashlib import sha256
from typing import Protocol, TypedDict

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from codetrail.adapters import artifact
from codetrail.domain.manifest import BatchEntry, BatchKind, Manifest, Row
from codetrail.errors import ArtifactRejected, Unavailable

log = logging.getLogger(__name__)

# S3 answers 409 when another conditional put of the same key is under way: the same put again is right.
SEAL_ROUNDS = 5

# Another put came first, or is under way.
_OVERTAKEN = ("NoSuchKey", "PreconditionFailed", "ConditionalRequestConflict")

_CONFIG = Config(connect_timeout=5, read_timeout=30, retries={"total_max_attempts": 4, "mode": "standard"})


class Content(Protocol):
    """The bytes of an object, as they come."""

    def read(self, amt: int) -> bytes:
        """Return at most *amt* bytes."""


class Opened(TypedDict):
    """The client's reply to a read, as far as it is looked at here."""

    Body: Content
    ETag: str


class S3(Protocol):
    """The calls that are made of boto3's client, which publishes no types."""

    def get_object(self, **request: object) -> Opened:
        """Open one object."""

    def put_object(self, **request: object) -> object:
        """Write one object."""

    def delete_object(self, **request: object) -> object:
        """Remove one object, or nothing."""


def s3() -> S3:
    """Return a client with bounded waits. AWS_ENDPOINT_URL, where it is set, is boto3's own to read."""
    client: S3 = boto3.client("s3", config=_CONFIG)
    return client


class S3Artifacts:
    """Sealed artifacts and the batches that they count."""

    def __init__(self, client: S3, bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def sealed(self, repo_id: str, fingerprint: str) -> tuple[str, str, Manifest] | None:
        """(key, sha256, manifest) of a sealed artifact, or None; one that breaks a bound is removed, and is
        none. Raises Unavailable."""
        key = artifact.manifest_key(repo_id, fingerprint)
        data = self._get(key, artifact.MAX_MANIFEST_BYTES)
        if data is None:
            return None
        digest = sha256(data).hexdigest()
        try:
            return key, digest, artifact.decode_manifest(key, data)
        except ArtifactRejected as error:
            # Sealed, it would stand in the way of every attempt.
            log.error("discarded", extra={"key": key, "why": str(error)})
            self.discard(key, digest)
            return None

    def put_batch(
        self, repo_id: str, fingerprint: str, run: str, number: int, kind: BatchKind, rows: Iterable[Row]
    ) -> BatchEntry:
        """Write one batch into the run's own folder. Raises Unavailable."""
        key = artifact.batch_key(repo_id, fingerprint, run, number)
        data, count = artifact.encode_batch(rows)
        self._put(key, data, "application/gzip")
        return BatchEntry(kind, key, count, sha256(data).hexdigest(), len(data))

    def seal(self, manifest: Manifest) -> tuple[str, str, Manifest]:
        """Write the manifest if there is none; return the one that is there, ours or an earlier one. Raises
        Unavailable."""
        key = artifact.manifest_key(manifest.repo_id, manifest.fingerprint)
        data = artifact.encode_manifest(manifest)
        for _ in range(SEAL_ROUNDS):
            if self._put(key, data, "application/json", IfNoneMatch="*"):
                return key, sha256(data).hexdigest(), manifest
            there = self.sealed(manifest.repo_id, manifest.fingerprint)
            if there:
                return there
        raise Unavailable("the artifact bucket does not let a manifest be sealed")

    def read_manifest(self, key: str, sha256: str) -> Manifest:
        """Raises ArtifactRejected when it is not that manifest or breaks a bound, and Unavailable. One that
        breaks a bound is removed."""
        if not artifact.is_manifest_key(key):
            raise ArtifactRejected("the key is not where a manifest lies")
        data = self._get(key, artifact.MAX_MANIFEST_BYTES)
        if data is None or _digest(data) != sha256:
            raise ArtifactRejected("the manifest is not the one that was sealed")
        try:
            return artifact.decode_manifest(key, data)
        except ArtifactRejected:
            # It is the sealed one, so it would stand in the way of every later attempt.
            self.discard(key, sha256)
            raise

    def read_batch(self, manifest: Manifest, number: int) -> list[Row]:
        """The rows of batch *number* of *manifest*, by whose counts they are bounded. Raises ArtifactRejected
        for anything that the manifest does not promise, and Unavailable."""
        if not 0 <= number < len(manifest.batches):
            raise ArtifactRejected(f"the manifest has no batch {number}")
        entry = manifest.batches[number]
        data = self._get(entry.key, entry.bytes)
        if data is None:
            raise ArtifactRejected(f"batch {number} is not there")
        return artifact.decode_batch(data, manifest, number)

    def discard(self, key: str, sha256: str) -> None:
        """Remove the manifest of that digest, which was rejected, so that the next attempt writes anew; one
        that was sealed in its place meanwhile stays. Raises Unavailable."""
        if not artifact.is_manifest_key(key):
            raise ArtifactRejected("the key is not where a manifest lies")
        read = self._read(key, artifact.MAX_MANIFEST_BYTES)
        if read is None or _digest(read[0]) != sha256:
            return
        try:
            self._client.delete_object(Bucket=self._bucket, Key=key, IfMatch=read[1])
        except ClientError as error:
            if error.response["Error"]["Code"] not in _OVERTAKEN:
                raise Unavailable("the artifact bucket is not answering") from error
        except BotoCoreError as error:
            raise Unavailable("the artifact bucket is not answering") from error

    def _get(self, key: str, ceiling: int) -> bytes | None:
        """Return the object, None when there is none, at most one byte over its ceiling."""
        read = self._read(key, ceiling)
        return None if read is None else read[0]

    def _read(self, key: str, ceiling: int) -> tuple[bytes, str] | None:
        """Return the object and its entity tag, as `_get`."""
        try:
            reply = self._client.get_object(Bucket=self._bucket, Key=key)
            return reply["Body"].read(ceiling + 1), reply["ETag"]
        except ClientError as error:
            if error.response["Error"]["Code"] in ("NoSuchKey", "404"):
                return None
            raise Unavailable("the artifact bucket is not answering") from error
        except BotoCoreError as error:
            raise Unavailable("the artifact bucket is not answering") from error

    def _put(self, key: str, data: bytes, content_type: str, **condition: str) -> bool:
        """Write the object; False when the condition does not hold, or another put is under way."""
        try:
            self._client.put_object(
                Bucket=self._bucket, Key=key, Body=data, ContentType=content_type, **condition
            )
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if condition and code in _OVERTAKEN:
                return False
            raise Unavailable("the artifact bucket is not answering") from error
        except BotoCoreError as error:
            raise Unavailable("the artifact bucket is not answering") from error
        return True


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()
