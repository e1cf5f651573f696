"""Files of the cache folder: written atomically, and checked when they are read."""

from __future__ import annotations

import contextlib
import os

from tilec.hashing import sha256

_DIGEST_BYTES = sha256().digest_size
# Files that are being written have this suffix; the other files are complete.
TEMPORARY_SUFFIX = ".tmp"


def read(path: str | os.PathLike[str]) -> bytes | None:
    """The content that `write` stored; None if the file is missing, truncated or damaged."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return None
    body = content[_DIGEST_BYTES:]
    return body if sha256(body).digest() == content[:_DIGEST_BYTES] else None


def write(path: str | os.PathLike[str], content: bytes) -> None:
    """Stores the content with its digest; raises OSError if the folder cannot be written.

    Other processes see the whole file or none, because the file is renamed when it is complete.
    """
    # Imported here because most processes only read.
    import tempfile

    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    handle, temporary = tempfile.mkstemp(suffix=TEMPORARY_SUFFIX, dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(sha256(content).digest() + content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
