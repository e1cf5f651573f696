"""The value of each pass and heuristic over tile_gpu: it is left out of the compile of each kernel of the sheet.

    python benchmarks/pass_value.py [--only fuse-channels] [--kernels attention] [--target sm_100a]

A kernel that a pass leaves as it is needs no second compile. Otherwise it is compiled from `.gpu.raw.mlir` without the
pass. A pass whose option is off by default is measured on the kernels of the sheet with the option on. No GPU is
needed: cycles are those of the cost model (`tilec compile --explain cost`); instructions, registers and spills are
those of ptxas. `--without-machine-code` leaves ptxas out, and does not need it.
"""

from __future__ import annotations

import argparse
import json
import re
import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

from progress import show_progress
from sheet.cases import CASES, TARGETS
from sheet.machine_code.disassembly import INSTRUCTION_BYTES
from sheet.machine_code.occupancy import blocks_per_processor

import tilec
from tilec import compilation
from tilec.compile_options import DEFAULTS
from tilec.errors import TilecError
from tilec.explain.cost import LoopCost
from tilec.explain.reports import reports_of
from tilec.lowering.gpu.cost.loop_cycles import cycles_of, iterations_of
from tilec.lowering.gpu.kernel_pass import KernelPass
from tilec.lowering.gpu.passes import HEURISTICS, PASSES, table_of

_GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
# The family of a kernel by the first word of its name; all others compute rows or elements.
_FIRST_WORDS = {
    "gemm": ("gemm", "matmul"),
    "moe": ("moe",),
    "attention": ("attention",),
    "chained multiplies": ("chained",),
    "serving": ("mla", "paged", "gqa", "flash"),
    "gradients": ("backward",),
    "scaled": ("mxfp8", "mxfp4", "nvfp4", "fp8"),
    "convolution": ("convolution",),
    "scans": ("linear",),
    "weights": ("grouped", "w8a16", "w4a16", "stream", "split", "fused"),
}
_FAMILIES = {word: family for family, words in _FIRST_WORDS.items() for word in words}
_OTHERS = "rows"
# A pass is of value for a kernel if this part of its cycles, or of its instructions, is saved.
_LEAST_CYCLES, _LEAST_INSTRUCTIONS = 0.01, 0.01
# ELF-64: the name, type, flags, address, offset and size of a section, then fields without use here.
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SECTIONS_AT, _SECTION_COUNT_AT = 0x28, 0x3C
_INSTRUCTION = re.compile(r"^\s+(?:@!?%\w+\s+)?[a-z][\w.:]*[^;]*;", re.MULTILINE)


@dataclass(frozen=True)
class Kernel:
    """A kernel to compile.

    Attributes:
        name: its name in the table.
        compiled: compiles it for a target up to a stage.
        iterations: of each loop that multiplies, if it has several.
        option: an option that is off by default, and on for this kernel, whose passes alone it measures.
    """

    name: str
    compiled: Callable[[str, str], Any]
    iterations: tuple[float, ...] = ()
    option: str | None = None

    @property
    def family(self) -> str:
        return _FAMILIES.get(re.split(r"[ _]", self.name)[0], _OTHERS)

    @property
    def hints(self) -> dict[str, bool]:
        """The hints that a compile from the text of a stage needs."""
        return {} if self.option is None else {self.option: True}

    @property
    def passes(self) -> set[str]:
        """The names of the passes and heuristics that it measures."""
        records = [*PASSES.values(), *HEURISTICS.values()]
        return {record.name for record in records if _option_of(record) == self.option}


@dataclass(frozen=True)
class Figures:
    """The static figures of a compiled kernel; those of ptxas are None without machine code.

    Attributes:
        loop_cycles: modelled cycles of its main loop per unit of work, so that an unrolled loop compares; None without.
        kernel_cycles: modelled cycles of a tile: those outside of loops and of all iterations of its loops.
        ptx: instructions of PTX.
        instructions: instructions of the machine code.
        registers: registers of a thread at launch.
        spill_bytes: bytes of a thread that ptxas spills.
    """

    loop_cycles: float | None
    kernel_cycles: float
    ptx: int
    instructions: int | None = None
    registers: int | None = None
    spill_bytes: int | None = None


@dataclass(frozen=True)
class Row:
    """A pass, a kernel that it changes, and the figures with and without it; `failure` if it needs the pass."""

    name: str
    kernel: str
    family: str
    target: str
    base: Figures
    without: Figures | None
    failure: str | None = None

    def growth(self, field: str) -> float | None:
        """The growth of a figure without the pass, divided by the figure with it; None if it was not measured."""
        if self.without is None:
            return None
        before, after = getattr(self.base, field), getattr(self.without, field)
        return None if before is None or after is None or not before else after / before - 1

    @property
    def slower(self) -> float:
        """The part by which the kernel is slower without the pass: its main loop or the tile, what changes more."""
        if self.without is None:
            return float("inf")
        return max((self.growth("loop_cycles") or 0.0, self.growth("kernel_cycles") or 0.0), key=abs)

    @property
    def saves_code(self) -> bool:
        """Whether the machine code has more instructions or spills without the pass."""
        if self.without is None or self.without.instructions is None:
            return False
        more_spills = (self.without.spill_bytes or 0) > (self.base.spill_bytes or 0)
        return more_spills or (self.growth("instructions") or 0.0) > _LEAST_INSTRUCTIONS


# ---- kernels and compiles


def kernels() -> list[Kernel]:
    """The kernels of the sheet and the golden ones."""
    sys.path.insert(0, str(_GOLDEN))
    from kernels import SIGNATURES

    _provide_cutile()
    from sheet.compilers import module_of

    def of_case(case: Any, **more: bool) -> Callable[[str, str], Any]:
        hints = {**case.hints, **more}
        return lambda target, stop: tilec.compile(module_of(case), target=target, stop=stop, hints=hints)

    def of_file(name: str, signature: str) -> Callable[[str, str], Any]:
        path = f"{_GOLDEN / 'kernels.py'}:{name}"
        return lambda target, stop: tilec.compile(path, signature=signature, target=target, stop=stop)

    golden = [Kernel(name, of_file(name, signature)) for name, signature in SIGNATURES.items()]
    found = golden + [Kernel(case.name, of_case(case), case.iterations) for case in CASES]
    options = dict.fromkeys(filter(None, map(_option_of, [*PASSES.values(), *HEURISTICS.values()])))
    for option in options:
        found += [
            Kernel(f"{case.name} {option}=on", of_case(case, **{option: True}), case.iterations, option)
            for case in CASES
        ]
    return found


def _option_of(record: KernelPass) -> str | None:
    """The option that enables a pass, if it is off by default."""
    return None if record.option is None or getattr(DEFAULTS, record.option) else record.option


def _provide_cutile() -> None:
    """tilec takes the place of cuTile where that is not installed: the kernels of the sheet import `cuda.tile`."""
    try:
        import cuda.tile  # noqa: F401
    except ImportError:
        sys.modules |= {"cuda.tile": tilec, "cuda.tile.compilation": compilation}


@contextmanager
def passes_with(change: Callable[[KernelPass], KernelPass]) -> Iterator[None]:
    """Replaces the records of all passes and heuristics."""
    tables = [(table, dict(table)) for table in (PASSES, HEURISTICS)]
    for table, before in tables:
        table.update({name: change(record) for name, record in before.items()})
    try:
        yield
    finally:
        for table, before in tables:
            table.update(before)


def compile_without(source: str, target: str, name: str, stop: str, hints: Mapping[str, bool]) -> Any:
    """Compiles the text of a stage without a pass."""

    def left_out(record: KernelPass) -> KernelPass:
        return replace(record, run=lambda kernel, context: None) if record.name == name else record

    with passes_with(left_out):
        return tilec.compile(source, target=target, stop=stop, hints=hints)


def compile_and_observe(source: str, target: str, stop: str, hints: Mapping[str, bool]) -> tuple[Any, list[str]]:
    """Compiles the text of a stage; also returns the names of the passes that change the text of the kernel."""
    changed = dict[str, None]()

    def observed(record: KernelPass) -> KernelPass:
        def run(kernel: Any, context: Any) -> None:
            before = str(kernel)
            record.run(kernel, context)
            if str(kernel) != before:
                changed[record.name] = None

        return replace(record, run=run)

    with passes_with(observed):
        compiled = tilec.compile(source, target=target, stop=stop, hints=hints)
    return compiled, list(changed)


def is_relied_on(name: str) -> bool:
    """Whether other passes need the state that a pass gives, so that no compile is without it."""
    return bool(table_of(name)[name].gives)


# ---- figures


def figures(compiled: Any, iterations: Sequence[float]) -> Figures:
    """The figures of a kernel, of which ptxas made machine code if the compile went so far."""
    (report,) = reports_of(compiled, "cost")
    ptx = count_instructions(compiled.ptx)
    cubin = compiled.stage("cubin")
    if cubin is None:
        return Figures(*modelled_cycles(report.loops, iterations), ptx)
    registers, metadata = cubin.value.registers, compiled.metadata
    blocks = blocks_per_processor(prod(metadata.block), registers, metadata.shared_bytes)
    blocks = min(report.blocks_per_processor, max(1, blocks))
    loops = [replace(loop, cycles=cycles_of(loop.work, report.device, blocks)) for loop in report.loops]
    instructions = code_bytes(cubin.content(False), metadata.entry) // INSTRUCTION_BYTES
    return Figures(*modelled_cycles(loops, iterations), ptx, instructions, registers, cubin.value.spill_bytes)


def code_bytes(cubin: bytes, entry: str) -> int:
    """The bytes of the machine code of an entry, which has a section of its own in the ELF-64 file."""
    (table,) = struct.unpack_from("<Q", cubin, _SECTIONS_AT)
    count, names = struct.unpack_from("<HH", cubin, _SECTION_COUNT_AT)
    sections = [_SECTION.unpack_from(cubin, table + number * _SECTION.size) for number in range(count)]
    code = f".text.{entry}\0".encode()
    found = [each for each in sections if cubin.startswith(code, sections[names][4] + each[0])]
    if len(found) != 1:
        raise LookupError(f"the cubin has no code of '{entry}'")
    return int(found[0][5])


def count_instructions(ptx: str) -> int:
    """The instructions in the text of PTX."""
    return len(_INSTRUCTION.findall(ptx))


def modelled_cycles(loops: Sequence[LoopCost], iterations: Sequence[float]) -> tuple[float | None, float]:
    """The cycles of the main loop per unit of work, and those of a tile.

    Of loops of one location, as an unrolled one and the one for the rest, the one with the most work counts. If any
    multiplies, the others count as none: without roles, a loop fills a ring before another one.
    """
    outside = sum(loop.cycles.cycles for loop in loops if loop.work.depth < 0)
    around = [loop for loop in loops if loop.work.depth >= 0 and loop.work.has_inner_loops]
    outside += sum(loop.cycles.cycles if loop.epilogue is None else loop.epilogue.exposed for loop in around)
    groups: dict[object, list[LoopCost]] = {}
    for loop in loops:
        if loop.work.depth >= 0 and not loop.work.has_inner_loops:
            groups.setdefault(str(loop.work.location), []).append(loop)
    multiply = {place: [loop for loop in group if loop.work.multiply_adds] for place, group in groups.items()}
    counted = [multiply[place] or group for place, group in groups.items()]
    inner = [(max(group, key=_work_of), min(map(_work_of, group))) for group in counted]
    if not inner:
        return None, outside
    multiplying = [loop for loop, _ in inner if loop.work.multiply_adds]
    counts = {id(loop): count for loop, count in zip(multiplying, iterations, strict=False)}
    total = outside
    for loop, least in inner:
        count = counts.get(id(loop), iterations_of(loop.work))
        total += count * least * loop.cycles.cycles / _work_of(loop)
    if len(multiplying) == len(iterations) > 0:
        cycles = sum(counts[id(loop)] * loop.cycles.cycles / _work_of(loop) for loop in multiplying)
        return cycles / sum(iterations), total
    main, _ = max(inner, key=lambda each: (each[0].work.multiply_adds > 0, each[0].work.depth, each[0].cycles.cycles))
    return main.cycles.cycles / _work_of(main), total


def _work_of(loop: LoopCost) -> float:
    """Multiply-adds of an iteration, or the bytes that it loads if it multiplies nothing."""
    work = loop.work
    return work.multiply_adds or work.tma_bytes + work.thread_bytes or 1.0


# ---- the measurement


def measure(kernel: Kernel, target: str, only: Sequence[str], stop: str) -> Iterator[Row]:
    """A row for each pass that changes a kernel and can be left out."""
    raw = kernel.compiled(target, "gpu-raw").stage("gpu-raw").content(False).decode()
    compiled, changing = compile_and_observe(raw, target, stop, kernel.hints)
    base: Figures | None = None
    for name in changing:
        if name not in kernel.passes or only and name not in only:
            continue
        base = base or figures(compiled, kernel.iterations)
        if is_relied_on(name):
            yield Row(name, kernel.name, kernel.family, target, base, base)
            continue
        try:
            without = figures(compile_without(raw, target, name, stop, kernel.hints), kernel.iterations)
        except (TilecError, AssertionError) as error:
            yield Row(name, kernel.name, kernel.family, target, base, None, str(error).strip().splitlines()[0])
            continue
        yield Row(name, kernel.name, kernel.family, target, base, without)


def verdict(name: str, rows: Sequence[Row]) -> str:
    """What the figures of a pass say of it.

    A family is one for which a kernel is more than 1 % slower, does not compile, or has more machine code without the
    pass.
    """
    if is_relied_on(name):
        return "others need it"
    if not rows:
        return "changes no kernel"
    in_cycles = {row.family for row in rows if row.slower > _LEAST_CYCLES}
    in_code = {row.family for row in rows if row.saves_code} - in_cycles
    costs = sum(row.slower < -_LEAST_CYCLES for row in rows)
    words = [f"saves cycles: {', '.join(sorted(in_cycles))}"] if in_cycles else []
    words += [f"saves code: {', '.join(sorted(in_code))}"] if in_code else []
    words += [f"costs cycles of {costs}"] if costs else []
    count = len(in_cycles | in_code)
    return "; ".join(["pays" if count > 1 else "one family" if count else "pays nowhere", *words])


def table(rows: Iterable[Row], names: Iterable[str]) -> str:
    """A line of Markdown for each pass."""
    of_pass: dict[str, list[Row]] = {name: [] for name in names}
    for row in rows:
        of_pass[row.name].append(row)
    header = ("pass", "kernels it changes", "pairs", "slower by > 1 %", "worst loss", "PTX without", "machine code")
    lines = [header, ("---",) * (len(header) + 2)]
    lines[0] = (*header, "spills without", "verdict")
    return "\n".join(
        f"| {' | '.join(line)} |" for line in [*lines, *(_line(name, found) for name, found in of_pass.items())]
    )


def _line(name: str, rows: Sequence[Row]) -> tuple[str, ...]:
    families = Counter((row.family, row.target) for row in rows)
    fires = ", ".join(f"{count} {family} {target}" for (family, target), count in sorted(families.items()))
    if is_relied_on(name) or not rows:
        return f"`{name}`", fires or "-", str(len(rows)), *["-"] * 5, verdict(name, rows)
    slower = sum(row.slower > _LEAST_CYCLES for row in rows)
    worst = max(rows, key=lambda row: row.slower)
    loss = "-"
    if worst.slower > 0:
        amount = f"{worst.slower:.0%}" if worst.without is not None else "does not compile"
        loss = f"{amount} ({worst.kernel}, {worst.target})"
    spills = sum(bool(row.without and (row.without.spill_bytes or 0) > (row.base.spill_bytes or 0)) for row in rows)
    parts = (_range(rows, "ptx"), _range(rows, "instructions"), str(spills or "-"), verdict(name, rows))
    return f"`{name}`", fires, str(len(rows)), str(slower), loss, *parts


def _range(rows: Sequence[Row], field: str) -> str:
    """The least and the largest growth of a figure."""
    found = [growth for row in rows if (growth := row.growth(field)) is not None]
    return f"{min(found):+.0%} to {max(found):+.0%}" if found else "-"


# ---- the command line


def main() -> None:
    options = arguments()
    names = (*PASSES, *HEURISTICS)
    unknown = set(options.only) - set(names)
    if unknown:
        sys.exit(f"unknown pass {', '.join(sorted(unknown))}: expected {', '.join(names)}")
    wanted = set(options.only or names)
    chosen = [kernel for kernel in kernels() if options.kernels in kernel.name and wanted & kernel.passes]
    if not chosen:
        sys.exit(f"no kernel has '{options.kernels}' in its name: {', '.join(kernel.name for kernel in kernels())}")
    jobs = [(kernel, target) for kernel in chosen for target in options.target or TARGETS]
    stop = "ptx" if options.without_machine_code else "cubin"
    rows = list[Row]()
    for number, (kernel, target) in enumerate(jobs, 1):
        show_progress(f"{number} of {len(jobs)}: {kernel.name} {target}")
        rows += measure(kernel, target, options.only, stop)
    show_progress("")
    if options.json:
        options.json.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows))
    print(f"{len(PASSES)} passes, {len(HEURISTICS)} heuristics, {len(jobs)} kernels and targets, ", end="")
    print(f"{len(rows)} pairs that a pass changes\n")
    print(table(rows, options.only or names))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="of a pass or heuristic (all)")
    parser.add_argument("--kernels", default="", metavar="TEXT", help="kernels with this text in their name")
    parser.add_argument("--target", action="append", choices=TARGETS, help="a target (default: both)")
    parser.add_argument("--without-machine-code", action="store_true", help="stop at PTX")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures of each pair, one per line")
    return parser.parse_args()


if __name__ == "__main__":
    main()
