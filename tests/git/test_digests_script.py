"""The independent check of an export: it must agree where all is right, and notice where something is not."""

import io
import json

import pytest

from codetrail.domain.answer import check_command
from codetrail.domain.lines import Lines
from codetrail.domain.paths import to_bytes, to_text
from tests.evaluation.digests import main, path_of
from tests.support.gitrepos import ODD_NAMES, odd_repository


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    repo, commit, files = odd_repository(tmp_path_factory.mktemp("odd") / "repo.git")
    citations = []
    for path, content in files.items():
        if content:
            at = Lines(content).between(1, len(Lines(content)))
            check = check_command(commit, path, at.start_line, at.end_line, at.length)
            place = {
                "commit": commit,
                "path": to_text(path),
                "start_line": at.start_line,
                "end_line": at.end_line,
            }
            citations.append({**place, "digest": at.digest, "length": at.length, "check": check})
    return repo.path, citations


def run(monkeypatch, folder, document: str, *options: str) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(document))
    return main(["--clone", str(folder), "--run", "10", *options])


def test_an_export_that_is_right_is_called_right(export, monkeypatch, capsys):
    folder, citations = export

    assert run(monkeypatch, folder, json.dumps({"hits": [{"citation": c} for c in citations]})) == 0
    assert f"digests counted again: {len(citations)} of {len(citations)} right" in capsys.readouterr().out


def test_json_lines_of_spans_are_read_with_their_commit(export, monkeypatch, capsys):
    folder, citations = export
    spans = [
        {key: value for key, value in c.items() if key not in ("commit", "check")} for c in citations[:20]
    ]

    lines = "\n".join(json.dumps(span) for span in spans)
    assert run(monkeypatch, folder, lines, "--commit", citations[0]["commit"]) == 0
    assert "20 of 20 right" in capsys.readouterr().out


@pytest.mark.parametrize(
    "change", [{"digest": "0" * 64}, {"end_line": 9_999}, {"check": "echo " + "0" * 64}, {"path": "gone"}]
)
def test_one_wrong_citation_is_noticed(export, monkeypatch, change):
    folder, citations = export

    assert run(monkeypatch, folder, json.dumps([citations[0] | change, *citations[1:3]])) == 1


def test_an_export_without_citations_proves_nothing(export, monkeypatch):
    assert run(monkeypatch, export[0], "{}") == 2


@pytest.mark.parametrize("path", ODD_NAMES, ids=ascii)
def test_the_scripts_own_reading_of_a_path_agrees_with_the_products(path):
    assert path_of(to_text(path)) == path == to_bytes(to_text(path))
