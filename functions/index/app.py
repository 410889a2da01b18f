"""Consumer of the index queue: one message, one repository at one commit, one sealed artifact."""

import ctypes
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.typing import LambdaContext

from codetrail import config
from codetrail.adapters.bucket import S3Artifacts, s3
from codetrail.adapters.git.commands import Limits
from codetrail.adapters.git.program import GitProgram
from codetrail.adapters.queue import SqsJobEvents, SqsLoadQueue, sqs
from codetrail.adapters.spool import DiskSpool
from codetrail.adapters.stemmer import SnowballStemmer
from codetrail.adapters.treesitter.chunker import TreeSitterChunker
from codetrail.adapters.treesitter.windows import Rules
from codetrail.api.index import IndexMessage
from codetrail.api.records import PartialResponse, consume
from codetrail.domain.job import FailureReason, IndexingFailed
from codetrail.services.index import Reports, fingerprint, index

log = Logger(service="codetrail")

# What is left of the function's time when work stops: enough to end children, tidy up and report.
RESERVE_SECONDS = 20.0
# The longest that the network may take of it.
FETCH_SECONDS = 240
_PR_SET_DUMPABLE = 4


@log.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> PartialResponse:
    """Do each job of the batch; a job that cannot be done is reported and its message is done with. Only what
    nobody foresaw brings a message back."""
    _hide_memory()
    return consume(event, lambda record: _index(record, context))


def _index(record: SQSRecord, context: LambdaContext) -> None:
    job = IndexMessage.model_validate_json(record.body).to_job()
    log.append_keys(job=job.job_id, attempt=job.attempt)
    queues, admission, rules = config.queues(), config.admission(), config.indexing()
    seconds = min(rules.deadline_seconds, context.get_remaining_time_in_millis() / 1_000 - RESERVE_SECONDS)
    limits = Limits(
        repo_bytes=rules.max_repo_bytes,
        repo_files=rules.max_repo_files,
        file_bytes=rules.max_file_bytes,
        fetch_seconds=max(1, min(FETCH_SECONDS, int(seconds))),
        read_seconds=max(1, int(seconds)),
    )
    git = GitProgram(
        scratch=Path(tempfile.gettempdir()) / f"codetrail-{os.getuid()}",
        limits=limits,
        protocols=("https", "file") if admission.local else ("https",),
    )
    cutting = Rules(rules.window_lines, rules.window_overlap, rules.max_declaration_lines)
    client = sqs()
    # A parser's process of its own for each job: nothing of one repository waits for the next.
    with TreeSitterChunker(
        cutting, strategy=rules.strategy, strip_doc_comments=rules.strip_doc_comments
    ) as chunker:
        index(
            job,
            git=git,
            chunker=chunker,
            stemmer=SnowballStemmer(),
            spool=DiskSpool(),
            artifacts=S3Artifacts(s3(), config.bucket()),
            loads=SqsLoadQueue(client, queues.load),
            reports=Reports(
                job,
                SqsJobEvents(client, queues.events),
                delivery=int(record.attributes.approximate_receive_count),
                clock=monotonic,
            ),
            fingerprint=fingerprint(
                chunker.fingerprint,
                {**asdict(cutting), "paths": rules.paths, "max_file_bytes": rules.max_file_bytes},
            ),
            hosts=admission.hosts,
            local=admission.local,
            paths=rules.paths,
            run=f"{job.job_id}-{job.attempt}-{uuid4().hex[:8]}",
            check_time=_deadline(seconds),
        )


def _deadline(seconds: float) -> Callable[[], None]:
    end = monotonic() + seconds

    def check_time() -> None:
        if monotonic() > end:
            raise IndexingFailed(FailureReason.DEADLINE)

    return check_time


def _hide_memory() -> None:
    """Keep this process's environment, which holds the role's credentials, from children of the same user:
    they could read it under /proc otherwise."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
