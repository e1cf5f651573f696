"""Files of the cache folder: written atomically, checked when they are read, and of this user only.

Whoever can write the folder could make this process run other code: it contains kernels and device functions.
"""

from __future__ import annotations

import contextlib
import os
import stat
import warnings

from tilec import options
from tilec.hashing import sha256

_DIGEST_BYTES = sha256().digest_size
# Files that are being written have this suffix; the other files are complete.
TEMPORARY_SUFFIX = ".tmp"
# Windows has neither: there the folder has the permissions of the user's profile.
_HAS_OWNERS = hasattr(os, "geteuid")
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def folder(name: str) -> str | None:
    """The folder `name` of the cache folder; None, with a warning once per process, if other users could write it."""
    path = os.path.join(options.cache_folder(), name)
    for checked in (os.path.dirname(path), path):
        if (reason := _distrust(checked)) is not None:
            advice = f"run 'chmod 700 {checked}' after a look at its files, or set TILEC_CACHE to a folder of your own"
            warn_once(f"the cache folder {checked} is neither read nor written, because {reason}: {advice}")
            return None
    return path


def _distrust(path: str) -> str | None:
    """Why other users could change what a folder contains; None if they cannot, or if it does not exist."""
    if not _HAS_OWNERS:
        return None
    try:
        # Whoever owns a link chooses its folder.
        owners = {os.lstat(path).st_uid, (status := os.stat(path)).st_uid}
    except OSError:
        return None
    for owner in owners:
        if not _is_trusted(owner):
            return f"it belongs to another user ({_name_of(owner)})"
    if status.st_mode & _WRITABLE_BY_OTHERS:
        return f"its group or other users can write it (mode {stat.S_IMODE(status.st_mode):04o})"
    return None


def _is_trusted(owner: int) -> bool:
    """Whether files of a user are used: this user, and the administrator, who can do everything anyway."""
    return owner in (os.geteuid(), 0)


def _name_of(owner: int) -> str:
    # Imported here because it is needed for messages only, and Windows lacks it.
    import pwd

    try:
        return pwd.getpwuid(owner).pw_name
    except KeyError:
        return f"number {owner}"


_WARNED: set[str] = set()


def warn_once(message: str) -> None:
    """Gives a RuntimeWarning, for each message once per process."""
    if message not in _WARNED:
        _WARNED.add(message)
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def read(path: str | os.PathLike[str]) -> bytes | None:
    """The content that `write` stored under this name.

    None if the file is missing, truncated or damaged, was renamed, or if another user could have written it.
    """
    try:
        with open(path, "rb") as file:
            if not _is_private(os.fstat(file.fileno())):
                return None
            content = file.read()
    except OSError:
        return None
    body = content[_DIGEST_BYTES:]
    return body if _digest(path, body) == content[:_DIGEST_BYTES] else None


def _is_private(status: os.stat_result) -> bool:
    return not _HAS_OWNERS or (_is_trusted(status.st_uid) and not status.st_mode & _WRITABLE_BY_OTHERS)


def _digest(path: str | os.PathLike[str], content: bytes) -> bytes:
    """The digest of the name, which is the key of the content, and of the content."""
    return sha256(os.path.basename(path).encode() + b"\0" + content).digest()


def write(path: str | os.PathLike[str], content: bytes) -> None:
    """Stores the content with its digest, for this user only; raises OSError if the folder cannot be written.

    Other processes see the whole file or none, because the file is renamed when it is complete.
    """
    # Imported here because most processes only read.
    import tempfile

    folder = os.path.dirname(path)
    make_folder(folder)
    handle, temporary = tempfile.mkstemp(suffix=TEMPORARY_SUFFIX, dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_digest(path, content) + content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def make_folder(path: str | os.PathLike[str]) -> None:
    """Creates a folder of the cache folder, and that folder, for this user only; further parents as usual."""
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    os.makedirs(path, 0o700, exist_ok=True)
