"""Folders for reports of internal failures, in the user's cache; only the newest are kept."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from pathlib import Path

from tilec import cache_files

# Bounds the disk space that repeated failures use, and keeps the reports of a run with several failures.
KEPT_FOLDERS = 20


def new_failure_folder() -> Path:
    """Creates a folder for the report of one failure, and removes the oldest folders beyond KEPT_FOLDERS.

    The folder is in the temporary directory if the cache cannot be written, or if other users could write it.
    """
    name = time.strftime("%Y%m%d-%H%M%S-")
    if (root := cache_files.folder("failures")) is not None:
        with contextlib.suppress(OSError):
            cache_files.make_folder(root)
            folder = Path(tempfile.mkdtemp(prefix=name, dir=root))
            _remove_old(Path(root))
            return folder
    return Path(tempfile.mkdtemp(prefix="tilec-failure-"))


def _remove_old(root: Path) -> None:
    ages = {}
    for folder in root.iterdir():
        try:
            ages[folder] = folder.stat().st_mtime_ns
        except FileNotFoundError:
            # Another process may remove old folders at the same time.
            continue
    for folder in sorted(ages, key=ages.__getitem__, reverse=True)[KEPT_FOLDERS:]:
        shutil.rmtree(folder, ignore_errors=True)
