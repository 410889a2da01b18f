# Copyright 2026 nobody.
"""What Python declares."""

import functools
from typing import (
    Any,
)

LIMIT = 10
name: str = "x"


@functools.cache
@functools.wraps(
    print,
)
def cached(x: int) -> int:
    """Return it."""

    def inner() -> int:
        return x

    return inner()


class Outer(dict[str, Any]):
    """Outer documentation."""

    field = 1

    class Inner:
        def save(self) -> None:
            pass

    @property
    def size(self) -> int:
        return 1

    after = 2


if __name__ == "__main__":
    print(cached(LIMIT))
