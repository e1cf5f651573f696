"""tileirdisasm accepts the bytecode of every operation in every version, and its text is the same module."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from operation_samples import ELEMENTS, kernel
from sample_modules import joined, module_of, operations, samples, writable
from tile_tools import disassembled

from tilec.dialect.bytecode.version import VERSIONS, Version
from tilec.text_input.module import Module

pytestmark = pytest.mark.peers

TABLE = json.loads((Path(__file__).parents[2] / "operations.json").read_text())
SINCE = {entry["name"]: Version.parse(entry["since"].removesuffix(" preview")) for entry in TABLE["ops"]}
# Operations that bytecode stores in a separate section, or not at all.
WITHOUT_BYTECODE_OPERATION = {"module", "entry", "global", "preview$call"}
SINCE_ELEMENT = {"f8E8M0FNU": "13.2", "f4E2M1FN": "13.3", "fnv8E5M3FNU": "13.4"}


def generic_lines(module: Module) -> list[str]:
    """The generic form without `inbounds` that are all false, which the disassembler omits."""
    for op in operations(module):
        if "inbounds" in op.attributes and not any(op.attributes["inbounds"]):
            del op.attributes["inbounds"]
    return module.to_text(generic=True).splitlines()


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_each_operation_and_attribute_is_disassembled_to_the_same_module(version: Version, tmp_path: Path) -> None:
    modules = [module for module in samples() if writable(module, version)]
    module = joined(modules)
    text = disassembled(module.to_bytecode(str(version)), tmp_path)
    assert generic_lines(Module.parse(text)) == generic_lines(module)
    seen = {op.operation.name.removeprefix("cuda_tile.") for op in operations(module)}
    assert {name for name, since in SINCE.items() if since <= version} - WITHOUT_BYTECODE_OPERATION <= seen


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_globals_are_disassembled_to_the_same_module(version: Version, tmp_path: Path) -> None:
    numbers = {name: text for name, text in ELEMENTS.items() if SINCE_ELEMENT.get(name, "13.1") <= str(version)}
    lines = [f"global @g_{name} alignment = 64 <{name}: {text}> : tile<4x{name}>\n" for name, text in numbers.items()]
    if version >= Version(13, 3):
        lines += ["global private @p <i8: 1> : tile<1xi8>\n", "global constant @c <i8: 1> : tile<64xi8>\n"]
        lines += ["global private constant @pc alignment = 1 <i1: [true, false]> : tile<2xi1>\n"]
    module = module_of(*lines, kernel("k", "%r = get_global @g_i8 : tile<ptr<i8>>"))
    text = disassembled(module.to_bytecode(str(version)), tmp_path)
    assert Module.parse(text).to_text() == module.to_text()


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_kernels_with_hints_and_a_producer(version: Version, tmp_path: Path) -> None:
    hints = (
        "optimization_hints=<default = {}, sm_100 = {num_cta_in_cga = 2, occupancy = 4}, sm_90 = {num_cta_in_cga = 1}>"
    )
    kernels = f"entry @a() {hints} {{ }} entry @b(%x: tile<i1>, %y: tile<ptr<i64>>) {{ }} entry @c() {{ }}"
    module = Module.parse(f'cuda_tile.module @kernels attributes {{producer = "it\'s me \\22\\22"}} {{ {kernels} }}')
    text = disassembled(module.to_bytecode(str(version)), tmp_path)
    assert Module.parse(text).to_text() == module.to_text().replace(' attributes {producer = "it\'s me \\22\\22"}', "")
    assert ('// Producer: it\'s me ""' in text) == (version >= Version(13, 3))


def test_attributes_of_arguments(tmp_path: Path) -> None:
    attributes = (
        '{a.f = 0xFF800000 : f32, a.h = -1.5 : f16, a.e = 1.5 : f8E4M3FN, a.i = -1 : i64, a.b = true, a.s = "x\\0A",'
    )
    attributes += " a.t = !cuda_tile.tile<4xf32>, a.l = [1 : i8, [2 : i16]], a.d = {x = 1 : i32, y = {}}}"
    module = module_of(f"entry @k(%x: tile<i1>, %y: tile<f32> {attributes}) {{ }}")
    text = disassembled(module.to_bytecode(), tmp_path)
    assert Module.parse(text).to_text(generic=True) == module.to_text(generic=True)


def test_preview_call_is_read_if_the_preview_is_enabled(tmp_path: Path) -> None:
    line = "%r:2 = preview$call @f(%n) : (!cuda_tile.tile<i32>) -> (!cuda_tile.tile<4xf32>, !cuda_tile.token)"
    module = module_of(kernel("k", line))
    text = disassembled(module.to_bytecode(), tmp_path, "--preview=simt")
    assert Module.parse(text).to_text(generic=True) == module.to_text(generic=True)
