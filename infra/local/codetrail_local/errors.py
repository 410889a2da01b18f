"""What can go wrong on a laptop, in sentences for the person at the keyboard.

LocalError
├── PostgresError         the embedded database would not do as asked
│   └── WrongMajor        the data folder is of another major version
├── TemplateError         template.yaml says something the local stack cannot read
├── PortInUse             the API's port is taken
├── AlreadyRunning        another stack runs on this data folder
├── InvocationFailed      a function did not answer (environment.py, with its children)
└── Trouble               a command ends without an answer; exit 1
    ├── ApiError          the API could not be asked, or refused (client.py); exit 2 where it says that
    │                     another request would do
    ├── JobFailed         a repository could not be indexed (indexing.py)
    ├── UnexpectedReply   what answered is not codetrail's API (replies.py)
    ├── Interrupted       Ctrl-C while a job was followed; exit 130 (indexing.py)
    └── Misused           another command line would work; exit 2
        ├── AddressError  an API address or a key that cannot be used (client.py)
        └── RemoteError   what was given names no repository (remotes.py)
"""

from pathlib import Path


class LocalError(Exception):
    """The local stack cannot go on; the message says why and what to do."""


class PostgresError(LocalError):
    """Postgres would not do as asked; the message says what to look at."""


class WrongMajor(PostgresError):
    """The data folder belongs to another major version of Postgres; only making it anew helps."""

    def __init__(self, found: str, wanted: str, folder: Path) -> None:
        self.found = found
        super().__init__(
            f"the data folder {folder} is of Postgres {found}, and this codetrail brings Postgres {wanted}."
            " What is in it can be indexed again: `codetrail doctor --remake` removes it and makes a new one"
        )


class TemplateError(LocalError):
    """template.yaml says something that the local stack cannot read."""


class PortInUse(LocalError):
    """Something else listens on the API's port."""

    def __init__(self, port: int) -> None:
        super().__init__(
            f"port {port} is in use by another program: choose another one with --port (0: any free one)"
        )


class AlreadyRunning(LocalError):
    """Another stack runs on this data folder."""


class Trouble(LocalError):
    """A command ends without an answer. `body` is the API's own word for it, for --json."""

    exit_code = 1

    def __init__(self, message: str, *, body: bytes = b"") -> None:
        super().__init__(message)
        self.body = body


class Misused(Trouble):
    """Another command line would work; the message says which."""

    exit_code = 2
