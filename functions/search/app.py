"""POST /api/repos/{repo}/search: the spans of code that best match a question."""

from codetrail import config, wiring
from codetrail.api.gateway import create_app, entry_point
from codetrail.api.parameters import RepoId
from codetrail.api.search import SearchRequest, SearchResponse
from codetrail.services.search import search

app = create_app()


@app.post("/api/repos/<repo>/search")
def post_search(repo: RepoId, request: SearchRequest) -> SearchResponse:
    """Rank spans against a question."""
    found = search(
        request.to_query(repo), mode=config.retrieval().mode, repos=wiring.repos(), spans=wiring.spans(),
        embedder=wiring.embedder(), stemmer=wiring.stemmer(),
    )  # fmt: skip
    return SearchResponse.of(found)


handler = entry_point(app)
