"""A candidate: the texts that it lays over the baseline, by path; and the folder that it is evaluated in."""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from .errors import InfrastructureFailed, Refused

Files = Mapping[str, str]

# What the system answers to a name that no file can have, or not beside the baseline's.
BAD_NAMES = {errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP}


def own(baseline: Path, files: Files) -> Files:
    """What differs from the baseline, so that the same files are the same candidate."""
    differs = {}
    for name, text in files.items():
        path = PurePosixPath(name)
        if path.is_absolute() or not path.parts or ".." in path.parts or "\0" in name:
            raise Refused(f"`{name}` is no path inside of the baseline")
        # A repository's own configuration names programs, which the git that lists a candidate's files would start.
        if any(part.lower() == ".git" for part in path.parts):
            raise Refused(f"`{name}` is of a git repository, and a candidate is plain files")
        there = baseline / path
        with _name_of_its_own(name):
            if there.is_symlink() or not there.is_file() or there.read_bytes() != _encoded(text):
                differs[str(path)] = text
    return differs


def digest(files: Files) -> str:
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()


@contextmanager
def folder(baseline: Path, files: Files) -> Iterator[Path]:
    """The baseline with the candidate's files in it, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="taskwright-candidate-") as room:
        place = Path(room).resolve() / "files"
        shutil.copytree(baseline, place, symlinks=True)
        for name, text in files.items():
            with _name_of_its_own(name):
                _write(place, name, text)
        yield place


def _write(place: Path, name: str, text: str) -> None:
    path = place / name
    # Looked at before anything is made: what exists of it may be a link.
    if not path.parent.resolve().is_relative_to(place):
        raise Refused(f"`{name}` lies behind a link that leaves the baseline")
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not through a link, to whatever that names.
    path.unlink(missing_ok=True)
    path.write_bytes(_encoded(text))


@contextmanager
def _name_of_its_own(name: str) -> Iterator[None]:
    """Tells names that cannot be, which are the candidate's doing, from a disk that is full."""
    try:
        yield
    except OSError as error:
        if error.errno in BAD_NAMES:
            raise Refused(f"`{name}` cannot be the name of a file here: {error.strerror}") from error
        raise InfrastructureFailed(f"the candidate's `{name}`: {error}") from error


def _encoded(text: str) -> bytes:
    # Half of a surrogate pair, as models do write it, becomes bytes that no interpreter takes: the candidate's failure.
    return text.encode("utf-8", errors="surrogatepass")
