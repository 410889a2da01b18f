"""How much indexing costs beside the one part of it that cannot be avoided: embedding the spans.

    python -m tests.benchmarks.indexing REMOTE [--runs 3]

Each run embeds the repository's spans bare (as many processes as the stack has loaders, the same batches, no
database, no queue), then indexes it from submission to done on a new data folder; the two in turn, so that a
machine whose speed drifts slows both. Printed: both times, their ratio, spans a CPU second, and the peak
memory of the functions' processes. A local path, or any remote that the local stack admits, may be REMOTE.
"""

import argparse
import multiprocessing
import platform
import resource
import statistics
import tempfile
import time
from pathlib import Path

import httpx
import psycopg

from codetrail.adapters.embedder import embedder_from
from codetrail.domain.manifest import SPANS_PER_BATCH
from codetrail.domain.span import embedded_text
from codetrail_local.postgres import EmbeddedPostgres
from codetrail_local.remotes import remote_of
from codetrail_local.stack import CONCURRENCY, LocalStack

DEADLINE_SECONDS = 1_800
# As fine as a hundredth of what is measured. Each look costs some milliseconds of the cores that embed: the
# command looks once a second.
POLL_SECONDS = 0.25
SETTLE_SECONDS = 4.0


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.indexing", description=__doc__)
    parser.add_argument("remote")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    report(remote_of(arguments.remote).url, arguments.runs)


def report(remote: str, runs: int) -> None:
    """Print one line a run and the medians."""
    print(f"{platform.processor() or platform.machine()}, {multiprocessing.cpu_count()} cores; {remote}")
    texts: list[str] = []
    ratios = []
    for run in range(1, runs + 1):
        if not texts:
            _, texts, _ = _index(remote)  # warms the disk's caches, and tells what there is to embed
        bare, cpu = _embed(texts)
        whole, _, peaks = _index(remote)
        ratios.append(whole / bare)
        memory = ", ".join(f"{name} {megabytes} MB" for name, megabytes in sorted(peaks.items()))
        print(
            f"run {run}: {len(texts)} spans, embedding alone {bare:.1f} s"
            f" ({len(texts) / cpu:.1f} spans a CPU second),"
            f" submission to done {whole:.1f} s, ratio {whole / bare:.2f}; peak memory {memory}"
        )
    print(f"median ratio {statistics.median(ratios):.2f}")


def _index(remote: str) -> tuple[float, list[str], dict[str, int]]:
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalStack(Path(folder)) as stack,
        httpx.Client(base_url=stack.api) as api,
    ):
        # A stack that has been up for a moment, as most submissions meet it; loaders start with the job.
        api.get("/ready").raise_for_status()
        time.sleep(SETTLE_SECONDS)
        begun = time.monotonic()
        job = api.post("/api/repos", json={"remote": remote}).raise_for_status().json()
        while job["status"] not in ("done", "failed"):
            if time.monotonic() - begun > DEADLINE_SECONDS:
                raise SystemExit(f"not done after {DEADLINE_SECONDS} s: {job}")
            time.sleep(POLL_SECONDS)
            job = api.get(f"/api/jobs/{job['id']}").raise_for_status().json()
        elapsed = time.monotonic() - begun
        if job["status"] == "failed":
            raise SystemExit(f"indexing failed: {job['error']}")
        peaks = {
            name: max(map(_peak_megabytes, pids))
            for name, pids in stack.processes().items()
            if name in ("index", "load")
        }
        with psycopg.connect(EmbeddedPostgres(stack.home.postgres).start()) as connection:
            rows = connection.execute(
                "select path, symbol, text from spans order by revision, ordinal"
            ).fetchall()
    return elapsed, [embedded_text(*row) for row in rows], peaks


def _embed(texts: list[str]) -> tuple[float, float]:
    """Return wall and CPU seconds of embedding *texts* in as many processes as there are loaders."""
    batches = [texts[at : at + SPANS_PER_BATCH] for at in range(0, len(texts), SPANS_PER_BATCH)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    # New processes, as the stack's are: each opens the model for itself.
    with multiprocessing.get_context("spawn").Pool(CONCURRENCY) as pool:
        pool.map(_embed_batch, batches, chunksize=1)
        elapsed = time.monotonic() - begun
        pool.close()
        pool.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return elapsed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


_embedder = None


def _embed_batch(texts: list[str]) -> int:
    global _embedder  # noqa: PLW0603 - one model a process, opened once
    if _embedder is None:
        _embedder = embedder_from(provider="onnx", model="all-MiniLM-L6-v2-int8", dimension=384, url="")
    return len(_embedder.embed(texts))


def _peak_megabytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.split("\n") if line.startswith("VmHWM"))) // 1024


if __name__ == "__main__":
    main()
