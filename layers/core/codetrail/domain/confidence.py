"""How likely it is that a repository answers a question, told by what was found there.

A score orders the spans of one repository, and its best span is the best there is, however bad. What tells
an answered question from one of another library is more than one number: how near the best spans are, how
much of the question's worth stands in words that the repository has, and whether the names in it are names
there. Logistic regression weighs them; weights and floor were learnt on repositories that nothing is reported
on.
"""

from collections.abc import Mapping, Sequence
from math import exp
from typing import NamedTuple

from codetrail.domain.question import Question
from codetrail.domain.ranking import Features


class Signals(NamedTuple):
    """What was found for a question. Of `WEIGHTS`, what each is worth."""

    cosine: float  # of the span that is nearest in meaning
    first: float  # the cosine of the span that ranks first
    matched: float  # the best BM25F score, as a share of what a span could get
    known: float  # share of the question's worth, by rarity, that is in words of the repository
    lead: float  # the word that the question is about is a name here, as Features.lead
    named: float  # any word of the question is a name here
    foreign: float  # share of the words written as only code is written that name nothing here


NOTHING = Signals(cosine=-1.0, first=-1.0, matched=0.0, known=0.0, lead=0.0, named=0.0, foreign=0.0)

# Whose cosines the numbers below were learnt with. Those of another embedder lie elsewhere.
MODEL = "all-MiniLM-L6-v2-int8/128"
# Learnt, not set: `python -m tests.evaluation floor` makes them anew.
WEIGHTS = Signals(cosine=2.41, first=4.07, matched=1.56, known=3.96, lead=2.22, named=1.26, foreign=-1.39)
CONSTANT = -5.27
# Under it lie 5 in 100 of the answerable questions that it was learnt on.
FLOOR = 0.39


def confidence(signals: Signals) -> float:
    """Return a number from 0 to 1 that grows with the chance of an answer."""
    total = CONSTANT + sum(weight * value for weight, value in zip(WEIGHTS, signals, strict=True))
    return 1 / (1 + exp(-total))


def signals(
    question: Question,
    found: Sequence[Features],
    scores: Sequence[float],
    *,
    matched: float,
    known: float,
    bearers: Mapping[str, frozenset[int]],
) -> Signals:
    """Return what the candidates of a question and their scores tell. `bearers` says which ordinals bear a
    casefolded name."""
    if not found:
        return NOTHING
    foreign = [not any(bearers.get(form.casefold()) for form in forms) for forms in question.code]
    return Signals(
        cosine=max(one.cosine for one in found),
        first=found[scores.index(max(scores))].cosine,
        matched=matched,
        known=known,
        lead=max(one.lead for one in found),
        named=max(one.named for one in found),
        foreign=sum(foreign) / len(foreign) if foreign else 0.0,
    )
