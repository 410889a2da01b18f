"""A toy stack for all tests that look at the local stack itself: started once, in the test's own process."""

from collections.abc import Iterator

import pytest

from tests.support.local_stack import Toy


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    toy = Toy(tmp_path_factory.mktemp("toy"))
    yield toy
    toy.stop()
