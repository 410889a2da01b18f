"""A folder for each job, which outlives neither the job nor, for long, its process."""

import fcntl
import os
import shutil
import stat
import tempfile
from pathlib import Path


class JobFolder:
    """A folder for one job, locked while the job lives; what dead jobs left beside it is removed first."""

    def __init__(self, scratch: Path) -> None:
        scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        # In a folder that everybody may write to, somebody may have been here first.
        found = scratch.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise PermissionError(f"{scratch} is not a folder of this user")
        with (scratch / ".lock").open("wb") as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)
            for folder in scratch.glob("job-*"):
                _remove_if_dead(folder)
            self.folder = Path(tempfile.mkdtemp(prefix="job-", dir=scratch))
            self._lock = (self.folder / ".lock").open("wb")
            fcntl.flock(self._lock, fcntl.LOCK_EX)

    def __enter__(self) -> "JobFolder":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder and let go of its lock."""
        shutil.rmtree(self.folder, ignore_errors=True)  # what stays is removed when the next job begins
        self._lock.close()


def _remove_if_dead(folder: Path) -> None:
    """Remove a job's folder unless a living process holds its lock."""
    try:
        with (folder / ".lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        return
    except FileNotFoundError:  # its owner died, or is ending, between two steps
        shutil.rmtree(folder, ignore_errors=True)
