"""The ways to ask by name are templates, and differ."""

import json
from itertools import combinations
from pathlib import Path
from string import Formatter

TEMPLATES = json.loads((Path(__file__).parents[2] / "evaluation" / "wordings.json").read_text())["wordings"]


def test_each_wording_has_the_name_once_and_no_other_place():
    places = [[place for _, place, _, _ in Formatter().parse(one) if place is not None] for one in TEMPLATES]

    assert len(TEMPLATES) == 40
    assert places == [["name"]] * len(TEMPLATES)


def test_no_two_wordings_are_alike_but_for_one_word():
    told = [one.casefold().strip(".?!").split() for one in TEMPLATES]

    alike = [(one, other) for one, other in combinations(told, 2) if distance(one, other) < 2]

    assert alike == []


def distance(one, other):
    """Words to put in, take out or replace to make *one* of *other*."""
    row = list(range(len(other) + 1))
    for number, word in enumerate(one, 1):
        above = row
        row = [number]
        for place, against in enumerate(other):
            row.append(min(above[place + 1] + 1, row[-1] + 1, above[place] + (word != against)))
    return row[-1]
