"""Syntax that other tools lose declarations over."""

import ast

import pytest

from tests.support.chunking import cut_file


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("a.py", b"x = " + b"(" * 5_000 + b"1" + b")" * 5_000 + b"\n\ndef f():\n    pass\n"),
        ("a.js", b"x = 'a'" + b" + 'a'" * 1_500 + b"\n"),
        ("a.cpp", b"void " + b"A::" * 1_500 + b"f() {}\n"),
    ],
    ids=["brackets", "a long expression", "a long qualified name"],
)
def test_deep_nesting_degrades_the_file_to_windows_and_says_so(path: str, data: bytes) -> None:
    cut = cut_file(path, data)

    assert cut.reason == "nested_too_deep"
    assert {(piece.kind, piece.symbol) for piece in cut.pieces} == {("file", "")}


def test_a_language_without_a_grammar_is_told_from_a_file_without_declarations() -> None:
    unsupported = cut_file("a.kt", b"fun main() {}\n")
    nothing_declared = cut_file("a.py", b"print('hello')\n")

    assert (unsupported.reason, [piece.kind for piece in unsupported.pieces]) == ("no_grammar", ["file"])
    assert (nothing_declared.reason, [piece.kind for piece in nothing_declared.pieces]) == (None, ["file"])


def test_two_classes_may_have_a_method_of_the_same_name() -> None:
    cut = cut_file("a.py", b"class A:\n    def save(self): ...\n\n\nclass B:\n    def save(self): ...\n")

    assert [p.symbol for p in cut.pieces if p.kind == "func"] == ["A.save", "B.save"]


def test_java_overloads_are_two_pieces() -> None:
    data = b"class A {\n  void find(int a) {}\n  void find(String a) {}\n}\n"

    cut = cut_file("A.java", data)

    assert [p.where for p in cut.pieces if p.kind == "func"] == [
        ("func", "A.find", 2, 2),
        ("func", "A.find", 3, 3),
    ]


def test_typescript_signatures_collapse_into_their_implementation() -> None:
    data = b"function f(a: string): void\nfunction f(a: number): void\nfunction f(a: any) {\n}\n"

    cut = cut_file("a.ts", data)

    assert cut.where == [("func", "f", 1, 4)]


def test_classes_and_functions_nest_under_qualified_names() -> None:
    source = (
        b"class A:\n    class B:\n        def f(self):\n            def g(): pass\n            return g\n"
    )
    # Python's own parser says what there is.
    declared = {node.name for node in ast.walk(ast.parse(source)) if hasattr(node, "name")}

    cut = cut_file("a.py", source)

    assert [piece.symbol for piece in cut.pieces] == ["A", "A.B", "A.B.f", "A.B.f.g"]
    assert {piece.symbol.rpartition(".")[2] for piece in cut.pieces} == declared


def test_names_are_without_type_parameters() -> None:
    data = b"class Box<K, L extends Map<K, List<V>>> {\n  <T> Map<K, List<T>> f() { return null; }\n}\n"

    assert [piece.symbol for piece in cut_file("Box.java", data).pieces] == ["Box", "Box.f"]
    rust = b"impl<T: Into<Vec<u8>>> Foo<T> {\n    fn f() {}\n}\n"
    assert [piece.symbol for piece in cut_file("a.rs", rust).pieces] == ["Foo.f"]


def test_a_lambda_given_to_a_name_is_declared_by_it() -> None:
    cut = cut_file("a.js", b"const twice = (x) => x * 2\n")

    assert cut.where == [("func", "twice", 1, 1)]


def test_a_macro_that_takes_arguments_is_a_function() -> None:
    cut = cut_file(
        "a.c", b"#define MAX(a, b) \\\n  ((a) > (b) ? (a) : (b))\n\nint after(void) { return 1; }\n"
    )

    assert cut.named("MAX").kind == "func"
    assert cut.named("after").start == 4


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("a.go", b"package a\n\nfunc before() {}\n\nfunc broken( {\n}\n\nfunc after() {}\n"),
        ("a.py", b"def before():\n    pass\n\n\nclass ) broken(\n\n\ndef after():\n    pass\n"),
        ("a.js", b"function before() {}\n\nconst = = ;\n\nfunction after() {}\n"),
    ],
)
def test_declarations_before_and_after_an_error_are_found_and_the_file_is_marked(
    path: str, data: bytes
) -> None:
    cut = cut_file(path, data)

    symbols = [piece.symbol for piece in cut.pieces]
    assert "before" in symbols
    assert "after" in symbols
    assert cut.reason == "parse_errors"


def test_macros_in_the_place_of_keywords_cost_no_declaration() -> None:
    data = b"""LIB_BEGIN_NAMESPACE

LIB_EXPORT class LIB_API Thing {
 public:
  LIB_CONSTEXPR20 Thing() LIB_NOEXCEPT {}
  void go() LIB_NOEXCEPT;
};

LIB_FORMAT(1, 2) int log_it(const char* text, ...) {
  return 0;
}

LIB_END_NAMESPACE
"""

    cut = cut_file("a.hpp", data)

    assert [piece.symbol for piece in cut.pieces] == ["Thing", "Thing.Thing", "Thing.go", "log_it"]
    assert cut.reason is None
    assert "LIB_API" in cut.named("Thing").text


def test_functions_of_either_branch_of_a_conditional_are_found() -> None:
    data = b"#ifdef FAST\nint f(void) { return 1; }\n#else\nint f(void) { return 2; }\n#endif\n"

    assert [piece.where for piece in cut_file("a.c", data).pieces] == [
        ("func", "f", 2, 2),
        ("func", "f", 4, 4),
    ]


def test_a_declaration_over_the_ceiling_becomes_windows_with_its_name() -> None:
    body = "".join(f"    x{n} = {n}\n" for n in range(250))

    cut = cut_file("a.py", f"def f():\n{body}".encode())

    assert {(piece.kind, piece.symbol) for piece in cut.pieces} == {("file", "f")}
    assert cut.where[0][2:] == (1, 40)
    assert cut.where[1][2:] == (31, 70)
    assert cut.where[-1][3] == 251


def test_lines_outside_declarations_stay_searchable_and_imports_do_not() -> None:
    data = b"import os\nimport sys\n\n\ndef f():\n    pass\n\n\nfor name in os.environ:\n    print(name)\n"

    cut = cut_file("a.py", data)

    assert cut.where == [("func", "f", 5, 6), ("file", "", 9, 10)]


def test_a_licence_is_no_documentation_of_the_file() -> None:
    data = b"// Copyright 2026 The Authors. All rights reserved.\n// Use is governed by a licence.\n\n"

    assert cut_file("a.js", data + b"export const a = 1\n").where == [("const", "a", 4, 4)]


def test_package_documentation_of_go_is_a_piece_even_in_a_file_of_its_own() -> None:
    cut = cut_file("doc.go", b"/*\nPackage a does things.\n*/\npackage a\n")

    assert cut.where == [("package", "a", 1, 4)]


def test_a_comment_behind_code_is_not_the_next_declarations() -> None:
    cut = cut_file("a.go", b"package a\n\nvar A = 1 // of A\nfunc f() {}\n")

    assert cut.where == [("var", "A", 3, 3), ("func", "f", 4, 4)]


def test_a_documentation_block_may_be_parted_by_a_blank_line() -> None:
    data = b"/**\n * Module dependencies.\n * @private\n */\n\nimport a from 'a'\n\n"
    data += b"/**\n * Sends.\n */\n\nf.send = () => 1\n"

    cut = cut_file("a.js", data)

    assert cut.where == [("func", "f.send", 8, 12)]


def test_a_function_given_to_two_names_has_both() -> None:
    cut = cut_file("a.js", b"res.contentType =\nres.type = function contentType (type) {\n  return type\n}\n")

    assert cut.where == [("func", "res.contentType, res.type", 1, 4)]


def test_a_line_comment_parted_by_a_blank_line_is_not_the_functions() -> None:
    assert cut_file("a.go", b"package a\n\n// Section\n\nfunc f() {}\n").where == [("func", "f", 5, 5)]


def test_stripping_blanks_doc_comments_and_moves_no_line() -> None:
    data = b"package a\n\n// F does \xc3\xa4 thing.\n// It does.\nfunc F() {\n\t// kept\n}\n"

    kept, stripped = cut_file("a.go", data), cut_file("a.go", data, strip=True)

    assert kept.where == [("func", "F", 3, 7)]
    assert stripped.where == [("func", "F", 5, 7)]
    assert "kept" in stripped.pieces[0].text


def test_stripping_blanks_every_line_of_a_doc_comment() -> None:
    data = b"package a\n\n// One says\n// what F does.\n//\n// And why.\nfunc F() {}\n"

    stripped = cut_file("a.go", data, strip=True)

    assert [piece.text for piece in stripped.pieces if piece.text.strip()] == ["func F() {}"]


def test_stripping_blanks_docstrings_too() -> None:
    data = b'"""Module."""\n\n\ndef f():\n    """Does it."""\n    return 1\n'

    cut = cut_file("a.py", data, strip=True)

    assert cut.where == [("func", "f", 4, 6)]
    assert "Does it" not in cut.pieces[0].text
    assert cut.pieces[0].text.count("\n") == 2
