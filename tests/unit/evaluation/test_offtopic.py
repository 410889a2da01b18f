"""Questions off topic, drawn from a folder of WordNet's format made up here; and those that are committed."""

import json
import shlex
from pathlib import Path

import pytest

from tests.evaluation import offtopic

NOTICE = "  1 Made up for this test,  \n  2 and free of any licence.  \n"
# Twenty-six letters make as many words, which are no lists of ours.
LETTERS = "abcdefghijklmnopqrstuvwxyz"
COMMITTED = json.loads(Path(offtopic.__file__).with_name("offtopic.json").read_text())


def line(offset, file, words, gloss, *, part="n"):
    told = " ".join(f"{word} 0" for word in words)
    pointers = "002 @ 00000007 n 0000 + 00000008 v 0101"
    frames = " 01 + 08 00" if part == "v" else ""
    return f"{offset:08} {file:02} {part} {len(words):02x} {told} {pointers}{frames} | {gloss}  \n"


def soups():
    return [
        line(number, 13, [f"{letter}{letter}soup"], f"a hot soup of the kind {letter}{letter}")
        for number, letter in enumerate(LETTERS)
    ]


@pytest.fixture
def folder(tmp_path):
    def write(nouns, verbs=()):
        (tmp_path / "data.noun").write_text(NOTICE + "".join(nouns))
        (tmp_path / "data.verb").write_text(NOTICE + "".join(verbs))
        return tmp_path

    return write


def test_a_line_is_read_as_its_words_and_its_gloss_without_the_examples():
    words = ["pea_soup", *(f"broth{letter}" for letter in "abcdefghijk")]
    text = NOTICE + line(12, 13, words, 'soup of peas; thick | green; "he ate soup"; "more soup"')

    [read] = offtopic.synsets(text.splitlines(keepends=True))

    assert (read.offset, read.file) == ("00000012", 13)
    assert read.words == ("pea soup", *words[1:])
    assert read.gloss == "soup of peas; thick | green"


def test_the_notice_at_the_head_is_printed_with_the_questions(folder):
    told = json.loads(offtopic.document(folder(soups())))

    assert told["notice"] == "Made up for this test, and free of any licence."


def test_half_the_questions_are_glosses_and_half_ask_for_a_word(folder):
    asked = offtopic.questions(folder(soups()))

    assert len(asked) == offtopic.QUESTIONS
    assert [question.startswith("what is ") for question in asked] == [False, True] * (len(asked) // 2)
    assert all(
        question.startswith(("a hot soup of the kind ", "what is ")) and "soup" in question
        for question in asked
    )


def test_the_draw_is_the_same_in_each_run_and_hangs_on_the_seed_not_on_the_order_of_lines(
    folder, monkeypatch
):
    first = offtopic.questions(folder(soups()))

    assert offtopic.questions(folder(reversed(soups()))) == first
    monkeypatch.setattr(offtopic, "SEED", "another")
    assert offtopic.questions(folder(soups())) != first


@pytest.mark.parametrize(
    ("words", "gloss", "file"),
    [
        (["server"], "a person who brings the soup", 18),
        (["waiter", "server"], "a person who brings the soup", 18),
        (["scribe"], "a person who copies old files", 18),
        (["crash"], "an accident that computers have", 11),
        (["Escoffier"], "a cook of many soups", 18),
        (["cook"], 'a person "in soup" every day', 18),
        (["cook"], "maker of soup", 18),
        (["oath"], "an obscene word for a cook", 18),
        (["ladle"], "a spoon that soup is served with", 6),
    ],
    ids=[
        "computing word",
        "computing synonym",
        "plural in the gloss",
        "computing gloss",
        "name",
        "quotation",
        "short",
        "coarse",
        "another file",
    ],
)
def test_what_is_not_everyday_prose_is_left_out(folder, words, gloss, file):
    assert offtopic.questions(folder([line(1, file, words, gloss)])) == []


def test_a_word_that_means_something_else_elsewhere_is_not_asked_for(folder):
    spoons = [
        line(100 + number, 6, [f"{letter}{letter}soup"], "a spoon with no soup")
        for number, letter in enumerate(LETTERS)
        if letter != "q"
    ]

    asked = offtopic.questions(folder([*soups(), *spoons]))

    assert [question for question in asked if question.startswith("what is ")] == ["what is qqsoup"]


def test_a_verb_and_a_thing_are_asked_for_as_english_does(folder):
    things = [
        line(1, 5, ["owl"], "a bird of the night"),
        line(2, 5, ["auk"], "a bird of the sea"),
        line(5, 20, ["fern"], "a plant of the woods"),
        line(6, 20, ["moss"], "a plant of the bogs"),
    ]
    deeds = [
        line(3, 34, ["sup"], "eat soup with a spoon", part="v"),
        line(4, 34, ["sip"], "drink soup in small mouthfuls", part="v"),
    ]

    asked = offtopic.questions(folder(things, deeds))

    assert len(asked) == 6
    assert asked[1] in ("what is an owl", "what is an auk")
    assert asked[3] in ("what is a fern", "what is a moss")
    assert asked[5] in ("what does it mean to sup", "what does it mean to sip")


def test_no_question_is_asked_twice(folder):
    alike = [line(100 + number, 13, ["chowder"], "a hot soup with beans") for number in range(26)]

    asked = offtopic.questions(folder([*soups(), *alike]))

    assert len(set(asked)) == len(asked) == offtopic.QUESTIONS


def test_the_committed_questions_are_about_three_hundred_and_none_is_there_twice():
    folded = [question.casefold() for question in COMMITTED["questions"]]

    assert 250 <= len(folded) <= 350
    assert len(set(folded)) == len(folded)


def test_no_committed_question_has_a_word_of_computing():
    told = {question: offtopic.listed(question, offtopic.COMPUTING) for question in COMMITTED["questions"]}

    assert {question: words for question, words in told.items() if words} == {}


def test_the_committed_file_tells_what_made_it():
    assert COMMITTED["source"]["package"] == offtopic.PACKAGE
    assert COMMITTED["source"]["version"] == offtopic.VERSION
    assert set(COMMITTED["source"]["sha256"]) == {"data.noun", "data.verb"}
    assert shlex.split(COMMITTED["command"])[:3] == ["python", "-m", "tests.evaluation.offtopic"]
    assert COMMITTED["seed"] == offtopic.SEED
    assert "Copyright 2006 by Princeton University" in COMMITTED["notice"]
