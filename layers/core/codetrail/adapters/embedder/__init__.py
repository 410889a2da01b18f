"""Text to vectors: one module a provider, and the choice between them.

Nothing heavy is opened here or when an embedder is made: a function that only needs the model's name (to
submit a job) carries no model layer.
"""

from codetrail.adapters.embedder.bedrock import BedrockEmbedder
from codetrail.adapters.embedder.fake import FakeEmbedder
from codetrail.adapters.embedder.ollama import OllamaEmbedder
from codetrail.adapters.embedder.onnx import OnnxEmbedder
from codetrail.services.ports import Embedder


def embedder_from(*, provider: str, model: str, dimension: int, url: str) -> Embedder:
    """Return the embedder that these settings name. `url` is Ollama's; the others have no use for it.

    Raises ValueError for a provider, a model or a width that there is none of.
    """
    match provider:
        case "onnx":
            return OnnxEmbedder(model, dimension)
        case "ollama":
            return OllamaEmbedder(model, dimension, url)
        case "bedrock":
            return BedrockEmbedder(model, dimension)
        case "fake":
            return FakeEmbedder(dimension)
    raise ValueError(f"there is no embedder named {provider!r}: it is one of onnx, ollama, bedrock, fake")
