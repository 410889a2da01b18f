"""The shared app: envelopes, refusals, request ids, unknown addresses, logs."""

import base64
import io
import json
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import BaseModel, ConfigDict, StrictInt, StrictStr

from codetrail.api.gateway import MAX_BODY_BYTES, create_app, entry_point, log
from codetrail.api.parameters import RepoId
from codetrail.errors import (
    ArtifactRejected,
    Gone,
    InvalidRequest,
    NotAdmitted,
    NotFound,
    TooLarge,
    Unavailable,
    WrongModel,
)
from tests.support.events import Answer, Context, Event, event, read

QUESTION = "how does the sampler decide to drop an event"


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    q: StrictStr
    limit: StrictInt = 10


class Said(BaseModel):
    q: str
    score: float = 0.0


app = create_app()
trouble: list[Exception] = []


@app.post("/api/repos/<repo>/search")
def post_search(repo: RepoId, request: Asked) -> Said:
    """Search."""
    if trouble:
        raise trouble.pop()
    return Said(q=request.q)


@app.get("/api/repos")
def get_repos(limit: Annotated[int, Query()] = 20) -> Said:
    """List."""
    if trouble:
        raise trouble.pop()
    return Said(q=str(limit))


@app.post("/api/repos")
def post_repos(request: Asked) -> Said:
    """Submit."""
    return Said(q=request.q, score=float("nan"))


handler = entry_point(app)


def call(event: Event) -> Answer:
    return read(handler(event, Context()))  # type: ignore[arg-type]  # the context is a stand-in


def search(**changes: Any) -> Answer:
    return call(event("search", **{"body": {"q": QUESTION}, **changes}))


def test_a_good_request_is_answered_in_json():
    answer = search()

    assert (answer.status, answer.json) == (200, {"q": QUESTION, "score": 0.0})
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("error", "status", "body"),
    [
        (InvalidRequest("say less"), 400, {"error": "say less", "rule": "form"}),
        (NotAdmitted("not this host", "host"), 400, {"error": "not this host", "rule": "host"}),
        (NotFound("no such repository"), 404, {"error": "no such repository"}),
        (WrongModel("another embedder"), 409, {"error": "another embedder"}),
        (Gone("it was here"), 410, {"error": "it was here"}),
        (TooLarge("too much"), 413, {"error": "too much"}),
        (Unavailable("try again"), 503, {"error": "try again"}),
    ],
)
def test_each_error_of_ours_has_its_status_and_its_words(error, status, body):
    trouble.append(error)

    answer = search()

    assert (answer.status, answer.json) == (status, body)


def test_unavailable_says_when_to_try_again():
    trouble.append(Unavailable("the database is not answering"))

    assert int(search().headers["retry-after"]) > 0


@pytest.mark.parametrize("error", [KeyError("secret"), ArtifactRejected("secret")])
def test_an_unexpected_error_is_told_by_its_request_id_alone(error):
    trouble.append(error)

    answer = search(headers={"X-Request-Id": "mine-1"})

    assert (answer.status, answer.json) == (500, {"error": "internal error", "request_id": "mine-1"})


def test_a_response_that_breaks_its_own_model_is_our_mistake_and_not_the_callers():
    assert call(event("repos.submit", body={"q": "x"})).status == 500


# ---------------------------------------------------------------------------- request ids


@pytest.mark.parametrize("given", ["a", "trace-42/7", "x" * 128, "with a space"])
def test_a_printable_request_id_comes_back(given):
    assert search(headers={"x-request-id": given}).headers["x-request-id"] == given


@pytest.mark.parametrize("given", [None, "", "x" * 129, "a\nb", "a\x1b[31m", "é", "\x00"])
def test_any_other_request_id_is_replaced_by_the_gateways_own(given):
    sent = event("search", body={"q": QUESTION}, headers={"X-Request-Id": given})

    assert call(sent).headers["x-request-id"] == sent["requestContext"]["requestId"]


def test_a_refusal_of_the_envelope_carries_the_request_id_too():
    assert (
        search(headers={"X-Request-Id": "mine-2", "Content-Type": None}).headers["x-request-id"] == "mine-2"
    )


# ---------------------------------------------------------------------------- envelopes


@pytest.mark.parametrize(
    "given", [None, "", "text/plain", "application/x-www-form-urlencoded", "application/jsonp"]
)
def test_a_post_without_the_json_content_type_is_told_to_send_it(given):
    answer = search(headers={"Content-Type": given})

    assert answer.status == 400
    assert answer.json == {"error": "send the header content-type: application/json", "rule": "form"}


@pytest.mark.parametrize(
    "given", ["application/json", "Application/JSON ; charset=UTF-8", 'application/json;charset="utf8"']
)
def test_the_json_content_type_is_known_in_any_spelling(given):
    assert search(headers={"Content-Type": given}).status == 200


def test_another_charset_is_refused():
    assert search(headers={"Content-Type": "application/json; charset=latin-1"}).status == 400


def test_a_body_of_the_ceiling_is_read_and_one_byte_more_is_not():
    frame = len(json.dumps({"q": ""}))

    assert search(body={"q": "x" * (MAX_BODY_BYTES - frame)}).status == 200
    assert search(body={"q": "x" * (MAX_BODY_BYTES - frame + 1)}).status == 413


def test_the_ceiling_counts_bytes_and_not_characters():
    assert search(text='{"q": "' + "é" * (MAX_BODY_BYTES // 2) + '"}').status == 413


def test_a_declared_length_over_the_ceiling_is_enough_to_refuse():
    assert search(headers={"Content-Length": str(MAX_BODY_BYTES + 1)}).status == 413
    assert search(headers={"Content-Length": "9" * 5_000}).status == 413


def test_a_base64_body_is_decoded_and_counted_decoded():
    def encoded(text: bytes) -> Event:
        sent = event("search")
        return {**sent, "body": base64.b64encode(text).decode(), "isBase64Encoded": True}

    assert call(encoded(b'{"q": "caf\xc3\xa9"}')).json["q"] == "café"
    assert call(encoded(b'{"q": "caf\xe9"}')).status == 400
    assert call(encoded(b"x" * (MAX_BODY_BYTES + 1))).status == 413
    assert call({**event("search"), "body": "not base64!", "isBase64Encoded": True}).status == 400


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("   \n", "empty"),
        ("{", "not valid JSON"),
        ("[]", "must be a JSON object"),
        ('"x"', "must be a JSON object"),
        ("null", "must be a JSON object"),
        ('{"q": "a", "q": "b"}', "twice"),
        ('{"q": "a", "limit": NaN}', "NaN"),
        ('{"q": "a", "limit": -Infinity}', "NaN"),
        ('{"q": "a\\u0000b"}', "NUL"),
        ('{"q": "a", "\\u0000": 1}', "NUL"),
        ('{"q": "\\ud800"}', "surrogate"),
        ('{"q": ["\\udfff"]}', "surrogate"),
        ("[" * 60_000, "deep"),
        ('{"q": "a", "limit": ' + "9" * 5_000 + "}", "not valid JSON"),
        ("{}", "q is missing"),
        ('{"q": 1}', "q must be a string"),
        ('{"q": null}', "q must be a string"),
        ('{"q": "a", "limit": 1.5}', "limit must be a whole number"),
        ('{"q": "a", "limit": true}', "limit must be a whole number"),
        ('{"q": "a", "how does it work": 1}', "a field that is not taken here"),
    ],
)
def test_a_body_that_is_not_what_the_route_takes_is_refused_in_words(text, words):
    answer = search(text=text)

    assert answer.status == 400
    assert answer.json["rule"] == "form"
    assert words in answer.json["error"]


def test_a_refused_body_is_never_repeated():
    for body in (
        {"q": [QUESTION]},
        {"q": "x", "limit": QUESTION},
        {QUESTION: 1, "q": "x"},
        {"q": "x", "limit": {QUESTION: 1}},
    ):
        assert QUESTION not in search(body=body).text


def test_unknown_query_parameters_are_refused_without_being_repeated():
    answer = call(event("repos.list", query={QUESTION: "1"}))

    assert (answer.status, answer.json["error"]) == (400, "query parameters may only be limit")
    assert search(query={"q": QUESTION}).json["error"] == "query parameters are not taken here"


def test_a_repeated_query_parameter_is_refused():
    assert call(event("repos.list", query={"limit": ["1", "2"]})).status == 400


def test_an_id_that_is_none_names_nothing():
    for repo in (
        "x",
        "A" * 16,
        "0" * 15,
        "0" * 17,
        "0" * 15 + "\x00",
        "%2e%2e",
        "0123456789abcdef\n",
        "٠" * 16,
    ):
        assert search(repo=repo).status == 404, repo


# ---------------------------------------------------------------------------- addresses


def test_an_unknown_address_is_404_in_our_words():
    answer = call(event("health.no_route"))

    assert (answer.status, answer.json) == (404, {"error": "no such route"})


@pytest.mark.parametrize(("name", "allow"), [("search", "POST"), ("repos.list", "GET, POST")])
@pytest.mark.parametrize("method", ["DELETE", "PUT", "PATCH", "OPTIONS", "HEAD"])
def test_a_known_address_by_another_method_says_what_it_takes(name, allow, method):
    answer = call(event(name, method=method, query={}))

    assert answer.status == 405
    assert answer.headers["allow"] == allow


def test_no_answer_lets_another_origin_read_it():
    answers = [search(headers={"Origin": "https://evil.example"}), call(event("search", method="OPTIONS"))]

    assert not [name for answer in answers for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("prefix", ["/v1", "/codetrail", "/team/codetrail"])
def test_a_stage_or_a_mapping_before_the_path_makes_no_difference(prefix):
    sent = event("search", body={"q": QUESTION})
    sent["path"] = prefix + sent["path"]

    assert call(sent).status == 200


# ---------------------------------------------------------------------------- logs


@pytest.fixture
def logged(monkeypatch) -> Callable[[], list[dict[str, Any]]]:
    """What has been logged since, line by line."""
    written = io.StringIO()
    monkeypatch.setattr(log.registered_handler, "stream", written)
    return lambda: [json.loads(line) for line in written.getvalue().split("\n") if line]


def test_one_line_tells_the_outcome_and_no_line_the_question(logged):
    search(headers={"X-Request-Id": "mine-3"})

    lines = logged()
    assert [(line["message"], line["status"], line["request_id"]) for line in lines] == [
        ("answered", 200, "mine-3")
    ]
    assert lines[0]["route"] == "/api/repos/{repo}/search"
    assert lines[0]["service"] == "codetrail"
    assert QUESTION not in str(lines)


@pytest.mark.parametrize(
    "error", [KeyError(QUESTION), ValueError(f"bad: {QUESTION}"), Unavailable("no database")]
)
def test_trouble_is_logged_with_its_place_and_without_the_question(error, logged):
    try:
        raise LookupError(QUESTION)
    except LookupError as cause:
        error.__cause__ = cause
    trouble.append(error)

    search()

    lines = logged()
    assert len(lines) == 1
    assert QUESTION not in str(lines)
    assert type(error).__name__ in str(lines)
    assert "LookupError" in str(lines)


def test_a_refused_question_is_in_no_log_line(logged):
    search(body={"q": [QUESTION], QUESTION: QUESTION})
    search(query={"q": QUESTION})
    search(text=f'{{"q": "{QUESTION}"')

    assert QUESTION not in str(logged())
