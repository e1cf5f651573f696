"""Lines of PTX that ptxas and the simulator accept."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from instruction_lines import HEAD

from tilec.runtime.ptxsim import _native

HEAD_LINES = HEAD.count("\n")


def assemblers() -> list[Path]:
    """ptxas of the packages of NVIDIA and of the PATH."""
    spec = find_spec("nvidia")
    folders = spec.submodule_search_locations if spec else None
    paths = [path for folder in folders or () for path in Path(folder).glob("*/bin/ptxas")]
    on_path = shutil.which("ptxas")
    return paths + [Path(on_path)] * (on_path is not None)


def refused_by(ptxas: Path, lines: Sequence[str], target: str, source: Path, version: str = "9.0") -> dict[str, str]:
    """The lines that ptxas refuses, with its messages; `source` is a file that this function writes.

    ptxas does not check some rules after an error, nor lines after an error of syntax, so that it assembles the lines
    without errors again.
    """
    refused: dict[str, str] = {}
    rest = list(lines)
    while rest:
        source.write_text(HEAD.format(target=target, version=version) + "\n".join(rest) + "\nL: ret;\n}\n")
        done = subprocess.run([ptxas, f"-arch={target}", source, "-o", "/dev/null"], capture_output=True, text=True)
        found = re.findall(r"line (\d+); (?:error|fatal)\s*: (.*)", done.stderr)
        errors = {int(number): message for number, message in found}
        if not errors:
            assert done.returncode == 0, done.stderr
            break
        refused |= {rest[number - HEAD_LINES - 1]: message for number, message in errors.items()}
        rest = [line for line in rest if line not in refused]
    return refused


def program(line: str, target: str, version: str = "9.0") -> _native.Program:
    """The program of a kernel with this line."""
    return _native.Program(HEAD.format(target=target, version=version) + line + "\nL: ret;\n}\n")


def refusal(line: str, target: str, version: str = "9.0") -> str | None:
    """The message with which the simulator refuses a line; None if it accepts the line, or does not support it."""
    try:
        program(line, target, version)
    except _native.PtxError as error:
        assert error.line == HEAD_LINES + 1
        return error.message
    return None


def is_supported(line: str, target: str, version: str = "9.0") -> bool:
    """Whether the simulator executes the line."""
    return not program(line, target, version).unsupported
