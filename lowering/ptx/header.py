"""The text before a kernel's body: module directives, parameters, block size and shared memory."""

from __future__ import annotations

from tilec.dialect.mlir import ir

# The newest version that ptxas of CUDA 13.0 reads; sm_100a needs 8.6.
PTX_VERSION = "9.0"


def module_head(
    target: str, functions: list[str], variables: list[str], entries: list[ir.Operation], files: list[str]
) -> list[str]:
    """Version, target, source files, dynamic shared memory, device functions and variables."""
    lines = [f".version {PTX_VERSION}", f".target {target}", ".address_size 64"]
    if files:
        lines += ["", *files]
    dynamic = _dynamic_shared(entries)
    if dynamic:
        lines += ["", *dynamic]
    for text in functions:
        lines += ["", text.strip()]
    return [*lines, "", *variables] if variables else lines


def entry_head(entry: ir.Operation) -> list[str]:
    """`.visible .entry` with parameters and performance directives, up to the opening brace."""
    attributes = entry.attributes
    name = attributes["sym_name"].value
    parameters = [f"    {_parameter(item['name'].value, item['type'].value)}" for item in attributes["parameters"]]
    lines = [f".visible .entry {name}("]
    lines += [f"{line}," for line in parameters[:-1]] + parameters[-1:]
    lines += [")", f".reqntid {_extents(attributes['threads'])}"]
    if "cluster" in attributes:
        lines += [".explicitcluster", f".reqnctapercluster {_extents(attributes['cluster'])}"]
    if "maxnreg" in attributes:
        lines.append(f".maxnreg {attributes['maxnreg'].value}")
    if "min_ctas" in attributes:
        lines.append(f".minnctapersm {attributes['min_ctas'].value}")
    return [*lines, "{"]


def static_shared(entry: ir.Operation) -> list[str]:
    """The .shared declarations inside the braces."""
    return [
        f".shared .align {item['alignment'].value} .b8 {item['name'].value}[{item['bytes'].value}];"
        for item in entry.attributes["shared"]
        if "dynamic" not in item
    ]


def _dynamic_shared(entries: list[ir.Operation]) -> list[str]:
    alignments: dict[str, int] = {}
    for entry in entries:
        for item in entry.attributes["shared"]:
            if "dynamic" in item:
                name = item["name"].value
                alignments[name] = max(alignments.get(name, 1), item["alignment"].value)
    return [f".extern .shared .align {alignment} .b8 {name}[];" for name, alignment in alignments.items()]


def _parameter(name: str, kind: str) -> str:
    # CUtensorMap is 128 bytes, aligned to 64 (CUDA driver API).
    return f".param .align 64 .b8 {name}[128]" if kind == "tensor_map" else f".param .{kind} {name}"


def _extents(extents: ir.DenseI32ArrayAttr) -> str:
    return ", ".join(map(str, extents))
