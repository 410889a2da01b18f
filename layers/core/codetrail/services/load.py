"""Store one batch of a sealed artifact, and publish the revision when all its rows are there.

Batches come in any order, side by side, and twice if the queue says so. An artifact is data from a stranger:
what is not as its manifest promises is not stored, and ends the job.
"""

import logging
import time
from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from codetrail.domain.job import FailureReason, Job, LoadBatch
from codetrail.domain.manifest import BatchKind, IndexedSpan, Row
from codetrail.domain.remote import remote_key
from codetrail.domain.span import embedded_text
from codetrail.errors import ArtifactRejected, NotFound, Unavailable
from codetrail.services.ports import Artifacts, Embedder, JobStore, LoadStore, Vector, Vectors

# Seconds before each further try of a batch. A message that goes back is seen again only after minutes, and a
# database that restarts is back within ten seconds.
PAUSES_SECONDS = (1.0, 3.0, 6.0)

# How far from 1 a unit vector's length may be: what half precision rounds away.
UNIT_TOLERANCE = 1e-2

log = logging.getLogger(__name__)


def load(
    batch: LoadBatch,
    *,
    jobs: JobStore,
    loads: LoadStore,
    artifacts: Artifacts,
    embedder: Embedder,
    pauses: Sequence[float] = PAUSES_SECONDS,
) -> bool:
    """Store *batch*; return whether its revision is complete and published now.

    A batch of a job that is gone or of an artifact that breaks its promise is done with: the same message
    would end no better. Raises Unavailable when database, bucket or embedder do not answer for longer than
    the *pauses* together.
    """
    facts: dict[str, object] = {"job": batch.job_id, "attempt": batch.attempt, "batch": batch.batch}
    for pause in pauses:
        try:
            return _outcome(batch, facts, jobs=jobs, loads=loads, artifacts=artifacts, embedder=embedder)
        except Unavailable:
            log.warning("tried again", extra=facts, exc_info=True)
            time.sleep(pause)
    return _outcome(batch, facts, jobs=jobs, loads=loads, artifacts=artifacts, embedder=embedder)


def _outcome(
    batch: LoadBatch,
    facts: dict[str, object],
    *,
    jobs: JobStore,
    loads: LoadStore,
    artifacts: Artifacts,
    embedder: Embedder,
) -> bool:
    try:
        published = _load(batch, jobs.get(batch.job_id), loads=loads, artifacts=artifacts, embedder=embedder)
    except NotFound:
        log.warning("dropped", extra=facts)
        return False
    except ArtifactRejected as error:
        jobs.fail_attempt(batch.job_id, batch.attempt, FailureReason.INTERNAL, transient=False)
        log.error("rejected", extra=facts | {"why": str(error)})
        return False
    log.info("loaded", extra=facts | {"published": published})
    return published


def _load(batch: LoadBatch, job: Job, *, loads: LoadStore, artifacts: Artifacts, embedder: Embedder) -> bool:
    manifest = artifacts.read_manifest(batch.manifest_key, batch.manifest_sha256)
    if remote_key(manifest.remote) != remote_key(job.remote):
        # The job's ref would lead to another's repository.
        raise ArtifactRejected("the artifact is of another repository than the job")
    revision, complete = loads.open(manifest, model=embedder.model, dimension=embedder.dimension)
    try:
        if not complete:  # what is published stays as it is
            rows = artifacts.read_batch(manifest, batch.batch)
            _store(revision, manifest.batches[batch.batch].kind, rows, loads=loads, embedder=embedder)
    except ArtifactRejected:
        # Neither what it promised nor what was stored of it may stand in the way of the next artifact.
        artifacts.discard(batch.manifest_key, batch.manifest_sha256)
        loads.abandon(revision)
        raise
    return loads.publish(revision, manifest, batch.job_id, batch.attempt)


def _store(
    revision: int, kind: BatchKind, rows: Sequence[Row], *, loads: LoadStore, embedder: Embedder
) -> None:
    texts = [
        embedded_text(row.span.path, row.span.symbol, row.span.text)
        for row in rows
        if isinstance(row, IndexedSpan)
    ]
    keys = [cache_key(embedder.model, text) for text in texts]
    missing = loads.missing(embedder.dimension, keys) if keys else set()
    # Spans with the same text, path and name share a key, and are embedded once.
    wanted = {keys[position]: texts[position] for position in sorted(missing)}
    fresh = embed(wanted, embedder=embedder) if wanted else {}
    loads.store(revision, kind, rows, dimension=embedder.dimension, keys=keys, fresh=fresh)


def cache_key(model: str, text: str) -> bytes:
    """Return what a vector is kept under: another model or another text never shares it."""
    return sha256(f"{model}\0{text}".encode()).digest()


def embed(texts: dict[bytes, str], *, embedder: Embedder) -> dict[bytes, Vector]:
    """Return the vector of each text, by its key.

    Raises Unavailable for an embedder that does not answer, and for one that answers what cannot be right: a
    bad vector would rank at random for as long as its text is cached.
    """
    vectors = embedder.embed(list(texts.values()))
    _check(vectors, (len(texts), embedder.dimension), embedder.model)
    return dict(zip(texts, vectors, strict=True))


def _check(vectors: Vectors, shape: tuple[int, int], model: str) -> None:
    if vectors.shape != shape:
        raise Unavailable(
            f"the embedder {model} answered {vectors.shape} numbers where {shape} were asked for"
        )
    # A NaN compares as false, and so fails here too.
    lengths = np.linalg.norm(vectors, axis=1)
    if not (np.abs(lengths - 1) < UNIT_TOLERANCE).all():
        raise Unavailable(f"the embedder {model} answered vectors that are not of unit length")
