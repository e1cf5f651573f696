"""Every operation of operations.json round trips through the builder, text and bytecode of every version."""

from __future__ import annotations

import re
from functools import cache

import pytest
from operation_samples import SAMPLES, TYPES, kernel
from rebuilding import rebuilt
from sample_modules import GLOBALS, module_of, operations, variants
from version_needs import ENTRIES, NEWER_MEMBERS, SINCE, members_used, name_of, needs

from tilec.dialect.bytecode.version import VERSIONS, Version
from tilec.errors import InputError
from tilec.text_input.module import Module

HINTS = "optimization_hints=<default = {}, sm_100 = {num_cta_in_cga = 2, occupancy = 4}>"
# Operations outside the body of a kernel, and preview operations.
OUTSIDE = {
    "module": [
        "cuda_tile.module @kernels { entry @k() { } }",
        'cuda_tile.module @kernels attributes {producer = "me"} { }',
    ],
    "entry": [
        f"cuda_tile.module @kernels {{ entry @a() {HINTS} {{ }} entry @b(%x: tile<i1>, %y: tile<ptr<i64>>) {{ }} }}",
        'cuda_tile.module @kernels { entry @k(%x: tile<i1>, %y: tile<f32> {a.f = 1.5 : f32, a.s = "x"}) { } }',
    ],
    "global": [
        f"cuda_tile.module @kernels {{ global {qualifiers} <i8: [1, 2]> : tile<2xi8> }}"
        for qualifiers in ("@g", "@g alignment = 64", "private @g", "constant @g", "private constant @g alignment = 2")
    ],
    "preview$call": [
        "cuda_tile.module @kernels { entry @k(%n: tile<i32>) {"
        " %r:2 = preview$call @f(%n) : (tile<i32>) -> (tile<4xf32>, token) preview$call @g() : () -> () } }"
    ],
}


def normalized(module: Module) -> str:
    """The generic form without `inbounds` that are all false, because bytecode does not distinguish them from none."""
    for op in operations(module):
        if "inbounds" in op.attributes and not any(op.attributes["inbounds"]):
            del op.attributes["inbounds"]
    return module.to_text(generic=True)


def through_text(module: Module) -> Module:
    """The module after it is rebuilt, printed and parsed; asserts that it is unchanged in both forms of text."""
    expected = normalized(module)
    built = rebuilt(module)
    built.verify()
    assert normalized(built) == expected
    parsed = Module.parse(built.to_text())
    assert normalized(parsed) == expected
    assert normalized(Module.parse(parsed.to_text(generic=True))) == expected
    return parsed


@cache
def samples(name: str) -> list[tuple[Module, Version]]:
    """Modules with an operation and each of its keywords and flags, with the version that each of them needs."""
    found = [Module.parse(text) for text in OUTSIDE.get(name, ())]
    found += [module for body in SAMPLES.get(name, ()) for module in variants(name, kernel("k", body))]
    return [(through_text(module), needs(module)) for module in found]


def check_file(module: Module, version: Version) -> None:
    """Asserts that writing and reading the module yields the same module and the same file."""
    data = module.to_bytecode(str(version))
    read = Module.parse(data)
    assert normalized(read) == normalized(module)
    assert read.to_bytecode(str(version)) == data


@pytest.mark.parametrize("version", VERSIONS, ids=str)
@pytest.mark.parametrize("name", ENTRIES)
def test_operation_round_trips_or_is_refused(name: str, version: Version) -> None:
    assert samples(name)
    written = 0
    for module, needed in samples(name):
        if needed <= version:
            check_file(module, version)
            written += 1
        elif name != "module":
            # Only the producer of a module is omitted instead of refused.
            with pytest.raises(InputError) as caught:
                module.to_bytecode(str(version))
            named = re.search(r"needs bytecode version (13\.\d) or later", caught.value.message)
            assert named is not None and str(version) < named[1] <= str(needed)
    assert (written > 0) == (SINCE[name] <= version)


@pytest.mark.parametrize("name", ENTRIES)
def test_oldest_sample_needs_the_version_of_the_operation(name: str) -> None:
    assert min(needed for _, needed in samples(name)) == SINCE[name]
    assert all(name in map(name_of, operations(module)) for module, _ in samples(name))


@pytest.mark.parametrize(("name", "member"), NEWER_MEMBERS)
def test_each_newer_member_is_in_a_sample_that_needs_its_version(name: str, member: str) -> None:
    """Thus the round trip above covers the member in all versions that have it."""
    used = [
        needed
        for module, needed in samples(name)
        for op in operations(module)
        if name_of(op) == name and member in members_used(op)
    ]
    assert min(used) == NEWER_MEMBERS[name, member]


@pytest.mark.parametrize("version", VERSIONS, ids=str)
@pytest.mark.parametrize("body", TYPES, ids=lambda body: body.strip()[:60])
def test_type_round_trips_or_is_refused(body: str, version: Version) -> None:
    module = through_text(module_of(GLOBALS, kernel("k", body)))
    if needs(module) <= version:
        check_file(module, version)
    else:
        with pytest.raises(InputError, match=r"needs bytecode version 13\.\d or later"):
            module.to_bytecode(str(version))
