import pytest

from codetrail.domain.search import Filter, read_glob
from codetrail.domain.span import Kind


@pytest.mark.parametrize(
    ("text", "glob"),
    [
        ("src/", "src/**"),
        ("./src/a.py", "src/a.py"),
        ("/src/*", "src/*"),
        (" a ", "a"),
        ("x" * 200, "x" * 200),
    ],
)
def test_a_glob_is_read_from_the_root_and_a_folder_is_all_below_it(text, glob):
    assert read_glob(text) == glob


@pytest.mark.parametrize(
    ("text", "reason"), [("", "empty"), (" ", "empty"), ("/", "empty"), ("é" * 101, "over 200 bytes")]
)
def test_what_is_no_glob_is_refused(text, reason):
    with pytest.raises(ValueError, match=reason):
        read_glob(text)


def test_a_filter_is_true_when_it_leaves_anything_out():
    assert not Filter()
    assert all([Filter(path="a"), Filter(language="go"), Filter(kind=Kind.VAR), Filter(exclude_tests=True)])


def test_a_filter_names_what_it_asks_for():
    only = Filter(path="src/**", language="go", kind=Kind.FUNC, exclude_tests=True)

    assert str(only) == "path src/**, language go, kind func, without tests"
    assert str(Filter(language="go")) == "language go"
