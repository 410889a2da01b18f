"""A clone in memory, for tests of what becomes of citations."""

import re
from dataclasses import dataclass, field
from hashlib import sha256


@dataclass
class MemoryClone:
    """A clone that holds files in memory; `lying` is what its shell prints whatever it is asked."""

    files: dict[tuple[str, bytes], bytes]
    lying: str = ""
    commands: list[str] = field(default_factory=list)

    def check(self, command: str) -> str:
        self.commands.append(command)
        asked = re.search(r"blob (\w+):(\S+) \| tail -n \+(\d+) \| head -n (\d+) \| head -c (\d+)", command)
        if self.lying or asked is None:
            return self.lying
        blob = self.files.get((asked[1], asked[2].encode()), b"")
        first, lines, length = (int(number) for number in asked.groups()[2:])
        cut = b"".join(re.findall(rb"[^\n]*\n|[^\n]+", blob)[first - 1 :][:lines])
        return sha256(cut[:length]).hexdigest() + "  -\n"

    def blob(self, commit: str, path: bytes) -> bytes | None:
        return self.files.get((commit, path))
