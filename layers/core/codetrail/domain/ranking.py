"""One score from three arms: what a span's meaning, words and name say about a question.

A short linear score over the candidates of all arms. Sums of ranks (RRF) and of rescaled scores were
measured and are worse: they throw away how near a match is, or let the worst candidate decide what the best
one is worth.
The weights were learnt by softmax loss on eight public repositories and judged on seven others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codetrail.domain.bm25 import HEADING_SEPARATOR, own_name
from codetrail.domain.question import Forms, Question
from codetrail.domain.span import Kind
from codetrail.domain.terms import TermReader

# Meaning. Cosines of good and bad matches lie about 0.4 apart, so this is the strongest voice but one.
COSINE = 4.5
# Words: the span's BM25F as a share of the best one in the revision.
LEXICAL = 2.5
# The word that the question is about (see Question.lead) is the span's name, letter case included: people ask
# for what they name.
LEAD = 2.0
# A share of it goes to who has that name only as a last one: `group` means the function before `Group.group`.
LAST_NAME = 0.8
# The span bears the first word of the question that is anything's name, letter case aside.
NAMED = 0.75
# The question holds the span's name and writes it as only code is written.
CODE = 0.5
# How much of the span's name the question says, by the words' rarity; 1 when the qualified name is written
# out.
COVERED = 1.25
# How much rarity the question and the name share, in units of the revision's rarest word: tells a long name
# that is said in full from a short one.
MASS = 2.0
# Tests and examples say the same words as what they test; they are asked for by that word.
TEST = -1.25


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


def score(
    question: Question,
    candidates: Sequence[Evidence],
    *,
    worth: Worth,
    bearers: Mapping[str, frozenset[int]],
    reader: TermReader,
) -> list[float]:
    """Return the score of each candidate, in order. `bearers` says which ordinals bear a casefolded name."""
    called = [_names(candidate) for candidate in candidates]
    every = frozenset(name for names in called for name in names)
    lead = _first_in(every, question.lead)
    code = {_first_in(every, forms) for forms in question.code} - {""}
    written = {form for forms in question.words for form in forms if "." in form}
    named = _first_bearers(question, bearers)
    scores = []
    words = reader.names([own_name(candidate.kind, candidate.symbol) for candidate in candidates])
    for candidate, names, said in zip(candidates, called, words, strict=True):
        held = sum(worth.of.get(word, 0.0) for word in said)
        covered = min(held / candidate.name_mass, 1.0) if candidate.name_mass > 0 else 0.0
        scores.append(
            COSINE * (-1.0 if candidate.cosine is None else candidate.cosine)
            + LEXICAL * candidate.lexical
            + LEAD * _leads(lead, candidate, names)
            + NAMED * (candidate.ordinal in named)
            + CODE * (not code.isdisjoint(names))
            + COVERED * (1.0 if candidate.symbol in written else covered)
            + MASS * (held / worth.largest if worth.largest > 0 else 0.0)
            + TEST * (candidate.test and not question.tests)
        )
    return scores


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
