"""Admission: which remotes and refs are looked at, decided before anything is fetched.

A remote is read once, against one anchored pattern, and the URL for git is built again from the matched
parts: what a caller wrote never reaches git. Each refusal names its rule (form, scheme or host) and says
what to change. Nothing that a caller wrote before an `@` is ever repeated: it may be a password.
"""

import os
import re
from collections.abc import Collection
from urllib.parse import quote, unquote_to_bytes

from codetrail.errors import NotAdmitted

MAX_OWNER_CHARACTERS = 39
MAX_NAME_CHARACTERS = 100
MAX_REF_BYTES = 255
# The longest path that Linux opens.
MAX_LOCAL_BYTES = 4_096
# Far over any address that can be admitted; what is longer is not worth reading.
_MAX_REMOTE_CHARACTERS = 2_048

_REMOTE = re.compile(
    r"https://"
    r"(?P<host>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)"
    r"/(?P<owner>[A-Za-z0-9_][A-Za-z0-9._-]{0,38})"
    r"/(?P<name>[A-Za-z0-9._][A-Za-z0-9._-]{0,99})",
    re.ASCII,
)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):", re.ASCII)
_SEGMENT = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)
# Parsers of URLs disagree over these, so no part of an address is read while one is in it.
_UNREADABLE = re.compile(
    r"[\x00-\x20\x7f-\xa0\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ud800-\udfff\\]"
)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})", re.ASCII)

# What `git check-ref-format` refuses, and more: of all that git lets into a name, only what names are made of
# (`@` and `+` for tags such as pkg@1.0.0 and v1+build, `#` for issue branches).
_REF_FAULTS = tuple(
    (re.compile(fault), problem)
    for fault, problem in (
        (r"\A\Z", "it is empty; leave it out for HEAD"),
        (r"[^A-Za-z0-9._/@+#-]", "it may hold letters, digits and . _ / - @ + #"),
        (r"\A[-+]", "it must not begin with a dash or a plus"),
        (r"\.\.|@\{|\A@\Z", "it must not hold .. or be @ alone"),
        (r"\A/|//|/\Z", "it must not begin or end with a slash or hold two in a row"),
        (
            r"(\A|/)\.|\.\Z|\.lock(/|\Z)",
            "no part of it may begin with a dot or end in .lock, nor the whole end in a dot",
        ),
        (r"\Arefs(\Z|/(?!(heads|tags)/))", "only refs/heads/NAME and refs/tags/NAME are looked at"),
    )
)

_SHAPE = "a remote is https://HOST/OWNER/NAME and nothing else"


def admit(remote: str, hosts: Collection[str], local: bool = False) -> str:
    """Return the canonical form of *remote*: `https://host/owner/name`, or `file:///absolute/path` where
    *local* is set. Raises NotAdmitted.

    >>> admit("https://github.com/google/uuid.git", hosts=("github.com",))
    'https://github.com/google/uuid'
    """
    if not remote.strip():
        raise _form(f"remote is empty; {_SHAPE}")
    if local and (remote.startswith("/") or remote.startswith("file:")):
        return _admit_local(remote)
    if len(remote) > _MAX_REMOTE_CHARACTERS:
        raise _form(f"remote is longer than {_MAX_REMOTE_CHARACTERS} characters; {_SHAPE}")
    if _UNREADABLE.search(remote):
        raise _form("remote holds a space, a control character or a backslash; take it out")
    rest = _after_scheme(remote, local=local)
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    host = _host(authority)
    if host not in hosts:
        raise NotAdmitted(_not_allowed(host, hosts), "host")
    path = rest[len(authority) :]
    _check_path(path)
    match = _REMOTE.fullmatch(f"https://{host}{path.removesuffix('.git')}")
    if match is None:
        raise _form(_SHAPE)
    return "https://{host}/{owner}/{name}".format(**match.groupdict())


def admit_ref(ref: str = "HEAD") -> str:
    """Return *ref* when it is HEAD, a branch's or a tag's name, or one written out as refs/heads/… or
    refs/tags/…. Raises NotAdmitted for what `git check-ref-format` refuses, and for more."""
    if len(ref.encode("utf-8", "surrogatepass")) > MAX_REF_BYTES:
        raise _form(f"ref must be a plain git ref name of at most {MAX_REF_BYTES} bytes")
    for fault, problem in _REF_FAULTS:
        if fault.search(ref):
            raise _form(f"ref must be a plain git ref name: {problem}")
    return ref


def remote_key(remote: str) -> str:
    """Return what tells an admitted remote from another: forges fold case, file systems may not."""
    return remote.casefold() if remote.startswith("https://") else remote


def local_path(remote: str) -> str | None:
    """Return the folder that an admitted `file://` remote names; None for any other remote."""
    if not remote.startswith("file:///"):
        return None
    return os.fsdecode(unquote_to_bytes(remote.removeprefix("file://")))


def _form(message: str) -> NotAdmitted:
    return NotAdmitted(message, "form")


def _after_scheme(remote: str, *, local: bool) -> str:
    scheme = _SCHEME.match(remote)
    if scheme is None:
        if re.match(r"[^/]*@[^/]*:", remote):
            raise NotAdmitted(f"remote is an ssh address; {_SHAPE}", "scheme")
        hint = "; a local path must be absolute" if local else ""
        raise NotAdmitted(f"remote has no scheme; only https is accepted{hint}", "scheme")
    if scheme.group(1) != "https":
        raise NotAdmitted(f'scheme "{scheme.group(1)[:20]}"; only https is accepted, in lowercase', "scheme")
    if not remote.startswith("https://"):
        raise _form(f"https: is not followed by two slashes; {_SHAPE}")
    return remote.removeprefix("https://")


def _host(authority: str) -> str:
    if "@" in authority:
        raise _form("remote holds a user name or a password; only public repositories are indexed")
    if not authority:
        raise _form(f"remote has no host; {_SHAPE}")
    name, bracket, rest = authority.rpartition("]")
    if ":" in rest:
        raise _form("remote holds a port; leave it out")
    if "%" in authority:
        raise _form("remote's host holds a percent sign; write it plainly")
    return name + bracket + rest


def _not_allowed(host: str, hosts: Collection[str]) -> str:
    if not hosts:
        return "no host is allowed here: ALLOWED_HOSTS is empty"
    if host.lower() in hosts:
        return f"write the host in lowercase: {host.lower()}"
    named = host if len(host) <= 100 and host.isascii() else "this"
    return f"{named} is not an allowed host; allowed: {', '.join(hosts)}"


def _check_path(path: str) -> None:
    """Raise for anything but /owner/name; which of the two the message is about, it says."""
    if "?" in path or "#" in path:
        raise _form(f"remote holds a query or a fragment; {_SHAPE}")
    if "%" in path:
        raise _form(f"remote holds a percent sign; {_SHAPE}, without escapes")
    parts = path.split("/")
    if len(parts) == 4 and not parts[3]:
        raise _form("remote ends in a slash; leave it out")
    if len(parts) > 3:
        raise _form(f"remote goes on behind the repository's name; {_SHAPE}")
    if len(parts) < 3 or not parts[1] or not parts[2]:
        raise _form(f"remote names no repository; {_SHAPE}")
    owner, name = parts[1], parts[2].removesuffix(".git")
    for what, text, limit in (("owner", owner, MAX_OWNER_CHARACTERS), ("name", name, MAX_NAME_CHARACTERS)):
        if len(text) > limit:
            raise _form(f"the {what} is longer than {limit} characters")
        if not _SEGMENT.fullmatch(text) or not text.strip("."):
            raise _form(f"the {what} is made of letters, digits, '.', '_' and '-', and not of dots alone")
        if text.startswith("-"):
            raise _form(f"the {what} must not begin with a dash")
    if owner.startswith("."):
        raise _form("the owner must not begin with a dot")
    # Once `.git` is off, a second one would make two spellings of one address.
    if name.lower().endswith((".git", ".lock")):
        raise _form("the name must not end in .git or .lock")


def _admit_local(remote: str) -> str:
    try:
        path = _written_path(remote)
    except UnicodeEncodeError:
        raise _form(
            "the path is not text that can be written as UTF-8; give a file:// URL with escapes"
        ) from None
    if b"\0" in path:
        raise _form("the path holds a NUL byte")
    parts = [part for part in path.split(b"/") if part]
    if not parts:
        raise _form("the path names no folder")
    if b"." in parts or b".." in parts:
        raise _form("the path must be written without . and .. segments")
    path = b"/" + b"/".join(parts)
    if len(path) > MAX_LOCAL_BYTES:
        raise _form(f"the path is longer than {MAX_LOCAL_BYTES} bytes")
    return f"file://{quote(path, safe='/')}"


def _written_path(remote: str) -> bytes:
    """Return the bytes of the path: as they stand, or out of a file:// URL's escapes."""
    if remote.startswith("/"):
        return remote.encode("utf-8")
    rest = remote.removeprefix("file:")
    if rest.startswith("//localhost/"):
        rest = rest.removeprefix("//localhost")
    elif rest.startswith("///"):
        rest = rest.removeprefix("//")
    else:
        raise _form("a file URL is file:///ABSOLUTE/PATH, without a host")
    if "?" in rest or "#" in rest:
        raise _form("a file URL has no query and no fragment; write ? as %3F and # as %23")
    if _BAD_ESCAPE.search(rest):
        raise _form("a percent sign is not followed by two hex digits; write it as %25")
    return unquote_to_bytes(rest.encode("utf-8"))
