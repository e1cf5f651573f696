"""What is counted in machine code: a name and the pattern of its opcodes per row."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sheet.machine_code.control_flow import Graph, Loop
from sheet.machine_code.disassembly import Instruction
from sheet.machine_code.roles import roles

PATTERNS = {
    "tensor": r"UTC\w*MMA|[HQI]GMMA|[HQID]MMA",
    "tma_loads": r"UTMALDG|UBLKCP\.S",
    "tma_stores": r"UTMASTG|UTMAREDG|UBLKCP\.G|UBLKRED",
    "waits": r"SYNCS\.PHASECHK",
    "barriers": r"BAR\.",
    "mufu": r"MUFU",
    "mufu_ex2": r"MUFU\.EX2",
    "packed": r"FADD2|FMUL2|FFMA2|HFMA2|HADD2|HMUL2",
    "ldl": r"LDL",
    "stl": r"STL",
    "lds": r"LDS(?!M)",
    "sts": r"STS(?!M)",
    "ldsm": r"LDSM",
    "stsm": r"STSM",
    "ldtm": r"LDTM",
    "sttm": r"STTM",
    "shuffles": r"SHFL",
    "ldg": r"LDG",
    "stg": r"STG",
    "ldgsts": r"LDGSTS",
}
_PATTERNS = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}
_WIDTH = re.compile(r"\.[US]?(8|16|64|128|256)\b")
# The first role named by an instruction of its code.
_ROLE_NAMES = (
    ("mma", r"UTC\w*MMA"),
    ("multiply", r"[HQI]GMMA|[HQID]MMA"),
    ("load", r"UTMALDG|UBLKCP\.S"),
    ("softmax", r"MUFU\.EX2"),
    ("epilogue", r"LDTM|STTM"),
    ("store", r"UTMASTG|UTMAREDG"),
)
# An access of a constant place in the frame of the kernel.
_FRAME = re.compile(r"\[R1(?:\+(0x[0-9a-f]+))?\]")
_OFFSET = re.compile(r"\[U?R\w+\+(?:URZ\+)?(0x[0-9a-f]+)\]")
_BARRIER_BYTES = 8
_INITIALIZE = "SYNCS.EXCH"
# The width of LDG and STG without a suffix.
_DEFAULT_BITS = 32


@dataclass(frozen=True)
class Region:
    """The whole kernel, a role or a loop.

    Attributes:
        depth: the number of loops around a loop.
        counts: instructions by row of PATTERNS, with the number of all instructions.
        own: the same without those of inner loops.
        tensor_opcodes: tensor core instructions by opcode.
    """

    name: str
    depth: int
    counts: dict[str, int]
    own: dict[str, int]
    tensor_opcodes: dict[str, int]

    def fields(self) -> dict[str, Any]:
        """The region as JSON, without rows of zero."""
        own = {name: count for name, count in self.own.items() if count}
        counts = {name: count for name, count in self.counts.items() if count}
        return {"name": self.name, "depth": self.depth, **counts, "own": own, "tensor_opcodes": self.tensor_opcodes}


@dataclass(frozen=True)
class Sheet:
    """The figures of the machine code of a kernel.

    Attributes:
        whole: all instructions of the section, with code that is not reached.
        setmaxreg: the register counts that roles set, as `dealloc 32`.
        mbarriers: initialized mbarriers.
        rings: the lengths of the arrays of mbarriers that code indexes: distances of the bases, in barriers.
        spills_in_loops: loads and stores of spilled registers in loops, each once.
    """

    whole: Region
    roles: tuple[Region, ...]
    loops: tuple[Region, ...]
    ldg_bits: dict[int, int]
    stg_bits: dict[int, int]
    setmaxreg: tuple[str, ...]
    mbarriers: int
    rings: tuple[int, ...]
    spills_in_loops: tuple[int, int]

    def loops_with(self, name: str) -> list[Region]:
        """The innermost loops around the instructions of a row."""
        return [loop for loop in self.loops if loop.own[name]]

    def fields(self) -> dict[str, Any]:
        """The figures as JSON."""
        return {
            "whole": self.whole.fields(),
            "roles": [role.fields() for role in self.roles],
            "loops": [loop.fields() for loop in self.loops],
            "spills_in_loops": list(self.spills_in_loops),
            "ldg_bits": self.ldg_bits,
            "stg_bits": self.stg_bits,
            "setmaxreg": list(self.setmaxreg),
            "mbarriers": self.mbarriers,
            "rings": list(self.rings),
        }


def sheet_of(instructions: Sequence[Instruction], threads: int, array_bytes: int = 0) -> Sheet:
    """The figures of the machine code of a kernel, by its number of threads per block.

    The first `array_bytes` of local memory are arrays of the program; ptxas spills registers to those after them.
    """
    graph = Graph(instructions)
    code = graph.of(graph.order)
    return Sheet(
        _region("kernel", 0, instructions, instructions),
        tuple(_roles(graph, threads)),
        tuple(_loop(graph, loop) for loop in graph.loops),
        _bits(code, "LDG"),
        _bits(code, "STG"),
        tuple(_register_counts(code)),
        sum(each.opcode.startswith(_INITIALIZE) for each in code),
        _rings(code),
        _spills(graph.of({number for loop in graph.loops for number in loop.blocks}), array_bytes),
    )


def _spills(code: Sequence[Instruction], array_bytes: int) -> tuple[int, int]:
    """The loads and the stores of local memory, without those of arrays."""
    accesses = [each for each in code if not array_bytes or _is_after(each, array_bytes)]
    loads, stores = (sum(bool(_PATTERNS[name].match(each.opcode)) for each in accesses) for name in ("ldl", "stl"))
    return loads, stores


def _is_after(access: Instruction, array_bytes: int) -> bool:
    """Whether an access of local memory has a constant place after that of the arrays."""
    place = _FRAME.search(access.operands)
    return place is not None and int(place[1] or "0", 16) >= array_bytes


def _roles(graph: Graph, threads: int) -> list[Region]:
    """The roles with their warps, and what all of them share as `common`."""
    found, seen = [], Counter[str]()
    rest = set(graph.order)
    for role in roles(graph, threads):
        if not (code := graph.of(role.blocks)):
            continue
        name = next((name for name, pattern in _ROLE_NAMES if _any(code, pattern)), "other")
        seen[name] += 1
        number = f" {seen[name]}" if seen[name] > 1 else ""
        found.append(_region(f"{name}{number} ({role.warps} warp{'s' if role.warps > 1 else ''})", 0, code, code))
        rest -= role.blocks
    code = graph.of(rest)
    return [*found, _region("common" if found else "all", 0, code, code)]


def _loop(graph: Graph, loop: Loop) -> Region:
    inner = {number for other in graph.loops if other.header in loop.blocks - {loop.header} for number in other.blocks}
    name = f"{graph.block(loop.header)[0].address:#x}"
    return _region(name, loop.depth, graph.of(loop.blocks), graph.of(loop.blocks - inner))


def _region(name: str, depth: int, code: Sequence[Instruction], own: Sequence[Instruction]) -> Region:
    opcodes = Counter(each.opcode for each in code if _PATTERNS["tensor"].match(each.opcode))
    return Region(name, depth, _counts(code), _counts(own), dict(opcodes))


def _counts(code: Sequence[Instruction]) -> dict[str, int]:
    counts = {name: sum(bool(found.match(each.opcode)) for each in code) for name, found in _PATTERNS.items()}
    return {"instructions": len(code), **counts}


def _any(code: Iterable[Instruction], pattern: str) -> bool:
    return any(re.match(pattern, each.opcode) for each in code)


def _bits(code: Sequence[Instruction], opcode: str) -> dict[int, int]:
    """The accesses of global memory by their widths in bits."""
    found = Counter[int]()
    for each in code:
        if each.opcode.split(".")[0] == opcode:
            width = _WIDTH.findall(each.opcode)
            found[int(width[-1]) if width else _DEFAULT_BITS] += 1
    return dict(sorted(found.items()))


def _register_counts(code: Iterable[Instruction]) -> list[str]:
    """The registers that `setmaxnreg` asks for, without repetitions."""
    found = []
    for each in code:
        if each.opcode.startswith("USETMAXREG"):
            kind = "dealloc" if "DEALLOC" in each.opcode else "alloc"
            count = re.search(r"0x[0-9a-f]+", each.operands)
            found.append(f"{kind} {int(count[0], 16) if count else each.operands}")
    return list(dict.fromkeys(found))


def _rings(code: Iterable[Instruction]) -> tuple[int, ...]:
    """Distances in barriers from each base of an array of mbarriers to the next, those of one barrier left out."""
    barriers = [each for each in code if each.opcode.startswith(("SYNCS", "UTCBAR"))]
    initialized = _offsets(each for each in barriers if each.opcode.startswith(_INITIALIZE))
    bases = sorted(_offsets(each for each in barriers if not each.opcode.startswith(_INITIALIZE)) & initialized)
    if not bases:
        return ()
    limits = [*bases[1:], max(initialized) + _BARRIER_BYTES]
    lengths = [(limit - base) // _BARRIER_BYTES for base, limit in zip(bases, limits, strict=True)]
    # Barriers of other arrays can lie far away.
    return tuple(length for length in lengths if 1 < length <= len(initialized))


def _offsets(code: Iterable[Instruction]) -> set[int]:
    """The constant parts of the addresses."""
    return {int(found, 16) for each in code for found in _OFFSET.findall(each.operands)}
