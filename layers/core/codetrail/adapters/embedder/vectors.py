"""What every embedder's answer must be before it goes any further."""

from collections.abc import Sequence

import numpy as np

from codetrail.errors import Unavailable
from codetrail.services.ports import Vectors


def unit_rows(rows: Sequence[object] | Vectors, *, count: int, dimension: int, provider: str) -> Vectors:
    """Return *rows* as unit vectors.

    Raises Unavailable when they are not *count* finite, nonzero vectors of *dimension*.

    A vector of zeros or with a NaN in it would be stored without a complaint and rank at random for ever.
    """
    try:
        vectors = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise Unavailable(
            f"the embedder ({provider}) answered something that is not a list of vectors"
        ) from error
    if count == 0 and vectors.size == 0:
        return np.zeros((0, dimension), dtype=np.float32)
    if vectors.shape != (count, dimension):
        shape = " by ".join(str(side) for side in vectors.shape)
        raise Unavailable(
            f"the embedder ({provider}) answered {shape} numbers where {count} by {dimension} were asked for:"
            " EMBED_DIM must be the model's own width"
        )
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not (lengths > 0).all():
        raise Unavailable(f"the embedder ({provider}) answered a vector of zeros or one that is not finite")
    units: Vectors = (vectors / lengths).astype(np.float32)
    return units
