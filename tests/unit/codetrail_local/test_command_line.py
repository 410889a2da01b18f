"""The help texts are files beside this test, read as a user reads them: at 80 columns.

To write them anew after a change: `python -m tests.unit.codetrail_local.test_command_line`.
"""

import argparse
from pathlib import Path

import pytest

from codetrail_local.command_line import command_line

HELP = Path(__file__).parent / "help"


def texts() -> dict[str, str]:
    parser = command_line()
    (listed,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    commands = {name: command.format_help() for name, command in listed.choices.items()}
    return {"codetrail": parser.format_help(), **commands}


def test_every_command_has_a_help_text_on_file_and_no_other_has():
    assert {file.stem for file in HELP.iterdir()} == set(texts())


@pytest.mark.parametrize("name", texts())
def test_the_help_is_as_on_file(name):
    assert texts()[name] == (HELP / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", texts())
def test_the_help_fits_80_columns_and_is_plain_ascii(name):
    assert all(len(line) <= 80 and line.isascii() for line in texts()[name].split("\n"))


@pytest.mark.parametrize("name", set(texts()) - {"codetrail"})
def test_the_help_shows_an_example(name):
    assert f"\n  codetrail {name}" in texts()[name] or f"| codetrail {name}" in texts()[name]


if __name__ == "__main__":
    HELP.mkdir(exist_ok=True)
    for stem, text in texts().items():
        (HELP / f"{stem}.txt").write_text(text)
