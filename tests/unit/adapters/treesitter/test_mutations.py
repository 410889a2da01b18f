"""Broken sources: whatever a file holds, it is cut, within its bounds, and the same way each time."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codetrail.adapters.treesitter.cutting import Cutting
from codetrail.adapters.treesitter.windows import Rules
from codetrail.domain.languages import language_of

FIXTURES = sorted((Path(__file__).parents[3] / "repos/languages").iterdir())
CUTTING, STRIPPING = Cutting(Rules()), Cutting(Rules(max_declaration_lines=5), strip=True)
NOISE = st.sampled_from(
    [
        *(
            b"{",
            b"}",
            b"(",
            b")",
            b"[",
            b"<",
            b">",
            b'"',
            b"'",
            b"`",
            b"/*",
            b"*/",
            b"//",
            b"#",
            b"\n",
            b";",
            b"\\",
        ),
        *(
            b"\xff",
            b"class ",
            b"fn ",
            b"def ",
            b"end\n",
            b"```\n",
            b"---\n",
            b"=\n",
            b"@",
            b"template<",
            b"#if A\n",
        ),
    ]
)


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.name)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_mutated_sources_are_cut_within_their_bounds(fixture: Path, data: st.DataObject) -> None:
    source = bytearray(fixture.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(source)))
        source[at : at + data.draw(st.integers(0, 40))] = data.draw(NOISE) * data.draw(st.integers(0, 3))
    mutated = bytes(source)
    language = language_of(fixture.name.encode(), fixture.read_bytes())

    for cutting in (CUTTING, STRIPPING):
        cut = cutting.cut(fixture.name, language, mutated)

        assert cut == cutting.cut(fixture.name, language, mutated)
        starts = [piece.start_byte for piece in cut.pieces]
        assert starts == sorted(starts)
        for piece in cut.pieces:
            assert 0 <= piece.start_byte < piece.end_byte <= len(mutated)
            assert piece.start_byte == 0 or mutated[piece.start_byte - 1 : piece.start_byte] == b"\n"
        for start, end in cut.blanks:
            assert 0 <= start <= end <= len(mutated)
