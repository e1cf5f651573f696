"""The memory plan of a compiled kernel: where each ring and staging buffer lies, and when it is in use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from tilec.dialect.location import parts
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import PutBeginOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.memory import StoreSharedOp
from tilec.dialect.tile_gpu.types import SHARED
from tilec.dialect.walk import operations_named
from tilec.lowering.gpu.memory.memory_regions import MemoryRegion, memory_regions
from tilec.lowering.gpu.memory.shared_plan import shared_plan
from tilec.lowering.target import TARGETS

# The source lines of an operation, from the outermost call to the innermost.
_Lines = tuple[int, ...]
# Operations from which on a slot or a staging buffer is in use.
_FIRST_USES = (PutBeginOp.OPERATION_NAME, StoreSharedOp.OPERATION_NAME)
_USED, _FREE = "#", "."
# Sizes of the picture in pixels.
_STEP, _HEIGHT, _MARGIN, _GAP, _LEGEND = 24, 240, 40, 40, 420
_SWATCH, _LINE = 10, 16
_FONT = 'font-size="11" font-family="sans-serif"'
_COLORS = ("#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#76b7b2", "#e15759", "#9c755f", "#edc948")


@dataclass(frozen=True)
class RegionUse:
    """A region of memory and its uses, each from the first to the last of the positions."""

    region: MemoryRegion
    uses: tuple[tuple[int, int], ...]

    def marks(self, count: int) -> str:
        """One character per position."""
        used = {position for first, last in self.uses for position in range(first, last + 1)}
        return "".join(_USED if position in used else _FREE for position in range(count))


@dataclass(frozen=True)
class KernelMemory:
    """The memory plan of a kernel.

    Attributes:
        kernel: the name of the kernel.
        target: the name of its target.
        shared_bytes: bytes of shared memory in use, with barriers and without scratch, and those of the target.
        tensor_columns: columns of tensor memory in use, and those of the target.
        lines: the source line of each position in the program at which memory is used, in order.
        regions: the rings and staging buffers.
    """

    kernel: str
    target: str
    shared_bytes: tuple[int, int]
    tensor_columns: tuple[int, int]
    lines: tuple[int, ...]
    regions: tuple[RegionUse, ...]

    def text(self) -> str:
        """A table of the regions, and a chart with a column per position."""
        rows = [f"{self.kernel} on {self.target}: {_share(self.shared_bytes)} bytes of shared memory"]
        if self.tensor_columns[1]:
            rows[0] += f", {_share(self.tensor_columns)} columns of tensor memory"
        head = f"{'memory':<7}{'start':>8}{'size':>8}  line "
        for digits in self._digits():
            rows.append(f"{head}{digits}")
            head = " " * len(head)
        for use in self.regions:
            region, marks = use.region, use.marks(len(self.lines))
            rows.append(f"{region.memory:<7}{region.start:>8}{region.size:>8}{'':7}{marks}  {region.contents}")
        return "\n".join(rows)

    def _digits(self) -> list[str]:
        """The line numbers of the positions, from top to bottom."""
        width = len(str(max(self.lines, default=0)))
        return ["".join(column) for column in zip(*(str(line).rjust(width) for line in self.lines), strict=True)]

    def fields(self) -> dict[str, Any]:
        """The plan as JSON."""
        return {
            "kernel": self.kernel,
            "target": self.target,
            "shared_bytes": self.shared_bytes[0],
            "tensor_columns": self.tensor_columns[0],
            "lines": list(self.lines),
            "regions": [
                {
                    "memory": use.region.memory,
                    "start": use.region.start,
                    "size": use.region.size,
                    "contents": use.region.contents,
                    "uses": [list(span) for span in use.uses],
                }
                for use in self.regions
            ],
        }

    def svg(self) -> str:
        """A picture: positions in the program from left to right, addresses from bottom to top."""
        panels = [("shared memory (bytes)", SHARED, self.shared_bytes[1])]
        if self.tensor_columns[1]:
            panels.append(("tensor memory (columns)", "tensor", self.tensor_columns[1]))
        width = 2 * _MARGIN + _STEP * len(self.lines) + _LEGEND
        height = _GAP + (_HEIGHT + 2 * _GAP) * len(panels)
        drawn = [f'<text x="{_MARGIN}" y="20">{escape(self.text().splitlines()[0])}</text>']
        for number, (title, memory, limit) in enumerate(panels):
            drawn += self._panel(title, memory, limit, _GAP + (_HEIGHT + 2 * _GAP) * number)
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {_FONT}>'
        return "\n".join([head, *drawn, "</svg>\n"])

    def _panel(self, title: str, memory: str, limit: int, top: int) -> Iterator[str]:
        bottom, width = top + _GAP + _HEIGHT, _STEP * len(self.lines)
        yield f'<text x="{_MARGIN}" y="{top + _GAP - 8}">{title}, of {limit}</text>'
        yield _rectangle(_MARGIN, top + _GAP, width, _HEIGHT, 'fill="none" stroke="gray"')
        yield f'<text x="{_MARGIN - 8}" y="{bottom + 14}" text-anchor="end">line</text>'
        for position, line in enumerate(self.lines):
            x = _MARGIN + _STEP * position + _STEP // 2
            yield f'<text x="{x}" y="{bottom + 14}" text-anchor="middle">{line}</text>'
        uses = sorted((use for use in self.regions if use.region.memory == memory), key=lambda use: use.region.start)
        scale, legend, top_of_label = _HEIGHT / limit, _MARGIN + width + _SWATCH, float(bottom)
        for number, use in enumerate(uses):
            color = _COLORS[number % len(_COLORS)]
            yield from _boxes(use, bottom, scale, color)
            # Labels are beside the chart, each at its region, or above the one before where regions are thin.
            top_of_label = min(bottom - scale * (use.region.start + use.region.size / 2), top_of_label - _LINE)
            yield _rectangle(legend, round(top_of_label, 1), _SWATCH, _SWATCH, f'fill="{color}"')
            label = escape(f"{use.region.start}: {use.region.contents}")
            yield f'<text x="{legend + 2 * _SWATCH}" y="{round(top_of_label + _SWATCH - 1, 1)}">{label}</text>'


def _boxes(use: RegionUse, bottom: int, scale: float, color: str) -> Iterator[str]:
    """A box for each use of a region."""
    region = use.region
    height, y = round(scale * region.size, 1), round(bottom - scale * (region.start + region.size), 1)
    for first, last in use.uses:
        x, width = _MARGIN + _STEP * first, _STEP * (last + 1 - first)
        yield _rectangle(x, y, width, height, f'fill="{color}" stroke="white"')


def _rectangle(x: float, y: float, width: float, height: float, style: str) -> str:
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" {style}/>'


def _share(amounts: tuple[int, int]) -> str:
    return f"{amounts[0]:,} of {amounts[1]:,}"


def kernel_memories(module: ir.Module, target: str) -> list[KernelMemory]:
    """The memory plan of each kernel of a module of tile_gpu."""
    return [_memory(kernel, target) for kernel in operations_named(module, (KernelOp.OPERATION_NAME,))]


def _memory(kernel: KernelOp, target: str) -> KernelMemory:
    machine = TARGETS[target]
    plan = shared_plan(kernel, machine)
    regions = memory_regions(kernel, plan)
    used = [[_at(op) for op in _uses(region)] for region in regions]
    places = sorted({lines for uses in used for _, lines in uses})
    numbers = {lines: number for number, lines in enumerate(places)}
    return KernelMemory(
        kernel.operation.attributes["sym_name"].value,
        target,
        (plan.declared_bytes, machine.shared_bytes),
        (plan.columns_used, machine.tensor_memory_columns),
        tuple(lines[-1] for lines in places),
        tuple(RegionUse(region, _spans(uses, numbers)) for region, uses in zip(regions, used, strict=True)),
    )


def _uses(region: MemoryRegion) -> Iterator[ir.Operation]:
    """The operations on the channels and buffers of a region, and on their slots."""
    for declaration in region.declarations:
        for user in _users(declaration):
            if user.name != declaration.name:
                yield user
                yield from _users(user)


def _users(op: ir.Operation) -> list[ir.Operation]:
    return [use.owner.operation for result in op.results for use in result.uses]


def _at(op: ir.Operation) -> tuple[bool, _Lines]:
    """Whether a use of memory starts with an operation, and the lines of the operation."""
    return op.name in _FIRST_USES, tuple(reversed(list(_lines(op.location))))


def _lines(location: ir.Location) -> Iterator[int]:
    """The lines of a location and of the calls around it, the innermost first."""
    if isinstance(location, ir.FileLineColLoc):
        yield location.start_line
    elif isinstance(location, ir.CallSiteLoc):
        for part in parts(location):
            yield from _lines(part)
    else:
        yield from _lines(parts(location)[0]) if parts(location) else ()


def _spans(uses: Sequence[tuple[bool, _Lines]], numbers: dict[_Lines, int]) -> tuple[tuple[int, int], ...]:
    """The positions of the uses: each fill starts one, which ends with the last use before the next fill."""
    positions = sorted({numbers[lines] for _, lines in uses})
    starts = sorted({numbers[lines] for is_first, lines in uses if is_first})
    ends = [*(start - 1 for start in starts[1:]), len(numbers)]
    found = [(start, [p for p in positions if start <= p <= end]) for start, end in zip(starts, ends, strict=False)]
    return tuple((start, max(inside)) for start, inside in found)
