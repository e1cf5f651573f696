"""The version that a module needs, computed from operations.json without the reader and writer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sample_modules import operations

from tilec.dialect.bytecode.version import Version
from tilec.text_input.module import Module

TABLE = json.loads((Path(__file__).parents[1] / "operations.json").read_text())
# Operations that have another name in the table.
RENAMED = {"preview_call": "preview$call"}
# The first version with argument attributes, which the table does not contain.
ARGUMENT_ATTRIBUTES = "13.5"
NEWER_TYPES = {
    r"\bf8E8M0FNU\b|xf8E8M0FNU\b": "13.2",
    r"\bf4E2M1FN\b|xf4E2M1FN\b": "13.3",
    r"\bi4\b|xi4\b": "13.3",
    r"\bstrided_view<|\bgather_scatter_view<": "13.3",
    r"\bfnv8E5M3FNU\b|xfnv8E5M3FNU\b": "13.4",
    r"(, |ptr_attr)<none>": "13.4",
    r"(, |ptr_attr)<(unicast|multicast)>": "13.5",
}


def version_of(text: str) -> Version:
    return Version.parse(text.removesuffix(" preview"))


ENTRIES = {entry["name"]: entry for entry in TABLE["ops"]}
SINCE = {name: version_of(entry["since"]) for name, entry in ENTRIES.items()}
# Members that are newer than their operation.
NEWER_MEMBERS = {
    (name, member["name"]): version_of(member["since"])
    for name, entry in ENTRIES.items()
    for member in (*entry["attrs"], *entry["flags"], *entry["results"], *entry["operands"])
    if version_of(member.get("since") or "13.1") > SINCE[name]
}


def name_of(op: Any) -> str:
    """The name of an operation in the table."""
    name = "module" if op.operation.name == "builtin.module" else op.operation.name.removeprefix("cuda_tile.")
    return RENAMED.get(name, name)


def members_used(op: Any) -> Iterator[str]:
    """The members of an operation that differ from their defaults."""
    name = name_of(op)
    if name == "module":
        yield from ("producer",) if "cuda_tile.producer" in op.attributes else ()
        return
    for (owner, member), _ in NEWER_MEMBERS.items():
        if owner != name:
            continue
        if member in op.attribute_fields:
            presence = next((a["presence"] for a in ENTRIES[name]["attrs"] if a["name"] == member), "")
            value = getattr(op, member)
            is_used = any(value or ()) if presence == "default=all false" else value and f"default={value}" != presence
        elif member == "result_token":
            is_used = any(True for _ in op.result_token.uses)
        else:
            is_used = getattr(op, member) is not None
        if is_used:
            yield member


def needs(module: Module) -> Version:
    """The first version that can represent a module."""
    found = [since for pattern, since in NEWER_TYPES.items() if re.search(pattern, module.to_text())]
    for op in operations(module):
        name = name_of(op)
        found += [str(SINCE[name]), *(str(NEWER_MEMBERS[name, member]) for member in members_used(op))]
        if name == "entry" and op.arg_attrs is not None:
            found.append(ARGUMENT_ATTRIBUTES)
        if "rounding_mode" in op.attributes:
            found.append(TABLE["enum_since"].get(f"RoundingMode.{op.rounding_mode}", "13.1"))
    return version_of(max(found))
