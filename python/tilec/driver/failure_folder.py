"""Folders for reports of internal failures, in the user's cache; only the newest are kept."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from tilec.options import cache_folder

# Bounds the disk space that repeated failures use, and keeps the reports of a run with several failures.
KEPT_FOLDERS = 20


def new_failure_folder() -> Path:
    """Creates a folder for the report of one failure, and removes the oldest folders beyond KEPT_FOLDERS.

    The folder is in the temporary directory if the cache cannot be written.
    """
    root = Path(cache_folder()) / "failures"
    name = time.strftime("%Y%m%d-%H%M%S-")
    try:
        root.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=name, dir=root))
        _remove_old(root)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="tilec-failure-"))
    return folder


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
