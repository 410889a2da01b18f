"""What a response says of the floor follows from its flag, whoever set the number."""

import pytest

from codetrail.adapters.embedder.fake import FakeEmbedder
from codetrail.api.ask import RefusedToAnswer, to_response
from codetrail.domain import confidence
from codetrail.domain.answer import CALIBRATION, Answer, Floor, Quantity, Refusal
from codetrail.domain.search import Found, Hit, Mode, Searched
from tests.support.revisions import contents, span

HELD = contents([span(0, "func Parse(s string) {}", symbol="Parse")], FakeEmbedder(8))
MEASURED = Floor(value=confidence.FLOOR, calibrated=True, applicable=True, quantity=Quantity.CONFIDENCE)
SET = Floor(value=0.9, calibrated=False, applicable=True, quantity=Quantity.CONFIDENCE)
COSINE = Floor(value=0.9, calibrated=False, applicable=True, quantity=Quantity.COSINE)


def refused(floor: Floor) -> RefusedToAnswer:
    hit = Hit(HELD.spans[0], score=1.0, vector_score=0.25, vector_rank=1, lexical_rank=0)
    found = Found(
        HELD.revision, Mode.HYBRID, (hit,), 0.25, Searched(files=1, spans=1),
        confidence=0.125 if floor.quantity is Quantity.CONFIDENCE else None,
    )  # fmt: skip
    given = to_response(Answer(found=found, floor=floor, refusal=Refusal.BELOW_FLOOR))
    assert isinstance(given, RefusedToAnswer)
    return given


@pytest.mark.parametrize("floor", [MEASURED, SET, COSINE])
def test_a_run_is_named_where_one_chose_the_floor_and_nowhere_else(floor):
    given = refused(floor)

    assert given.floor.calibration == (CALIBRATION if floor.calibrated else "")
    assert (f"An evaluation chose that floor: {CALIBRATION}." in given.detail) is floor.calibrated
    assert ("That floor was not measured" in given.detail) is not floor.calibrated


def test_a_refusal_says_how_confident_it_was_and_what_the_floor_is():
    given = refused(SET)

    assert "its confidence is 0.12, under the floor of 0.90" in given.detail
    assert (given.confidence, given.floor.value) == (0.125, 0.9)


def test_a_refusal_by_cosine_speaks_of_no_confidence():
    given = refused(COSINE)

    assert "scored under the floor of 0.9." in given.detail
    assert "confidence" not in given.detail
    assert given.confidence is None


def test_a_refusal_carries_what_was_searched_and_what_came_nearest():
    given = refused(MEASURED)

    assert (given.searched.files, given.searched.spans) == (1, 1)
    assert given.coverage.indexed == HELD.revision.coverage.indexed
    assert [near.symbol for near in given.nearest] == ["Parse"]
