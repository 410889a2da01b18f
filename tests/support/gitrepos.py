"""Small bare repositories with odd and hostile contents, the same ids on every run.

Objects are written straight into the object database, so that a tree may hold what git itself would not
write. Nothing here imports codetrail: what these repositories hold is the tests' own knowledge.

    repo = Repository.create(tmp_path / "odd.git")
    commit = repo.commit(files_of_odd_content())
    repo.branch("main", commit)
"""

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path

# For a test that runs git itself: whatever whoever runs it has configured stays out.
NO_CONFIGURATION = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
_AUTHOR = b"Ada <ada@example.org> 1700000000 +0000"


@dataclass(frozen=True)
class Leaf:
    """A tree entry that is not a plain file: its mode, and either its bytes or the id of what it names."""

    mode: bytes
    data: bytes = b""
    oid: str | None = None


def executable(data: bytes) -> Leaf:
    return Leaf(b"100755", data)


def symlink(target: bytes) -> Leaf:
    return Leaf(b"120000", target)


def gitlink(commit: str) -> Leaf:
    return Leaf(b"160000", oid=commit)


@dataclass(frozen=True)
class Repository:
    """A bare repository in the making."""

    path: Path

    @classmethod
    def create(cls, path: Path, head: str = "refs/heads/main") -> "Repository":
        """Make an empty bare repository whose HEAD names *head*, which need not exist."""
        for folder in ("objects/pack", "refs/heads", "refs/tags"):
            (path / folder).mkdir(parents=True)
        (path / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
        (path / "HEAD").write_text(f"ref: {head}\n")
        return cls(path)

    @property
    def url(self) -> str:
        return f"file://{self.path}"

    def write(self, kind: str, data: bytes) -> str:
        """Write one object and return its id."""
        store = f"{kind} {len(data)}\0".encode() + data
        oid = sha1(store).hexdigest()  # noqa: S324  # git's own
        file = self.path / "objects" / oid[:2] / oid[2:]
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(zlib.compress(store, 1))
        return oid

    def tree(self, entries: Iterable[tuple[bytes, bytes, str]]) -> str:
        """Write a tree of (mode, name, id) exactly in the order given, whatever git thinks of it."""
        return self.write(
            "tree", b"".join(mode + b" " + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries)
        )

    def tree_of(self, files: Mapping[bytes, bytes | Leaf]) -> str:
        """Write the trees for *files* (path to content) and return the root's id."""
        leaves: dict[bytes, tuple[bytes, str]] = {}
        folders: dict[bytes, dict[bytes, bytes | Leaf]] = {}
        for path, content in files.items():
            name, slash, rest = path.partition(b"/")
            if slash:
                folders.setdefault(name, {})[rest] = content
            else:
                leaf = content if isinstance(content, Leaf) else Leaf(b"100644", content)
                leaves[name] = (leaf.mode, leaf.oid or self.write("blob", leaf.data))
        for name, inner in folders.items():
            leaves[name] = (b"40000", self.tree_of(inner))
        # git sorts a folder as if its name ended in a slash.
        order = sorted(leaves, key=lambda name: name + b"/" if leaves[name][0] == b"40000" else name)
        return self.tree((leaves[name][0], name, leaves[name][1]) for name in order)

    def commit(
        self, files: Mapping[bytes, bytes | Leaf], *, parents: Iterable[str] = (), message: str = "one"
    ) -> str:
        """Write a commit of *files* and return its id."""
        return self.commit_tree(self.tree_of(files), parents=parents, message=message)

    def commit_tree(
        self, tree: str, *, parents: Iterable[str] = (), message: str = "one", author: bytes = _AUTHOR
    ) -> str:
        """Write a commit of a tree that is there already."""
        lines = [f"tree {tree}".encode(), *(f"parent {parent}".encode() for parent in parents)]
        lines += [b"author " + author, b"committer " + author, b"", message.encode(), b""]
        return self.write("commit", b"\n".join(lines))

    def annotate(self, name: str, oid: str, kind: str = "commit") -> str:
        """Write an annotated tag's object, and point refs/tags/NAME at it."""
        body = f"object {oid}\ntype {kind}\ntag {name}\ntagger ".encode() + _AUTHOR + b"\n\na tag\n"
        tag = self.write("tag", body)
        self.ref(f"refs/tags/{name}", tag)
        return tag

    def branch(self, name: str, oid: str) -> None:
        self.ref(f"refs/heads/{name}", oid)

    def tag(self, name: str, oid: str) -> None:
        self.ref(f"refs/tags/{name}", oid)

    def ref(self, name: str, oid: str) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{oid}\n")

    def detach(self, oid: str) -> None:
        """Let HEAD name a commit and no branch."""
        (self.path / "HEAD").write_text(f"{oid}\n")

    def pack_branches(self, names: int, oid: str) -> None:
        """Write *names* branches at once, packed."""
        lines = [f"{oid} refs/heads/b{n:07}" for n in range(names)]
        (self.path / "packed-refs").write_text(
            "# pack-refs with: peeled fully-peeled sorted \n" + "\n".join(lines) + "\n"
        )


# What a file may hold. Lines are those of `sed`: what ends at LF.
ODD_CONTENTS: dict[str, bytes] = {
    "plain": b"one\ntwo\nthree\n",
    "no-final-newline": b"one\ntwo\nthree",
    "one-line": b"alone\n",
    "one-line-no-newline": b"alone",
    "only-a-newline": b"\n",
    "only-newlines": b"\n\n\n",
    "empty-lines-at-the-end": b"one\ntwo\n\n\n\n",
    "empty-lines-at-the-start": b"\n\n\none\n",
    "spaces": b"   \n\t\n   ",
    "crlf": b"one\r\ntwo\r\nthree\r\n",
    "crlf-no-final-newline": b"one\r\ntwo\r\nthree",
    "crlf-cut-after-cr": b"one\r\ntwo\r",
    "cr-cr-lf": b"one\r\r\ntwo\r\r\nthree\r\r\n",
    "cr-only": b"one\rtwo\rthree\r",
    "mixed-ends": b"one\ntwo\r\nthree\rfour\n\rfive",
    "form-feed": b"x = 1\n\x0c\ndef f():\n    return 1\n",
    "vertical-tab": b"a\x0bb\nc\x0bd\n",
    "separators": b"fs\x1cgs\x1drs\x1eus\x1f\nnext\n",
    "next-line": "nel\u0085still one\ntwo\n".encode(),
    "unicode-separators": "s = 'a\u2028b\u2029c'\ndef f(): pass\n".encode(),
    "nul-bytes": b"one\x00\ntwo\x00\x00three\n\x00\n",
    "starts-with-nul": b"\x00one\ntwo\n",
    "utf-16-le": b"\xff\xfe" + "class A\r\n{\r\n}\r\n".encode("utf-16-le"),
    "utf-16-be": b"\xfe\xff" + "class A\n{\n}\n".encode("utf-16-be"),
    "utf-16-with-newline-bytes": b"\xff\xfe" + "\u010a\u0a05\u0a0a\n".encode("utf-16-le"),
    "bom": b"\xef\xbb\xbffirst\nsecond\n",
    "latin-1": b"caf\xe9\nna\xefve\n",
    "emoji": "# 大大大 😀\ndef f():\n    pass\n".encode(),
    "backslashes": b"a\\nb\\\n\\0c\\\n",
    "percent": b"%s %d %%\n%n\n",
    "ends-in-spaces": b"one  \ntwo\t\n  ",
    "all-bytes": bytes(range(256)) + b"\n" + bytes(reversed(range(256))),
    "giant-line": b"x" * 300_000 + b"\nshort\n" + b"y" * 100_000,
    "many-lines": b"".join(b"line %d\n" % n for n in range(3_000)),
    "lfs-pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n",
}

# Names that a shell, a terminal, a URL, a quoting git or a text column may get wrong.
ODD_NAMES: tuple[bytes, ...] = (
    b"plain.txt",
    b"with space.txt",
    b"  two spaces  ",
    b"tab\there.txt",
    b"new\nline.txt",
    b"ends in newline\n",
    b"ends in newlines\n\n\n",
    b"\nstarts with newline",
    b"carriage\rreturn.txt",
    b"back\\slash.txt",
    b"back\\n.txt",
    b"back\\x41.txt",
    b"ends in backslash\\",
    b"single'quote.txt",
    b'double"quote.txt',
    b"back`tick`.txt",
    b"dollar$(touch canary).txt",
    b"${HOME}.txt",
    b"semi;touch canary;.txt",
    b"amp&touch canary&.txt",
    b"pipe|touch canary.txt",
    b"star*.txt",
    b"question?.txt",
    b"[bracket].txt",
    b"{brace,s}.txt",
    b"bang!.txt",
    b"hash#1.txt",
    b"#starts with hash",
    b"~tilde",
    b"percent%20.txt",
    b"percent%s%n.txt",
    b"colon:inside.txt",
    b":starts with colon",
    b"at@{1}.txt",
    b"caret^.txt",
    b"-leading dash",
    b"--help",
    b"-n",
    b"=equals",
    b"<script>alert(1)<",
    b"nested dir/deeper\tdir/file name.txt",
    b"-dash/-rf",
    'dïr/ñ "q".py'.encode(),
    "日本語.txt".encode(),
    "e\u0301 decomposed.txt".encode(),
    "\u00e9 composed.txt".encode(),
    "bidi\u202etxt.exe".encode(),
    "zero\u200bwidth.txt".encode(),
    "no-break\u00a0space.txt".encode(),
    "line\u2028separator.txt".encode(),
    "replacement\ufffd.txt".encode(),
    "emoji😀.txt".encode(),
    b"latin-1 caf\xe9.txt",
    b"bad utf-8 \xff\xfe\xc3(.txt",
    b"surrogate \xed\xa0\x80.txt",
    b"escape\x1b[31mred.txt",
    b"bell\x07.txt",
    b"delete\x7f.txt",
    b"c1 control\xc2\x9b.txt",
    b"... dots",
    b"..a",
    b"a..",
    b"README.md",
    b"readme.md",
    b"ReadMe.md",
    b"CON",
    b"long" * 60,
)


def files_of_odd_content(folder: bytes = b"content") -> dict[bytes, bytes]:
    """One file for each odd content, by its plain name."""
    return {folder + b"/" + name.encode(): content for name, content in ODD_CONTENTS.items()}


def files_of_odd_name(folder: bytes = b"names") -> dict[bytes, bytes]:
    """One file for each odd name, each with lines of its own."""
    return {folder + b"/" + name: b"first of %d\nsecond\nthird" % n for n, name in enumerate(ODD_NAMES)}


def odd_repository(path: Path) -> tuple[Repository, str, dict[bytes, bytes]]:
    """A repository of every odd content and every odd name, and of one leaf of each other kind.

    Returns it, its commit, and the regular files as they must come out.
    """
    repo = Repository.create(path)
    files: dict[bytes, bytes] = {
        **files_of_odd_content(), **files_of_odd_name(),
        b"empty": b"", b"copy of plain": ODD_CONTENTS["plain"], b"deep/" * 40 + b"file": b"deep\n",
    }  # fmt: skip
    others: dict[bytes, Leaf] = {
        b"link": symlink(b"content/plain"),
        b"link-out": symlink(b"../../etc/passwd"), b"link-loop": symlink(b"link-loop"),
        b"module": gitlink("1" * 40), b"tool": executable(b"#!/bin/sh\nexit 0\n"),
    }  # fmt: skip
    commit = repo.commit({**files, **others})
    repo.branch("main", commit)
    return repo, commit, {**files, b"tool": b"#!/bin/sh\nexit 0\n"}


def many_refs(path: Path, refs: int) -> Repository:
    """A repository with that many branches."""
    repo = Repository.create(path)
    repo.pack_branches(refs, repo.commit({b"a": b"a\n"}))
    return repo


@dataclass(frozen=True)
class RefRepository:
    """Commits by the name a person would give them, in a repository whose refs are made to mislead."""

    repo: Repository
    commits: dict[str, str]


def misleading_refs(path: Path) -> RefRepository:
    """A repository where the short way to each name leads to the wrong commit."""
    repo = Repository.create(path)
    commits: dict[str, str] = {}
    for name in (
        "main",
        "tail",
        "tag",
        "branch",
        "annotated",
        "nested",
        "hexbranch",
        "headtag",
        "headbranch",
        "pull",
    ):
        commits[name] = repo.commit({b"file.txt": name.encode() + b"\n"}, message=name)
    repo.branch("main", commits["main"])
    repo.branch("a/main", commits["tail"])  # `ls-remote URL main` lists this one first
    repo.branch("a/only-tail", commits["tail"])
    repo.branch("both", commits["branch"])
    repo.tag("both", commits["tag"])
    tag = repo.annotate("v1.0", commits["annotated"])
    repo.tag("v1.0-light", commits["annotated"])
    repo.annotate("nested", tag, kind="tag")
    repo.branch("f" * 40, commits["hexbranch"])
    repo.tag("HEAD", commits["headtag"])
    repo.branch("HEAD", commits["headbranch"])
    repo.branch("heads/main", commits["nested"])
    repo.branch("pkg@1.2.3+build", commits["branch"])
    repo.ref("refs/pull/1/head", commits["pull"])
    repo.tag("a-blob", repo.write("blob", b"no commit\n"))
    return RefRepository(repo, commits)
