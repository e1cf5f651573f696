"""Each pass over tile_gpu on a matrix multiply, and on kernels that it must not change."""

from __future__ import annotations

import pytest
from gpu_text import MATMUL, kernel, nested_names

from tilec.compile_options import CompileOptions
from tilec.dialect.mlir import ir
from tilec.lowering.gpu.passes import PASSES, run, run_pass
from tilec.lowering.gpu_to_ptx.kernel import convert
from tilec.lowering.ptx.emit import emit

TARGET = "sm_100a"


def after(body: str, *names: str) -> ir.Module:
    """The module after the passes; the module after each pass lowers to PTX."""
    module = kernel(body)
    for name in names:
        run_pass(module, name, target=TARGET)
        assert module.operation.verify()
        assert ".entry k(" in emit(convert(module))
    return module


def names_in(module: ir.Module) -> list[str]:
    return nested_names(module.operation)


def roles_of(module: ir.Module) -> dict[str, list[str]]:
    body = module.body.operations[0].operation.regions[0].blocks[0]
    (roles,) = [op.operation for op in body.operations if op.operation.name == "tile_gpu.roles"]
    found = {}
    for name, region in zip(roles.attributes["names"], roles.regions, strict=False):
        found[name.value] = _names(region)
    return found


def _names(region: ir.Region) -> list[str]:
    found = []
    for op in region.blocks[0].operations:
        found += [op.operation.name.removeprefix("tile_gpu."), *nested_names(op.operation)]
    return [name for name in found if "." not in name]


def stages_of(module: ir.Module) -> list[int]:
    return [
        op.operation.attributes["stages"].value
        for op in module.body.operations[0].operation.regions[0].blocks[0].operations
        if op.operation.name == "tile_gpu.make_channel"
    ]


def test_channels_filled_and_read_together_are_fused():
    names = names_in(after(MATMUL, "fuse-channels"))
    assert names.count("make_channel") == 2
    loop = names[names.index("tma_load") - 1 : names.index("load_tensor_memory") - 2]
    assert loop == ["put_begin", "tma_load", "tma_load", "put_commit", "get", "tcgen05_mma", "release"]


def test_channels_read_at_different_times_are_not_fused():
    # B is read and released before A is filled.
    first, second = MATMUL.index("    %sb ="), MATMUL.index("    %ga =")
    put_b, get_b = MATMUL[first:second], '    %gb = "tile_gpu.get"(%cb)'
    lines = MATMUL.replace(put_b, "").splitlines(keepends=True)
    index = next(number for number, line in enumerate(lines) if "%sa =" in line)
    get_line = next(line for line in lines if line.startswith(get_b))
    lines.remove(get_line)
    body = "".join([*lines[:index], put_b, get_line, *lines[index:]])
    assert names_in(after(body, "fuse-channels")).count("make_channel") == 3


def test_each_role_has_the_operations_that_it_issues():
    roles = roles_of(after(MATMUL, "partition-roles"))
    assert roles["load"] == ["put_begin", "tma_load", "put_commit"] * 2 + ["return"]
    assert roles["mma"] == ["put_begin", "get", "get", "tcgen05_mma", "release", "release", "put_commit", "return"]
    assert roles["compute"] == ["get", "load_tensor_memory", "release", "store_view", "return"]


def test_kernel_without_asynchronous_operations_is_not_split():
    body = '%x = "tile_gpu.program_id"() {axis = 0 : i32} : () -> i32\n'
    assert "roles" not in names_in(after(body, "partition-roles"))


def test_loop_bound_from_a_tile_crosses():
    # The bound of the loop is an element of a tile, which the load role does not compute, and gets from the threads.
    loaded = """
  %v = "tile_gpu.load_view"(%p, %zero, %n, %one) {vector = 1 : i32, padding = "zero",
    operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (i64, i32, i32, i32) -> !one
  %count = "tile_gpu.extract"(%v, %zero) {operandSegmentSizes = array<i32: 1, 1, %ZEROS%>} : (!one, i32) -> i32
""".replace("%ZEROS%", ", ".join(["0"] * 31))
    names = names_in(after(loaded + MATMUL.replace("to %n step", "to %count step"), "partition-roles"))
    assert names.count("roles") == 1
    assert names.count("load_shared") == 2


def test_rings_have_twice_the_slots_that_they_want_where_memory_has_room():
    # A slot of A and B has 24 KB: eight fit. Four hide the latency of their loads.
    assert stages_of(after(MATMUL, "fuse-channels", "partition-roles", "pipeline")) == [8, 1]


def test_without_roles_copies_are_issued_before_the_loop():
    names = names_in(after(MATMUL, "pipeline"))
    # Copies of the first three iterations precede the loop, which issues the copies of the third next iteration.
    assert names.count("tma_load") == 4
    assert names.index("tma_load") < names.index("get")


def test_copies_that_depend_on_a_carried_value_are_not_issued_early():
    body = MATMUL.replace(
        "scf.for %k = %zero to %n step %one : i32 {",
        "%e = scf.for %k = %zero to %n step %one iter_args(%c = %zero) -> (i32) : i32 {",
    )
    body = body.replace("arith.muli %k, %size", "arith.addi %c, %size").replace(
        "  } {tile_gpu.id", "    scf.yield %x : i32\n  } {tile_gpu.id"
    )
    assert names_in(after(body, "pipeline")).count("tma_load") == 2


@pytest.mark.parametrize("option", sorted({record.option for record in PASSES.values() if record.option}))
def test_each_pass_can_be_disabled(option):
    names = names_in(run(kernel(MATMUL), target=TARGET, options=CompileOptions.of({option: False})))
    assert ("roles" in names) == (option != "roles")
