"""Questions that a corpus does not answer, which the floor should refuse.

The mix is half questions of sibling libraries (same language, same subject, another project), a quarter of
other code (another language), a quarter of off-topic prose (`offtopic.json`). A question of code is left out
when the corpus has a declaration of the name that it asks for. The learn half and the others share no source
of code and no prose, so that what is reported was never fitted.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from itertools import chain, islice, zip_longest
from pathlib import Path

from codetrail.domain.span import names
from tests.evaluation.corpora import Corpus, Half
from tests.evaluation.golden import Case, Golden, Set
from tests.evaluation.sealing import Sealed

OFF_TOPIC = Path(__file__).with_name("offtopic.json")
# Questions of a third; the siblings' has twice as many, being half of the mix.
THIRD = 100
# Sets whose questions are asked of another corpus. Headings ("Install", "Usage") have an answer anywhere.
SETS = (Set.PROSE, Set.UNNAMED, Set.IDENTIFIER, Set.WORDING)


class Third(StrEnum):
    """Where a question comes from."""

    SIBLING = "sibling"
    OTHER = "other"
    OFF_TOPIC = "offtopic"


@dataclass(frozen=True, slots=True)
class Absent:
    """A question without an answer."""

    third: Third
    source: str
    kind: str
    question: str


def absent(
    corpus: Corpus,
    plain: Sealed,
    golden: Mapping[str, Sequence[Golden]],
    all_corpora: Mapping[str, Corpus],
) -> list[Absent]:
    """Return the questions to ask of *corpus*. *golden*: the sets of every corpus, by name."""
    known = {name.rpartition(".")[2].casefold() for span in plain.spans for name in names(span.symbol)}
    side = {name for name, one in all_corpora.items() if one.half is corpus.half}
    side |= {sibling for name in side for sibling in all_corpora[name].siblings}
    others = [
        name
        for name in sorted(side)
        if all_corpora[name].language != corpus.language
        if not {all_corpora[name].language, corpus.language} <= {"javascript", "typescript"}
    ]
    return [
        *_of_code(Third.SIBLING, corpus.siblings, golden, known, 2 * THIRD),
        *_of_code(Third.OTHER, others, golden, known, THIRD),
        *_off_topic(corpus),
    ]


def _of_code(
    third: Third, sources: Sequence[str], golden: Mapping[str, Sequence[Golden]], known: set[str], count: int
) -> Iterator[Absent]:
    stacks = [
        [(case, source) for case in one.cases if not _asks_for(case, known)]
        for source in sources
        for one in golden[source]
        if one.kind in SETS
    ]
    # One of each set and source in turn, until there are enough or no more.
    turns = chain.from_iterable(zip_longest(*stacks))
    for case, source in islice((row for row in turns if row), count):
        yield Absent(third, source, case.kind, case.question)


def _asks_for(case: Case, known: set[str]) -> bool:
    return any(name.rpartition(".")[2].casefold() in known for name in names(case.symbol))


def _off_topic(corpus: Corpus) -> Iterator[Absent]:
    questions = json.loads(OFF_TOPIC.read_text())["questions"]
    learnt = corpus.half is Half.LEARN
    own = [text for text in questions if (sha256(text.encode()).digest()[0] % 2 == 0) is learnt]
    ordered = sorted(own, key=lambda text: sha256(f"{corpus.name}\0{text}".encode()).hexdigest())
    for text in ordered[:THIRD]:
        yield Absent(Third.OFF_TOPIC, "offtopic.json", "prose", text)
