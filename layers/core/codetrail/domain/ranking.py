"""One score from three arms: what a span's meaning, words and name say about a question.

A short linear score over the candidates of all arms. Sums of ranks (RRF) and of rescaled scores were
measured and are worse: they throw away how near a match is, or let the worst candidate decide what the best
one is worth.
The weights were learnt by softmax loss on eight public repositories and judged on ten others.
"""

from collections.abc import Container, Mapping, Sequence, Set
from itertools import compress
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
    lexical: float  # the span's BM25F as a share of the best one that the filter leaves
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


class Evidence(NamedTuple):
    """What is known of one candidate before it is scored."""

    ordinal: int
    symbol: str
    kind: str
    test: bool
    name_mass: float
    cosine: float | None
    lexical: float  # BM25F over the best that the filter leaves, 0 to 1


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
    lead = _first_in(_called(question.lead, candidates), question.lead)
    written = {form for forms in question.words for form in forms if "." in form}
    named = _first_bearers(question, bearers)
    said = _said(candidates, worth=worth, reader=reader)
    return [
        Features(
            cosine=-1.0 if candidate.cosine is None else candidate.cosine,
            lexical=candidate.lexical,
            lead=_lead(lead, candidate),
            named=float(candidate.ordinal in named),
            covered=1.0 if _is_called(written, candidate) else covered,
            test=float(candidate.test and not question.tests),
        )
        for candidate, covered in zip(candidates, said, strict=True)
    ]


def _called(forms: Forms, candidates: Sequence[Evidence]) -> set[str]:
    """What the candidates are called that one of *forms* could be."""
    # Taking a name apart is most of the work, and next to no candidate's holds the word at all.
    likely = [candidate for candidate in candidates if forms and forms[-1] in candidate.symbol]
    return {
        name
        for candidate in likely
        for whole in _wholes(candidate)
        for name in (whole, _last(candidate, whole))
    }


def _lead(lead: str, candidate: Evidence) -> float:
    if not lead or lead not in candidate.symbol:
        return 0.0
    wholes = _wholes(candidate)
    if lead in wholes:
        return 1.0
    return LAST_NAME if any(lead == _last(candidate, whole) for whole in wholes) else 0.0


def _is_called(written: Set[str], candidate: Evidence) -> bool:
    return any(form in candidate.symbol for form in written) and not written.isdisjoint(_wholes(candidate))


def _said(candidates: Sequence[Evidence], *, worth: Mapping[str, float], reader: TermReader) -> list[float]:
    """How much of each candidate's name the question says. The words of a name are words of its span: where
    the question shares none with that, it says nothing of the name."""
    sharing = [candidate.lexical > 0 and candidate.name_mass > 0 for candidate in candidates]
    words = iter(reader.names([own_name(one.kind, one.symbol) for one in compress(candidates, sharing)]))
    return [
        min(sum(worth.get(word, 0.0) for word in next(words)) / candidate.name_mass, 1.0) if shares else 0.0
        for candidate, shares in zip(candidates, sharing, strict=True)
    ]


def _wholes(candidate: Evidence) -> Sequence[str]:
    """What the span is called in full, letter case kept: of `Low, High` either."""
    if candidate.kind == Kind.SECTION or ", " not in candidate.symbol:
        return (candidate.symbol,)
    return symbol_names(candidate.symbol)


def _last(candidate: Evidence, whole: str) -> str:
    """The last segment of one of its names."""
    return whole.rpartition(HEADING_SEPARATOR if candidate.kind == Kind.SECTION else ".")[2]


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
