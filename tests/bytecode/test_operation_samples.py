"""The samples of operations cover each keyword, flag and type of operations.json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sample_modules import operations, samples, writable
from version_needs import TABLE

from tilec.dialect.bytecode.version import NEWEST, VERSIONS, Version
from tilec.dialect.fields import OPTIONAL

# Spellings of types by the version that introduced them.
TYPE_SPELLINGS = {
    "13.1": ["bf16", "tf32", "f8E4M3FN", "f8E5M2", "neg_zero", "pos_inf", "neg_inf", "dim_map", "ptr<i1>"],
    "13.2": ["f8E8M0FNU"],
    "13.3": ["f4E2M1FN", "xi4>", "strided_view", "gather_scatter_view"],
    "13.4": ["fnv8E5M3FNU", "<none>"],
    "13.5": ["<unicast>", "<multicast>"],
}


def values_of(op: Any) -> Iterator[tuple[str, str]]:
    """Each attribute and optional operand of an operation with its keyword, or with "present" or "absent"."""
    for name, field in op.attribute_fields.items():
        stored = op.attributes[name] if name in op.attributes else None
        if field.keywords and stored is not None:
            yield name, stored.value
        if not field.required:
            yield name, "absent" if stored is None else "present"
    for field in op.operand_fields:
        if field.arity == OPTIONAL:
            yield field.name, "absent" if getattr(op, f"{field.name}_") is None else "present"


def test_samples_have_each_keyword_and_flag_of_the_table() -> None:
    assert all(writable(module, NEWEST) for module in samples())
    found: dict[str, set[tuple[str, str]]] = {}
    for module in samples():
        for op in operations(module):
            if op.operation.name not in ("builtin.module", "cuda_tile.global"):
                found.setdefault(op.operation.name.removeprefix("cuda_tile."), set()).update(values_of(op))
    flags = {
        (entry["name"], flag["name"]) for entry in TABLE["ops"] for flag in entry["flags"] if entry["name"] in found
    }
    assert len(flags) > 40
    for name, flag in flags:
        assert {(flag, "absent"), (flag, "present")} <= found[name], name
    for enumeration, keywords in TABLE["enums"].items():
        members = {
            (entry["name"], attribute["name"])
            for entry in TABLE["ops"]
            for attribute in entry["attrs"]
            if attribute["encoding"] == f"enum:{enumeration}" and entry["name"] != "global"
        }
        covered = {keyword for name, member in members for attribute, keyword in found[name] if attribute == member}
        assert not members or set(keywords) <= covered, enumeration


def test_samples_have_each_type_of_the_version() -> None:
    for version in VERSIONS:
        text = "".join(module.to_text() for module in samples() if writable(module, version))
        for since, spellings in TYPE_SPELLINGS.items():
            for spelling in spellings:
                assert (spelling in text) == (Version.parse(since) <= version), (version, spelling)
