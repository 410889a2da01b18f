"""One contract of the bucket, against S3 as moto speaks it and against the fake that other tests use."""

import gzip
from dataclasses import replace
from hashlib import sha256

import boto3
import pytest
from botocore.config import Config

from codetrail.adapters.bucket import S3Artifacts, s3
from codetrail.domain.manifest import BatchKind
from codetrail.errors import ArtifactRejected, Unavailable
from tests.support.artifacts import FINGERPRINT, KEY, REPO, ROWS, write
from tests.support.cloud import loopback_cloud
from tests.support.fakes_index import MemoryS3


@pytest.fixture(scope="module")
def cloud():
    with loopback_cloud() as cloud:
        yield cloud


@pytest.fixture(params=["s3", "fake"])
def bucket(request):
    """(artifacts, get an object's bytes, put an object's bytes)"""
    if request.param == "fake":
        client = MemoryS3()
        return S3Artifacts(client, "bucket"), client.objects.__getitem__, client.objects.__setitem__
    cloud = request.getfixturevalue("cloud")
    name = cloud.bucket()
    return (
        S3Artifacts(s3(), name),
        lambda key: cloud.s3.get_object(Bucket=name, Key=key)["Body"].read(),
        lambda key, data: cloud.s3.put_object(Bucket=name, Key=key, Body=data),
    )


def test_nothing_is_sealed_at_first(bucket):
    artifacts, *_ = bucket

    assert artifacts.sealed(REPO, FINGERPRINT) is None


def test_what_was_sealed_is_found_and_read_back_whole(bucket):
    artifacts, *_ = bucket
    key, digest, manifest = write(artifacts)

    assert key == KEY
    assert artifacts.sealed(REPO, FINGERPRINT) == (key, digest, manifest)
    assert artifacts.read_manifest(key, digest) == manifest
    read = [artifacts.read_batch(manifest, number) for number in range(len(manifest.batches))]
    assert read == [rows for batches in ROWS.values() for rows in batches]


def test_a_second_seal_changes_nothing_and_returns_the_first(bucket):
    artifacts, get, _ = bucket
    first = write(artifacts, run="job-1-a")
    stored = get(KEY)

    second = write(artifacts, run="job-2-b")

    assert second == first
    assert get(KEY) == stored


def test_runs_write_beside_one_another(bucket):
    artifacts, get, _ = bucket
    rows = ROWS[BatchKind.NAMES][0]
    one = artifacts.put_batch(REPO, FINGERPRINT, "job-1-a", 0, BatchKind.NAMES, rows)
    other = artifacts.put_batch(REPO, FINGERPRINT, "job-1-b", 0, BatchKind.NAMES, rows)

    assert one.key != other.key
    assert replace(one, key="") == replace(other, key="")
    assert (one.rows, one.bytes) == (2, len(get(one.key)))
    assert gzip.decompress(get(one.key)).count(b"\n") == 2


def test_a_discarded_manifest_makes_room_for_another(bucket):
    artifacts, *_ = bucket
    key, digest, _ = write(artifacts)
    artifacts.discard(key, digest)
    artifacts.discard(key, digest)  # another loader found the same

    assert artifacts.sealed(REPO, FINGERPRINT) is None
    with pytest.raises(ArtifactRejected):
        artifacts.read_manifest(key, digest)
    assert write(artifacts, run="job-2-b")[2].batches[0].key.endswith("/job-2-b/0.json.gz")


def test_a_manifest_that_was_sealed_in_the_place_of_a_rejected_one_stays(bucket):
    artifacts, *_ = bucket
    key, good, _ = write(artifacts)

    artifacts.discard(key, sha256(b"what was there before").hexdigest())

    assert artifacts.sealed(REPO, FINGERPRINT)[:2] == (key, good)


def test_another_manifest_in_its_place_is_rejected(bucket):
    artifacts, get, put = bucket
    key, digest, _ = write(artifacts)
    put(key, get(key) + b" ")

    with pytest.raises(ArtifactRejected):
        artifacts.read_manifest(key, digest)


def test_a_sealed_manifest_that_breaks_a_bound_is_removed(bucket):
    artifacts, get, put = bucket
    key, _, _ = write(artifacts)
    broken = get(key).replace(b'"spans"', b'"spams"')
    put(key, broken)

    with pytest.raises(ArtifactRejected):
        artifacts.read_manifest(key, sha256(broken).hexdigest())
    assert artifacts.sealed(REPO, FINGERPRINT) is None


def test_what_lies_in_a_manifests_place_and_is_none_makes_room_for_one(bucket):
    artifacts, _, put = bucket
    put(KEY, b"{}")

    assert artifacts.sealed(REPO, FINGERPRINT) is None
    assert artifacts.sealed(REPO, FINGERPRINT) is None
    put(KEY, b"{}")
    _, digest, manifest = write(artifacts)
    assert artifacts.read_manifest(KEY, digest) == manifest


@pytest.mark.parametrize("other", [b"", b"other", b"x" * 100_000])
def test_another_batch_in_its_place_is_rejected(bucket, other):
    artifacts, _, put = bucket
    _, _, manifest = write(artifacts)
    put(manifest.batches[0].key, other)

    with pytest.raises(ArtifactRejected):
        artifacts.read_batch(manifest, 0)


def test_a_seal_that_meets_another_under_way_tries_again():
    client = MemoryS3()
    client.conflicts = 2

    write(S3Artifacts(client, "bucket"))

    assert KEY in client.objects


def test_a_seal_that_is_never_let_through_is_unavailable():
    client = MemoryS3()
    client.conflicts = 1_000

    with pytest.raises(Unavailable):
        write(S3Artifacts(client, "bucket"))


def test_a_bucket_that_is_not_there_is_unavailable_and_not_an_empty_one(cloud):
    artifacts = S3Artifacts(s3(), "no-such-bucket")

    with pytest.raises(Unavailable):
        artifacts.sealed(REPO, FINGERPRINT)
    with pytest.raises(Unavailable):
        write(artifacts)


def test_a_server_that_is_not_there_is_unavailable(cloud):
    nobody = boto3.client(
        "s3",
        endpoint_url="http://127.0.0.1:9",
        config=Config(connect_timeout=1, retries={"total_max_attempts": 1}),
    )
    artifacts = S3Artifacts(nobody, "bucket")

    for attempt in (
        lambda: artifacts.sealed(REPO, FINGERPRINT),
        lambda: write(artifacts),
        lambda: artifacts.discard(KEY, "0" * 64),
    ):
        with pytest.raises(Unavailable):
            attempt()
