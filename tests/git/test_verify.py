"""Citations of a real repository, checked against clones as they lie on a machine."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import pytest

from codetrail.adapters.git.program import GitProgram
from codetrail.domain.answer import Citation
from codetrail.domain.lines import Lines
from codetrail.domain.paths import to_text
from codetrail.domain.remote import local_path
from codetrail.services.verify import Claim, Clone, Outcome, verify
from tests.support.gitrepos import odd_repository


@dataclass(frozen=True)
class Odd:
    """Claims on every odd file, made as the product makes them."""

    claims: list[Claim]
    folder: Path


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Odd:
    repo, commit, files = odd_repository(tmp_path_factory.mktemp("odd") / "repo.git")
    claims = []
    for path, content in files.items():
        if not content:
            continue
        lines = Lines(content)
        at = lines.between((len(lines) + 1) // 2, len(lines))
        claims.append(
            Claim(
                Citation(
                    "0" * 16,
                    repo.url,
                    commit,
                    "HEAD",
                    to_text(path),
                    at.start_line,
                    at.end_line,
                    at.digest,
                    at.length,
                )
            )
        )
    return Odd(claims, repo.path)


@pytest.fixture
def git(tmp_path: Path) -> GitProgram:
    return GitProgram(scratch=tmp_path / "scratch", protocols=("file",))


def test_citations_of_every_odd_file_hold_in_a_fetched_clone(odd, git):
    assert {verdict.outcome for verdict in verify(odd.claims, git.fetch)} == {Outcome.MATCHES}


def test_citations_hold_in_a_clone_that_is_there_already(odd, git):
    @contextmanager
    def existing(remote: str, commit: str) -> Iterator[Clone]:
        yield git.clone(Path(local_path(remote) or ""))

    assert {verdict.outcome for verdict in verify(odd.claims, existing)} == {Outcome.MATCHES}


def test_citations_hold_from_a_folder_inside_a_work_tree(odd, git, tmp_path):
    clone = ["git", "-c", "core.protectNTFS=false", "clone", "--quiet", "--no-checkout", str(odd.folder)]
    subprocess.run([*clone, str(tmp_path / "work")], check=True)
    (tmp_path / "work" / "sub").mkdir()

    @contextmanager
    def existing(remote: str, commit: str) -> Iterator[Clone]:
        yield git.clone(tmp_path / "work" / "sub")

    assert {verdict.outcome for verdict in verify(odd.claims[:3], existing)} == {Outcome.MATCHES}


def test_a_clone_without_the_commit_does_not_confirm_it(odd, git):
    claims = [Claim(replace(claim.citation, commit="1" * 40)) for claim in odd.claims[:3]]

    @contextmanager
    def existing(remote: str, commit: str) -> Iterator[Clone]:
        yield git.clone(odd.folder)

    assert {verdict.outcome for verdict in verify(claims, existing)} == {Outcome.DIFFERS}


def test_a_repository_that_is_gone_leaves_the_citation_unchecked(odd, git, tmp_path):
    claim = Claim(replace(odd.claims[0].citation, remote=f"file://{tmp_path}/gone"))

    [verdict] = verify([claim], git.fetch)

    assert verdict.outcome is Outcome.UNCHECKED
    assert verdict.detail.startswith("There is no such folder")


def test_another_digest_is_noticed_on_every_odd_file(odd, git):
    claims = [
        Claim(replace(claim.citation, digest=sha256(claim.citation.digest.encode()).hexdigest()))
        for claim in odd.claims
    ]

    assert {verdict.outcome for verdict in verify(claims, git.fetch)} == {Outcome.DIFFERS}
