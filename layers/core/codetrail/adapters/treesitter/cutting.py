"""One file to pieces, by the way its language is cut. Runs in the child process."""

import logging
from dataclasses import dataclass, field

from tree_sitter import Parser, QueryError

from codetrail.adapters.treesitter import grammars
from codetrail.adapters.treesitter.declarations import MAX_DEPTH, Cutter, depth_and_errors
from codetrail.adapters.treesitter.notebook import cut_notebook
from codetrail.adapters.treesitter.sections import cut_markdown
from codetrail.adapters.treesitter.windows import Rules, window_file
from codetrail.domain.languages import MARKDOWN, NOTEBOOK
from codetrail.domain.repo import Reason
from codetrail.services.ports import Chunked

log = logging.getLogger(__name__)


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
            return cut_markdown(source, self.rules)
        if language == NOTEBOOK:
            return cut_notebook(source, self.rules)
        if language not in grammars.GRAMMARS or language in self.disabled:
            return Chunked(window_file(source, self.rules), Reason.NO_GRAMMAR)
        return self._declarations(path, language, source)

    def _declarations(self, path: str, language: str, source: bytes) -> Chunked:
        grammar = grammars.GRAMMARS[language]
        if language not in self.parsers:
            self.parsers[language] = Parser(grammars.language(language))
        tree = self.parsers[language].parse(source)
        depth, errors = depth_and_errors(tree)
        if depth > MAX_DEPTH:
            return Chunked(window_file(source, self.rules), Reason.PARSE_BUDGET)
        query = grammars.query(language)
        module = module_name(path)
        cutter = Cutter(source, tree, grammar, query, module=module, rules=self.rules, strip=self.strip)
        chunked = cutter.cut()
        if grammar.macros:
            errors = [error for error in errors if not cutter.covers(error)]
        return Chunked(chunked.pieces, Reason.PARSE_ERRORS if errors else None, chunked.blanks)


def module_name(path: str) -> str:
    """Return the name under which a file's own documentation is found: its stem, or its folder's where the
    file stands for the folder."""
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    if stem in ("__init__", "index", "mod", "lib", "package-info") and folder:
        return folder.rpartition("/")[2]
    return stem
