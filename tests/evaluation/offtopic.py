"""Questions that no source code answers: glosses and words of everyday life, drawn from WordNet 3.0.

    python -m tests.evaluation.offtopic FOLDER > tests/evaluation/offtopic.json

FOLDER holds WordNet's data files; Debian's package wordnet-base puts them into /usr/share/wordnet. The same
files print the same bytes. WordNet's licence asks for its notice on every copy: it is printed too, from the
head of the noun file.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

PACKAGE = "wordnet-base"
VERSION = "1:3.0-37"
COMMAND = "python -m tests.evaluation.offtopic /usr/share/wordnet"
SEED = "off topic 1"
# Questions of each lexicographer file, half of each form: about 300 in all.
QUESTIONS = 24
# A shorter gloss is a synonym, not prose.
MIN_WORDS = 4
# A common word, or two: names have capitals, and what is hyphenated or dotted is rarely asked for.
_PLAIN = re.compile(r"[a-z]+( [a-z]+)?")

_NOUNS, _VERBS = "data.noun", "data.verb"
_COUNTED, _MASS, _DONE = "what is {article} {word}", "what is {word}", "what does it mean to {word}"
# Lexicographer files of everyday life (lexnames(5WN)), and how one asks for a word of each.
FILES = (
    (_NOUNS, 5, _COUNTED),  # animal
    (_NOUNS, 8, _COUNTED),  # body
    (_NOUNS, 11, _COUNTED),  # event
    (_NOUNS, 12, _MASS),  # feeling
    (_NOUNS, 13, _MASS),  # food
    (_NOUNS, 15, _COUNTED),  # location
    (_NOUNS, 18, _COUNTED),  # person
    (_NOUNS, 19, _MASS),  # phenomenon
    (_NOUNS, 20, _COUNTED),  # plant
    (_VERBS, 29, _DONE),  # body
    (_VERBS, 34, _DONE),  # consumption
    (_VERBS, 37, _DONE),  # emotion
    (_VERBS, 43, _DONE),  # weather
)
# Code may well answer a question with one of these, in the singular or the plural.
COMPUTING = frozenset(
    """
    agent algorithm array bit branch browser buffer bug byte cache class click client code compiler computer
    computing cookie cpu cursor cycle daemon data database digital disk electronic email event field file
    function hardware hash host inheritance input instruction interface internet key keyboard library link
    log loop machine map memory method module network node object online output parser path polymorphism
    port process processing processor program programmer programming protocol python query queue record root
    router ruby rust script server shell signal software stack storage string symbol system table technology
    terminal test thread token tree type user value variable virus web worker worm
    """.split()  # noqa: SIM905 -- as literals they would be a line each
)
# What WordNet says of words that a public file need not repeat.
COARSE = frozenset(
    """
    abusive anus clitoris contemptuous copulate copulation derogatory disparaging ethnic fellatio genital
    insulting intercourse obscene offensive penis prostitute rape scrotum semen sex sexual sexually slang slur
    vagina vulgar vulva
    """.split()  # noqa: SIM905 -- as literals they would be a line each
)


@dataclass(frozen=True, slots=True)
class Synset:
    """What a line of a data file says: its place in the file, its lexicographer file, its words and its gloss
    without the examples."""

    offset: str
    file: int
    words: tuple[str, ...]
    gloss: str


def synsets(lines: Iterable[str]) -> Iterator[Synset]:
    """Yield the synsets of a data file's lines, as wndb(5WN) describes them."""
    for line in lines:
        # The notice is indented.
        if line.startswith(" ") or not line.strip():
            continue
        fields, _, gloss = line.partition(" | ")
        offset, file, _, count, *rest = fields.split(" ")
        words = rest[: 2 * int(count, 16) : 2]
        gloss = gloss.partition('; "')[0].strip()
        yield Synset(offset, int(file), tuple(word.replace("_", " ") for word in words), gloss)


def notice(lines: Iterable[str]) -> str:
    """Return the notice at the head of a data file, in one line."""
    numbered = (re.match(r" +\d+ (.*)", line) for line in lines)
    return " ".join(" ".join(match[1] for match in numbered if match).split())


def everyday(synset: Synset) -> bool:
    """Return whether a synset is prose, not of proper names, with no word of computing."""
    told = " ".join((*synset.words, synset.gloss))
    return (
        _PLAIN.fullmatch(synset.words[0]) is not None
        and len(synset.gloss.split()) >= MIN_WORDS
        and '"' not in synset.gloss
        and not listed(told, COMPUTING | COARSE)
    )


def listed(text: str, words: frozenset[str]) -> set[str]:
    """Return which words of *text* are among *words*, in the singular or the plural."""
    told = set(re.findall(r"[a-z]+", text.casefold()))
    return {one for one in told if words & {one, one.removesuffix("s"), one.removesuffix("es")}}


def questions(folder: Path) -> list[str]:
    """Return the questions drawn from the data files in *folder*, none twice.

    A word is asked for only where all its senses are of everyday life: what is a branch, code answers too.
    """
    everything = [(data, one) for data in (_NOUNS, _VERBS) for one in synsets(_lines(folder / data))]
    files = {row[:2] for row in FILES}
    elsewhere = {word for data, one in everything if (data, one.file) not in files for word in one.words}
    usable = [(data, one) for data, one in everything if (data, one.file) in files and everyday(one)]
    # By digest, so that the draw is the same under every version of Python.
    usable.sort(key=lambda row: sha256(f"{SEED}\0{row[0]}\0{row[1].offset}".encode()).digest())
    asked: dict[str, None] = {}
    for data, file, form in FILES:
        drawn = 0
        for _, synset in (row for row in usable if (row[0], row[1].file) == (data, file)):
            word = synset.words[0]
            if drawn == QUESTIONS:
                break
            if drawn % 2 and word in elsewhere:
                continue
            question = _by_word(form, word) if drawn % 2 else synset.gloss
            drawn += question not in asked
            asked[question] = None
    return list(asked)


def _by_word(form: str, word: str) -> str:
    return form.format(word=word, article="an" if word[0] in "aeiou" else "a")


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")


def document(folder: Path) -> str:
    """Return the questions with their source, as JSON."""
    told = {
        "source": {
            "package": PACKAGE,
            "version": VERSION,
            "sha256": {data: sha256((folder / data).read_bytes()).hexdigest() for data in (_NOUNS, _VERBS)},
        },
        "command": COMMAND,
        "seed": SEED,
        "notice": notice(_lines(folder / _NOUNS)),
        "questions": questions(folder),
    }
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation.offtopic", description=__doc__)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    sys.stdout.write(document(options.folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
