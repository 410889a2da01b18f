from pathlib import Path

import pytest

from codetrail_local.remotes import RemoteError, remote_of


def repository(folder: Path) -> Path:
    (folder / ".git").mkdir(parents=True)
    return folder


def test_a_url_goes_to_the_api_as_it_is():
    assert remote_of("https://github.com/google/uuid").url == "https://github.com/google/uuid"
    assert remote_of("http://nowhere/").folder is None


def test_an_address_for_ssh_is_left_to_the_api_to_refuse():
    assert remote_of("git@github.com:google/uuid.git").url == "git@github.com:google/uuid.git"


def test_a_dot_is_the_repository_around_it(tmp_path, monkeypatch):
    root = repository(tmp_path / "a b" / "ñ")
    (root / "src" / "deep").mkdir(parents=True)
    monkeypatch.chdir(root / "src" / "deep")

    remote = remote_of(".")

    assert remote.folder == root
    assert remote.url.endswith("/a%20b/%C3%B1")
    assert remote_of(remote.url) == remote


def test_a_bare_repository_is_one(tmp_path):
    for part in ("objects", "refs"):
        (tmp_path / "x.git" / part).mkdir(parents=True)
    (tmp_path / "x.git" / "HEAD").touch()

    assert remote_of(str(tmp_path / "x.git")).folder == tmp_path / "x.git"


def test_the_git_folder_means_the_repository_that_it_belongs_to(tmp_path):
    root = repository(tmp_path / "r")
    for part in ("HEAD", "objects", "refs"):
        (root / ".git" / part).mkdir()

    assert remote_of(str(root / ".git")).folder == root


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("google/uuid", "https://github.com/google/uuid"),
        ("./nothing", "neither a URL nor a folder"),
        ("", "REMOTE is empty"),
        ("file://host/x", "without a host"),
        ("file:///nothing/here", "neither a URL nor a folder"),
    ],
)
def test_what_names_no_repository_says_what_would(text, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(RemoteError, match=sentence):
        remote_of(text)


def test_a_folder_without_git_is_not_a_repository(tmp_path):
    with pytest.raises(RemoteError, match="not inside a git repository"):
        remote_of(str(tmp_path))
