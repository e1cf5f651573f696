"""Kernel arguments written on a command line: files of arrays, arrays to be made, and numbers.

A.npy               an array read from a file
A.npy:bf16          the same, its elements taken for that type
C.npy:f16[128,256]  an array of zeros, written to the file after the run
3, -1, 0.5, true    a scalar
"""

from __future__ import annotations

import argparse
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tilec.errors import InputError, UsageError
from tilec.runtime.artifact import check_folder
from tilec.runtime.elements import ELEMENTS, PARAMETER_DTYPES
from tilec.runtime.grid import Dimensions, dimensions

# What the help of a command says of --arg: the last paragraph above.
ARGUMENT_FORMS = __doc__.partition("\n\n")[2] if __doc__ else ""


def define_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds --arg."""
    parser.add_argument("--arg", metavar="ARG", action="append", default=[], help="an argument, see above")


@dataclass(frozen=True)
class GivenArgument:
    """An argument and how it was written; `output` is the file that an array goes to after the run."""

    text: str
    value: Any
    type: str | None = None
    output: Path | None = None

    @property
    def is_array(self) -> bool:
        return isinstance(self.value, np.ndarray)

    def save(self) -> None:
        """Writes the array to its file, where it has one."""
        if self.output is None:
            return
        try:
            np.save(self.output, self.value)
        except OSError as error:
            raise InputError(f"cannot write {self.output}: {error.strerror}") from None


_MADE = re.compile(r"(?P<file>.+\.npy):(?P<element>\w+)\[(?P<shape>[\d, ]*)\]")
_TYPED = re.compile(r"(?P<type>[a-z]+\d+):(?P<number>.+)")
_WORDS = {"true": True, "false": False}


def read_argument(text: str) -> GivenArgument:
    """The argument behind a text.

    Raises UsageError for an unknown form, InputError if the file cannot be read or the array does not fit into memory.
    """
    made = _MADE.fullmatch(text)
    if made is not None:
        return GivenArgument(text, _zeros(made, text), output=Path(made["file"]))
    if text.endswith(".npy"):
        return GivenArgument(text, _array(text))
    file, colon, element = text.rpartition(":")
    if colon and file.endswith(".npy"):
        return GivenArgument(text, _seen_as(_array(file), element, text))
    typed = _TYPED.fullmatch(text)
    if typed is not None and typed["type"] in PARAMETER_DTYPES:
        return GivenArgument(text, _number(typed["number"], text), typed["type"])
    return GivenArgument(text, _number(text, text))


def grid_argument(text: str, option: str, least: int = 1) -> Dimensions:
    """The one to three numbers of a grid, a block or a cluster; UsageError if they are not."""
    parts = text.split(",")
    if not all(part.strip().isdigit() for part in parts):
        raise UsageError(f"{option} needs one to three integers separated by commas, got '{text}'")
    return dimensions([int(part) for part in parts], option, least)


def _zeros(made: re.Match[str], text: str) -> np.ndarray:
    shape = [int(extent) for extent in made["shape"].split(",") if extent.strip()]
    check_folder(Path(made["file"]))
    try:
        return np.zeros(shape, _dtype(made["element"], text))
    except (MemoryError, ValueError):
        raise InputError(f"cannot make the array '{text}': it does not fit into memory") from None


def _dtype(element: str, text: str) -> np.dtype:
    if element not in ELEMENTS:
        raise UsageError(f"unknown element type in '{text}': expected one of {', '.join(ELEMENTS)}")
    return ELEMENTS[element].dtypes[0]


def _seen_as(array: np.ndarray, element: str, text: str) -> np.ndarray:
    """The array with its elements taken for `element`: files of numpy do not know bf16 and keep its bytes only."""
    dtype = _dtype(element, text)
    if array.itemsize != dtype.itemsize:
        raise InputError(f"elements of {array.dtype} in {text.rpartition(':')[0]} cannot be taken for {element}")
    return array.view(dtype)


def _array(file: str) -> np.ndarray:
    try:
        with open(file, "rb") as opened:
            array = np.load(opened)
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror or error}") from None
    except MemoryError:
        raise InputError(f"cannot read {file}: its array does not fit into memory") from None
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{file} is not a .npy file: {error}") from None
    if not isinstance(array, np.ndarray):
        raise InputError(f"{file} is not a .npy file: it is an archive of several arrays")
    return array


def _number(text: str, whole: str) -> bool | int | float:
    if text in _WORDS:
        return _WORDS[text]
    for read in (lambda: int(text, 0), lambda: float(text)):
        try:
            return read()
        except ValueError:
            continue
    raise UsageError(f"cannot parse argument '{whole}': expected FILE.npy, FILE.npy:f32[4,4], a number, or TYPE:NUMBER")
