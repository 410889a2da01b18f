"""One score from three arms: what a span's meaning, words and name say about a question.

A short linear score over the candidates of all arms. Sums of ranks (RRF) and of rescaled scores were
measured and are worse: they throw away how near a match is, or let the worst candidate decide what the best
one is worth.
The weights were learnt by softmax loss on eight public repositories and judged on seven others.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import mul
from typing import NamedTuple

from codetrail.domain.bm25 import HEADING_SEPARATOR, own_name
from codetrail.domain.question import Forms, Question
from codetrail.domain.span import Kind
from codetrail.domain.span import names as symbol_names
from codetrail.domain.terms import TermReader


class Features(NamedTuple):
    """What speaks for a span. Of `WEIGHTS`, what each is worth."""

    cosine: float  # of question and span: good and bad matches lie about 0.4 apart
    lexical: float  # the span's BM25F as a share of the best one in the revision
    # The word that the question is about (see Question.lead) is the span's name, letter case included: people
    # ask for what they name.
    lead: float
    named: float  # it bears the question's first word that is anything's name, letter case aside
    # How much of its name the question says, by the words' rarity; 1 when the qualified name is written out.
    covered: float
    # It is a test or an example, which say the same words as what they test, and was not asked for.
    test: float


# Learnt, not set: `python -m tests.evaluation learn` makes them anew.
WEIGHTS = Features(cosine=7.76, lexical=4.08, lead=3.3, named=0.86, covered=1.44, test=-3.04)
# A share of the lead goes to who has that name only as a last one: `group` means the function before
# `Group.group`.
LAST_NAME = 0.8


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of one candidate before it is scored."""

    ordinal: int
    symbol: str
    kind: str
    test: bool
    name_mass: float
    cosine: float | None
    lexical: float  # BM25F over the revision's best, 0 to 1


def score(features: Features, weights: Features = WEIGHTS) -> float:
    """Return the linear score of one span."""
    total: float = sum(map(mul, weights, features))
    return total


def features(
    question: Question,
    candidates: Sequence[Evidence],
    *,
    worth: Mapping[str, float],
    bearers: Mapping[str, frozenset[int]],
    reader: TermReader,
) -> list[Features]:
    """Return what speaks for each candidate, in order. `worth`: the inverse document frequency of each term
    of the question that is known here; `bearers`: which ordinals bear a casefolded name."""
    wholes = [_wholes(candidate) for candidate in candidates]
    lasts = [_lasts(candidate, those) for candidate, those in zip(candidates, wholes, strict=True)]
    every = {*chain.from_iterable(wholes), *chain.from_iterable(lasts)}
    lead = _first_in(every, question.lead)
    written = {form for forms in question.words for form in forms if "." in form}
    named = _first_bearers(question, bearers)
    found = []
    words = reader.names([own_name(candidate.kind, candidate.symbol) for candidate in candidates])
    for candidate, whole, last, said in zip(candidates, wholes, lasts, words, strict=True):
        held = sum(worth[word] for word in said if word in worth)
        covered = min(held / candidate.name_mass, 1.0) if candidate.name_mass > 0 else 0.0
        found.append(
            Features(
                cosine=-1.0 if candidate.cosine is None else candidate.cosine,
                lexical=candidate.lexical,
                lead=(1.0 if lead in whole else LAST_NAME if lead in last else 0.0) if lead else 0.0,
                named=float(candidate.ordinal in named),
                covered=covered if written.isdisjoint(whole) else 1.0,
                test=float(candidate.test and not question.tests),
            )
        )
    return found


def _wholes(candidate: Evidence) -> Sequence[str]:
    """What the span is called in full, letter case kept: of `Low, High` either."""
    if candidate.kind == Kind.SECTION or ", " not in candidate.symbol:
        return (candidate.symbol,)
    return symbol_names(candidate.symbol)


def _lasts(candidate: Evidence, wholes: Sequence[str]) -> Sequence[str]:
    """The last segment of each."""
    separator = HEADING_SEPARATOR if candidate.kind == Kind.SECTION else "."
    return [whole.rpartition(separator)[2] for whole in wholes]


def _first_in(names: Container[str], forms: Forms) -> str:
    # The most qualified form that names something here: `Event.Msg` never means every other Msg, and
    # `uuid.Parse` means Parse where no symbol carries its package.
    return next((form for form in forms if form and form in names), "")


def _first_bearers(question: Question, bearers: Mapping[str, frozenset[int]]) -> frozenset[int]:
    for forms in question.words:
        for form in forms:
            if found := bearers.get(form.casefold()):
                return found
    return frozenset()
