"""HTTP in, an API Gateway event to the function, its answer out."""

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from codetrail_local.gateway import PATIENCE_SECONDS, Gateway, Invoke
from codetrail_local.routes import read_template
from codetrail_local.runtime import MAX_PAYLOAD_BYTES
from codetrail_local.stack import ROOT
from tests.support.local_stack import Toy

EVENTS = Path(__file__).parents[2] / "events"


def shape(value: object) -> object:
    """The keys of an event, all the way down, where they are the same for every request."""
    if isinstance(value, dict):
        return {key: shape(below) for key, below in value.items()}
    return None


def event(toy: Toy, method: str, path: str, **request: Any) -> dict[str, Any]:
    reply = toy.http.request(method, path, **request)
    assert reply.status_code == 200, reply.text
    seen: dict[str, Any] = reply.json()["event"]
    return seen


@contextmanager
def front(invoke: Invoke, *, patience: float = PATIENCE_SECONDS) -> Iterator[Gateway]:
    """codetrail's own front, over *invoke* in place of its functions."""
    gateway = Gateway(read_template(ROOT / "template.yaml"), invoke, port=0, patience=patience)
    gateway.start()
    yield gateway
    gateway.stop()


def no_function(function: str, event: object) -> object:
    raise AssertionError(f"{function} was invoked")


def raw(api: str, request: bytes) -> bytes:
    host, port = api.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(request)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return answer


def test_an_event_has_the_keys_that_api_gateway_sends(toy: Toy) -> None:
    recorded = json.loads((EVENTS / "search.json").read_text())

    ours = event(toy, "POST", "/echo", json={"q": "how"})

    assert set(ours) == set(recorded)
    assert shape(ours["requestContext"]) == shape(recorded["requestContext"])
    for name in ("X-Amzn-Trace-Id", "X-Forwarded-For", "X-Forwarded-Port", "X-Forwarded-Proto"):
        assert name in ours["headers"]
        assert ours["multiValueHeaders"][name] == [ours["headers"][name]]
    assert ours["body"] == '{"q":"how"}'
    assert ours["isBase64Encoded"] is False


def test_absent_parameters_are_null_and_not_empty(toy: Toy) -> None:
    seen = event(toy, "GET", "/echo")

    absent = ("pathParameters", "queryStringParameters", "multiValueQueryStringParameters", "body")
    assert [seen[name] for name in absent] == [None] * len(absent)


def test_a_repeated_query_parameter_keeps_all_values_decoded(toy: Toy) -> None:
    seen = event(toy, "GET", "/echo?a=1&a=2&b=%20x%26&c")

    assert seen["multiValueQueryStringParameters"] == {"a": ["1", "2"], "b": [" x&"], "c": [""]}
    assert seen["queryStringParameters"] == {"a": "2", "b": " x&", "c": ""}


def test_a_repeated_header_keeps_all_values_whatever_the_case_of_its_name(toy: Toy) -> None:
    seen = event(toy, "GET", "/echo", headers=[("X-Tag", "1"), ("x-tag", "2")])

    assert seen["multiValueHeaders"]["X-Tag"] == ["1", "2"]
    assert seen["headers"]["X-Tag"] == "2"


def test_a_caller_cannot_say_where_it_comes_from(toy: Toy) -> None:
    seen = event(toy, "GET", "/echo", headers={"X-Forwarded-For": "203.0.113.9"})

    assert seen["multiValueHeaders"]["X-Forwarded-For"] == ["127.0.0.1"]
    assert seen["requestContext"]["identity"]["sourceIp"] == "127.0.0.1"


@pytest.mark.parametrize("prefix", ["", "/local"])
def test_the_same_path_is_served_at_the_root_and_under_the_stage(toy: Toy, prefix: str) -> None:
    seen = event(toy, "GET", f"{prefix}/echo/1/parts/2")

    assert seen["path"] == "/echo/1/parts/2"
    assert seen["resource"] == "/echo/{id}/parts/{part}"
    assert seen["requestContext"]["path"] == "/local/echo/1/parts/2"
    assert seen["requestContext"]["stage"] == "local"


def test_an_encoded_slash_stays_inside_its_path_parameter(toy: Toy) -> None:
    seen = event(toy, "GET", "/echo/a%2Fb/parts/%E2%82%AC")

    assert seen["pathParameters"] == {"id": "a%2Fb", "part": "%E2%82%AC"}


def test_a_greedy_parameter_takes_the_rest_of_the_path(toy: Toy) -> None:
    seen = event(toy, "GET", "/rest/a/b/c")

    assert seen["pathParameters"] == {"proxy": "a/b/c"}
    assert seen["resource"] == "/rest/{proxy+}"


def test_a_path_that_is_no_route_is_a_404(toy: Toy) -> None:
    assert toy.http.get("/nothing").status_code == 404


def test_a_method_that_a_path_does_not_have_is_a_405_that_says_which_it_has(toy: Toy) -> None:
    reply = toy.http.delete("/echo")

    assert reply.status_code == 405
    assert reply.headers["Allow"] == "GET, POST"


@pytest.mark.parametrize("method", ["TRACE", "FOO", "get", "any", "CONNECT"])
def test_a_method_that_nobody_has_is_a_405_in_our_own_shape(method: str) -> None:
    request = f"{method} /api/repos HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

    with front(no_function) as gateway:
        head, _, body = raw(gateway.url, request.encode()).partition(b"\r\n\r\n")

    assert b" 405 " in head.split(b"\r\n")[0]
    assert b"\r\nAllow: GET, POST\r\n" in head
    assert json.loads(body)["error"] == "this address takes GET and POST only"


def test_a_method_that_nobody_has_is_no_any_either(toy: Toy) -> None:
    reply = toy.http.request("FOO", "/echo/1/parts/2")

    assert reply.status_code == 405
    assert reply.headers["Allow"] == "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"


@pytest.mark.parametrize(
    "line",
    [
        "GET /api/repos HTTP/2.0",
        "GET /api/repos HTTP/0.9",
        "GET /api/repos",
        "GET /api/repos HTTPS/1.1",
        "GET /api/re pos HTTP/1.1",
        "G(T /api/repos HTTP/1.1",
        "HELLO",
    ],
)
def test_a_line_that_is_no_request_is_a_400_in_our_own_shape(line: str) -> None:
    with front(no_function) as gateway:
        head, _, body = raw(gateway.url, f"{line}\r\nHost: localhost\r\n\r\n".encode()).partition(b"\r\n\r\n")

    assert head.split(b"\r\n")[0] == b"HTTP/1.1 400 Bad Request"
    assert json.loads(body).keys() == {"error", "request_id"}
    assert json.loads(body)["error"] != "internal error"


def test_a_function_answers_with_status_headers_and_body_of_its_own(toy: Toy) -> None:
    answer = {
        "statusCode": "418",
        "headers": {"X-One": "1", "X-Number": 2, "X-Flag": True, "Content-Length": "999"},
        "multiValueHeaders": {"Set-Cookie": ["a=1", "b=2"]},
        "body": "short and stout",
    }

    reply = toy.http.post("/echo?reply", json=answer)

    assert (reply.status_code, reply.text) == (418, "short and stout")
    assert reply.headers.get_list("set-cookie") == ["a=1", "b=2"]
    assert (reply.headers["X-One"], reply.headers["X-Number"], reply.headers["X-Flag"]) == ("1", "2", "true")
    assert reply.headers["Content-Length"] == "15"


@pytest.mark.parametrize(
    "answer",
    [
        "text",
        None,
        {"body": "no status"},
        {"statusCode": "many"},
        {"statusCode": 99},
        {"statusCode": 200, "body": {"not": "text"}},
        {"statusCode": 200, "headers": ["not", "an", "object"]},
        {"statusCode": 200, "multiValueHeaders": {"X": "not a list"}},
        {"statusCode": 200, "headers": {"X": "a\r\nSet-Cookie: stolen=1"}},
    ],
)
def test_an_answer_that_is_no_proxy_response_is_a_502(toy: Toy, answer: object) -> None:
    reply = toy.http.post("/echo?reply", json=answer)

    assert (reply.status_code, reply.json()) == (502, {"message": "Internal server error"})


def test_a_function_that_raises_crashes_or_overruns_is_a_502_and_answers_the_next_request(toy: Toy) -> None:
    for trouble in ("raise", "crash", "sleep=60"):
        assert toy.http.get(f"/echo?{trouble}").status_code == 502
        assert toy.http.get("/echo").status_code == 200


@pytest.mark.parametrize("letter", ["x", "ü"])
def test_an_answer_of_six_megabytes_is_handed_on_and_one_byte_more_is_a_502(toy: Toy, letter: str) -> None:
    frame = len(json.dumps({"statusCode": 200, "body": ""}))
    room, size = MAX_PAYLOAD_BYTES - frame, len(letter.encode())

    whole = toy.http.get("/echo", params={"size": room // size, "of": letter})
    over = toy.http.get("/echo", params={"size": room // size + 1, "of": letter})

    assert (whole.status_code, len(whole.content)) == (200, room // size * size)
    assert (over.status_code, over.json()) == (502, {"message": "Internal server error"})
    assert "ResponseSizeTooLarge" in (toy.stack.home.logs / "echo.log").read_text()


def test_an_answer_that_takes_too_long_is_said_to_do_so_in_our_own_shape() -> None:
    """The wait of 29 seconds is API Gateway's own; here it is made short, and nothing else is."""
    done = threading.Event()

    with front(lambda function, event: done.wait(), patience=0.1) as gateway:
        late = httpx.get(f"{gateway.url}/api/repos", trust_env=False, timeout=30)
        done.set()

    assert (late.status_code, late.headers["Retry-After"]) == (503, "5")
    assert late.json() == {"error": "the answer took too long; try again"}


def test_a_body_over_six_megabytes_is_refused_unread(toy: Toy) -> None:
    reply = toy.http.post("/echo", content=b"x" * (6 * 1024 * 1024 + 1))

    assert reply.status_code == 413


def test_a_body_over_six_megabytes_in_chunks_is_refused_as_well(toy: Toy) -> None:
    connection = http.client.HTTPConnection(toy.stack.api.removeprefix("http://"), timeout=10)
    chunks = (b"x" * 65536 for _ in range(100))

    try:
        connection.request(
            "POST", "/echo", body=chunks, encode_chunked=True, headers={"Transfer-Encoding": "chunked"}
        )
        status = connection.getresponse().status
    except (BrokenPipeError, ConnectionResetError):
        status = 413  # the refusal came before all was sent
    connection.close()

    assert status == 413


def test_a_body_in_chunks_arrives_whole(toy: Toy) -> None:
    seen = event(toy, "POST", "/echo", content=iter([b"one ", b"two ", "drei ü".encode()]))

    assert seen["body"] == "one two drei ü"


@pytest.mark.parametrize(
    "head",
    [
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n",
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz",
        "BLAH\r\n",
    ],
)
def test_a_request_that_contradicts_itself_is_refused_and_its_connection_closed(toy: Toy, head: str) -> None:
    answer = raw(toy.stack.api, f"{head}\r\nabc\r\n\r\n".encode())

    assert b" 400 " in answer.split(b"\r\n")[0]
    assert json.loads(answer.rpartition(b"\r\n\r\n")[2])["message"]


def test_a_name_that_is_not_this_machine_is_not_served(toy: Toy) -> None:
    reply = toy.http.get("/echo", headers={"Host": "rebound.example"})

    assert reply.status_code == 421


def test_a_connection_is_kept_and_a_head_request_has_no_body(toy: Toy) -> None:
    connection = http.client.HTTPConnection(toy.stack.api.removeprefix("http://"), timeout=10)
    statuses = []
    ports = set()
    for method, path in (
        ("GET", "/echo"),
        ("HEAD", "/echo/1/parts/2"),
        ("HEAD", "/nothing"),
        ("GET", "/echo"),
    ):
        connection.request(method, path)
        ports.add(connection.sock.getsockname()[1])
        reply = connection.getresponse()
        body = reply.read()
        statuses.append(reply.status)
        assert (body == b"") == (method == "HEAD")
        assert int(reply.getheader("Content-Length", "0")) > 0
    connection.close()

    assert statuses == [200, 200, 404, 200]
    assert len(ports) == 1


def test_requests_run_side_by_side_in_processes_of_their_own(toy: Toy) -> None:
    with ThreadPoolExecutor(32) as many:
        pids = list(many.map(lambda _: toy.http.get("/echo?sleep=0.05").json()["pid"], range(32)))

    assert len(set(pids)) >= 2


def test_a_function_sees_an_environment_built_for_it(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET_OF_THE_USER", "hush")
    toy.http.get("/echo?crash")

    reply = toy.http.get("/echo").json()
    variables = reply["variables"]

    assert "A_SECRET_OF_THE_USER" not in variables
    assert "HOME" not in variables
    assert "DATABASE_HOST" not in variables
    assert variables["DATABASE_URL"].startswith("postgresql://codetrail:")
    assert variables["JOBS_QUEUE_URL"] == toy.queues["JobsQueue"].url
    assert variables["LOCAL_REMOTES"] == "true"
    assert variables["AWS_LAMBDA_FUNCTION_NAME"] == "echo"
    assert reply["context"]["function_name"] == "echo"
    assert reply["context"]["memory"] == "256"
    assert 0 < reply["context"]["remaining"] <= 3000


def test_what_a_handler_prints_goes_to_its_log(toy: Toy) -> None:
    toy.http.get("/echo")

    log = toy.stack.home.logs / "echo.log"
    assert "a handler that prints" in log.read_text()
