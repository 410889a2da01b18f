"""One fixture a language: what is declared there, and on which lines, read off by a person."""

from pathlib import Path

import pytest

from codetrail.domain.languages import CODE
from tests.support.chunking import cut_file

FIXTURES = Path(__file__).parents[3] / "repos/languages"

# kind, symbol, first line with comments and attributes, last line
EXPECTED = {
    "Sample.java": [
        ("type", "Sample", 8, 11),
        ("func", "Sample.find", 13, 16),
        ("func", "Sample.find", 18, 21),
        ("file", "Sample", 23, 23),
        ("type", "Sample.Visitor", 25, 27),
        ("func", "Sample.Visitor.visit", 26, 26),
        ("type", "Sample.Color", 29, 29),
        ("type", "Point", 32, 36),
        ("func", "Point.Point", 33, 35),
    ],
    "sample.c": [
        ("const", "LIMIT", 4, 4),
        ("func", "SQUARE", 5, 5),
        ("type", "point_t, point", 7, 10),
        ("type", "node", 12, 14),
        ("var", "names", 16, 16),
        ("func", "find", 18, 18),
        ("func", "add", 21, 25),
        ("func", "choose", 28, 31),
    ],
    "sample.cpp": [
        ("type", "Stack", 6, 9),
        ("func", "Stack.Stack", 10, 11),
        ("func", "Stack.push", 13, 13),
        ("func", "Stack.operator==", 15, 15),
        ("file", "Stack", 18, 18),
        ("type", "Number", 21, 21),
        ("func", "twice", 23, 25),
        ("func", "Widget.count", 27, 29),
    ],
    "sample.cs": [
        ("type", "Store", 6, 10),
        ("var", "Store.Count", 12, 13),
        ("func", "Store.Store", 15, 18),
        ("func", "Store.Find", 20, 20),
        ("func", "Store.Find", 22, 26),
        ("func", "Store.Find.Local", 24, 24),
        ("func", "Store.operator==", 28, 28),
        ("type", "Color", 31, 31),
        ("type", "Changed", 33, 33),
    ],
    "sample.go": [
        ("package", "sample", 5, 6),
        ("const", "Low, Mid", 12, 15),
        ("const", "High", 16, 17),
        ("var", "Default", 20, 20),
        ("type", "Pair", 22, 26),
        ("func", "Pair.String", 28, 31),
        ("type", "Namer", 33, 37),
        ("type", "ID", 38, 38),
        ("func", "main", 41, 41),
    ],
    "sample.js": [
        ("func", "greet", 9, 14),
        ("func", "twice", 16, 18),
        ("var", "app", 20, 20),
        ("func", "app.use", 22, 25),
        ("func", "Walker.walk", 27, 27),
        ("func", "query", 29, 31),
        ("type", "Shape", 33, 44),
        ("func", "Shape.area", 36, 39),
        ("func", "Shape.handle", 41, 43),
        ("file", "", 46, 46),
    ],
    "sample.md": [
        ("section", "", 5, 5),
        ("section", "Guide", 7, 9),
        ("section", "Guide > Install", 11, 15),
        ("section", "Title", 17, 22),
        ("section", "Title > Install", 24, 26),
    ],
    "sample.php": [
        ("package", "sample", 3, 5),
        ("const", "LIMIT", 13, 13),
        ("type", "Router", 15, 20),
        ("const", "Router.FOUND", 21, 21),
        ("file", "Router", 23, 23),
        ("func", "Router.add", 25, 29),
        ("file", "Router", 31, 31),
        ("type", "Routes", 34, 37),
        ("func", "Routes.add", 36, 36),
        ("type", "Logs", 39, 41),
        ("func", "helper", 43, 46),
        ("var", "$router", 48, 48),
        ("file", "", 49, 49),
    ],
    "sample.py": [
        ("package", "sample", 2, 2),
        ("const", "LIMIT", 9, 9),
        ("var", "name", 10, 10),
        ("func", "cached", 13, 23),
        ("func", "cached.inner", 20, 21),
        ("type", "Outer", 26, 29),
        ("type", "Outer.Inner", 31, 33),
        ("func", "Outer.Inner.save", 32, 33),
        ("func", "Outer.size", 35, 37),
        ("file", "Outer", 39, 39),
        ("file", "", 42, 43),
    ],
    "sample.rb": [
        ("type", "Serve", 5, 6),
        ("const", "Serve.LIMIT", 7, 7),
        ("type", "Serve.Server", 9, 11),
        ("func", "Serve.Server.start", 13, 16),
        ("func", "Serve.Server.build", 18, 20),
        ("func", "Serve.Server.==", 22, 24),
        ("func", "helper", 28, 30),
        ("file", "", 32, 32),
    ],
    "sample.rs": [
        ("package", "sample", 1, 1),
        ("const", "LIMIT", 7, 8),
        ("var", "COUNT", 9, 9),
        ("type", "Point", 11, 15),
        ("const", "Point.ZERO", 18, 18),
        ("func", "Point.new", 20, 25),
        ("func", "Point.new.helper", 23, 23),
        ("func", "Point.fmt", 29, 31),
        ("type", "Shape", 34, 37),
        ("type", "Shape.Unit", 35, 35),
        ("func", "Shape.area", 36, 36),
        ("func", "square", 39, 43),
        ("func", "tests.works", 47, 48),
    ],
    "sample.sh": [
        ("package", "sample", 1, 3),
        ("file", "", 5, 5),
        ("var", "LIMIT", 8, 8),
        ("func", "usage", 10, 13),
        ("func", "deploy", 15, 17),
        ("file", "", 19, 19),
    ],
    "sample.ts": [
        ("package", "sample", 1, 1),
        ("type", "Shape", 6, 10),
        ("type", "Maybe", 12, 12),
        ("type", "Color", 14, 16),
        ("func", "pick", 18, 22),
        ("func", "Geometry.inside", 25, 25),
        ("type", "Box", 28, 38),
        ("func", "Box.constructor", 30, 30),
        ("func", "Box.open", 32, 35),
        ("func", "Box.close", 37, 37),
        ("const", "limit", 40, 40),
        ("const", "VERSION", 41, 41),
    ],
    "sample.tsx": [
        ("type", "Props", 3, 3),
        ("func", "Card", 5, 8),
        ("func", "List", 10, 10),
    ],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_each_language_is_cut_by_declaration(name: str) -> None:
    cut = cut_file(f"src/{name}", (FIXTURES / name).read_bytes())

    assert cut.where == EXPECTED[name]
    assert cut.reason is None


def test_every_language_with_a_grammar_has_a_fixture() -> None:
    languages = {cut_file(name, (FIXTURES / name).read_bytes()).language for name in EXPECTED}

    assert languages == CODE | {"markdown"}


@pytest.mark.parametrize("name", EXPECTED)
def test_no_line_that_says_something_is_lost(name: str) -> None:
    data = (FIXTURES / name).read_bytes()
    cut = cut_file(f"src/{name}", data)
    covered = {line for piece in cut.pieces for line in range(piece.start, piece.end + 1)}

    lost = [
        text.strip()
        for number, text in enumerate(data.decode().split("\n"), start=1)
        if number not in covered and any(character.isalnum() for character in text)
    ]

    # Dropped on purpose: imports, licences, package clauses, directives, what opens and closes a block.
    dropped = (
        *("import", "from", "use ", "using", "package", "#include", "#ifdef", "#endif", "namespace", "mod "),
        *(
            "impl",
            "require",
            ". ./",
            "const fs",
            "// Copyright",
            "# Copyright",
            "/* Copyright",
            "* Copyright",
        ),
        *("'use strict'", "declare(strict", "//go:build", "# frozen", "<?php", "}  // namespace", "private:"),
        *("class << self", "end", "Any,", '"fmt"', "#[cfg", "title:"),
    )
    assert [text for text in lost if not text.startswith(dropped)] == []
