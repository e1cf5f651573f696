"""The rows of the sheet as text or Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sheet import overview

# The loops that a table shows, and the row of the counts that is in them.
_LOOPS = (("tensor", "tensor"), ("tma_loads", "load"), ("mufu_ex2", "exp2"))
_SHOWN = ("tensor", "tma_loads", "ldl", "stl", "waits", "mufu_ex2", "packed", "lds", "sts", "shuffles")


def _code(row: dict[str, Any]) -> list[str]:
    whole, bits = row["whole"], (row["ldg_bits"], row["stg_bits"])
    return [
        str(whole["instructions"]),
        str(row["threads"]),
        f"{row['registers']}{''.join(f' {each}' for each in row['setmaxreg'])}",
        str(row["shared_bytes"]),
        str(row["blocks_per_processor"]),
        "+".join(str(whole.get(name, 0)) for name in ("ldl", "stl")),
        "+".join(map(str, row["spills_in_loops"])),
        "/".join(map(str, _stages(row))) or "-",
        f"{whole.get('tma_loads', 0)}/{whole.get('tma_stores', 0)}",
        " ".join(f"{count}{name}" for name, count in whole["tensor_opcodes"].items()) or "-",
        f"{whole.get('mufu', 0)}",
        str(whole.get("packed", 0)),
        f"{whole.get('waits', 0)}+{whole.get('barriers', 0)}",
        "/".join(str(whole.get(name, 0)) for name in ("lds", "sts", "shuffles")),
        " ".join(",".join(f"{count}x{width}" for width, count in each.items()) or "-" for each in bits),
    ]


def _stages(row: dict[str, Any]) -> Sequence[int]:
    """The plan of tilec, or what the addresses of mbarriers show."""
    model = row["model"]
    return model["rings"] if model else row["rings"]


def _loops(row: dict[str, Any]) -> list[str]:
    return [" & ".join(_loop(loop) for loop in _loops_with(row, name)) or "-" for name, _ in _LOOPS]


def _loops_with(row: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [loop for loop in row["loops"] if loop["own"].get(name)]


def _loop(loop: dict[str, Any]) -> str:
    parts = [f"{loop[name]} {name}" for name in _SHOWN if loop.get(name)]
    return f"{loop['instructions']} ({', '.join(parts)})"


def _roles(row: dict[str, Any]) -> list[str]:
    return ["; ".join(f"{role['name']} {role['instructions']}" for role in row["roles"])]


def _model(row: dict[str, Any]) -> list[str]:
    model = row["model"]
    if model is None:
        return ["-"] * 7
    loops = model.get("loops", [model])
    cycles = " & ".join(f"{loop['cycles']:,.0f}" for loop in loops)
    tensor = " & ".join(f"{loop['tensor_share']:.0%}" for loop in loops)
    if len(loops) > 1:
        tensor += f", {model['tensor_share_of_loops']:.0%} together"
    epilogue = model["epilogue"]
    hidden = "-" if epilogue is None else f"{epilogue['cycles']:,.0f}, {epilogue['hidden_share']:.0%} hidden"
    memory, tma = f"{model['memory_share']:.0%}", f"{model['tma_bytes']:,.0f}"
    return [model["device"], cycles, model["bound"], tensor, memory, tma, hidden]


# Each table: its title, its columns, and the cells of a row.
_TABLES: tuple[tuple[str, tuple[str, ...], Callable[[dict[str, Any]], list[str]]], ...] = (
    (
        "Code",
        (
            "instructions", "threads", "registers", "shared", "blocks/SM", "LDL+STL", "in loops", "stages",
            "TMA ld/st", "tensor core", "MUFU", "packed", "waits+BAR", "LDS/STS/SHFL", "LDG STG",
        ),
        _code,
    ),
    ("Loops", tuple(f"{name} loop" for _, name in _LOOPS), _loops),
    ("Roles", ("instructions",), _roles),
    (
        "Model",
        ("device", "cycles/iteration", "bound by", "tensor pipe", "memory", "TMA bytes", "epilogue of a tile"),
        _model,
    ),
)  # fmt: skip


def _tables(rows: Sequence[dict[str, Any]]) -> list[tuple[str, list[list[str]]]]:
    found = [("Overview", [list(overview.COLUMNS), *overview.overview(rows)])]
    faults = [[f"{factor:.1f}", *names] for factor, *names in overview.behind(rows)]
    found.append(("Behind", [["factor", "kernel", "target", "figure"], *faults]))
    for title, columns, cells in _TABLES:
        lines = [["kernel", "target", "compiler", *columns]]
        for row in rows:
            names = [row["kernel"], row["target"], row["compiler"]]
            if "failure" not in row:
                lines.append([*names, *cells(row)])
            elif title == "Code":
                lines.append([*names, f"fails: {row['failure'][:150]}"])
        if title == "Model":
            lines = [line for line in lines if line[3] != "-"]
        found.append((title, lines))
    return found


def page(rows: Sequence[dict[str, Any]], versions: str) -> str:
    """The introduction and the tables as a page of Markdown."""
    introduction = Path(__file__).with_name("introduction.md").read_text()
    return f"{introduction.format(versions=versions)}\n{markdown(rows)}"


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """The tables as Markdown."""
    parts = []
    for title, (head, *lines) in _tables(rows):
        parts.append(f"## {title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
        parts[-1] += "".join(f"\n| {' | '.join(line)}{' |' * (1 + len(head) - len(line))}" for line in lines)
    return "\n\n".join(parts)


def text(rows: Sequence[dict[str, Any]]) -> str:
    """The tables with columns that are aligned."""
    parts = []
    for title, lines in _tables(rows):
        widths = [max(len(line[at]) for line in lines if len(line) == len(lines[0])) for at in range(len(lines[0]))]
        parts.append(f"\n{title}")
        parts += ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False)) for line in lines]
    return "\n".join(parts)
