"""Questions with known answers, made from a repository itself and picked by no one.

    prose        the doc comment of an exported symbol is the question, its declaration the answer
    unnamed      the same without the symbol's own name
    identifier   "where is X defined" and "what does X do"
    asked        X in some other wordings of ours; weights are learnt from them, and nothing is reported
    wording      X in the wordings of wordings.json, which no ranking code reads
    heading      the heading of an innermost section is the question, what stands under it the answer

Doc comments and headings are made blank in what is searched. A question that stands there all the same, word
for word, is dropped and counted. Questions alike but for letter case and marks are counted too, and each
takes the answers of all: nobody who asks one of them can mean another.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from codetrail.domain.bm25 import HEADING_SEPARATOR, signature
from codetrail.domain.search import MAX_QUERY_BYTES
from codetrail.domain.span import Kind, Span, names
from tests.evaluation.corpora import Variant, innermost
from tests.evaluation.sealing import Sealed

WORDINGS = Path(__file__).with_name("wordings.json")
# Cases of one set and corpus; of more, those whose digests are smallest.
MAX_CASES = 250
# Shorter phrases recur by themselves, and a table of contents holds every heading of a document.
LEAK_WORDS = 8
# Of all cases of a corpus: where more leak than this, its texts stand in it twice, and none of it is used.
MAX_LEAK_SHARE = 0.01
# What is left of a comment must be a question still.
MIN_WORDS = 3


class Set(StrEnum):
    """A kind of question."""

    PROSE = "prose"
    UNNAMED = "unnamed"
    IDENTIFIER = "identifier"
    ASKED = "asked"
    WORDING = "wording"
    HEADING = "heading"


VARIANTS = {
    Set.PROSE: Variant.UNCOMMENTED,
    Set.UNNAMED: Variant.UNCOMMENTED,
    Set.IDENTIFIER: Variant.PLAIN,
    Set.ASKED: Variant.PLAIN,
    Set.WORDING: Variant.PLAIN,
    Set.HEADING: Variant.UNTITLED,
}


@dataclass(frozen=True, slots=True)
class Case:
    """A question and where its answers lie: ordinals in the variant that it is asked of."""

    id: str
    kind: Set
    question: str
    gold: tuple[int, ...]
    symbol: str = ""


@dataclass(slots=True)
class Golden:
    """The cases of one set and corpus, and what became of the others."""

    kind: Set
    cases: list[Case] = field(default_factory=list)
    made: int = 0
    leaking: int = 0
    duplicate: int = 0


@dataclass(frozen=True, slots=True)
class Documented:
    """An exported declaration and what its author says of it."""

    span: Span  # as indexed with comments
    prose: str
    answers: tuple[Span, ...]  # the same declaration, as indexed without


def documented(plain: Sealed, uncommented: Sealed) -> list[Documented]:
    """Return every exported declaration with a doc comment."""
    blank: dict[str, list[Span]] = defaultdict(list)
    for span in uncommented.spans:
        blank[span.path].append(span)
    spans: dict[str, list[Span]] = defaultdict(list)
    for span in plain.spans:
        spans[span.path].append(span)
    found = []
    for path, those in spans.items():
        stripped = blank[path]
        for span in those:
            if not (span.symbol and exported(span)):
                continue
            answers = tuple(
                one
                for one in stripped
                if one.symbol == span.symbol
                and one.kind == span.kind
                and span.start_line <= one.start_line <= one.end_line <= span.end_line
            )
            if not answers:
                continue
            prose = _comment(span, answers[0], those)
            if len(prose.split()) >= MIN_WORDS:
                found.append(Documented(span, prose, answers))
    return found


def exported(span: Span) -> bool:
    """Return whether the names of a declaration may be used from outside, as far as its own lines tell. Where
    the language has no word or letter for that, nothing in a test is."""
    own = [name.split(".") for name in names(span.symbol)]
    if span.kind not in (Kind.FUNC, Kind.TYPE, Kind.CONST, Kind.VAR):
        return False
    if span.language == "go":
        return any(all(part[:1].isupper() for part in parts) for parts in own)
    if span.language in ("rust", "java", "csharp"):
        # Members of a trait or an interface are public without the word.
        word = {"rust": r"\bpub\b(?!\()", "java": r"\b(public|protected)\b", "csharp": r"\bpublic\b"}
        return "." in span.symbol or re.search(word[span.language], signature(span)) is not None
    return not span.test and any(not any(part.startswith(("_", "#")) for part in parts) for parts in own)


_MARKS = re.compile(r"^\s*(?:///?!?|/\*[*!]?|\*/|\*(?!\*)|\#[:!]?|--+|[rubRUB]{0,2}(?:\"\"\"|'''))? ?")
_ENDS = re.compile(r"\s*(?:\*/|\"\"\"|''')\s*$")
# What follows is a table of parameters, or code.
_TABLE = re.compile(
    r"^\s*(?:@\w+|:\w+[^:]*:|\\(?:param|return)\b|(?:Args|Arguments|Parameters|Returns|Raises|Yields|Example|"
    r"Examples|Usage)\s*:?\s*$|-{3,}$|# (?:Examples?|Panics|Errors|Safety)|```|>>> |\.\. )"
)
# Words to a machine, not to a reader.
_DIRECTIVE = re.compile(
    r"^(?:go:|nolint|lint:|eslint|ts-|type:|noqa|pragma|prettier|v8 ignore|c8 ignore|@__)"
)


def _comment(span: Span, answer: Span, neighbours: Sequence[Span]) -> str:
    """The lines of a declaration that are blank in its other form, without the marks of a comment."""
    inner = [
        one
        for one in neighbours
        if one is not span and span.start_line <= one.start_line and one.end_line <= span.end_line
    ]
    covered = {line for one in inner for line in range(one.start_line, one.end_line + 1)}
    kept = dict(enumerate(answer.text.split("\n"), answer.start_line))
    told: list[str] = []
    # In Python a comment above a declaration is a remark; its documentation is the string in it (PEP 257).
    begun = span.language != "python"
    for number, line in enumerate(span.text.split("\n"), span.start_line):
        if number in covered or kept.get(number, "").strip() or not line.strip():
            continue
        if number > answer.start_line and number not in kept:
            continue
        begun = begun or line.lstrip().lstrip("rbuRBU").startswith(('"', "'"))
        if not begun:
            continue
        text = _ENDS.sub("", _MARKS.sub("", line)).strip()
        if _DIRECTIVE.match(text):
            continue
        if _TABLE.match(text):
            break
        told.append(text)
    return _cut(" ".join(" ".join(told).split()))


def _cut(text: str) -> str:
    """As much of *text* as a question may hold, in whole words."""
    while len(text.encode()) > MAX_QUERY_BYTES:
        text = text.rpartition(" ")[0]
    return text


def prose(found: Iterable[Documented], searched: Sequence[Span]) -> Golden:
    """Return the prose cases."""
    rows = ((one, one.prose) for one in found)
    return _golden(Set.PROSE, rows, searched)


def unnamed(found: Iterable[Documented], searched: Sequence[Span]) -> Golden:
    """Return the prose cases without the symbol's own names."""

    def rows() -> Iterator[tuple[Documented, str]]:
        for one in found:
            text = without_names(one.prose, one.span.symbol)
            if len(text.split()) >= MIN_WORDS:
                yield one, text

    return _golden(Set.UNNAMED, rows(), searched)


def without_names(text: str, symbol: str) -> str:
    """Return *text* without the words that are the symbol, qualified or not, as it is written: of `Dict adds
    a dict` the second is a word of prose."""
    own = {part for name in names(symbol) for part in (name, name.rpartition(".")[2])}
    return " ".join(word for word in text.split() if _BARE.sub("", word) not in own)


_BARE = re.compile(r"^\W+|(?:\(\))?\W*(?:'s)?\W*$")


def _golden(kind: Set, rows: Iterable[tuple[Documented, str]], searched: Sequence[Span]) -> Golden:
    return gathered(
        kind,
        ((text, [span.ordinal for span in one.answers], one.span.symbol) for one, text in rows),
        searched,
    )


def gathered(
    kind: Set, rows: Iterable[tuple[str, list[int], str]], searched: Sequence[Span], *, probe: bool = True
) -> Golden:
    """Return the cases of *rows* (question, answers, symbol): what leaks dropped, of the rest the `MAX_CASES`
    with the smallest digests. Without *probe* nothing is looked for: a question by name stands in its
    answer."""
    golden = Golden(kind)
    haystack = "\n".join(f" {_plain(span.text)} " for span in searched) if probe else ""
    kept: list[tuple[str, str, list[int], str]] = []
    answers: dict[str, set[int]] = defaultdict(set)
    for text, gold, symbol in rows:
        golden.made += 1
        plain = _plain(text)
        if probe and plain.count(" ") + 1 >= LEAK_WORDS and f" {plain} " in haystack:
            golden.leaking += 1
            continue
        golden.duplicate += plain in answers
        answers[plain].update(gold)
        kept.append((plain, text, gold, symbol))
    cases = [
        Case(
            id=_digest(kind, f"{plain}\0{searched[gold[0]].path}\0{searched[gold[0]].start_line}\0{symbol}"),
            kind=kind,
            question=text,
            gold=tuple(sorted(answers[plain])),
            symbol=symbol,
        )
        for plain, text, gold, symbol in kept
    ]
    golden.cases = sorted(cases, key=lambda case: case.id)[:MAX_CASES]
    return golden


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def _digest(kind: Set, text: str) -> str:
    return sha256(f"{kind}\0{text}".encode()).hexdigest()[:12]


def bearers(plain: Sealed) -> dict[str, list[Span]]:
    """Return the declarations by the name that a person would write: the last segment where one span alone
    bears it, else the qualified name."""
    declared = [
        (name, span)
        for span in plain.spans
        if span.kind in (Kind.FUNC, Kind.TYPE, Kind.CONST, Kind.VAR) and not span.test
        for name in names(span.symbol)
    ]
    short: dict[str, set[str]] = defaultdict(set)
    for name, _ in declared:
        short[name.rpartition(".")[2].casefold()].add(name)
    found: dict[str, list[Span]] = defaultdict(list)
    for name, span in declared:
        last = name.rpartition(".")[2]
        found[last if len(short[last.casefold()]) == 1 else name].append(span)
    return dict(found)


_ASKED = ("where is {name} defined", "what does {name} do")


def identifier(plain: Sealed) -> Golden:
    """Return the questions by name, in the two plain wordings."""
    return _by_name(Set.IDENTIFIER, plain, _ASKED)


_LEARNT = (
    "how is {name} implemented",
    "{name}",
    "what is {name}",
    "explain the {name} code",
    "the {name} function",
    "who needs {name} and why",
    "documentation of {name} please",
    "I want to read {name}",
    "why would {name} return early",
    "tell me how to use {name} correctly",
    "can you show what {name} does",
    "is there a bug in {name}",
)


def asked(plain: Sealed) -> Golden:
    """Return the questions by name that weights are learnt from."""
    return _by_name(Set.ASKED, plain, _LEARNT)


def wording(plain: Sealed) -> Golden:
    """Return the questions by name, in wordings that no ranking code has seen."""
    return _by_name(Set.WORDING, plain, json.loads(WORDINGS.read_text())["wordings"])


def _by_name(kind: Set, plain: Sealed, templates: Sequence[str]) -> Golden:
    def rows() -> Iterator[tuple[str, list[int], str]]:
        for name, spans in bearers(plain).items():
            # One wording a name, the same in each run.
            template = templates[int(_digest(kind, name), 16) % len(templates)]
            yield template.format(name=name), [span.ordinal for span in spans], name

    return gathered(kind, rows(), plain.spans, probe=False)


# A version or a date says nothing of what stands under it.
_SUBJECT = re.compile(
    r"(?i)\b(?!v?\d|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|dev|rc|alpha|beta|unreleased)[^\W\d_]{3,}"
)


def heading(plain: Sealed, untitled: Sealed) -> Golden:
    """Return the headings of documents; the answer is any part of what stands under one."""
    places = {(span.path, span.start_line, span.end_line): span.ordinal for span in untitled.spans}
    sections: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for span in plain.spans:
        if span.kind is Kind.SECTION:
            gold = sections[span.path][span.symbol]
            gold += [
                places[place] for place in [(span.path, span.start_line, span.end_line)] if place in places
            ]

    def rows() -> Iterator[tuple[str, list[int], str]]:
        for those in sections.values():
            for symbol in sorted(innermost(those)):
                text = symbol.rpartition(HEADING_SEPARATOR)[2]
                if those[symbol] and _SUBJECT.search(text):
                    yield text, those[symbol], symbol

    return gathered(Set.HEADING, rows(), untitled.spans)


def sharing(answers: Sequence[Span], windows: Sequence[Span]) -> tuple[int, ...]:
    """Return the windows that share a line with an answer: the lenient rule."""
    return tuple(one.ordinal for one in windows if any(_shared(one, answer) for answer in answers))


def holding_most(answers: Sequence[Span], windows: Sequence[Span]) -> tuple[int, ...]:
    """Return of each answer the window that holds most of its lines, of equal ones the first: the strict
    rule."""
    held = set()
    for answer in answers:
        shared, earlier = max((_shared(one, answer), -one.ordinal) for one in windows)
        if shared:
            held.add(-earlier)
    return tuple(sorted(held))


def _shared(window: Span, answer: Span) -> int:
    if window.path != answer.path:
        return 0
    return max(0, min(window.end_line, answer.end_line) - max(window.start_line, answer.start_line) + 1)


def golden(plain: Sealed, uncommented: Sealed, untitled: Sealed) -> list[Golden]:
    """Return every set of one corpus."""
    found = documented(plain, uncommented)
    return [
        prose(found, uncommented.spans),
        unnamed(found, uncommented.spans),
        identifier(plain),
        asked(plain),
        wording(plain),
        heading(plain, untitled),
    ]


def refused(sets: Iterable[Golden]) -> bool:
    """Return whether too many cases of a corpus leak for any of them to be used."""
    found = list(sets)
    return sum(one.leaking for one in found) > MAX_LEAK_SHARE * sum(one.made for one in found)
