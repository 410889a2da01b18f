"""Every declaration is found on its lines. The judges are universal-ctags, and Python's own parser."""

from collections import defaultdict
from pathlib import Path

import pytest

from codetrail.adapters.treesitter.chunker import TreeSitterChunker
from codetrail.domain.languages import CODE
from tests.evaluation.declarations import Row, evaluate
from tests.support.gitrepos import Repository

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    """One sample of each language, and all of our own Python."""
    sources = [*(ROOT / "tests/repos/languages").iterdir(), *(ROOT / "layers/core/codetrail").rglob("*.py")]
    repo = Repository.create(tmp_path_factory.mktemp("declarations") / "repo.git")
    files = {str(path.relative_to(ROOT)).encode(): path.read_bytes() for path in sources if path.is_file()}
    repo.branch("main", repo.commit(files))
    found: dict[str, Row] = defaultdict(Row)
    with TreeSitterChunker() as chunker:
        evaluate(repo.path, found, chunker)
    return found


@pytest.mark.parametrize("language", sorted(CODE))
def test_every_declaration_that_another_tool_lists_is_named_by_a_span_on_its_line(rows, language):
    row = rows[language]

    assert row.declared >= 2
    assert row.missing == []
    assert row.degraded == 0


def test_our_own_declarations_begin_where_pythons_parser_sees_them_begin(rows):
    assert rows["python"].declared > 500
    assert rows["python"].elsewhere == []
