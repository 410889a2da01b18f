"""What tells one repository at one commit from another."""

from codetrail.domain.repo import repo_id

COMMIT = "2d3c2a9cc518326daf99a383f07c4d3c44317e4d"


def test_an_id_is_of_a_remote_however_it_is_spelt_and_of_a_commit():
    one = repo_id("https://github.com/google/uuid", COMMIT)

    assert one == repo_id("https://github.com/Google/UUID", COMMIT)
    assert one != repo_id("https://github.com/google/uuid", "1" * 40)


def test_copies_in_folders_that_differ_in_case_are_two_repositories():
    assert repo_id("file:///srv/Code", COMMIT) != repo_id("file:///srv/code", COMMIT)
