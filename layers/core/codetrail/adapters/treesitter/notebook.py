"""A Jupyter notebook to pieces: its cells, without their outputs."""

from codetrail.adapters.treesitter.windows import Rules, window_file
from codetrail.services.ports import Chunked


def cut_notebook(source: bytes, rules: Rules) -> Chunked:
    """Cut a notebook."""
    return Chunked(window_file(source, rules))
