"""The git adapter against smart HTTP on loopback: an honest server, and servers that are not."""

import gzip
import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from itertools import repeat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from codetrail.adapters.git.addresses import is_public, public_addresses
from codetrail.adapters.git.commands import Limits
from codetrail.adapters.git.program import GitProgram
from codetrail.domain.job import FailureReason, IndexingFailed
from tests.support.githttp import (
    FLUSH,
    Answer,
    Exchange,
    Request,
    greet,
    packet,
    serve,
    stream,
)
from tests.support.gitrepos import Repository
from tests.support.local_stack import until


def loopback(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., GitProgram]:
    def make(**limits: int) -> GitProgram:
        return GitProgram(
            scratch=tmp_path / "scratch", limits=Limits(**limits), protocols=("http",), addresses=loopback
        )

    return make


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return Repository.create(tmp_path / "served" / "name")


@pytest.fixture
def commit(repo: Repository) -> str:
    commit = repo.commit({b"small": b"small\n", b"dir/large": b"x" * 5_000})
    repo.branch("main", commit)
    return commit


def failure(call, *arguments) -> tuple[FailureReason, bool]:
    with pytest.raises(IndexingFailed) as failed:
        call(*arguments)
    return failed.value.reason, failed.value.transient


# An honest server


def test_a_commit_is_fetched_without_the_blobs_over_the_cap(program, repo, commit):
    git = program(file_bytes=1_000)
    with serve(repo.path.parent) as server:
        assert git.resolve(server.url("name"), "main") == commit
        with git.fetch(server.url("name"), commit) as tree:
            asked = len(server.seen)
            blobs = {entry.path: entry.blob for entry in tree.entries()}
            read = {blob: content for blob, _, content in tree.blobs(list(blobs.values()))}

    assert read == {blobs[b"small"]: b"small\n", blobs[b"dir/large"]: None}
    assert len(server.seen) == asked, "a blob that was left out was asked for again"


def test_a_look_up_is_one_handshake_and_one_request(program, repo, commit):
    with serve(repo.path.parent) as server:
        program().resolve(server.url("name"), "HEAD")

    assert [(request.method, request.path) for request in server.seen] == [
        ("GET", "/owner/name/info/refs?service=git-upload-pack"),
        ("POST", "/owner/name/git-upload-pack"),
    ]
    assert all(request.headers["git-protocol"] == "version=2" for request in server.seen)


def test_a_name_is_looked_up_without_the_refs_of_pull_requests(program, repo, commit):
    repo.ref("refs/pull/1/head", commit)
    with serve(repo.path.parent) as server:
        program().resolve(server.url("name"), "main")

    assert b"ref-prefix refs/heads/" in body_of(server.seen[-1])
    assert b"ref-prefix refs/tags/" in body_of(server.seen[-1])


def body_of(request: Request) -> bytes:
    return (
        gzip.decompress(request.body) if request.headers.get("content-encoding") == "gzip" else request.body
    )


def test_a_ref_that_moves_between_look_up_and_fetch_does_not_change_the_commit(program, repo, commit):
    git = program()
    with serve(repo.path.parent) as server:
        resolved = git.resolve(server.url("name"), "main")
        repo.branch("main", repo.commit({b"other": b"other\n"}))
        with git.fetch(server.url("name"), resolved) as tree:
            paths = [entry.path for entry in tree.entries()]

    assert resolved == commit
    assert paths == [b"dir/large", b"small"]


def test_a_commit_that_is_gone_at_the_fetch_is_worth_another_try(program, repo, commit):
    with serve(repo.path.parent) as server:
        assert failure(program().fetch, server.url("name"), "1" * 40) == (FailureReason.REF_NOT_FOUND, True)


def test_the_addresses_that_were_checked_are_the_ones_that_are_met(program, repo, commit):
    with serve(repo.path.parent) as server:
        # No resolver knows this name: only what was pinned can lead there.
        assert program().resolve(server.url("name", host="git.codetrail.invalid"), "HEAD") == commit


def test_no_credential_no_cookie_and_no_referer_is_sent(program, repo, commit):
    with serve(repo.path.parent) as server, program().fetch(server.url("name"), commit):
        pass

    sent = {name for request in server.seen for name in request.headers}
    assert sent <= {
        "host", "user-agent", "accept", "accept-encoding", "content-type", "content-length",
        "content-encoding", "git-protocol", "pragma", "transfer-encoding", "expect",
    }  # fmt: skip


def test_production_speaks_to_a_host_whose_certificate_it_trusts(tmp_path, repo, commit):
    certificate = self_signed(tmp_path, "git.codetrail.invalid")
    trusting = GitProgram(scratch=tmp_path / "scratch", addresses=loopback, ca_file=certificate)
    others = GitProgram(scratch=tmp_path / "scratch", addresses=loopback)
    with serve(repo.path.parent, certificate=certificate) as server:
        remote = f"https://git.codetrail.invalid:{server.port}/owner/name"
        with trusting.fetch(remote, trusting.resolve(remote, "main")) as tree:
            assert [entry.path for entry in tree.entries()] == [b"dir/large", b"small"]
        assert failure(others.resolve, remote, "main") == (FailureReason.UNREACHABLE, False)


def self_signed(folder: Path, name: str) -> Path:
    """Make a key and a certificate for *name*, both in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    begin = datetime.now(UTC) - timedelta(days=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=7))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = folder / "certificate.pem"
    file.write_bytes(secret + certificate.public_bytes(serialization.Encoding.PEM))
    return file


# Statuses


@pytest.mark.parametrize(
    ("status", "reason", "transient"),
    [
        (401, FailureReason.NOT_FOUND, False),
        (403, FailureReason.NOT_FOUND, False),
        (404, FailureReason.NOT_FOUND, False),
        (410, FailureReason.NOT_FOUND, False),
        (301, FailureReason.MOVED, False),
        (302, FailureReason.MOVED, False),
        (303, FailureReason.MOVED, False),
        (307, FailureReason.MOVED, False),
        (308, FailureReason.MOVED, False),
        (429, FailureReason.UNREACHABLE, True),
        (500, FailureReason.UNREACHABLE, True),
        (502, FailureReason.UNREACHABLE, True),
        (503, FailureReason.UNREACHABLE, True),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_status_becomes_its_reason_and_nothing_is_followed(
    program, repo, commit, status, reason, transient, method
):
    with serve(repo.path.parent) as elsewhere:
        headers = {"Location": elsewhere.url("name"), "WWW-Authenticate": 'Basic realm="x"'}

        def answer(exchange: Exchange, request: Request) -> bool:
            target = elsewhere.url("name") + request.path.removeprefix("/owner/name")
            return request.method == method and exchange.reply(status, {**headers, "Location": target})

        with serve(repo.path.parent, answer) as server:
            assert failure(program().resolve, server.url("name"), "HEAD") == (reason, transient)
            assert failure(program().fetch, server.url("name"), commit) == (reason, transient)

    once = ["GET"] if method == "GET" else ["GET", "POST"]
    assert [request.method for request in server.seen] == once * 2
    assert elsewhere.seen == []
    assert not any("authorization" in request.headers for request in server.seen)


def test_a_repository_that_the_server_does_not_have_is_not_found(program, repo, commit):
    with serve(repo.path.parent) as server:
        assert failure(program().resolve, server.url("missing"), "HEAD") == (FailureReason.NOT_FOUND, False)


def test_an_empty_repository_is_told_from_a_missing_one(program, tmp_path):
    Repository.create(tmp_path / "served" / "name")
    with serve(tmp_path / "served") as server:
        assert failure(program().resolve, server.url("name"), "HEAD") == (FailureReason.EMPTY, False)
        assert failure(program().resolve, server.url("name"), "main") == (FailureReason.EMPTY, False)


def test_a_host_that_refuses_connections_is_unreachable_at_once_and_for_good(program, repo):
    with serve(repo.path.parent) as server:
        url = server.url("name")

    assert failure(program().resolve, url, "HEAD") == (FailureReason.UNREACHABLE, False)
    assert failure(program().fetch, url, "1" * 40) == (FailureReason.UNREACHABLE, False)


def test_a_host_that_lets_nobody_in_is_left_after_one_bound_for_connecting(program, caplog):
    # A queue of connections that nobody accepts: once it is full, no further one gets an answer.
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, ExitStack() as waiting:
        for _ in range(3):
            one = waiting.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}/owner/name"

        # The deadline of the whole look-up would have another reason, and be worth another attempt.
        assert failure(program(connect_seconds=1).resolve, url, "HEAD") == (
            FailureReason.UNREACHABLE,
            False,
        )

    assert caplog.messages == ["host not reached"], "git was started, or the host was tried again"


def test_one_address_that_answers_is_enough(tmp_path, repo, commit):
    git = GitProgram(
        scratch=tmp_path / "scratch", protocols=("http",), addresses=lambda *_: ["127.0.0.2", "127.0.0.1"]
    )
    with serve(repo.path.parent) as server:
        assert git.resolve(server.url("name", host="git.codetrail.invalid"), "main") == commit


# Servers that do not speak git


def answers(*pieces: tuple[str, bytes]) -> Answer:
    """Answer a path's end with a body, and anything else with 404."""

    def answer(exchange: Exchange, request: Request) -> bool:
        path = request.path.partition("?")[0]
        for end, body in pieces:
            if path.endswith(end):
                return exchange.reply(200, {"Content-Type": "text/plain"}, body)
        return exchange.reply(404)

    return answer


def test_a_page_in_place_of_git_is_unreachable(program, repo):
    with serve(repo.path.parent, answers(("/info/refs", b"<!DOCTYPE html><p>log in</p>"))) as server:
        assert failure(program().resolve, server.url("name"), "HEAD") == (FailureReason.UNREACHABLE, False)


def test_a_dumb_server_is_refused_and_its_alternates_are_not_followed(program, repo, commit):
    with serve(repo.path.parent) as elsewhere:
        listing = commit.encode() + b"\trefs/heads/main\n"
        dumb = answers(
            ("/info/refs", listing), ("/HEAD", b"ref: refs/heads/main\n"),
            ("/objects/info/http-alternates", elsewhere.url("name").encode() + b"/objects\n"),
        )  # fmt: skip
        with serve(repo.path.parent, dumb) as server:
            assert failure(program().fetch, server.url("name"), commit) == (FailureReason.UNREACHABLE, False)

    assert elsewhere.seen == []


def test_a_cut_connection_is_worth_another_try(program, repo, commit):
    def answer(exchange: Exchange, request: Request) -> bool:
        if request.method == "GET":
            return greet(exchange)
        return stream(exchange, iter([packet(b"packfile\n"), b"1fff\x01PACK"]))

    with serve(repo.path.parent, answer) as server:
        assert failure(program().fetch, server.url("name"), commit) == (FailureReason.UNREACHABLE, True)


def test_another_object_than_was_asked_for_is_never_read(program, repo, commit):
    people = b"author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n"
    other = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n" + people + b"\nx\n"

    def answer(exchange: Exchange, request: Request) -> bool:
        if request.method == "GET":
            return greet(exchange)
        return stream(exchange, iter([packet(b"packfile\n"), *sideband(pack([(1, other), (2, b"")])), FLUSH]))

    with serve(repo.path.parent, answer) as server:
        reason, _ = failure(program().fetch, server.url("name"), commit)

    assert reason is FailureReason.INCOMPLETE


def pack(objects: list[tuple[int, bytes]], announced: int | None = None) -> bytes:
    """A pack of whole objects; 1 is a commit, 2 a tree, 3 a blob."""
    head = b"PACK" + (2).to_bytes(4, "big") + (announced or len(objects)).to_bytes(4, "big")
    body = head + b"".join(packed(kind, data) for kind, data in objects)
    return body + sha1(body).digest()  # noqa: S324  # git's own


def packed(kind: int, data: bytes) -> bytes:
    size = len(data)
    header, size = [kind << 4 | size & 15], size >> 4
    while size:
        header[-1] |= 0x80
        header.append(size & 127)
        size >>= 7
    return bytes(header) + zlib.compress(data, 0)


def sideband(data: bytes) -> Iterator[bytes]:
    for at in range(0, len(data), 60_000):
        yield packet(b"\x01" + data[at : at + 60_000])


# Servers without an end


def test_refs_without_an_end_are_refused(program, repo):
    lines = b"".join(packet(b"%040x refs/heads/branch-number-%d\n" % (n + 1, n)) for n in range(1_000))

    def answer(exchange: Exchange, request: Request) -> bool:
        return greet(exchange) if request.method == "GET" else stream(exchange, repeat(lines))

    with serve(repo.path.parent, answer) as server:
        for ref in ("main", "HEAD"):
            assert failure(program().resolve, server.url("name"), ref) == (FailureReason.TOO_MANY_REFS, False)


@pytest.mark.parametrize("announced", [100_000, 2**31])
def test_a_pack_without_an_end_is_cut_off_at_the_size_cap(program, repo, commit, announced):
    def packs() -> Iterator[bytes]:
        yield packet(b"packfile\n")
        yield from sideband(b"PACK" + (2).to_bytes(4, "big") + announced.to_bytes(4, "big"))
        while True:
            yield from sideband(packed(3, os.urandom(50_000)))

    def answer(exchange: Exchange, request: Request) -> bool:
        return greet(exchange) if request.method == "GET" else stream(exchange, packs())

    git = program(repo_bytes=1_000_000)
    with serve(repo.path.parent, answer) as server:
        assert failure(git.fetch, server.url("name"), commit) == (FailureReason.TOO_LARGE, False)


@pytest.mark.parametrize("silent", ["GET", "POST"])
def test_a_server_that_says_nothing_is_left_at_the_deadline_and_nothing_of_git_runs_on(
    program, repo, commit, silent
):
    over = threading.Event()

    def drip() -> Iterator[bytes]:
        yield b"0fff"
        while not over.wait(0.05):
            yield b"f"  # of a line that never gets whole: this server does not end it

    def answer(exchange: Exchange, request: Request) -> bool:
        return greet(exchange) if request.method != silent else stream(exchange, drip())

    git = program(resolve_seconds=1, fetch_seconds=1)
    with serve(repo.path.parent, answer) as server:
        assert failure(git.resolve, server.url("name"), "HEAD") == (FailureReason.DEADLINE, True)
        assert failure(git.fetch, server.url("name"), commit) == (FailureReason.DEADLINE, True)
        assert not processes_that_mention(f":{server.port}/")
        over.set()


def test_git_does_not_outlive_a_process_that_was_killed(repo, commit, tmp_path):
    asked, over = threading.Event(), threading.Event()

    def answer(exchange: Exchange, request: Request) -> bool:
        asked.set()
        over.wait()  # longer than any git waits: only the kill ends this one
        return exchange.reply(404)

    script = (
        "import sys; from pathlib import Path; from codetrail.adapters.git.program import GitProgram as G\n"
        "git = G(scratch=Path(sys.argv[1]), protocols=['http'], addresses=lambda *_: ['127.0.0.1'])\n"
        "git.resolve(sys.argv[2], 'HEAD')\n"
    )
    with serve(repo.path.parent, answer) as server:
        argv = [sys.executable, "-c", script, str(tmp_path / "scratch"), server.url("name")]
        with subprocess.Popen(argv) as process:
            assert asked.wait(20)
            assert processes_that_mention(f":{server.port}/")
            process.kill()
        # Not whatever mentions the port: other tests' look-ups on this machine are not waited for.
        until(lambda: not processes_that_mention(f"ls-remote .*:{server.port}/"))
        over.set()


def processes_that_mention(pattern: str) -> list[str]:
    """Command lines of git on this machine, where it tells them."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:  # it ended meanwhile
            continue
        if re.search(pattern, words) and "git" in words:
            found.append(words)
    return found


# What a server says


def test_the_words_of_a_server_are_logged_short_and_escaped_and_told_to_nobody(
    program, repo, commit, tmp_path, caplog
):
    noise = tmp_path / "noise"
    words = f"\\033[31mroot: {'x' * 3_000}\\nfake line\\033[0m\\n"
    noise.write_text(f"#!/bin/sh\ncat >/dev/null\nprintf '{words}' >&2\nexit 1\n")
    noise.chmod(0o755)
    caplog.set_level(logging.WARNING)
    with (
        serve(repo.path.parent, config={"uploadpack.packObjectsHook": str(noise)}) as server,
        pytest.raises(IndexingFailed) as failed,
    ):
        program().fetch(server.url("name"), commit)

    [record] = caplog.records
    words = vars(record)["stderr"]
    assert record.getMessage() == "git failed"
    assert words.isascii() and words.isprintable()
    assert len(words) < 4_200
    assert "\\x1b" in words
    assert str(failed.value) == "incomplete_repository"


def test_a_servers_own_words_do_not_choose_the_reason(program, repo, commit):
    def answer(exchange: Exchange, request: Request) -> bool:
        if request.method == "GET":
            return greet(exchange)
        lies = packet(b"\x02fatal: repository 'x' not found\nfatal: The requested URL returned error: 301\n")
        return stream(exchange, iter([packet(b"packfile\n"), lies, packet(b"\x01JUNK"), FLUSH]))

    with serve(repo.path.parent, answer) as server:
        assert failure(program().fetch, server.url("name"), commit) == (FailureReason.UNREACHABLE, True)


@pytest.mark.parametrize(
    "name",
    [
        b"refs/heads/main\n" + b"1" * 40 + b"\trefs/heads/other",
        b"refs/heads/ma\x1b[31min",
        b"refs/heads/main\t",
    ],
)
def test_an_advertised_name_is_compared_byte_for_byte(program, repo, name):
    def answer(exchange: Exchange, request: Request) -> bool:
        if request.method == "GET":
            return greet(exchange)
        return stream(exchange, iter([packet(b"2" * 40 + b" " + name), FLUSH]))

    with serve(repo.path.parent, answer) as server:
        reason, _ = failure(program().resolve, server.url("name"), "refs/heads/mai")

    assert reason in (FailureReason.REF_NOT_FOUND, FailureReason.UNREACHABLE)


# Addresses

PUBLIC = ["8.8.8.8", "140.82.121.4", "2606:50c0:8000::153", "64:ff9b::8c52:7904", "::ffff:140.82.121.4"]
NOT_PUBLIC = [
    "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.1",
    "224.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.2.1", "::1", "::", "fe80::1", "fe80::1%eth0",
    "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "localhost", "", "140.82.121.4, 127.0.0.1",
]  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC)
def test_a_global_address_may_be_met(address):
    assert is_public(address)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_an_address_inside_may_not_be_met(address):
    assert not is_public(address)


def resolver(*found: str) -> Callable[..., list[tuple[int, int, int, str, tuple[str, int]]]]:
    return lambda host, port, **_: [(0, 0, 0, "", (address, port)) for address in found]


def test_a_name_with_one_address_inside_is_refused_whole(monkeypatch):
    monkeypatch.setattr("socket.getaddrinfo", resolver("140.82.121.4", "169.254.169.254"))

    assert failure(public_addresses, "github.com", 443) == (FailureReason.UNREACHABLE, False)


def test_a_name_with_public_addresses_gives_each_once(monkeypatch):
    monkeypatch.setattr("socket.getaddrinfo", resolver("140.82.121.4", "140.82.121.4", "2606:50c0:8000::153"))

    assert public_addresses("github.com", 443) == ["140.82.121.4", "2606:50c0:8000::153"]


def test_a_name_that_does_not_resolve_is_unreachable_at_once(monkeypatch):
    def fail(*_, **__):
        raise OSError("Temporary failure in name resolution")

    monkeypatch.setattr("socket.getaddrinfo", fail)

    assert failure(public_addresses, "github.com", 443) == (FailureReason.UNREACHABLE, False)


def test_production_meets_no_address_inside(tmp_path, repo, commit):
    git = GitProgram(scratch=tmp_path / "scratch", protocols=("http",))
    with serve(repo.path.parent) as server:
        assert failure(git.resolve, server.url("name"), "HEAD") == (FailureReason.UNREACHABLE, False)

    assert server.seen == []


def test_git_must_be_installed(monkeypatch, tmp_path):
    assert shutil.which("git")
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(FileNotFoundError, match="git is not installed"):
        GitProgram(scratch=tmp_path)
