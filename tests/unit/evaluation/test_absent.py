"""Questions without an answer: where they come from, how many of each, and which are left out."""

import json
from collections import Counter
from dataclasses import replace

from tests.evaluation.absent import OFF_TOPIC, THIRD, Absent, Third, absent
from tests.evaluation.corpora import Corpus, Half
from tests.evaluation.golden import Case, Golden, Set
from tests.evaluation.sealing import Sealed
from tests.support.revisions import span

HERE = Corpus("here", "", "", Half.REPORT, "go", siblings=("sibling",))
SIBLING = Corpus("sibling", "", "", Half.SIBLING, "go")
OTHER = Corpus("other", "", "", Half.REPORT, "python")
LEARNT = Corpus("learnt", "", "", Half.LEARN, "python")


def made(name: str, kind: Set = Set.PROSE, count: int = 3 * THIRD) -> Golden:
    """Questions of *name* about symbols of its own."""
    return Golden(
        kind, [Case(f"{name}{at}", kind, f"{name} {kind} {at}", (0,), f"{name}{at}") for at in range(count)]
    )


def asked(corpus: Corpus, *others: Corpus, declared: str = "Here", **golden: list[Golden]) -> list[Absent]:
    every = {one.name: one for one in (corpus, *others)}
    plain = Sealed(
        manifest=None,  # type: ignore[arg-type]  # nothing here reads it
        spans=(span(0, "func Here() {}", symbol=declared),), masses=(), postings=(), names=(), files=(),
    )  # fmt: skip
    return absent(corpus, plain, {name: golden.get(name, [made(name)]) for name in every}, every)


def test_half_are_of_siblings_a_quarter_of_other_code_and_a_quarter_off_topic():
    found = asked(HERE, SIBLING, OTHER)

    assert Counter(one.third for one in found) == {
        Third.SIBLING: 2 * THIRD, Third.OTHER: THIRD, Third.OFF_TOPIC: THIRD,
    }  # fmt: skip


def test_a_question_comes_from_the_corpus_that_its_third_names():
    sources = {(one.third, one.source) for one in asked(HERE, SIBLING, OTHER, LEARNT)}

    assert sources == {
        (Third.SIBLING, "sibling"), (Third.OTHER, "other"), (Third.OFF_TOPIC, "offtopic.json"),
    }  # fmt: skip


def test_a_corpus_of_the_other_half_is_never_asked_from():
    assert "learnt" not in {one.source for one in asked(HERE, SIBLING, LEARNT)}


def test_javascript_and_typescript_are_no_other_languages_to_each_other():
    here = replace(HERE, language="typescript")

    assert "other" not in {one.source for one in asked(here, SIBLING, replace(OTHER, language="javascript"))}


def test_a_question_about_a_name_that_the_corpus_declares_is_left_out():
    cases = [
        Case("1", Set.PROSE, "of another", (0,), "Elsewhere"),
        Case("2", Set.PROSE, "of the same", (0,), "Router.PARSE"),
        Case("3", Set.PROSE, "of the same among others", (0,), "Elsewhere, Parse"),
    ]

    found = asked(HERE, SIBLING, declared="Url.parse", sibling=[Golden(Set.PROSE, cases)])

    assert [one.question for one in found if one.third is Third.SIBLING] == ["of another"]


def test_headings_are_not_asked_for_they_have_an_answer_anywhere():
    found = asked(HERE, SIBLING, sibling=[made("sibling", Set.HEADING), made("sibling", Set.ASKED)])

    assert [one for one in found if one.third is Third.SIBLING] == []


def test_the_sets_of_a_source_take_turns():
    sets = [made("sibling", Set.PROSE), made("sibling", Set.WORDING, count=1)]

    siblings = [one for one in asked(HERE, SIBLING, sibling=sets) if one.third is Third.SIBLING]

    assert [one.kind for one in siblings[:4]] == ["prose", "wording", "prose", "prose"]
    assert len(siblings) == 2 * THIRD


def test_each_corpus_draws_its_own_of_the_off_topic_questions_and_the_same_in_each_run():
    def drawn(corpus: Corpus) -> list[str]:
        return [one.question for one in asked(corpus, SIBLING) if one.third is Third.OFF_TOPIC]

    assert drawn(HERE) == drawn(HERE)
    assert set(drawn(HERE)) != set(drawn(replace(HERE, name="there")))
    assert set(drawn(HERE)) <= set(json.loads(OFF_TOPIC.read_text())["questions"])


def test_the_learn_half_and_the_others_draw_no_off_topic_question_in_common():
    def drawn(corpus: Corpus) -> set[str]:
        return {one.question for one in asked(corpus, SIBLING) if one.third is Third.OFF_TOPIC}

    assert len(drawn(HERE)) == THIRD
    assert drawn(HERE).isdisjoint(drawn(replace(HERE, half=Half.LEARN)))


def test_other_code_comes_from_the_corpora_of_the_half_and_from_their_siblings():
    own = replace(OTHER, siblings=("kin",))
    kin, stranger = (Corpus(name, "", "", Half.SIBLING, "python") for name in ("kin", "stranger"))

    sources = {one.source for one in asked(HERE, SIBLING, own, kin, stranger) if one.third is Third.OTHER}

    assert sources == {"other", "kin"}
