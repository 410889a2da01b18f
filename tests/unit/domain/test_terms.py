import re

import pytest

from codetrail.domain.terms import FUNCTION_WORDS, MAX_RUNS, MAX_TERM_BYTES, TermReader


def plural(words):
    """A stemmer that a reader can follow: the plural's s goes."""
    return [re.sub(r"(?<=[a-z]{2})s$", "", word) for word in words]


@pytest.fixture
def reader():
    return TermReader(plural)


def test_an_identifier_counts_whole_by_its_parts_and_by_its_pairs(reader):
    assert reader.terms("NewDCEGroups") == {
        "newdcegroup": 1.0,
        "new": 0.5,
        "dce": 0.5,
        "group": 0.5,
        "new dce": 0.5,
        "dce group": 0.5,
    }


def test_a_dotted_identifier_also_counts_each_segment_of_several_words(reader):
    terms = reader.terms("uuid.NewDCEGroup")

    assert terms["uuid.newdcegroup"] == 1.0
    assert terms["newdcegroup"] == terms["uuid"] == 0.5
    assert terms["uuid new"] == 0.5


def test_plain_words_count_one_and_pair_with_their_neighbours(reader):
    assert reader.terms("random uuids") == {"random": 1.0, "uuid": 1.0, "random uuid": 0.5}


def test_counts_add_up(reader):
    assert reader.terms("clock Clock clockSequence")["clock"] == 2.5


def test_a_pair_weighs_more_in_a_question(reader):
    assert reader.question("random uuid")["random uuid"] == 1.0


def test_function_words_are_dropped_and_do_not_part_their_neighbours(reader):
    assert reader.terms("the version of a uuid") == {"version": 1.0, "uuid": 1.0, "version uuid": 0.5}
    assert "is" not in reader.terms("isNil")
    assert reader.terms("isNil")["isnil"] == 1.0


def test_a_question_of_function_words_only_is_taken_as_typed(reader):
    assert reader.question("with what") == {"with": 1.0, "what": 1.0, "with what": 1.0}


def test_a_question_of_punctuation_only_has_no_terms(reader):
    assert reader.question("?!* ()") == {}


def test_words_that_programs_are_made_of_are_not_function_words():
    assert FUNCTION_WORDS.isdisjoint({"get", "new", "all", "first", "last", "set", "out", "up", "down"})


def test_the_words_of_a_name_are_its_distinct_stems_in_order(reader):
    assert reader.name("Groups.isNewGroup") == ("group", "new")
    assert reader.name("With") == ("with",)
    assert reader.name("") == ()


def test_chinese_and_japanese_come_as_bigrams_which_do_not_pair(reader):
    assert reader.terms("日本語 です") == {"日本": 1.0, "本語": 1.0, "です": 1.0}
    assert reader.name("日本語") == ("日本", "本語")


def test_a_run_too_long_for_a_word_is_read_in_its_pieces(reader):
    name = "TestSuite.test_" + "_".join(["word"] * 20)

    terms = reader.terms(name)

    assert terms["testsuite"] == 1.0
    assert terms["word"] == 20.0
    assert reader.terms("x" * 65) == {}


def test_no_term_is_longer_than_its_bound_in_bytes(reader):
    long = "é" * 33 + " " + "a" * 40 + " " + "b" * 40

    terms = reader.terms(long)

    assert all(len(term.encode()) <= MAX_TERM_BYTES for term in terms)
    assert set(terms) == {"a" * 40, "b" * 40}


def test_a_text_is_read_up_to_its_bound(reader):
    text = " ".join(f"w{n}" for n in range(MAX_RUNS + 10))

    terms = reader.terms(text)

    assert f"w{MAX_RUNS - 1}" in terms
    assert f"w{MAX_RUNS}" not in terms


def test_compatibility_forms_are_one_word(reader):
    assert reader.terms("ﬁle") == reader.terms("file")


@pytest.mark.parametrize("text", ["a\x00b c", "\ud800x", "x̂ŷ", "İstanbul", "\N{ZERO WIDTH JOINER}a"])
def test_odd_text_is_read_without_trouble_and_terms_can_be_stored(reader, text):
    for term in reader.terms(text):
        assert "\0" not in term
        term.encode()
