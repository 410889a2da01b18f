"""/api/repos and /api/jobs: submit a repository, poll its job, list, one repository, one span."""

from http import HTTPStatus

from codetrail import config, wiring
from codetrail.api.gateway import create_app, entry_point
from codetrail.api.parameters import (
    Cursor,
    JobId,
    ListLimit,
    RefFilter,
    RemoteFilter,
    RepoId,
    SpanId,
    read_cursor,
)
from codetrail.api.repos import (
    DEFAULT_LIST_LIMIT,
    JobResponse,
    RepoResponse,
    ReposResponse,
    SpanResponse,
    SubmitRequest,
)
from codetrail.services import repos

app = create_app()


@app.post("/api/repos", status_code=HTTPStatus.ACCEPTED)
def post_repos(request: SubmitRequest) -> JobResponse:
    """Submit a repository for indexing. One that is on its way already is not queued twice."""
    admission = config.admission()
    job = repos.submit(
        request.remote, request.ref, hosts=admission.hosts, local=admission.local,
        model=wiring.embedder().model, jobs=wiring.jobs(), queue=wiring.index_queue(),
    )  # fmt: skip
    return JobResponse.of(job)


@app.get("/api/jobs/<id>")
def get_job(id: JobId) -> JobResponse:
    """Poll a job."""
    return JobResponse.of(repos.get_job(id, jobs=wiring.jobs()))


@app.get("/api/repos")
def get_repos(
    limit: ListLimit = DEFAULT_LIST_LIMIT,
    cursor: Cursor | None = None,
    remote: RemoteFilter | None = None,
    ref: RefFilter | None = None,
) -> ReposResponse:
    """List the corpus, newest first; with `remote` and `ref`, what that ref named when last indexed here."""
    admission = config.admission()
    found = repos.list_repos(
        limit=limit + 1, hosts=admission.hosts, local=admission.local, repos=wiring.repos(),
        remote=remote, ref=ref, after=read_cursor(cursor) if cursor else None,
    )  # fmt: skip
    return ReposResponse.of(found, limit)


@app.get("/api/repos/<repo>")
def get_repo(repo: RepoId) -> RepoResponse:
    """One repository, its counts and its staleness."""
    return RepoResponse.of(repos.get_repo(repo, repos=wiring.repos()))


@app.get("/api/repos/<repo>/spans/<span>")
def get_span(repo: RepoId, span: SpanId) -> SpanResponse:
    """One span and its citation."""
    revision, found = repos.get_span(repo, span, repos=wiring.repos())
    return SpanResponse.of(revision, found)


handler = entry_point(app)
