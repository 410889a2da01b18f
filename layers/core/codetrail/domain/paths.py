"""A path is bytes in git and text everywhere else; this is the reversible way between.

Valid UTF-8 stands as it is. A byte that is not UTF-8 is written `\\xNN` and a backslash is doubled, so that
no two paths share a text and every text leads back to its bytes.
"""

import re

# Of a path's text form, the one that is stored. Linux's PATH_MAX: no working tree there holds a longer path.
MAX_PATH_BYTES = 4_096
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})|\\\\")


def to_text(path: bytes) -> str:
    """Return the text form of *path*."""
    return path.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


def to_bytes(text: str) -> bytes:
    """Return the bytes that `to_text` wrote as *text*."""
    pieces, at = [], 0
    for match in _ESCAPE.finditer(text):
        pieces.append(text[at : match.start()].encode())
        pieces.append(bytes.fromhex(match.group(1)) if match.group(1) else b"\\")
        at = match.end()
    pieces.append(text[at:].encode())
    return b"".join(pieces)
