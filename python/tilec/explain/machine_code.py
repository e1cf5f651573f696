"""The machine code of a cubin with its source lines, from nvdisasm."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePath

from tilec.errors import InputError

# Packages that contain nvdisasm, and its folder in them.
_FOLDERS = (("nvidia", "cu13/bin"), ("triton", "backends/nvidia/bin"))
_SECTION = re.compile(r"^\s*\.section\s+\.text\.([\w$]+)")
_LINE = re.compile(r'^\s*//## File "(?P<file>[^"]*)", line (?P<line>\d+)')
_LABEL = re.compile(r"^(\.L_x_\d+):")
_INSTRUCTION = re.compile(r"^\s*/\*(?P<address>[0-9a-f]+)\*/\s+(?P<text>.*?)\s*;")


@dataclass(frozen=True)
class MachineLine:
    """An instruction of machine code: its address in bytes, its source line and the label before it."""

    address: int
    text: str
    file: str
    line: int
    block: str

    def is_of(self, line: int, file: str | None) -> bool:
        """Whether it belongs to a source line; `file` is a path, or None for all files."""
        return self.line == line and (file is None or PurePath(self.file).name == PurePath(file).name)


def nvdisasm() -> Path | None:
    """nvdisasm on the path, of the package nvidia-cuda-nvdisasm or of Triton; None if there is none."""
    if found := shutil.which("nvdisasm"):
        return Path(found)
    for package, folder in _FOLDERS:
        spec = find_spec(package)
        for root in (spec.submodule_search_locations or ()) if spec is not None else ():
            if (path := Path(root) / folder / "nvdisasm").exists():
                return path
    return None


def disassembly(cubin: bytes, tool: Path) -> list[MachineLine]:
    """The machine code of the kernels of a cubin; raises InputError with the message of nvdisasm."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        process = subprocess.run([tool, "-c", "-g", path], capture_output=True, text=True)
    if process.returncode != 0:
        raise InputError(f"{tool} cannot read the cubin: {process.stderr.strip()}")
    return list(machine_lines(process.stdout))


def machine_lines(text: str) -> Iterator[MachineLine]:
    """The instructions in the output of `nvdisasm -c -g` that have a source line."""
    file, line, block = "", 0, ""
    for each in text.splitlines():
        if _SECTION.match(each):
            file, line, block = "", 0, ""
        elif found := _LINE.match(each):
            file, line = found["file"], int(found["line"])
        elif found := _LABEL.match(each):
            block = found[1]
        elif block and f"BRA `({block})" in each:
            # A branch to itself stops what runs past the end; only padding follows.
            line = 0
        elif line and (found := _INSTRUCTION.match(each)):
            yield MachineLine(int(found["address"], 16), found["text"], file, line, block)
