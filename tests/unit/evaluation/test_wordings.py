"""The ways to ask by name are templates, and differ."""

import json
import re
from itertools import combinations
from string import Formatter

from codetrail_local.stack import ROOT
from tests.evaluation.golden import WORDINGS

TEMPLATES = json.loads(WORDINGS.read_text())["wordings"]


def test_each_wording_has_the_name_once_and_no_other_place():
    places = [[place for _, place, _, _ in Formatter().parse(one) if place is not None] for one in TEMPLATES]

    assert len(TEMPLATES) == 40
    assert places == [["name"]] * len(TEMPLATES)


def test_no_two_wordings_are_alike_but_for_one_word():
    told = [one.casefold().strip(".?!").split() for one in TEMPLATES]

    alike = [(one, other) for one, other in combinations(told, 2) if distance(one, other) < 2]

    assert alike == []


def test_no_file_of_the_product_reads_them_or_holds_one():
    told = {
        path: path.read_text().casefold()
        for folder in ("layers/core", "functions")
        for path in (ROOT / folder).rglob("*.py")
    }
    # Two words stand together in English by themselves, whatever is asked.
    asked = [
        re.compile(re.escape(one.casefold()).replace(r"\{name\}", r"\S+"))
        for one in TEMPLATES
        if len(one.split()) > 2
    ]

    assert ROOT / "layers/core/codetrail/domain/ranking.py" in told
    assert [path for path, text in told.items() if WORDINGS.stem in text] == []
    assert [(path, one.pattern) for path, text in told.items() for one in asked if one.search(text)] == []


def distance(one, other):
    """Words to put in, take out or replace to make *one* of *other*."""
    row = list(range(len(other) + 1))
    for number, word in enumerate(one, 1):
        above = row
        row = [number]
        for place, against in enumerate(other):
            row.append(min(above[place + 1] + 1, row[-1] + 1, above[place] + (word != against)))
    return row[-1]
