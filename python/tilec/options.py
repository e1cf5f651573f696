"""The environment variables that tilec reads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tilec.errors import UsageError
from tilec.frozen import Frozen

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_TARGET = "sm_100a"
DEFAULT_CACHE_BYTES = 1 << 30


class Options(Frozen):
    """Settings from environment variables."""

    target: str = DEFAULT_TARGET
    backend: str | None = None
    dump: Path | None = None
    seed: int = 0


def from_environment() -> Options:
    """Reads `TILEC_TARGET`, `TILEC_BACKEND` (interpret, simulate, launch), `TILEC_DUMP` (a folder) and `TILEC_SEED`.

    Raises UsageError for a seed that is not a non-negative integer.
    """
    return Options(
        target=os.environ.get("TILEC_TARGET", DEFAULT_TARGET),
        backend=os.environ.get("TILEC_BACKEND") or None,
        dump=_path(os.environ.get("TILEC_DUMP")),
        seed=_seed(os.environ.get("TILEC_SEED", "0")),
    )


def _path(text: str | None) -> Path | None:
    if not text:
        return None
    # Imported here because importing tilec must be fast.
    from pathlib import Path

    return Path(text)


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise UsageError(f"TILEC_SEED: expected a non-negative integer, got '{text}'")
    # 2^64 has 20 digits.
    if len(text) > 20:
        raise UsageError(f"TILEC_SEED: expected an integer less than 2^64, got '{text}'")
    return int(text)


def compiler_timeout_s() -> float | None:
    """The time limit of compiles in seconds: `TILEC_COMPILER_TIMEOUT`, or None for no limit.

    Raises UsageError if it is not a positive number.
    """
    text = os.environ.get("TILEC_COMPILER_TIMEOUT")
    if not text:
        return None
    try:
        limit_s = float(text)
    except ValueError:
        limit_s = 0.0
    if not limit_s > 0:
        raise UsageError(f"TILEC_COMPILER_TIMEOUT: expected a positive number of seconds, got '{text}'")
    return limit_s


def full_traceback() -> bool:
    """Whether tracebacks keep the frames of this package: True only if `TILEC_TRACEBACK` is `full`."""
    return os.environ.get("TILEC_TRACEBACK") == "full"


def cache_size_bytes() -> int:
    """The maximum size of the compiled kernels in the cache folder: `TILEC_CACHE_SIZE` in bytes; 0 keeps none.

    Raises UsageError if it is not a non-negative integer.
    """
    text = os.environ.get("TILEC_CACHE_SIZE", str(DEFAULT_CACHE_BYTES))
    if not text.isdecimal():
        raise UsageError(f"TILEC_CACHE_SIZE: expected a number of bytes, got '{text}'")
    return int(text)


def cuda_folders() -> tuple[str | None, ...]:
    """The folders of a CUDA toolkit, where the libraries of CUDA are found if no package contains them."""
    return os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")


def environment_with(defaults: dict[str, str]) -> dict[str, str]:
    """The environment of a process that this one starts: its own, and variables that it has not."""
    return {**defaults, **os.environ}


def cache_folder() -> str:
    """The cache folder: `TILEC_CACHE` if set, else the folder `tilec` in the user's cache.

    Raises UsageError if the user has no home folder.
    """
    if folder := os.environ.get("TILEC_CACHE"):
        return folder
    if folder := os.environ.get("XDG_CACHE_HOME"):
        return os.path.join(folder, "tilec")
    home = os.path.expanduser("~")
    if home == "~":
        raise UsageError("the user has no home folder: set TILEC_CACHE to the folder for compiled kernels")
    return os.path.join(home, ".cache", "tilec")
