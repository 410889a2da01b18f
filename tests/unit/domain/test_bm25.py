import math
import re
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codetrail.domain import bm25
from codetrail.domain.bm25 import Corpus, idf, names, signature
from codetrail.domain.span import Kind, Span
from codetrail.domain.terms import TermReader

SPAN = Span(
    ordinal=0,
    id="0" * 16,
    path="a.py",
    kind=Kind.FUNC,
    symbol="f",
    language="python",
    start_line=1,
    end_line=1,
    length=1,
    digest="0" * 64,
    text="def f(): pass",
    test=False,
)


def span(ordinal=0, **values):
    return replace(SPAN, ordinal=ordinal, **values)


def corpus_of(spans, drain_each=0):
    corpus, runs = Corpus(TermReader(list)), []
    for number, one in enumerate(spans, 1):
        corpus.add(one)
        if drain_each and number % drain_each == 0:
            runs.append(list(corpus.drain()))
    postings = {
        posting.term: dict(
            zip(
                np.frombuffer(posting.ordinals, "<i4").tolist(),
                np.frombuffer(posting.weights, "<f4").tolist(),
                strict=True,
            )
        )
        for posting in corpus.weigh([*runs, corpus.drain()])
    }
    return corpus, postings


def by_hand(spans):
    """BM25F out of its definition, for plain words of one part; it shares no code with the product."""
    kinds = {Kind.FUNC: "function method", Kind.FILE: "file", Kind.SECTION: "section documentation"}
    documents = []
    for one in spans:
        lines = one.text.split("\n") if one.kind is Kind.FUNC else []
        fields = [one.symbol, one.path, "\n".join(lines[:3]), one.text, kinds[one.kind]]
        counted = []
        for field in fields:
            tokens = re.findall(r"[a-z]+", field)
            counts = defaultdict(float, Counter(tokens))
            for pair in pairwise(tokens):
                counts[" ".join(pair)] += 0.5
            counted.append(counts)
        documents.append(counted)
    weights: dict[str, dict[int, float]] = {}
    averages = [sum(sum(d[f].values()) for d in documents) / len(documents) for f in range(5)]
    for ordinal, document in enumerate(documents):
        for term in set().union(*document):
            t = 0.0
            for f in range(5):
                length = sum(document[f].values())
                if document[f][term]:
                    t += document[f][term] / (1 - 0.75 + 0.75 * length / averages[f])
            weights.setdefault(term, {})[ordinal] = t / (1.2 + t)
    return weights


words = st.lists(st.sampled_from(["red", "green", "blue", "grey", "pink"]), min_size=1, max_size=8)
kinds = st.sampled_from([Kind.FUNC, Kind.FILE, Kind.SECTION])


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(st.tuples(words, words, kinds), min_size=1, max_size=8), drain_each=st.integers(0, 3))
def test_weights_are_those_of_the_formula_however_often_words_were_put_away(texts, drain_each):
    spans = [
        span(n, symbol=symbol[0], path=symbol[-1], text=" ".join(text), kind=kind)
        for n, (symbol, text, kind) in enumerate(texts)
    ]

    _, postings = corpus_of(spans, drain_each)
    expected = by_hand(spans)

    assert set(postings) == set(expected)
    for term, weights in expected.items():
        assert list(postings[term]) == sorted(weights)
        assert postings[term] == pytest.approx(weights, rel=1e-5)


def test_idf_is_high_for_rare_terms_and_never_negative():
    assert idf(100, 1) == pytest.approx(math.log(1 + 99.5 / 1.5))
    assert idf(100, 1) > idf(100, 50) > idf(100, 100) > 0


def test_a_word_of_the_symbol_weighs_more_than_one_of_a_long_body():
    filler = "\n".join(f"word{n}" for n in range(100))
    _, postings = corpus_of(
        [span(0, symbol="clock", text=filler), span(1, symbol="other", text=f"{filler}\nclock")]
    )

    assert postings["clock"][0] > postings["clock"][1]


def test_terms_and_ordinals_ascend_as_bytes_little_endian():
    corpus = Corpus(TermReader(list))
    for number in range(300):
        corpus.add(span(number, text=f"alpha{number % 3} beta"))
    postings = list(corpus.weigh([corpus.drain()]))

    assert [posting.term for posting in postings] == sorted(posting.term for posting in postings)
    (beta,) = [posting for posting in postings if posting.term == "beta"]
    assert beta.ordinals == b"".join(number.to_bytes(4, "little") for number in range(300))
    assert all(len(posting.ordinals) == len(posting.weights) for posting in postings)


def test_a_symbol_that_is_a_function_word_can_be_found_and_one_in_a_body_cannot():
    _, postings = corpus_of(
        [span(0, symbol="With", text="nothing here"), span(1, symbol="other", text="with x")]
    )

    assert list(postings["with"]) == [0]


def test_spans_must_come_in_the_order_of_their_ordinals():
    with pytest.raises(ValueError, match="span 1 is added where 0 is next"):
        Corpus(TermReader(list)).add(span(1))


def test_statistics_are_over_all_fields():
    corpus, _ = corpus_of([span(0, symbol="a", path="b", text="c", kind=Kind.FILE)])

    # symbol 1, path 1, no signature, body 1, the kind's word 1
    assert corpus.stats.average_length == 4.0
    assert Corpus(TermReader(list)).stats.average_length == 0.0


def test_the_mass_of_a_name_is_the_sum_of_what_its_words_are_worth():
    corpus, postings = corpus_of([span(n, symbol=s) for n, s in enumerate(["newRandom", "newClock", "is"])])

    expected = idf(3, len(postings["new"])) + idf(3, len(postings["random"]))
    assert corpus.name_mass(span(0, symbol="newRandom")) == pytest.approx(expected)
    assert corpus.name_mass(span(2, symbol="is")) == pytest.approx(idf(3, 1))
    assert len(postings["new"]) == 2


@pytest.mark.parametrize(
    ("symbol", "kind", "expected"),
    [
        ("Logger.Info", Kind.FUNC, ("logger.info", "info")),
        ("Nil", Kind.VAR, ("nil",)),
        ("Low, High", Kind.CONST, ("low", "high")),
        ("A.B, A.C", Kind.CONST, ("a.b", "b", "a.c", "c")),
        ("Guide > Getting Started", Kind.SECTION, ("guide > getting started", "getting started")),
        ("v1.2, the notes", Kind.SECTION, ("v1.2, the notes",)),
        ("STRASSE ß", Kind.SECTION, ("strasse ss",)),
        ("", Kind.FILE, ()),
        ("x" * 600, Kind.FUNC, ()),
    ],
)
def test_a_span_may_be_called_by_its_whole_name_and_its_last_part(symbol, kind, expected):
    assert names(span(symbol=symbol, kind=kind)) == expected


def test_each_name_tells_all_spans_that_bear_it():
    corpus, _ = corpus_of([span(0, symbol="A.save"), span(1, symbol="B.save"), span(2, symbol="Save")])

    found = {name.name: np.frombuffer(name.ordinals, "<i4").tolist() for name in corpus.names()}
    assert found == {"a.save": [0], "b.save": [1], "save": [0, 1, 2]}


@pytest.mark.parametrize(
    ("text", "symbol", "expected"),
    [
        (
            "// Info starts.\nfunc (l *Logger) Info() {\n\treturn\n}",
            "Logger.Info",
            "func (l *Logger) Info() {",
        ),
        (
            "@cache\n@other(\n)\ndef load(\n    path,\n    mode,\n    x,\n): pass",
            "load",
            "def load(\n    path,\n    mode,",
        ),
        ("#define MAX 10", "MAX", "#define MAX 10"),
        ("#[derive(Debug)]\n/// Doc\npub struct Bytes {\n  x: u8,\n}", "Bytes", "pub struct Bytes {"),
        ("// only a comment", "x", ""),
        ("const (\n\tLow = 1\n\tHigh = 2\n)", "Low, High", "\tLow = 1\n\tHigh = 2\n)"),
    ],
)
def test_a_signature_begins_where_the_name_is_declared(text, symbol, expected):
    assert signature(span(text=text, symbol=symbol)) == expected


def test_prose_and_windows_have_no_signature():
    assert signature(span(kind=Kind.SECTION, text="f is here")) == ""


def test_every_kind_has_words():
    assert set(bm25.KIND_WORDS) == set(Kind)
