"""A Markdown file to pieces: its sections."""

from codetrail.adapters.treesitter.windows import Rules, window_file
from codetrail.services.ports import Chunked


def cut_markdown(source: bytes, rules: Rules) -> Chunked:
    """Cut a Markdown file."""
    return Chunked(window_file(source, rules))
