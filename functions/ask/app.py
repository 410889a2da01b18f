"""POST /api/repos/{repo}/ask: an answer made of cited spans, or a refusal that says why."""

from codetrail import config, wiring
from codetrail.api.ask import AskRequest, AskResponse, to_response
from codetrail.api.gateway import create_app, entry_point
from codetrail.api.parameters import RepoId
from codetrail.services.ask import ask

app = create_app()


@app.post("/api/repos/<repo>/ask")
def post_ask(repo: RepoId, request: AskRequest) -> AskResponse:
    """Answer a question, or refuse: both are a 200."""
    settings = config.retrieval()
    given = ask(
        request.to_query(repo, default_limit=settings.max_spans), mode=settings.mode, floor=settings.floor,
        max_spans=settings.max_spans, max_characters=settings.max_characters, repos=wiring.repos(),
        spans=wiring.spans(), embedder=wiring.embedder(), stemmer=wiring.stemmer(),
    )  # fmt: skip
    return to_response(given)


handler = entry_point(app)
