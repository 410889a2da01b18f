"""What an operator may do, invoked with IAM: migrate, remove a repository, list jobs."""

from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import BaseModel

from codetrail import wiring
from codetrail.adapters.postgres.migrate import migrate
from codetrail.api.admin import (
    Jobs,
    JobsResponse,
    Migrate,
    MigrateResponse,
    Remove,
    RemoveResponse,
    read,
)
from codetrail.services import repos

log = Logger(service="codetrail")


def answer(request: Migrate | Remove | Jobs) -> BaseModel:
    """Do what is asked."""
    match request:
        case Migrate():
            return MigrateResponse(applied=migrate(wiring.database()))
        case Remove(repo_id=repo_id):
            repos.remove_repo(repo_id, repos=wiring.repos())
            return RemoveResponse(removed=repo_id)
        case Jobs(limit=limit):
            return JobsResponse.of(repos.list_jobs(limit=limit, jobs=wiring.jobs()))


@log.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer the invocation."""
    return answer(read(event)).model_dump(mode="json")
