"""Kernel arguments on a command line: arrays from files, new arrays, and numbers.

A.npy               an array read from a file
A.npy:bf16          an array read from a file, its elements reinterpreted as bf16
C.npy:f16[128,256]  an array of zeros, written to the file after the run
3, -1, 0.5, true    a scalar
"""

from __future__ import annotations

import argparse
import io
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tilec.commands.number import decimal
from tilec.errors import InputError, UsageError
from tilec.runtime.arguments.elements import ELEMENTS, PARAMETER_DTYPES
from tilec.runtime.artifact.artifact import check_folder, write
from tilec.runtime.grid import Dimensions, dimensions

# The description of --arg in the help of a command: the last paragraph of the docstring.
ARGUMENT_FORMS = __doc__.partition("\n\n")[2] if __doc__ else ""


def define_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the option --arg."""
    parser.add_argument("--arg", metavar="ARG", action="append", default=[], help="an argument, see above")


@dataclass(frozen=True)
class GivenArgument:
    """An argument, its text, and the file to which an array is written after the run."""

    text: str
    value: Any
    type: str | None = None
    output: Path | None = None

    @property
    def is_array(self) -> bool:
        return isinstance(self.value, np.ndarray)

    def save(self) -> None:
        """Writes the array to its output file, if it has one."""
        if self.output is None:
            return
        content = io.BytesIO()
        np.save(content, self.value)
        write(self.output, content.getvalue())


_NEW_ARRAY = re.compile(r"(?P<file>.+\.npy):(?P<element>\w+)\[(?P<shape>[^]]*)\]")
_TYPED_NUMBER = re.compile(r"(?P<type>[a-z]+\d+):(?P<number>.+)")
_BOOLEANS = {"true": True, "false": False}


def read_argument(text: str) -> GivenArgument:
    """Parses the text of an argument, and reads or creates its array.

    Raises UsageError for an unknown form, InputError if the file cannot be read or the array does not fit into memory.
    """
    new_array = _NEW_ARRAY.fullmatch(text)
    if new_array is not None:
        return GivenArgument(text, _zeros(new_array, text), output=Path(new_array["file"]))
    if text.endswith(".npy"):
        return GivenArgument(text, _array(text))
    file, colon, element = text.rpartition(":")
    if colon and file.endswith(".npy"):
        return GivenArgument(text, _reinterpreted(_array(file), element, text))
    typed = _TYPED_NUMBER.fullmatch(text)
    if typed is not None and typed["type"] in PARAMETER_DTYPES:
        return GivenArgument(text, _number(typed["number"], text), typed["type"])
    return GivenArgument(text, _number(text, text))


def grid_argument(text: str, option: str, least: int = 1) -> Dimensions:
    """Parses the one to three extents of a grid, a block or a cluster; raises UsageError for any other text."""
    parts = text.split(",")
    extents = [extent for extent in map(decimal, parts) if extent is not None]
    if len(extents) < len(parts):
        raise UsageError(f"{option} needs one to three integers separated by commas, got '{text}'")
    return dimensions(extents, option, least)


def _zeros(new_array: re.Match[str], text: str) -> np.ndarray:
    texts = [extent for extent in new_array["shape"].split(",") if extent.strip()]
    shape = [extent for extent in map(decimal, texts) if extent is not None and extent >= 0]
    if len(shape) < len(texts):
        raise UsageError(f"cannot parse the extents of '{text}': expected integers from 0 on, separated by commas")
    check_folder(Path(new_array["file"]))
    try:
        return np.zeros(shape, _dtype(new_array["element"], text))
    except (MemoryError, ValueError):
        raise InputError(f"cannot create the array '{text}': it does not fit into memory") from None


def _dtype(element: str, text: str) -> np.dtype:
    if element not in ELEMENTS:
        raise UsageError(f"unknown element type in '{text}': expected one of {', '.join(ELEMENTS)}")
    return ELEMENTS[element].dtypes[0]


def _reinterpreted(array: np.ndarray, element: str, text: str) -> np.ndarray:
    """The array with its elements reinterpreted as `element`: a .npy file stores the bytes of bf16 without its type."""
    dtype = _dtype(element, text)
    if array.itemsize != dtype.itemsize:
        sizes = f"an element has {array.itemsize} bytes, expected {dtype.itemsize}"
        file = text.rpartition(":")[0]
        raise InputError(f"cannot reinterpret {array.dtype} elements of {file} as {element}: {sizes}")
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
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    for parse in (lambda: int(text, 0), lambda: float(text)):
        try:
            return parse()
        except ValueError:
            continue
    raise UsageError(f"cannot parse argument '{whole}': expected FILE.npy, FILE.npy:f32[4,4], a number, or TYPE:NUMBER")
