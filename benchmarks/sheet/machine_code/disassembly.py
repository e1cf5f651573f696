"""The machine code of a cubin as nvdisasm and cuobjdump print it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sheet.machine_code.occupancy import RESERVED_BYTES

# Bytes of an instruction on all architectures since sm_70.
INSTRUCTION_BYTES = 16
_TARGET = re.compile(r"(0x[0-9a-f]+)$")
_USAGE = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+)")
_BLOCK = re.compile(r"EIATTR_REQNTID.*?((?:\.word\s+0x[0-9a-f]+\s*(?:/\*.*?\*/\s*)?){3})", re.DOTALL)


class ToolError(Exception):
    """A tool is missing, or it refused a file."""


@dataclass(frozen=True)
class Instruction:
    """An instruction at an address in bytes: `@P0 BRA 0x2c0` has a predicate, an opcode and operands."""

    address: int
    opcode: str
    operands: str = ""
    predicate: str = ""

    @property
    def target(self) -> int | None:
        """The address that the instruction names last, as branches do."""
        found = _TARGET.search(self.operands)
        return int(found[1], 16) if found else None

    def text(self) -> str:
        return " ".join(part for part in (self.predicate, self.opcode, self.operands) if part)


@dataclass(frozen=True)
class Function:
    """The machine code of an entry, with what the cubin states about it.

    Attributes:
        threads: threads per block, or None if the cubin does not fix them.
        registers: registers per thread at the start of the kernel.
        stack_bytes: local memory of a thread.
        shared_bytes: static shared memory of a block.
    """

    instructions: tuple[Instruction, ...]
    threads: int | None = None
    registers: int = 0
    stack_bytes: int = 0
    shared_bytes: int = 0


@cache
def tool(name: str) -> Path:
    """nvdisasm or cuobjdump: on the path, of the packages nvidia-cuda-*, or of Triton; raises ToolError."""
    if found := shutil.which(name):
        return Path(found)
    for package, inner in (("nvidia", "cu13/bin"), ("triton", "backends/nvidia/bin")):
        spec = find_spec(package)
        for root in (spec.submodule_search_locations or ()) if spec else ():
            if (path := Path(root) / inner / name).exists():
                return path
    raise ToolError(f"{name} is not installed (pip install nvidia-cuda-{name}, or triton)")


def version(name: str) -> str:
    """The version that a tool prints."""
    found = re.search(r"V(\d+\.\d+\.\d+)", _output(tool(name), "--version"))
    return found[1] if found else "unknown"


def disassemble(cubin: Path, entry: str) -> Function:
    """The machine code of an entry; raises ToolError."""
    functions = parse(_output(tool("nvdisasm"), "-json", cubin))
    if entry not in functions:
        raise ToolError(f"{cubin.name} has no entry '{entry}', only {', '.join(functions)}")
    usage = _output(tool("cuobjdump"), "-res-usage", cubin)
    found = _USAGE.search(usage, usage.index(f"Function {entry}:"))
    assert found is not None, usage
    registers, stack_bytes, shared_bytes = map(int, found.groups())
    threads = _threads(_output(tool("nvdisasm"), cubin), entry)
    return Function(functions[entry], threads, registers, stack_bytes, declared_bytes(shared_bytes))


def declared_bytes(shared_bytes: int) -> int:
    """The static shared memory of a kernel: SHARED of cuobjdump without what the SM keeps for a block that has any."""
    return max(0, shared_bytes - RESERVED_BYTES)


def parse(text: str) -> dict[str, tuple[Instruction, ...]]:
    """The instructions of each function in the output of `nvdisasm -json`."""
    _, functions = json.loads(text)
    return {function["function-name"]: _instructions(function) for function in functions}


def _instructions(function: dict[str, Any]) -> tuple[Instruction, ...]:
    return tuple(
        Instruction(number * INSTRUCTION_BYTES, row["opcode"], row.get("operands", ""), row.get("predicate", ""))
        for number, row in enumerate(function["sass-instructions"])
    )


def _threads(text: str, entry: str) -> int | None:
    """The product of the extents of a block in the section .nv.info of an entry."""
    section = text.partition(f".nv.info.{entry},")[2].partition("//---------------------")[0]
    found = _BLOCK.search(section)
    if found is None:
        return None
    x, y, z = (int(word, 16) for word in re.findall(r"\.word\s+(0x[0-9a-f]+)", found[1]))
    return x * y * z


def _output(*words: object) -> str:
    process = subprocess.run([*map(str, words)], capture_output=True, text=True)
    if process.returncode != 0:
        raise ToolError(f"{Path(str(words[0])).name}: {process.stderr.strip() or process.returncode}")
    return process.stdout
