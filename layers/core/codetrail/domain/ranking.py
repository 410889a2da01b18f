"""One score from three arms: what a span's meaning, words and name say about a question.

A short linear score over the candidates of all arms. Sums of ranks (RRF) and of rescaled scores were
measured and are worse: they throw away how near a match is, or let the worst candidate decide what the best
one is worth.
The weights were learnt by softmax loss on eight public repositories and judged on seven others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from codetrail.domain.bm25 import HEADING_SEPARATOR, own_name
from codetrail.domain.question import Forms, Question
from codetrail.domain.span import Kind
from codetrail.domain.terms import TermReader


class Features(NamedTuple):
    """What speaks for a span. Of `WEIGHTS`, what each is worth."""

    cosine: float  # of question and span: good and bad matches lie about 0.4 apart
    lexical: float  # the span's BM25F as a share of the best one in the revision
    # The word that the question is about (see Question.lead) is the span's name, letter case included: people
    # ask for what they name.
    lead: float
    named: float  # it bears the question's first word that is anything's name, letter case aside
    code: float  # the question holds its name, written as only code is written
    # How much of its name the question says, by the words' rarity; 1 when the qualified name is written out.
    covered: float
    # How much rarity the question and the name share, in units of the revision's rarest word: tells a long
    # name that is said in full from a short one.
    mass: float
    # It is a test or an example, which say the same words as what they test, and was not asked for.
    test: float


WEIGHTS = Features(
    cosine=4.5, lexical=2.5, lead=2.0, named=0.75, code=0.5, covered=1.25, mass=2.0, test=-1.25
)
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


@dataclass(frozen=True, slots=True)
class Worth:
    """Inverse document frequencies: of the question's terms, and the largest there can be in the revision."""

    of: Mapping[str, float]
    largest: float


def score(features: Features, weights: Features = WEIGHTS) -> float:
    """Return the linear score of one span."""
    return sum(weight * value for weight, value in zip(weights, features, strict=True))


def features(
    question: Question,
    candidates: Sequence[Evidence],
    *,
    worth: Worth,
    bearers: Mapping[str, frozenset[int]],
    reader: TermReader,
) -> list[Features]:
    """Return what speaks for each candidate, in order; `bearers`: which ordinals bear a casefolded name."""
    called = [_names(candidate) for candidate in candidates]
    every = frozenset(name for names in called for name in names)
    lead = _first_in(every, question.lead)
    code = {_first_in(every, forms) for forms in question.code} - {""}
    written = {form for forms in question.words for form in forms if "." in form}
    named = _first_bearers(question, bearers)
    found = []
    words = reader.names([own_name(candidate.kind, candidate.symbol) for candidate in candidates])
    for candidate, names, said in zip(candidates, called, words, strict=True):
        held = sum(worth.of.get(word, 0.0) for word in said)
        covered = min(held / candidate.name_mass, 1.0) if candidate.name_mass > 0 else 0.0
        found.append(
            Features(
                cosine=-1.0 if candidate.cosine is None else candidate.cosine,
                lexical=candidate.lexical,
                lead=_leads(lead, candidate, names),
                named=float(candidate.ordinal in named),
                code=float(not code.isdisjoint(names)),
                covered=1.0 if candidate.symbol in written else covered,
                mass=held / worth.largest if worth.largest > 0 else 0.0,
                test=float(candidate.test and not question.tests),
            )
        )
    return found


def _names(candidate: Evidence) -> frozenset[str]:
    """The whole symbol and its last segment, letter case kept."""
    separator = HEADING_SEPARATOR if candidate.kind == Kind.SECTION else "."
    return frozenset((candidate.symbol, candidate.symbol.rpartition(separator)[2])) - {""}


def _leads(lead: str, candidate: Evidence, names: frozenset[str]) -> float:
    if lead == candidate.symbol:
        return float(bool(lead))
    return LAST_NAME if lead in names else 0.0


def _first_in(names: frozenset[str], forms: Forms) -> str:
    # The most qualified form that names something here: `Event.Msg` never means every other Msg, and
    # `uuid.Parse` means Parse where no symbol carries its package.
    return next((form for form in forms if form in names), "")


def _first_bearers(question: Question, bearers: Mapping[str, frozenset[int]]) -> frozenset[int]:
    for forms in question.words:
        for form in forms:
            if found := bearers.get(form.casefold()):
                return found
    return frozenset()
