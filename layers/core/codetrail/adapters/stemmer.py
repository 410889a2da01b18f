"""Snowball's English stemmer, in C."""

from collections.abc import Sequence

import Stemmer


class SnowballStemmer:
    """English stems; a word of another language keeps its letters or loses an ending, on both sides alike."""

    def __init__(self) -> None:
        # Without the library's cache: it would keep one job's words for the next, and whoever reads many
        # texts remembers whole identifiers anyway.
        self._stemmer = Stemmer.Stemmer("english", 0)

    def stems(self, words: Sequence[str]) -> list[str]:
        """Return the stem of each word, in order."""
        stems: list[str] = self._stemmer.stemWords(list(words))
        return stems
