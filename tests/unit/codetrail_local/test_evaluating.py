import pytest

from codetrail_local.errors import Trouble
from codetrail_local.evaluating import evaluate


def instrument(root, source):
    folder = root / "tests" / "evaluation"
    folder.mkdir(parents=True)
    (folder / "__main__.py").write_text(source)


def test_the_instrument_gets_the_arguments_and_its_exit_code_is_told(tmp_path):
    instrument(tmp_path, "import sys; open('asked', 'w').write(' '.join(sys.argv[1:])); sys.exit(7)")

    assert evaluate(["run", "uuid"], root=tmp_path) == 7
    assert (tmp_path / "asked").read_text() == "run uuid"


def test_a_folder_is_meant_from_where_the_command_was_typed(tmp_path, monkeypatch):
    instrument(tmp_path, "import sys; open('asked', 'w').write(sys.argv[2])")
    (tmp_path / "here" / "clones").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")

    assert evaluate(["--clones", "clones"], root=tmp_path) == 0
    assert (tmp_path / "asked").read_text() == str(tmp_path / "here" / "clones")


@pytest.mark.parametrize("spelling", [["--cache", "new"], ["--cache=new"]])
def test_a_folder_that_is_not_there_yet_is_meant_from_there_too(tmp_path, monkeypatch, spelling):
    instrument(tmp_path, "import sys; open('asked', 'w').write(sys.argv[-1])")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    evaluate(spelling, root=tmp_path)

    assert (tmp_path / "asked").read_text().removeprefix("--cache=") == str(tmp_path / "here" / "new")


def test_a_corpus_that_is_called_like_a_folder_here_stays_a_corpus(tmp_path, monkeypatch):
    instrument(tmp_path, "import sys; open('asked', 'w').write(sys.argv[2])")
    (tmp_path / "here" / "uuid").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")

    evaluate(["run", "uuid"], root=tmp_path)

    assert (tmp_path / "asked").read_text() == "uuid"


def test_without_a_checkout_the_error_says_where_one_comes_from(tmp_path):
    with pytest.raises(Trouble, match="not installed from a checkout"):
        evaluate(["tables"], root=tmp_path)
