"""What can go wrong on a laptop, in sentences for the person at the keyboard.

LocalError
├── PostgresError         the embedded database would not do as asked
│   └── WrongMajor        the data folder is of another major version
├── TemplateError         template.yaml says something the local stack cannot read
├── PortInUse             the API's port is taken
├── AlreadyRunning        another stack runs on this data folder
├── InvocationFailed      a function did not answer (environment.py, with its children)
└── Trouble               why a command ends without an answer (trouble.py, with its children)
"""

from pathlib import Path


class LocalError(Exception):
    """The local stack cannot go on; the message says why and what to do."""


class PostgresError(LocalError):
    """Postgres would not do as asked; the message says what to look at."""


class WrongMajor(PostgresError):
    """The data folder belongs to another major version of Postgres; only making it anew helps."""

    def __init__(self, found: str, wanted: str, folder: Path) -> None:
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
