"""Which remotes and refs are admitted, and under which rule the others are refused."""

import re
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from codetrail.domain.remote import admit, admit_ref, local_path, remote_key
from codetrail.errors import NotAdmitted

HOSTS = ("github.com", "codeberg.org")

ADMITTED = {
    "https://github.com/google/uuid": "https://github.com/google/uuid",
    "https://github.com/google/uuid.git": "https://github.com/google/uuid",
    "https://codeberg.org/forgejo/forgejo": "https://codeberg.org/forgejo/forgejo",
    "https://github.com/Google/UUID": "https://github.com/Google/UUID",
    "https://github.com/a/b": "https://github.com/a/b",
    "https://github.com/a/.github": "https://github.com/a/.github",
    "https://github.com/a/.dotfiles.git": "https://github.com/a/.dotfiles",
    "https://github.com/a/b.c": "https://github.com/a/b.c",
    "https://github.com/a/b..c": "https://github.com/a/b..c",
    "https://github.com/a/_": "https://github.com/a/_",
    "https://github.com/a/b-": "https://github.com/a/b-",
    "https://github.com/a-b/c_d": "https://github.com/a-b/c_d",
    "https://github.com/_a/b": "https://github.com/_a/b",
    "https://github.com/0/1": "https://github.com/0/1",
    "https://github.com/a/git": "https://github.com/a/git",
    "https://github.com/a/b.gitx": "https://github.com/a/b.gitx",
    "https://github.com/a/b.locked": "https://github.com/a/b.locked",
    f"https://github.com/{'a' * 39}/{'b' * 100}": f"https://github.com/{'a' * 39}/{'b' * 100}",
    f"https://github.com/a/{'b' * 100}.git": f"https://github.com/a/{'b' * 100}",
}

REFUSED = {
    # nothing to read
    "": "form",
    " ": "form",
    "\n": "form",
    "\u00a0": "form",
    # characters that parsers disagree over
    " https://github.com/a/b": "form",
    "https://github.com/a/b ": "form",
    "https://github.com/a/b\n": "form",
    "https://github.com/a/b\r\n": "form",
    "https://github.com/a/b\x00": "form",
    "https://github.com/a\t/b": "form",
    "https://git hub.com/a/b": "form",
    "https://github.com\\@evil.example/a/b": "form",
    "https:\\\\github.com\\a\\b": "form",
    "https://github.com/a/b\\..\\c": "form",
    "https://github.com/a/b\u2028": "form",
    "https://github.com/a/b\u200b": "form",
    "https://github.com/a/b\ufeff": "form",
    "https://github.com/a/\ud800": "form",
    "https://github.com/a/b\x7f": "form",
    "https://github.com/a/b\u0085": "form",
    "https://github.com/a/\u202eb": "form",
    "https://github.com/" + "a" * 3_000 + "/b": "form",
    # schemes
    "http://github.com/a/b": "scheme",
    "HTTPS://github.com/a/b": "scheme",
    "Https://github.com/a/b": "scheme",
    "httpss://github.com/a/b": "scheme",
    "git://github.com/a/b": "scheme",
    "ssh://git@github.com/a/b": "scheme",
    "git+ssh://git@github.com/a/b": "scheme",
    "ftp://github.com/a/b": "scheme",
    "file:///etc/passwd": "scheme",
    "FILE:///etc/passwd": "scheme",
    "file://localhost/etc": "scheme",
    "javascript:alert(1)": "scheme",
    "data:text/plain,x": "scheme",
    "ext::sh": "scheme",
    "EXT::sh": "scheme",
    "fd::17": "scheme",
    "git@github.com:a/b": "scheme",
    "git@github.com:a/b.git": "scheme",
    "github.com:a/b": "scheme",
    "github.com/a/b": "scheme",
    "//github.com/a/b": "scheme",
    "/etc/passwd": "scheme",
    "./repo": "scheme",
    "../repo": "scheme",
    "~/repo": "scheme",
    "a/b": "scheme",
    "-u": "scheme",
    "--upload-pack=touch": "scheme",
    "--upload-pack=x://github.com/a/b": "scheme",
    "gopher://github.com/a/b": "scheme",
    "jar:https://github.com/a/b": "scheme",
    "view-source:https://github.com/a/b": "scheme",
    "http://user:secret@github.com/a/b": "scheme",
    "1https://github.com/a/b": "scheme",
    "https+x://github.com/a/b": "scheme",
    # a scheme without its slashes
    "https:github.com/a/b": "form",
    "https:/github.com/a/b": "form",
    "https:///github.com/a/b": "form",
    "https://": "form",
    "https:///a/b": "form",
    # credentials and ports
    "https://user@github.com/a/b": "form",
    "https://user:secret@github.com/a/b": "form",
    "https://@github.com/a/b": "form",
    "https://:@github.com/a/b": "form",
    "https://github.com@evil.example/a/b": "form",
    "https://evil.example@github.com/a/b": "form",
    "https://github.com:443/a/b": "form",
    "https://github.com:/a/b": "form",
    "https://github.com:22/a/b": "form",
    "https://github.com:x/a/b": "form",
    "https://[::1]:443/a/b": "form",
    "https://git%68ub.com/a/b": "form",
    # hosts
    "https://evil.example/a/b": "host",
    "https://github.com.evil.example/a/b": "host",
    "https://pages.github.com/a/b": "host",
    "https://www.github.com/a/b": "host",
    "https://evilgithub.com/a/b": "host",
    "https://github.co/a/b": "host",
    "https://github.com./a/b": "host",
    "https://.github.com/a/b": "host",
    "https://GitHub.com/a/b": "host",
    "https://g\u0456thub.com/a/b": "host",
    "https://github\u3002com/a/b": "host",
    "https://\uff47ithub.com/a/b": "host",
    "https://localhost/a/b": "host",
    "https://127.0.0.1/a/b": "host",
    "https://2130706433/a/b": "host",
    "https://0x7f.1/a/b": "host",
    "https://[::1]/a/b": "host",
    "https://[::ffff:127.0.0.1]/a/b": "host",
    "https://169.254.169.254/latest/meta-data": "host",
    "https://github.com,codeberg.org/a/b": "host",
    "https://*/a/b": "host",
    "https://github.com;evil.example/a/b": "host",
    # paths
    "https://github.com": "form",
    "https://github.com/": "form",
    "https://github.com//": "form",
    "https://github.com/a": "form",
    "https://github.com/a/": "form",
    "https://github.com//b": "form",
    "https://github.com/a//b": "form",
    "https://github.com/a/b/": "form",
    "https://github.com/a/b/c": "form",
    "https://github.com/a/b/tree/main": "form",
    "https://github.com/a/b.git/": "form",
    "https://github.com/a/b.git/info/refs": "form",
    "https://github.com/a/b.proxy=http://evil.example": "form",
    "https://github.com/a/..": "form",
    "https://github.com/a/.": "form",
    "https://github.com/../b": "form",
    "https://github.com/./b": "form",
    "https://github.com/a/...": "form",
    "https://github.com/a/../../b": "form",
    "https://github.com/.a/b": "form",
    "https://github.com/-a/b": "form",
    "https://github.com/a/-b": "form",
    "https://github.com/a/--upload-pack": "form",
    "https://github.com/a/.git": "form",
    "https://github.com/a/b.git.git": "form",
    "https://github.com/a/b.GIT": "form",
    "https://github.com/a/b.lock": "form",
    "https://github.com/a/b.lock.git": "form",
    "https://github.com/a/b.LOCK": "form",
    "https://github.com/a%2Fb/c": "form",
    "https://github.com/a/b%00": "form",
    "https://github.com/a/b%0a": "form",
    "https://github.com/%2e%2e/b": "form",
    "https://github.com/a/b?x=1": "form",
    "https://github.com/a/b?": "form",
    "https://github.com/a/b#readme": "form",
    "https://github.com/a/b#": "form",
    "https://github.com?/a/b": "form",
    "https://github.com#/a/b": "form",
    "https://github.com/a/b;c": "form",
    "https://github.com/a/b=c": "form",
    "https://github.com/a/b@c": "form",
    "https://github.com/a/b:c": "form",
    "https://github.com/a/$(id)": "form",
    "https://github.com/a/`id`": "form",
    "https://github.com/a/b|c": "form",
    "https://github.com/a/b&c": "form",
    "https://github.com/a/*": "form",
    "https://github.com/~a/b": "form",
    "https://github.com/a/b+c": "form",
    "https://github.com/a/b'": "form",
    'https://github.com/a/b"': "form",
    "https://github.com/a/<b>": "form",
    "https://github.com/\u00e9/b": "form",
    "https://github.com/a/\u0660": "form",
    "https://github.com/\u212a/b": "form",
    f"https://github.com/{'a' * 40}/b": "form",
    f"https://github.com/a/{'b' * 101}": "form",
    f"https://github.com/a/{'b' * 101}.git": "form",
}


@pytest.mark.parametrize("remote", ADMITTED)
def test_a_remote_that_names_a_repository_is_admitted_in_its_one_form(remote):
    assert admit(remote, HOSTS) == ADMITTED[remote]


@pytest.mark.parametrize("remote", REFUSED, ids=ascii)
def test_any_other_remote_is_refused_under_its_rule(remote):
    with pytest.raises(NotAdmitted) as refused:
        admit(remote, HOSTS)

    assert refused.value.rule == REFUSED[remote]
    assert str(refused.value)


def test_the_first_rule_that_is_broken_is_the_one_that_is_named():
    cases = {
        "http://u:p@evil.example:80/a": "scheme",
        "https://u:p@evil.example:80/a": "form",
        "https://evil.example:80/a": "form",
        "https://evil.example/a": "host",
        "https://github.com/a": "form",
    }
    for remote, rule in cases.items():
        with pytest.raises(NotAdmitted) as refused:
            admit(remote, HOSTS)
        assert (remote, refused.value.rule) == (remote, rule)


def test_a_refusal_never_repeats_a_password():
    for remote in (
        "https://user:hunter2@github.com/a/b",
        "http://user:hunter2@github.com/a/b",
        "user:hunter2@github.com/a/b",
        "hunter2@github.com:a/b",
    ):
        with pytest.raises(NotAdmitted) as refused:
            admit(remote, HOSTS)
        assert "hunter2" not in str(refused.value)


def test_a_refusal_is_short_and_printable_whatever_was_sent():
    for remote in REFUSED:
        with pytest.raises(NotAdmitted) as refused:
            admit(remote, HOSTS)
        assert len(str(refused.value)) < 250
        assert str(refused.value).isascii()
        assert str(refused.value).isprintable()


def test_with_no_host_allowed_nothing_is_admitted():
    with pytest.raises(NotAdmitted, match="ALLOWED_HOSTS is empty") as refused:
        admit("https://github.com/a/b", ())

    assert refused.value.rule == "host"


def test_a_host_in_capitals_is_told_to_come_in_small_letters():
    with pytest.raises(NotAdmitted, match=r"lowercase: github\.com"):
        admit("https://GITHUB.com/a/b", HOSTS)


def test_local_remotes_do_not_open_any_other_scheme():
    for remote, rule in REFUSED.items():
        if remote.startswith(("file:", "/")):
            continue
        with pytest.raises(NotAdmitted) as refused:
            admit(remote, HOSTS, local=True)
        assert refused.value.rule == rule


PIECES = [
    "https://", "http://", "github.com", "codeberg.org", "evil.example", "/", "//", "a", "b", ".git",
    ".lock", "..", ".", "-", "@", ":", "443", "?", "#", "%2f", "%", "\\", "\n", " ", "\x00", "[::1]", "é",
    "\u2028", "A", "_", "=", "~", "x" * 39,
]  # fmt: skip


@settings(max_examples=1_500, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=10).map("".join) | st.text(max_size=60))
@example("https://github.com/a/b")
def test_what_is_admitted_means_the_same_to_every_parser(remote):
    try:
        admitted = admit(remote, HOSTS)
    except NotAdmitted:
        return

    address = urlsplit(remote)
    assert address.scheme == "https"
    assert address.netloc == address.hostname
    assert address.netloc in HOSTS
    assert not address.query and not address.fragment
    assert urlsplit(admitted) == address._replace(path=address.path.removesuffix(".git"))
    assert admit(admitted, HOSTS) == admitted
    assert re.fullmatch(r"https://[a-z.]+/[A-Za-z0-9._-]+/[A-Za-z0-9._-]+", admitted)


@settings(max_examples=1_000, deadline=None)
@given(
    st.sampled_from(["https://github.com/a/b", "https://codeberg.org/some-owner/.some_name.git"]),
    st.integers(0, 200),
    st.characters(exclude_characters="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/"),
)
def test_one_foreign_character_anywhere_is_never_admitted(remote, at, character):
    at %= len(remote) + 1
    spoiled = remote[:at] + character + remote[at:]

    with pytest.raises(NotAdmitted):
        admit(spoiled, HOSTS)


LOCAL = {
    "/srv/repo": "file:///srv/repo",
    "/srv/repo.git": "file:///srv/repo.git",
    "/srv/repo/": "file:///srv/repo",
    "/srv//repo": "file:///srv/repo",
    "//srv/repo": "file:///srv/repo",
    "file:///srv/repo": "file:///srv/repo",
    "file:///srv/repo/": "file:///srv/repo",
    "file://localhost/srv/repo": "file:///srv/repo",
    "/srv/my repo": "file:///srv/my%20repo",
    "file:///srv/my%20repo": "file:///srv/my%20repo",
    "file:///srv/my repo": "file:///srv/my%20repo",
    "/srv/100%": "file:///srv/100%25",
    "file:///srv/100%25": "file:///srv/100%25",
    "/srv/a%20b": "file:///srv/a%2520b",
    "/srv/what?": "file:///srv/what%3F",
    "file:///srv/what%3f": "file:///srv/what%3F",
    "/srv/c#": "file:///srv/c%23",
    "/srv/é": "file:///srv/%C3%A9",
    "file:///srv/%e9": "file:///srv/%E9",
    "/srv/a\nb": "file:///srv/a%0Ab",
    "/srv/-x": "file:///srv/-x",
    "/srv/a:b": "file:///srv/a%3Ab",
    "/srv/~a": "file:///srv/~a",
    "/srv/.hidden": "file:///srv/.hidden",
    "/srv/a...b": "file:///srv/a...b",
    "/srv/a\\b": "file:///srv/a%5Cb",
    "file:///%2Fsrv": "file:///srv",
}

NOT_LOCAL = [
    "/", "//", "file:///", "file://", "file:", "file:srv", "file:/srv", "file://host/srv",
    "file://127.0.0.1/srv", "file://localhost", "/srv/../etc", "/srv/./a", "/..", "file:///srv/../etc",
    "file:///srv/%2e%2e/etc", "file:///srv/%2E/x", "file:///srv/%2e%2e%2fetc", "/srv/\x00",
    "file:///srv/%00", "file:///srv/%", "file:///srv/%2", "file:///srv/%zz", "file:///srv?x",
    "file:///srv#x", "/srv/\udcff", "/" + "a/" * 2_049, "/" + "a" * 4_096,
]  # fmt: skip


@pytest.mark.parametrize("remote", LOCAL, ids=ascii)
def test_a_local_path_is_admitted_in_its_one_form(remote):
    admitted = admit(remote, HOSTS, local=True)

    assert admitted == LOCAL[remote]
    assert admit(admitted, HOSTS, local=True) == admitted


@pytest.mark.parametrize("remote", NOT_LOCAL, ids=lambda remote: ascii(remote)[:40])
def test_any_other_local_path_is_refused_for_its_form(remote):
    with pytest.raises(NotAdmitted) as refused:
        admit(remote, HOSTS, local=True)

    assert refused.value.rule == "form"


@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=5))
def test_a_local_path_leads_back_to_its_folder(parts):
    path = "/" + "/".join(parts)
    try:
        admitted = admit(path, (), local=True)
    except NotAdmitted:
        return

    assert local_path(admitted) == "/" + "/".join(part for part in path.split("/") if part)
    assert admitted.isascii()
    assert admitted.isprintable()
    assert " " not in admitted


def test_only_a_local_remote_names_a_folder():
    assert local_path("https://github.com/a/b") is None
    assert local_path("file:///srv/%E9") == "/srv/\udce9"


def test_forges_fold_case_and_file_systems_do_not():
    assert remote_key("https://github.com/Google/UUID") == remote_key("https://github.com/google/uuid")
    assert remote_key("file:///srv/A") != remote_key("file:///srv/a")


REFS = [
    "HEAD", "main", "master", "a", "v1.0.0", "v1.0.0-rc.1", "v1.0.0+build.7", "pkg@1.2.3",
    "@scope/pkg@1.2.3", "feature/one", "fix/#123", "release-please--branches--master", "a.b", "a_b",
    "a/b/c/d", "refs/heads/main", "refs/tags/v1", "refs/heads/HEAD", "refs/tags/a/b", "heads/main",
    "tags/v1", "f" * 40, "f" * 64, "0", "20260817", "FETCH_HEAD", "x.locked", "a.lockb/c", "refsx/y",
    "a" * 255,
]  # fmt: skip

NOT_REFS = [
    "", " ", "a b", "main\n", "\nmain", "main\x00", "a\tb", "-main", "--upload-pack=x", "-", ".", "..",
    "a..b", "main..", "../main", ".main", "a/.b", "a/", "/a", "a//b", "/", "a.", "a/b.", "a.lock",
    "a.lock/b", "a/b.lock", "main~1", "main^", "main^{}", "a:b", "+main", "a?b", "a*b", "a[b", "a\\b", "@",
    "@{1}", "main@{1}", "a@{u}", "a{b}", "$(id)", "`id`", "a;b", "a|b", "a&b", "a'b", 'a"b', "<a>", "a%b",
    "a=b", "a,b", "a!b", "é", "\u2028", "\u00a0", "\ud800", "refs", "refs/", "refs/heads", "refs/heads/",
    "refs/tags/", "refs/pull/1/head", "refs/remotes/origin/main", "refs/notes/commits", "refs/heads/.a",
    "refs/heads/a..b", "a" * 256, "é" * 128,
]  # fmt: skip


@pytest.mark.parametrize("ref", REFS)
def test_a_plain_name_is_admitted_as_a_ref(ref):
    assert admit_ref(ref) == ref


@pytest.mark.parametrize("ref", NOT_REFS, ids=lambda ref: ascii(ref)[:40])
def test_any_other_ref_is_refused_for_its_form(ref):
    with pytest.raises(NotAdmitted) as refused:
        admit_ref(ref)

    assert refused.value.rule == "form"
    assert str(refused.value).isascii()


def test_without_a_ref_it_is_head():
    assert admit_ref() == "HEAD"


@settings(max_examples=1_000, deadline=None)
@given(st.text(alphabet="ab/.-@{}~^:#+_ lock*", max_size=12) | st.text(max_size=12))
def test_git_itself_would_take_every_ref_that_is_admitted(ref):
    try:
        admitted = admit_ref(ref)
    except NotAdmitted:
        return

    assert is_a_ref_by_the_manual(f"refs/heads/{admitted}")


def is_a_ref_by_the_manual(name: str) -> bool:
    """The ten rules of git-check-ref-format(1), one after the other."""
    return not (
        any(part.startswith(".") or part.endswith(".lock") for part in name.split("/"))
        or "/" not in name
        or ".." in name
        or any(ord(character) < 0o40 or ord(character) == 0o177 or character in " ~^:" for character in name)
        or any(character in name for character in "?*[")
        or name.startswith("/")
        or name.endswith("/")
        or "//" in name
        or name.endswith(".")
        or "@{" in name
        or name == "@"
        or "\\" in name
    )
