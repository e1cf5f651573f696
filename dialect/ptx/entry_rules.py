"""Rules for the attributes of kernels and device functions."""

from __future__ import annotations

import re

from tilec.dialect.mlir import ir

# Static shared memory of a CTA; more must be `extern` and asked for at launch (CUDA C++ guide, 5.2 "Shared memory").
STATIC_SHARED_BYTES = 48 * 1024

PARAMETER_BYTES = {
    **{f"{kind}{width}": width // 8 for kind in "usb" for width in (8, 16, 32, 64)},
    **{f"f{width}": width // 8 for width in (16, 32, 64)},
    "tensor_map": 128,
}
TERMINATORS = ("cf.br", "cf.cond_br", "ptx.return")
IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_$]*|[_$%][A-Za-z0-9_$]+")


def entry_problem(operation: ir.Operation) -> str | None:
    """The problem with a ptx.entry, or None."""
    attributes = operation.attributes
    for name, kind, description in _HEAD:
        if name not in attributes or not isinstance(attributes[name], kind):
            return f"needs {description} '{name}'"
    for name, (kind, description) in _OPTIONAL.items():
        if name in attributes and not isinstance(attributes[name], kind):
            return f"needs {description} '{name}', got {attributes[name]}"
    return (
        _name_problem(attributes["sym_name"].value)
        or _extent_problem(attributes, "threads")
        or _extent_problem(attributes, "cluster")
        or _parameter_problem(attributes["parameters"])
        or _shared_problem(attributes["shared"])
        or _body_problem(operation)
    )


def function_problem(operation: ir.Operation) -> str | None:
    """The problem with a ptx.function, or None."""
    return _declaration_problem(operation, ".func")


def variable_problem(operation: ir.Operation) -> str | None:
    """The problem with a ptx.variable, or None."""
    return _declaration_problem(operation, ".global")


def _declaration_problem(operation: ir.Operation, directive: str) -> str | None:
    attributes = operation.attributes
    for name in ("sym_name", "text"):
        if name not in attributes or not isinstance(attributes[name], ir.StringAttr):
            return f"needs a string '{name}'"
    name, text = attributes["sym_name"].value, attributes["text"].value
    if not re.search(rf"{re.escape(directive)}\b[^{{]*(?<![\w$]){re.escape(name)}(?![\w$])", text):
        return f"has no {directive} {name} in its text"
    return _name_problem(name)


_HEAD = (
    ("sym_name", ir.StringAttr, "a string"),
    ("target", ir.StringAttr, "a string"),
    ("parameters", ir.ArrayAttr, "an array"),
    ("shared", ir.ArrayAttr, "an array"),
    ("threads", ir.DenseI32ArrayAttr, "an array of i32"),
)
_OPTIONAL = {
    "cluster": (ir.DenseI32ArrayAttr, "an array of i32"),
    "maxnreg": (ir.IntegerAttr, "an integer"),
    "min_ctas": (ir.IntegerAttr, "an integer"),
    "tilec.launch": (ir.StringAttr, "a string"),
}


def _name_problem(name: str) -> str | None:
    if IDENTIFIER.fullmatch(name):
        return None
    return f"has the name '{name}', which is not a PTX identifier"


def _extent_problem(attributes: ir.OpAttributeMap, name: str) -> str | None:
    if name not in attributes:
        return None
    extents = list(attributes[name])
    if len(extents) == 3 and min(extents) > 0:
        return None
    return f"needs three positive numbers in '{name}', got {extents}"


def _entries(array: ir.ArrayAttr, name: str, kinds: dict[str, type]) -> tuple[list[ir.DictAttr], str | None]:
    entries = list(array)
    for entry in entries:
        if not isinstance(entry, ir.DictAttr):
            return [], f"needs dictionaries in '{name}', got {entry}"
        for key, kind in kinds.items():
            if key not in entry or not isinstance(entry[key], kind):
                return [], f"needs '{key}' in each entry of '{name}', got {entry}"
        if not IDENTIFIER.fullmatch(entry["name"].value):
            return [], f"has '{entry['name'].value}' in '{name}', which is not a PTX identifier"
    names = [entry["name"].value for entry in entries]
    doubled = next((text for text in names if names.count(text) > 1), None)
    return entries, f"has '{doubled}' twice in '{name}'" if doubled else None


def _parameter_problem(array: ir.ArrayAttr) -> str | None:
    entries, found = _entries(array, "parameters", {"name": ir.StringAttr, "type": ir.StringAttr})
    if found:
        return found
    for entry in entries:
        if entry["type"].value not in PARAMETER_BYTES:
            return f"has a parameter of type '{entry['type'].value}', expected one of {', '.join(PARAMETER_BYTES)}"
    return None


def _shared_problem(array: ir.ArrayAttr) -> str | None:
    kinds = {"name": ir.StringAttr, "bytes": ir.IntegerAttr, "alignment": ir.IntegerAttr}
    entries, found = _entries(array, "shared", kinds)
    if found:
        return found
    for entry in entries:
        alignment = entry["alignment"].value
        if alignment <= 0 or alignment & (alignment - 1):
            return f"has shared '{entry['name'].value}' aligned to {alignment}, expected a power of two"
    if sum("dynamic" in entry for entry in entries) > 1:
        return "has two dynamic buffers in 'shared', but they would lie at one address"
    static = sum(entry["bytes"].value for entry in entries if "dynamic" not in entry)
    if static > STATIC_SHARED_BYTES:
        return f"has {static} bytes of static shared memory, but only {STATIC_SHARED_BYTES} can be: make one dynamic"
    return None


def _body_problem(operation: ir.Operation) -> str | None:
    blocks = list(operation.regions[0].blocks) if len(operation.regions) else []
    if not blocks:
        return "has no body"
    if len(blocks[0].arguments):
        return "has arguments in its first block, but parameters are read by ld.param"
    for block in blocks:
        last = block.operations[len(block.operations) - 1].operation if len(block.operations) else None
        if last is None or last.name not in TERMINATORS:
            return f"has a block that does not end in {', '.join(TERMINATORS)}"
    return None
