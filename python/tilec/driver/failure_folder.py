"""Folders of internal failures: in the user's cache, the newest of them kept."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from tilec.options import cache_folder

# Enough to find the failure of a run of many compiles again, and a bound on what a loop of failures leaves behind.
KEPT_FOLDERS = 20


def new_failure_folder() -> Path:
    """A new folder for what one failure leaves; older ones beyond KEPT_FOLDERS are removed.

    It lies in the temporary directory where the cache cannot be written.
    """
    root = cache_folder() / "failures"
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
            # Another process removes old folders at the same time.
            continue
    for folder in sorted(ages, key=ages.__getitem__, reverse=True)[KEPT_FOLDERS:]:
        shutil.rmtree(folder, ignore_errors=True)
