import gzip
import json
import subprocess
import sys
import zlib

import pytest

from codetrail.adapters import artifact
from codetrail.domain.manifest import BatchKind
from codetrail.domain.span import MAX_TEXT_BYTES
from codetrail.errors import ArtifactRejected
from tests.support.artifacts import FINGERPRINT, KEY, REPO, ROWS, Forger, bomb, packed, text, weighed


def put(*path_and_value):
    *path, value = path_and_value

    def change(content):
        for step in path[:-1]:
            content = content[step]
        content[path[-1]] = value

    return change


def drop(field):
    return lambda content: content.pop(field)


def entry(field, value, number=0):
    return put("batches", number, field, value)


MANIFESTS = {
    "another version": put("version", 2),
    "no version": drop("version"),
    "an unknown field": put("surprise", 1),
    "a missing field": drop("stats"),
    "another repository's id": put("repo_id", "f" * 16),
    "a short id": put("repo_id", "f" * 15),
    "an id of another commit": put("commit", "d" * 40),
    "a commit that is no id": put("commit", "HEAD"),
    "a commit with a line end": put("commit", "c" * 40 + "\n"),
    "another indexer's place": put("fingerprint", "f" * 16),
    "a fingerprint that leaves the prefix": put("fingerprint", "../../../../x"),
    "a remote with a space": put("remote", "https://github.com/a b"),
    "an empty ref": put("ref", ""),
    "a ref with a control character": put("ref", "main\n"),
    "a count as text": put("spans", "3"),
    "a count as a fraction": put("spans", 3.0),
    "a count that is true": put("files", True),
    "a negative count": put("files", -1),
    "more spans than the batches hold": put("spans", 4),
    "fewer postings than the batches hold": put("postings", 1),
    "more names than the batches hold": put("names", 3),
    "more spans than there may be": put("spans", 2_000_000),
    "statistics of other spans": put("stats", "spans", 2),
    "an average that is not a number": put("stats", "average_length", float("nan")),
    "an endless average": put("stats", "average_length", float("inf")),
    "coverage of other files": put("coverage", "indexed", 5),
    "coverage for no known reason": put("coverage", "reasons", {"whim": 1}),
    "coverage in a language with a tag": put("coverage", "languages", {"<b>": 1}),
    "no batches": put("batches", []),
    "batches that are not a list": put("batches", {}),
    "a batch of an unknown kind": entry("kind", "edges"),
    "a batch with too many rows": entry("rows", 129),
    "a batch with rows that are not there": entry("rows", 1),
    "a batch elsewhere in the bucket": entry("key", "secrets/0.json.gz"),
    "a batch of another artifact": entry("key", f"artifacts/{'a' * 16}/{FINGERPRINT}/j-1/0.json.gz"),
    "a batch by a way around": entry("key", f"artifacts/{REPO}/{FINGERPRINT}/../{FINGERPRINT}/0.json.gz"),
    "a batch that is the manifest": entry("key", KEY),
    "a batch that is not there": entry("key", f"artifacts/{REPO}/{FINGERPRINT}/job-1-a/77.json.gz"),
    "a batch counted twice": lambda m: m["batches"].append(m["batches"][-1]) or m.update(files=4),
    "a batch under another's digest": entry("sha256", "0" * 64),
    "a digest in capitals": entry("sha256", "AB" * 32),
    "a batch of another size": entry("bytes", 1),
    "a batch over its ceiling": entry("bytes", artifact.MAX_STORED_BYTES + 1),
    "batches in another order": lambda m: m["batches"].insert(0, m["batches"].pop(1)),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_that_says_otherwise_than_it_may_is_rejected(name):
    forger = Forger()
    forger.manifest(MANIFESTS[name])

    with pytest.raises(ArtifactRejected):
        forger.read()


NO_MANIFESTS = {
    "empty": b"",
    "null": b"null",
    "a list": b"[]",
    "cut short": b"{",
    "not UTF-8": b"\xff\xfe",
    "deep": b"[" * 100_000,
    "bare": b'{"version":1}',
    "over its ceiling": b"{}" + b" " * artifact.MAX_MANIFEST_BYTES,
}


@pytest.mark.parametrize("name", NO_MANIFESTS)
def test_a_manifest_that_is_none_is_rejected(name):
    forger = Forger()
    forger.replace(NO_MANIFESTS[name])

    with pytest.raises(ArtifactRejected):
        forger.read()


def row(number, field, value):
    return lambda rows: rows[number].update({field: value})


def shorter(field, value):
    return lambda rows: rows[0].update({field: text(value)})


ROWS_FORGED = {
    "a row too few": ("spans", lambda rows: rows.pop()),
    "a row too many": ("spans", lambda rows: rows.append(rows[0] | {"ordinal": 3, "id": "9" * 16})),
    "a row of another kind": ("spans", lambda rows: rows.__setitem__(0, {"name": "x", "ordinals": ""})),
    "a row that is a list": ("spans", lambda rows: rows.__setitem__(0, [])),
    "an unknown field": ("spans", row(0, "surprise", 1)),
    "a missing field": ("spans", lambda rows: rows[0].pop("digest")),
    "an ordinal twice": ("spans", row(1, "ordinal", 0)),
    "an ordinal that jumps": ("spans", row(1, "ordinal", 2)),
    "an ordinal below zero": ("spans", row(0, "ordinal", -1)),
    "an id twice": ("spans", row(1, "id", f"{0:016x}")),
    "an id that is none": ("spans", row(0, "id", "x" * 16)),
    "an empty path": ("spans", row(0, "path", "")),
    "a path with a NUL": ("spans", row(0, "path", "a\0b")),
    "a path over its bound": ("spans", row(0, "path", "é" * 2_100)),
    "an unknown kind": ("spans", row(0, "kind", "lambda")),
    "a symbol over its bound": ("spans", row(0, "symbol", "x" * 1_001)),
    "a language that is text": ("spans", row(0, "language", "Python 3")),
    "line zero": ("spans", row(0, "start_line", 0)),
    "lines that end before they start": ("spans", row(0, "end_line", 0)),
    "lines in reverse": ("spans", lambda rows: rows[0].update(start_line=9, end_line=8)),
    "no length": ("spans", row(0, "length", 0)),
    "a length that no column holds": ("spans", row(0, "length", 2**31)),
    "a digest too short": ("spans", row(0, "digest", "ab" * 31)),
    "a digest with a line end": ("spans", row(0, "digest", "ab" * 32 + "\n")),
    "no text": ("spans", row(0, "text", "")),
    "a text with a NUL": ("spans", row(0, "text", "a\0b")),
    "a text with half a character": ("spans", row(0, "text", "a\ud800b")),
    "a text over its bound": ("spans", row(0, "text", "é" * (MAX_TEXT_BYTES // 2 + 1))),
    "a test that is a number": ("spans", row(0, "test", 1)),
    "a mass that is not a number": ("spans", row(0, "name_mass", float("nan"))),
    "a mass below zero": ("spans", row(0, "name_mass", -1.0)),
    "a blob that is none": ("files", row(0, "blob", "HEAD")),
    "a size below zero": ("files", row(0, "size", -1)),
    "an unknown outcome": ("files", row(0, "outcome", "fine")),
    "an unknown reason": ("files", row(1, "reason", "whim")),
    "an indexed file with a reason": ("files", row(0, "reason", "binary")),
    "a skipped file without one": ("files", row(1, "reason", None)),
    "an indexed file without spans": ("files", row(0, "spans", 0)),
    "a skipped file with spans": ("files", row(1, "spans", 2)),
    "a path twice": ("files", row(1, "path", "src/app.py")),
    "terms out of order": ("postings", lambda rows: rows.reverse()),
    "a term twice": ("postings", row(1, "term", "alpha")),
    "an empty term": ("postings", row(0, "term", "")),
    "a term over its bound": ("postings", row(1, "term", "x" * 65)),
    "ordinals that are not base64": ("postings", row(0, "ordinals", "!!")),
    "no ordinals": ("postings", lambda rows: rows[0].update(ordinals="", weights="")),
    "half an ordinal": ("postings", shorter("ordinals", packed(0, 2)[:-1])),
    "ordinals out of order": ("postings", shorter("ordinals", packed(2, 0))),
    "an ordinal in a posting twice": ("postings", shorter("ordinals", packed(2, 2))),
    "an ordinal beyond the spans": ("postings", shorter("ordinals", packed(0, 3))),
    "an ordinal before the first": ("postings", shorter("ordinals", packed(-1, 2))),
    "a weight too few": ("postings", shorter("weights", weighed(0.5))),
    "a weight that is not a number": ("postings", shorter("weights", weighed(0.5, float("nan")))),
    "a weight without end": ("postings", shorter("weights", weighed(0.5, float("inf")))),
    "a weight of nothing": ("postings", shorter("weights", weighed(0.5, 0.0))),
    "a weight over one": ("postings", shorter("weights", weighed(0.5, 1.5))),
    "names out of order": ("names", lambda rows: rows.reverse()),
    "a name over its bound": ("names", row(1, "name", "x" * 513)),
    "a name of no span": ("names", shorter("ordinals", packed(3))),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS_FORGED)
def test_rows_that_the_manifest_does_not_promise_are_rejected(name):
    forger = Forger()
    kind, change = ROWS_FORGED[name]
    forger.rows(kind, change)

    with pytest.raises(ArtifactRejected):
        forger.read()


def test_a_batch_that_lies_in_another_artifact_is_rejected_though_it_is_there():
    forger = Forger()
    elsewhere = f"artifacts/{'a' * 16}/{FINGERPRINT}/job-1-a/0.json.gz"
    own = f"artifacts/{REPO}/{FINGERPRINT}/job-1-a/0.json.gz"
    forger.s3.objects[elsewhere] = forger.s3.objects[own]
    forger.manifest(entry("key", elsewhere))

    with pytest.raises(ArtifactRejected, match="as a whole"):
        forger.read()


def test_ordinals_are_numbered_through_from_batch_to_batch():
    forger = Forger()
    forger.rows("spans", row(0, "ordinal", 1), number=1)

    with pytest.raises(ArtifactRejected, match="numbered through"):
        forger.read()


BYTES_FORGED = {
    "not gzip": lambda data: b"plain",
    "empty": lambda data: b"\0",
    "cut short": lambda data: data[:-9],
    "a wrong checksum": lambda data: data[:-8] + bytes(4) + data[-4:],
    "two members": lambda data: data + data,
    "bytes behind the end": lambda data: data + b"x",
    "a zlib stream": lambda data: zlib.compress(gzip.decompress(data)),
    "a last line without end": lambda data: gzip.compress(gzip.decompress(data)[:-1]),
    "no line": lambda data: gzip.compress(b""),
    "blank lines": lambda data: gzip.compress(b"\n\n"),
    "a line that is not JSON": lambda data: gzip.compress(b"{\n{\n"),
    "a deep line": lambda data: gzip.compress(b"[" * 50_000 + b"\n{}\n"),
    "a bomb": lambda data: bomb(),
}


@pytest.mark.parametrize("name", BYTES_FORGED)
def test_bytes_that_are_no_batch_are_rejected(name):
    forger = Forger()
    forger.store("spans", BYTES_FORGED[name])

    with pytest.raises(ArtifactRejected):
        forger.read()


def test_a_bomb_costs_no_more_memory_than_its_ceiling():
    # In a process of its own: how much memory was needed at most is known only for a whole process.
    program = """
import resource
from codetrail.errors import ArtifactRejected
from tests.support.artifacts import Forger, bomb
forger, data = Forger(), bomb()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
forger.store("spans", lambda _: data)
try:
    forger.read()
except ArtifactRejected:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )

    unit = 1 if sys.platform == "darwin" else 1_024
    assert int(done.stdout) * unit < 3 * artifact.MAX_BATCH_BYTES


def test_a_refusal_never_repeats_what_was_read():
    forger = Forger()
    forger.rows("spans", row(0, "text", "secret\0"))

    with pytest.raises(ArtifactRejected) as refused:
        forger.read()
    assert "secret" not in str(refused.value)
    assert "text" in str(refused.value)


def test_a_key_of_a_mapping_is_not_repeated_either():
    forger = Forger()
    forger.manifest(put("coverage", "languages", {"hunter2!": 1}))

    with pytest.raises(ArtifactRejected) as refused:
        forger.read()
    assert "hunter2" not in str(refused.value)


def test_an_artifact_reads_back_as_it_was_written():
    assert Forger().read() == [rows for batches in ROWS.values() for rows in batches]


def test_the_same_rows_are_the_same_bytes():
    (rows,) = ROWS[BatchKind.POSTINGS]

    assert artifact.encode_batch(rows) == artifact.encode_batch(iter(rows))
    assert gzip.decompress(artifact.encode_batch(rows)[0]).count(b"\n") == 2


def test_a_manifest_has_one_form():
    forger = Forger()
    manifest = forger.artifacts.read_manifest(forger.key, forger.digest)

    assert artifact.encode_manifest(manifest) == forger.s3.objects[KEY]
    assert json.loads(forger.s3.objects[KEY])["version"] == 1


@pytest.mark.parametrize("number", [-1, 5, 10**9])
def test_a_batch_that_the_manifest_does_not_have_is_rejected(number):
    forger = Forger()
    manifest = forger.artifacts.read_manifest(forger.key, forger.digest)

    with pytest.raises(ArtifactRejected):
        forger.artifacts.read_batch(manifest, number)


@pytest.mark.parametrize(
    "key",
    [
        "",
        "manifest.json",
        "artifacts/../x/manifest.json",
        KEY + "\n",
        KEY.replace("manifest.json", "a/0.json.gz"),
    ],
)
def test_only_the_place_of_a_manifest_is_read_or_discarded(key):
    forger = Forger()

    with pytest.raises(ArtifactRejected):
        forger.artifacts.read_manifest(key, forger.digest)
    with pytest.raises(ArtifactRejected):
        forger.artifacts.discard(key, forger.digest)
    assert KEY in forger.s3.objects


@pytest.mark.parametrize("part", ["../x", "a/b", "", "é" * 8])
def test_no_key_is_made_that_leaves_the_artifact(part):
    with pytest.raises(ValueError, match="not a key"):
        artifact.batch_key(REPO, FINGERPRINT, part, 0)
    with pytest.raises(ValueError, match="not a key"):
        artifact.manifest_key(part, FINGERPRINT)
