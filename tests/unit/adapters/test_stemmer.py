from codetrail.adapters.stemmer import SnowballStemmer
from codetrail.domain.terms import TermReader


def test_words_come_back_as_snowball_stems_in_order():
    assert SnowballStemmer().stems(["generated", "generating", "uuids", "clock"]) == [
        "generat",
        "generat",
        "uuid",
        "clock",
    ]


def test_no_words_have_no_stems():
    assert SnowballStemmer().stems([]) == []


def test_index_and_question_meet_in_one_stem():
    reader = TermReader(SnowballStemmer().stems)

    indexed = reader.terms("func GenerateUUIDs() // generates random identifiers")
    asked = reader.question("how are random identifiers generated")

    assert {"random", "identifi", "generat", "random identifi"} <= set(indexed) & set(asked)


def test_words_of_other_scripts_are_left_as_they_are():
    assert SnowballStemmer().stems(["логгер", "日本", "naïve"])[:2] == ["логгер", "日本"]
