"""What codetrail can refuse to do.

    CodetrailError
    ├── InvalidRequest      the caller can mend it                      400
    │   └── NotAdmitted     a remote or ref was refused; says the rule  400
    ├── NotFound            no such repository, job or span             404
    ├── Gone                it was here and has been evicted            410
    ├── WrongModel          indexed by another embedder                 409
    ├── TooLarge            the body is over its ceiling                413
    ├── Unavailable         something we need is not answering; retry   503
    ├── IndexingFailed      a job cannot go on (domain/job.py, beside the reasons)
    └── ArtifactRejected    an artifact is not what its manifest says

The message of each is written for the person who caused it: what is wrong and what to change.
"""


class CodetrailError(Exception):
    """Something codetrail refuses to do."""


class InvalidRequest(CodetrailError):
    """The request cannot be served as it stands; the message says what to change."""

    rule = "form"


class NotAdmitted(InvalidRequest):
    """A remote or a ref that codetrail does not fetch; `rule` is one of form, scheme, host."""

    def __init__(self, message: str, rule: str) -> None:
        super().__init__(message)
        self.rule = rule


class NotFound(CodetrailError):
    """There is no such thing."""


class Gone(CodetrailError):
    """It was here, and has been evicted."""


class WrongModel(CodetrailError):
    """The revision's vectors come from another embedder than this process serves."""


class TooLarge(CodetrailError):
    """The body is over its ceiling."""


class Unavailable(CodetrailError):
    """Something codetrail depends on is not answering; the same request may succeed later."""


class ArtifactRejected(CodetrailError):
    """An artifact is not what its manifest says; nothing of it may be stored."""
