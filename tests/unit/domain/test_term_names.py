from hypothesis import given
from hypothesis import strategies as st

from codetrail.adapters.stemmer import SnowballStemmer
from codetrail.domain.terms import TermReader

SYMBOLS = st.text() | st.from_regex(r"[A-Za-z0-9_.>: ]{0,80}", fullmatch=True)


@given(st.lists(SYMBOLS))
def test_many_names_are_read_as_each_alone(symbols):
    reader = TermReader(SnowballStemmer().stems)

    assert reader.names(symbols) == [reader.name(symbol) for symbol in symbols]
