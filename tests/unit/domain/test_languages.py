"""A file's language, by name and first bytes."""

import pytest

from codetrail.domain.languages import has_grammar, is_supported, language_of


@pytest.mark.parametrize(
    ("path", "head", "language"),
    [
        (b"a/b.go", b"", "go"),
        (b"A.PY", b"", "python"),
        (b"a.tsx", b"", "tsx"),
        (b"a.mts", b"", "typescript"),
        (b"x.h", b"int f(void);\n", "c"),
        (b"x.h", b"#pragma once\nnamespace a {\n}\n", "cpp"),
        (b"x.h", b"#include <string_view>\n", "cpp"),
        (b"x.ipynb", b"", "notebook"),
        (b"Makefile", b"", "text"),
        (b"Dockerfile.dev", b"", "text"),
        (b"build.js", b"", "javascript"),
        (b"Rakefile", b"", "ruby"),
        (b"LICENSE", b"", "text"),
        (b".gitignore", b"", "text"),
        (b"bin/run", b"#!/usr/bin/env bash\n", "bash"),
        (b"bin/run", b"#!/usr/bin/env -S FOO=1 python3.12 -u\n", "python"),
        (b"bin/run", b"#!/bin/sh -e\n", "bash"),
        (b"bin/run", b"#!/opt/odd\n", "text"),
        (b"t.bats", b"", "bash"),
        (b"a.yml", b"", "yaml"),
        (b"a.kt", b"", "kotlin"),
        (b"a.qqq", b"", ""),
        (b"\xff\xfe.py", b"", "python"),
    ],
)
def test_language_of(path: bytes, head: bytes, language: str) -> None:
    assert language_of(path, head) == language


def test_code_without_a_grammar_is_unsupported_and_data_is_not() -> None:
    assert not is_supported("kotlin")
    assert is_supported("json")
    assert is_supported("go")
    assert has_grammar("go")
    assert not has_grammar("json")
