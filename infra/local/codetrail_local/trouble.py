"""Why a command ends without an answer; `errors.py` has what can go wrong with the stack itself.

LocalError (errors.py)
└── Trouble               exit 1, with a sentence for the person who typed the command
    ├── ApiError          the API could not be asked, or refused (client.py); exit 2 where it says that
    │                     another request would do
    ├── JobFailed         a repository could not be indexed (indexing.py)
    ├── UnexpectedReply   what answered is not codetrail's API (replies.py)
    ├── Interrupted       Ctrl-C while a job was followed; exit 130 (indexing.py)
    └── Misused           another command line would work; exit 2
        ├── AddressError  an API address or a key that cannot be used (client.py)
        └── RemoteError   what was given names no repository (remotes.py)
"""

from codetrail_local.errors import LocalError


class Trouble(LocalError):
    """A command ends without an answer. `body` is the API's own word for it, for --json."""

    exit_code = 1

    def __init__(self, message: str, *, body: bytes = b"") -> None:
        super().__init__(message)
        self.body = body


class Misused(Trouble):
    """Another command line would work; the message says which."""

    exit_code = 2
