import io
import json
import random
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from codetrail.adapters.embedder import embedder_from, onnx
from codetrail.adapters.embedder.bedrock import BedrockEmbedder
from codetrail.adapters.embedder.fake import FakeEmbedder
from codetrail.adapters.embedder.ollama import OllamaEmbedder
from codetrail.adapters.embedder.onnx import OnnxEmbedder
from codetrail.errors import Unavailable

Body = dict[str, Any]


@pytest.fixture(scope="module")
def minilm() -> OnnxEmbedder:
    return OnnxEmbedder()


class Bedrock:
    """Answers as Bedrock does, or fails as it does."""

    def __init__(self, answer: Callable[[Body], object]) -> None:
        self._answer = answer
        self.bodies: list[Body] = []

    def invoke_model(self, **request: str) -> Body:
        body = json.loads(request["body"])
        self.bodies.append(body)
        return {"body": io.BytesIO(json.dumps({"embedding": self._answer(body)}).encode())}


def ollama(answer: Callable[[Body], httpx.Response], dimension: int = 2) -> OllamaEmbedder:
    def respond(request: httpx.Request) -> httpx.Response:
        assert (request.method, request.url.path) == ("POST", "/api/embed")
        return answer(json.loads(request.content))

    return OllamaEmbedder("m", dimension, "http://localhost:11434/", transport=httpx.MockTransport(respond))


def vectors(*rows: Sequence[float]) -> Callable[[Body], httpx.Response]:
    return lambda _: httpx.Response(200, content=json.dumps({"embeddings": rows}))


def test_paraphrases_are_near_and_strangers_far(minilm):
    question, same, other = minilm.embed(
        [
            "how is a version 7 UUID generated",
            "making a time-ordered UUID of version seven",
            "parse a JSON log line",
        ]
    )

    assert question @ same > 0.6
    assert question @ other < 0.3


def test_vectors_are_the_pinned_models_own(minilm):
    # Rounded, and compared by cosine: int8 kernels differ a little from one processor to the next.
    golden = json.loads((Path(__file__).parent / "minilm_golden.json").read_text())

    (vector,) = minilm.embed([golden["text"]])

    assert vector @ np.array(golden["vector"], dtype=np.float32) > 0.995


def test_the_order_of_asking_changes_nothing_but_the_order_of_answers(minilm):
    texts = [f"text {number} " + "word " * (number % 50) for number in range(40)]
    mixed = random.Random(7).sample(range(40), 40)

    straight, shuffled = minilm.embed(texts), minilm.embed([texts[at] for at in mixed])

    assert np.array_equal(straight[mixed], shuffled)
    assert np.array_equal(straight, minilm.embed(texts))


def test_company_in_a_batch_does_not_move_a_vector(minilm):
    texts = ["func Parse(s string) (UUID, error)", "x", "the quick brown fox " * 30]

    together = minilm.embed(texts)
    alone = np.concatenate([minilm.embed([text]) for text in texts])

    assert np.allclose(together, alone, atol=1e-5)


def test_what_stands_behind_the_128th_token_is_not_read(minilm):
    start = "alpha beta gamma " * 60

    one, other = minilm.embed([start + "ends so"]), minilm.embed([start + "and ends otherwise"])

    assert np.array_equal(one, other)


def test_no_texts_give_no_vectors(minilm):
    assert minilm.embed([]).shape == (0, 384)


@pytest.mark.parametrize("text", ["", " ", "\ud800", "\x00", "语言 🦀", "a" * 100_000])
def test_odd_texts_have_a_unit_vector_too(minilm, text):
    (vector,) = minilm.embed([text])

    assert np.isclose(np.linalg.norm(vector), 1, atol=1e-5)


def test_a_model_file_of_another_build_is_refused(tmp_path, monkeypatch):
    (tmp_path / "tokenizer.json").write_bytes(b"{}")
    monkeypatch.setattr(onnx, "LAYER", tmp_path)

    with pytest.raises(Unavailable, match="SHA-256"):
        OnnxEmbedder().embed(["x"])


def test_the_model_layer_is_read_where_lambda_has_it(tmp_path, monkeypatch):
    data = b"weights"
    (tmp_path / "model.onnx").write_bytes(data)
    monkeypatch.setattr(onnx, "LAYER", tmp_path)
    monkeypatch.setitem(onnx.FILES, "model.onnx", ("no_such_package", "x", sha256(data).hexdigest()))

    assert onnx.pinned("model.onnx") == data


def test_a_missing_model_is_said_in_plain_words(monkeypatch):
    monkeypatch.setitem(onnx.FILES, "tokenizer.json", ("no_such_package", "x", ""))

    with pytest.raises(Unavailable, match="no_such_package is missing"):
        OnnxEmbedder().open()


def test_naming_an_embedder_opens_nothing():
    assert embedder_from(provider="onnx", model=onnx.MODEL, dimension=384, url="").model == (
        "all-MiniLM-L6-v2-int8/128"
    )
    assert (
        embedder_from(provider="ollama", model="m", dimension=768, url="http://nowhere").model
        == "ollama:m/768"
    )
    assert embedder_from(provider="bedrock", model="t", dimension=512, url="").model == "bedrock:t/512"
    assert embedder_from(provider="fake", model="fake", dimension=256, url="").model == "fake/256"


@pytest.mark.parametrize(
    ("provider", "model", "dimension"), [("onnx", "other", 384), ("onnx", onnx.MODEL, 256), ("x", "", 1)]
)
def test_an_embedder_that_there_is_none_of_is_refused(provider, model, dimension):
    with pytest.raises(ValueError, match="embedder"):
        embedder_from(provider=provider, model=model, dimension=dimension, url="")


def test_ollama_is_asked_in_batches_and_answers_in_order():
    sizes: list[int] = []

    def answer(body: Body) -> httpx.Response:
        sizes.append(len(body["input"]))
        assert body["model"] == "m"
        return httpx.Response(200, json={"embeddings": [[int(text), 1.0] for text in body["input"]]})

    found = ollama(answer).embed([str(number) for number in range(20)])

    assert sizes == [16, 4]
    assert np.allclose(found[:, 0] / found[:, 1], range(20), atol=1e-4)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda _: httpx.Response(404), "ollama pull m"),
        (lambda _: httpx.Response(500), "status 500"),
        (lambda _: httpx.Response(302, headers={"location": "http://elsewhere"}), "status 302"),
        (lambda _: httpx.Response(200, text="<html>"), "no vectors"),
        (lambda _: httpx.Response(200, json=[]), "no vectors"),
        (lambda _: httpx.Response(200, json={"embeddings": "no"}), "another number"),
        (vectors([1.0, 0.0], [0.0, 1.0]), "another number"),
        (vectors([1.0, 0.0, 0.0]), "EMBED_DIM"),
        (vectors([0.0, 0.0]), "zeros"),
        (vectors([float("nan"), 1.0]), "finite"),
        (vectors([float("inf"), 1.0]), "finite"),
        (lambda _: httpx.Response(200, json={"embeddings": [["a", "b"]]}), "list of vectors"),
        (lambda _: httpx.Response(200, json={"embeddings": [[1.0, [2.0]]]}), "list of vectors"),
    ],
)
def test_an_answer_of_ollamas_that_is_not_as_asked_is_refused(answer, said):
    with pytest.raises(Unavailable, match=said):
        ollama(answer).embed(["x"])


def test_an_ollama_that_does_not_answer_is_said_without_its_address():
    def refuse(_: Body) -> httpx.Response:
        raise httpx.ConnectError("http://user:secret@localhost refused")

    with pytest.raises(Unavailable, match="OLLAMA_URL") as caught:
        ollama(refuse).embed(["x"])

    assert "secret" not in str(caught.value)


def test_bedrock_is_asked_text_by_text_and_answers_in_order():
    client = Bedrock(lambda body: [float(body["inputText"]), 1.0])

    found = BedrockEmbedder("amazon.titan-embed-text-v2:0", 2, client).embed(["3", "1", "2"])

    assert np.allclose(found[:, 0] / found[:, 1], [3, 1, 2])
    assert {(body["dimensions"], body["normalize"]) for body in client.bodies} == {(2, True)}


def test_bedrock_is_never_sent_more_than_it_takes():
    client = Bedrock(lambda _: [1.0, 0.0])

    BedrockEmbedder("t", 2, client).embed(["x" * 1_000_000])

    assert [len(body["inputText"]) for body in client.bodies] == [8_000]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ClientError({"Error": {"Code": "AccessDeniedException"}}, "InvokeModel"), "AccessDeniedException"),
        (EndpointConnectionError(endpoint_url="https://x"), "did not answer"),
    ],
)
def test_a_bedrock_that_refuses_or_is_silent_is_unavailable(error, said):
    def fail(_: Body) -> object:
        raise error

    with pytest.raises(Unavailable, match=said):
        BedrockEmbedder("t", 2, Bedrock(fail)).embed(["x"])


@pytest.mark.parametrize("answer", [None, [1.0], ["a", "b"], [float("nan"), 0.0], {"a": 1}])
def test_a_bedrock_answer_that_is_no_vector_is_refused(answer):
    with pytest.raises(Unavailable):
        BedrockEmbedder("t", 2, Bedrock(lambda _: answer)).embed(["x", "y"])


def test_the_fake_puts_texts_that_share_words_near_each_other():
    question, near, far = FakeEmbedder().embed(["parse a uuid", "uuid parse bytes", "write the log file"])

    assert question @ near > 0.4 > question @ far
    assert np.allclose(np.linalg.norm(FakeEmbedder().embed(["", "x"]), axis=1), 1)
    assert np.array_equal(FakeEmbedder().embed(["one two"]), FakeEmbedder().embed(["one two"]))
