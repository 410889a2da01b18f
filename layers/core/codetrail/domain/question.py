"""A question, read: the terms it is looked up by, and the words of it that may be a symbol's name."""

import re
from dataclasses import dataclass

from codetrail.domain.search import MAX_QUERY_TERMS
from codetrail.domain.terms import FUNCTION_WORDS, TermReader
from codetrail.domain.words import has_word

# Words that ask and name nothing, and what people call a declaration when they ask for one.
_ASKING_WORDS = """
ask asks call called calls code constant define defined defines definition describe declaration declared
describes display does exactly explain explains find function functions give got happen happening happens
help implementation implemented implements kind know locate located look mean meaning means method methods
module need package please point purpose responsible see show shows struct tell type types understand use
used uses using variable want way ways word words work working works
"""
ASKING_WORDS = frozenset(_ASKING_WORDS.split())

_TEST_STEMS = frozenset(("test", "spec", "exampl", "benchmark", "fixtur"))

# A longer question holds names that it is not about.
SHORT_QUESTION_WORDS = 3

# `Bytes::from`, `Parser#parse` and `p->next` are written with a dot here, as symbols are.
_JOINTS = re.compile(r"(?<=\w)(?:::|#|->)(?=[^\W\d_])")
# Unlike a word, a name keeps its underscores: `Editor.__init__`, `_get`.
_NAME = re.compile(r"\w+(?:\.\w+)*")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]")
_CAPITALS = re.compile(r"[A-Z][A-Z0-9]+")

Forms = tuple[str, ...]
"""A word as written, then without its leading segments: `a.b.c`, `b.c`, `c`."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question. Forms keep their letter case, which tells a name from a word."""

    text: str
    terms: dict[str, float]  # stems and pairs of stems, with their weights
    lead: Forms  # the word that the question is about, where it tells; else empty
    words: tuple[Forms, ...]  # all such words, in order
    code: tuple[Forms, ...]  # those of them that look like code
    tests: bool  # it asks for tests, examples or benchmarks

    @classmethod
    def read(cls, text: str, reader: TermReader) -> "Question":
        """Read *text* by the rules of the index."""
        terms = dict(list(reader.question(text).items())[:MAX_QUERY_TERMS])
        written = _JOINTS.sub(".", text)
        found = [run for at, run in enumerate(_runs(written)) if not _asks(run, first=at == 0)]
        words = tuple(_forms(run) for run in dict.fromkeys(found[:MAX_QUERY_TERMS]))
        return cls(
            text=text,
            terms=terms,
            lead=_lead(words, written),
            words=words,
            code=tuple(forms for forms in words if _looks_like_code(forms[0], written)),
            tests=not _TEST_STEMS.isdisjoint(terms),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Every form, casefolded: what the name arm looks up."""
        return tuple(dict.fromkeys(form.casefold() for forms in self.words for form in forms))


def _runs(text: str) -> list[str]:
    return [run for run in _NAME.findall(text) if has_word(run)]


def _asks(run: str, *, first: bool) -> bool:
    # Only a question's first word is capitalised by grammar: in "what does With do", With is a name.
    word = run.lower() if first else run
    return word in FUNCTION_WORDS or word in ASKING_WORDS


def _forms(run: str) -> Forms:
    segments = run.split(".")
    return tuple(".".join(segments[at:]) for at in range(len(segments)))


def _lead(words: tuple[Forms, ...], text: str) -> Forms:
    """The first word, unless it is an everyday one among others: "how does the app match a route" is not
    about whatever is called `app`. In a short question then the first that is written as a name."""
    if len(words) == 1 or (words and _looks_like_name(words[0][0], text)):
        return words[0]
    if len(words) > SHORT_QUESTION_WORDS:
        return ()
    return next((forms for forms in words if _looks_like_name(forms[0], text)), ())


def _looks_like_name(run: str, text: str) -> bool:
    # Capitals alone are as often an acronym of the subject (`UUID`, `JSON`) as a name.
    if _CAPITALS.fullmatch(run):
        return f"{run}(" in text or f"`{run}`" in text
    return run != run.lower() or _looks_like_code(run, text)


def _looks_like_code(run: str, text: str) -> bool:
    if "." in run or "_" in run or _CAMEL.search(run) or _CAPITALS.fullmatch(run):
        return True
    # Called with parentheses, or quoted as code.
    return f"{run}(" in text or f"`{run}`" in text
