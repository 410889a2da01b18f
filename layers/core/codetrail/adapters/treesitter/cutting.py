"""One file to pieces, by the way its language is cut. Runs in the child process."""

from dataclasses import dataclass, field

from tree_sitter import Parser, QueryError

from codetrail.adapters.treesitter import grammars
from codetrail.adapters.treesitter.declarations import MAX_DEPTH, Cutter, depth_and_errors
from codetrail.adapters.treesitter.macros import blanked
from codetrail.adapters.treesitter.notebook import cut_notebook
from codetrail.adapters.treesitter.sections import block_parser, cut_markdown
from codetrail.adapters.treesitter.windows import Rules, window_file
from codetrail.domain.languages import MARKDOWN, NOTEBOOK
from codetrail.domain.repo import Reason
from codetrail.services.ports import Chunked

# Of a file in a language with macros: more rows than this in errors outside declarations, and it is degraded.
MAX_LOST_SHARE = 0.05


@dataclass
class Cutting:
    """What one process keeps between files: parsers, and the languages whose query does not fit its
    grammar."""

    rules: Rules
    strip: bool = False
    parsers: dict[str, Parser] = field(default_factory=dict)
    disabled: set[str] = field(default_factory=set)

    def self_test(self) -> dict[str, str]:
        """Compile every query; return what is wrong with each that does not, which disables its language."""
        wrong = {}
        for name in grammars.GRAMMARS:
            try:
                grammars.query(name)
            except (QueryError, OSError, ImportError, AttributeError, ValueError) as error:
                wrong[name] = f"{type(error).__name__}: {error}"
                self.disabled.add(name)
        return wrong

    def cut(self, path: str, language: str, source: bytes) -> Chunked:
        """Cut one file."""
        if language == MARKDOWN:
            if MARKDOWN not in self.parsers:
                self.parsers[MARKDOWN] = block_parser()
            return cut_markdown(source, self.parsers[MARKDOWN])
        if language == NOTEBOOK:
            return cut_notebook(source, self.rules)
        if language not in grammars.GRAMMARS or language in self.disabled:
            return Chunked(window_file(source, self.rules), Reason.NO_GRAMMAR)
        return self._declarations(path, language, source)

    def _declarations(self, path: str, language: str, source: bytes) -> Chunked:
        grammar = grammars.GRAMMARS[language]
        if language not in self.parsers:
            self.parsers[language] = Parser(grammars.language(language))
        first = self._attempt(path, language, source, source)
        if first is None:
            return Chunked(window_file(source, self.rules), Reason.NESTING)
        chunked, errors, lost = first
        if errors and grammar.macros:
            second = self._attempt(path, language, source, blanked(source))
            if second and (second[2], second[1]) < (lost, errors):
                chunked, errors, lost = second
        if grammar.macros:
            # Macros leave small errors in every other file, beside declarations that are found all the same.
            errors = lost > (source.count(b"\n") + 1) * MAX_LOST_SHARE
        # Nothing found beside errors may be all that was lost; nothing found without is imports.
        pieces = chunked.pieces or (window_file(source, self.rules) if first[1] else ())
        return Chunked(pieces, Reason.PARSE_ERRORS if errors else None, chunked.blanks)

    def _attempt(
        self, path: str, language: str, source: bytes, parsed: bytes
    ) -> tuple[Chunked, int, int] | None:
        """Parse and cut; return the pieces, how many errors there are and how many rows they may have
        cost; or None for a tree that is too deep."""
        grammar = grammars.GRAMMARS[language]
        tree = self.parsers[language].parse(parsed)
        depth, errors = depth_and_errors(tree)
        if depth > MAX_DEPTH:
            return None
        cutter = Cutter(
            source,
            tree,
            grammar,
            grammars.query(language),
            module=module_name(path),
            rules=self.rules,
            strip=self.strip,
        )
        cutter.keep(errors)
        chunked = cutter.cut()
        return chunked, len(errors), sum(cutter.lost(error) for error in errors if not error.is_missing)


def module_name(path: str) -> str:
    """Return the name under which a file's own documentation is found: its stem, or its folder's where the
    file stands for the folder."""
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    if stem in ("__init__", "index", "mod", "lib", "package-info") and folder:
        return folder.rpartition("/")[2]
    return stem
