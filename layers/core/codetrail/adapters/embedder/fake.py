"""An embedder for tests: texts that share words are near each other, and nothing is understood."""

from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from codetrail.adapters.embedder.vectors import unit_rows
from codetrail.domain.words import words
from codetrail.services.ports import Vectors


class FakeEmbedder:
    """Each word has a direction of its own, drawn from its hash; a text is the sum of its words."""

    def __init__(self, dimension: int = 256) -> None:
        self.model = f"fake/{dimension}"
        self.dimension = dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector a text, in order."""
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in {word for word, _ in words(text)} or {""}:
                rows[row] += self._direction(word)
        return unit_rows(rows, count=len(texts), dimension=self.dimension, provider="fake")

    def _direction(self, word: str) -> Vectors:
        # One seed a word: the same on every machine and in every process, unlike hash().
        seed = int.from_bytes(sha256(word.encode("utf-8", "surrogatepass")).digest()[:8], "little")
        direction: Vectors = np.random.default_rng(seed).standard_normal(self.dimension).astype(np.float32)
        return direction
