import pytest

from codetrail.adapters.stemmer import SnowballStemmer
from codetrail.domain.question import Question
from codetrail.domain.terms import TermReader


def read(text: str) -> Question:
    return Question.read(text, TermReader(SnowballStemmer().stems))


@pytest.mark.parametrize(
    ("text", "lead"),
    [
        ("Parse decodes s into a UUID or returns an error", "Parse"),
        ("where is parseConfig defined", "parseConfig"),
        ("What does NewDCEGroup do?", "NewDCEGroup"),
        ("what does With do", "With"),
        ("I want to read ParseBytes", "ParseBytes"),
        ("UUID", "UUID"),
        ("where is group", "group"),
        ("show me the function `walk`", "walk"),
        ("explain Event.Msg", "Event.Msg"),
        ("what is std::vec::Vec", "std.vec.Vec"),
        ("how does Parser#parse fail", "Parser.parse"),
        ("where is Editor.__init__", "Editor.__init__"),
        ("where is _get_text_stdout", "_get_text_stdout"),
    ],
)
def test_the_lead_is_the_word_that_the_question_is_about(text, lead):
    assert read(text).lead[0] == lead


@pytest.mark.parametrize(
    "text",
    [
        "how does the app match a route",
        "how is a UUID stored in a database",
        "version of the format that old readers of ParseBytes know",
    ],
)
def test_an_everyday_word_among_others_leads_nowhere(text):
    assert read(text).lead == ()


def test_a_qualified_word_is_followed_by_its_less_qualified_forms():
    assert read("what does a.b.C do").lead == ("a.b.C", "b.C", "C")


def test_every_form_of_every_word_is_looked_up_as_a_name_letter_case_aside():
    names = read("how does uuid.NewV7 order time").names

    assert names == ("uuid.newv7", "newv7", "order", "time")


@pytest.mark.parametrize("word", ["fooBar", "foo_bar", "UUID", "a.b", "HTTPServer", "parse()", "`walk`"])
def test_what_looks_like_code_is_told_from_prose(word):
    question = read(f"where does {word} come from")

    assert [forms[0] for forms in question.code] == [word.strip("`()")]


@pytest.mark.parametrize(
    "text", ["Where do sections come from", "how is time ordered", "A random value, I think"]
)
def test_prose_does_not_look_like_code(text):
    assert read(text).code == ()


def test_function_words_are_no_terms_unless_there_is_nothing_else():
    assert set(read("how is the clock set").terms) == {"clock", "set", "clock set"}
    assert {"of", "the", "and"} <= set(read("the of and").terms)


def test_a_question_for_function_words_alone_has_no_lead():
    question = read("the of and")

    assert (question.lead, question.words, question.names) == ((), (), ())


def test_no_more_than_two_hundred_terms_are_looked_up():
    question = read(" ".join(f"w{number}x" for number in range(500)))

    assert len(question.terms) == 200
    assert len(question.words) == 200


@pytest.mark.parametrize(
    "text", ["team:foobar", "'abs", "alice::bob", "'\":*", "x(tw:*", "auth|admin", "John <j@p.com>"]
)
def test_operators_of_a_query_language_are_only_text(text):
    question = read(text)

    assert all(character.isalnum() or character in " ._" for term in question.terms for character in term)


@pytest.mark.parametrize(
    "text", ["which tests cover Parse", "an example of a handler", "the benchmark of Parse"]
)
def test_a_question_may_ask_for_tests_and_examples(text):
    assert read(text).tests


def test_a_lone_surrogate_is_no_word():
    assert set(read("\ud800 parse").terms) == {"pars"}
