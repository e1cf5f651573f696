"""The types of arguments of the benchmarks' command lines: argparse prints the messages with the usage."""

from __future__ import annotations

import argparse
from pathlib import Path


def positive(text: str) -> int:
    """A number above zero, such as that of the repeats."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, got '{text}'")
    return int(text)


def extents(text: str) -> str:
    """The extents M, N and K of a matrix multiply, as `128,128,64`."""
    if [word.strip().isdecimal() and int(word) > 0 for word in text.split(",")] != [True] * 3:
        raise argparse.ArgumentTypeError(f"expected three extents M,N,K such as 128,128,64, got '{text}'")
    return text


def folder(text: str) -> Path:
    """The path of a folder that exists."""
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"expected a folder, but there is none at '{text}'")
    return Path(text)
