"""Members that a version cannot represent are refused, naming the first version that can; defaults are omitted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilec.dialect.bytecode.version import VERSIONS
from tilec.errors import InputError
from tilec.text_input.module import Module

TABLE = json.loads((Path(__file__).parents[2] / "operations.json").read_text())
NAMES = [str(version) for version in VERSIONS]
TENSOR = "tensor_view<8x8xf32, strides=[8,1]>"
DEVICES = "tensor_view<8x8xf32, strides=[8,1], #cuda_tile.ptr_attr<multicast>>"
VIEWS = f"""%v = make_tensor_view %p, shape = [8, 8], strides = [8, 1] : {TENSOR}
  %w = make_partition_view %v : partition_view<tile=(4x2), {TENSOR}>
  %x = constant <f32: 1.0> : tile<4x2xf32>
  """
STEPS = f"strided_view<tile=(4x2), traversal_strides=[4,2], {TENSOR}>"

# The first version, the member that older versions refuse, and the line of the kernel that has the member.
NEWER: list[tuple[str, str, str]] = [
    ("13.2", "'cuda_tile.atan2'", "%0 = atan2 %f, %f : tile<4xf32>"),
    ("13.3", "'cuda_tile.alloca'", "%0 = alloca num_elem = 4, alignment = 16 : tile<ptr<f32>>"),
    ("13.3", "'cuda_tile.pack'", "%0 = pack %i : tile<4xi32> -> tile<16xi8>"),
    ("13.3", "'cuda_tile.unpack'", "%b = constant <i8: 1> : tile<16xi8> %0 = unpack %b : tile<16xi8> -> tile<4xi32>"),
    ("13.3", "'cuda_tile.make_strided_view'", f"{VIEWS} %0 = make_strided_view %v : {STEPS}"),
    (
        "13.3",
        "'cuda_tile.make_gather_scatter_view'",
        f"{VIEWS} %0 = make_gather_scatter_view %v : gather_scatter_view<tile=(4x2), {TENSOR}, sparse_dim=0>",
    ),
    (
        "13.3",
        "'cuda_tile.atomic_red_view_tko'",
        f"{VIEWS} %0 = atomic_red_view_tko relaxed device %w[%n, %n], addf, %x"
        f" : tile<4x2xf32>, partition_view<tile=(4x2), {TENSOR}>, tile<i32> -> token",
    ),
    ("13.4", "'cuda_tile.fpowi'", "%0 = fpowi %f, %i : tile<4xf32>, tile<4xi32>"),
    ("13.4", "'cuda_tile.insert'", "%0 = insert %i, %i[%n] : tile<4xi32>, tile<4xi32>"),
    ("13.4", "'cuda_tile.gdc_wait_tko'", "%0 = gdc_wait_tko -> token"),
    ("13.4", "'cuda_tile.gdc_launch_dependents_tko'", "%0 = gdc_launch_dependents_tko -> token"),
    ("13.4", "'cuda_tile.memory_fence_alias_tko'", "%t = make_token : token %0 = memory_fence_alias_tko %t"),
    # Members that are newer than their operation.
    ("13.2", "'no_wrap' as overflow of 'cuda_tile.negi'", "%0 = negi %i overflow<no_wrap> : tile<4xi32>"),
    ("13.2", "'approx' as rounding_mode of 'cuda_tile.tanh'", "%0 = tanh %f rounding<approx> : tile<4xf32>"),
    ("13.2", "'unsignedCmp' of 'cuda_tile.for'", "for unsigned %k in (%n to %n, step %n) : tile<i32> { }"),
    (
        "13.2",
        "operand 'token' of 'cuda_tile.print_tko'",
        '%t = make_token : token %0 = print_tko "x" token=%t -> token',
    ),
    (
        "13.2",
        "a use of result 'result_token' of 'cuda_tile.print_tko'",
        '%0 = print_tko "x" -> token %1 = join_tokens %0, %0 : token',
    ),
    ("13.3", "'approx' as rounding_mode of 'cuda_tile.exp'", "%0 = exp %f rounding<approx> : tile<4xf32>"),
    (
        "13.3",
        "'fast_acc' of 'cuda_tile.mmaf'",
        "%a = constant <f8E5M2: 1.0> : tile<32x32xf8E5M2> %c = constant <f32: 1.0> : tile<32x32xf32>"
        " %0 = mmaf %a, %a, %c fast_acc : tile<32x32xf8E5M2>, tile<32x32xf8E5M2>, tile<32x32xf32>",
    ),
    ("13.4", "'saturating' of 'cuda_tile.ftoi'", "%0 = ftoi %f signed saturating : tile<4xf32> -> tile<4xi32>"),
    (
        "13.4",
        "'nearest_away' as rounding_mode of 'cuda_tile.ftof'",
        "%0 = ftof %f rounding<nearest_away> : tile<4xf32> -> tile<4xtf32>",
    ),
    (
        "13.4",
        "'true' in inbounds of 'cuda_tile.load_view_tko'",
        f"{VIEWS} %0, %1 = load_view_tko weak %w[%n, %n] inbounds = [false, true]"
        f" : partition_view<tile=(4x2), {TENSOR}>, tile<i32> -> tile<4x2xf32>, token",
    ),
    (
        "13.4",
        "'true' in inbounds of 'cuda_tile.store_view_tko'",
        f"{VIEWS} %0 = store_view_tko weak %x, %w[%n, %n] inbounds = [true, true]"
        f" : tile<4x2xf32>, partition_view<tile=(4x2), {TENSOR}>, tile<i32> -> token",
    ),
    # Types.
    ("13.2", "type 'f8E8M0FNU'", "%0 = constant <f8E8M0FNU: 1.0> : tile<4xf8E8M0FNU>"),
    ("13.3", "type 'f4E2M1FN'", "%0 = constant <f4E2M1FN: 1.0> : tile<4xf4E2M1FN>"),
    ("13.3", "type 'i4'", "%0 = trunci %i : tile<4xi32> -> tile<4xi4>"),
    ("13.4", "type 'fnv8E5M3FNU'", "%0 = constant <fnv8E5M3FNU: 1.0> : tile<4xfnv8E5M3FNU>"),
    ("13.4", "type 'ptr<f32, <none>>'", "%0 = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <none>>>"),
    ("13.5", "type 'ptr<f32, <unicast>>'", "%0 = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <unicast>>>"),
    ("13.5", "type 'ptr<f32, <multicast>>'", "%0 = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <multicast>>>"),
]
INBOUNDS = (
    f"{VIEWS} %0 = atomic_red_view_tko relaxed device %w[%n, %n], addf, %x inbounds = [true, false]"
    f" : tile<4x2xf32>, partition_view<tile=(4x2), {TENSOR}>, tile<i32> -> token"
)


def kernel(line: str) -> Module:
    return Module.parse(
        "entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {\n  %f = constant <f32: 1.0> : tile<4xf32>\n"
        f"  %i = iota : tile<4xi32>\n  {line}\n}}",
        "k.mlir",
    )


def write_error(module: Module, version: str) -> InputError:
    with pytest.raises(InputError) as raised:
        module.to_bytecode(version)
    return raised.value


@pytest.mark.parametrize(("since", "member", "line"), NEWER, ids=lambda text: text.split(" %")[0][:40])
def test_newer_member_is_refused(since: str, member: str, line: str) -> None:
    module = kernel(line)
    for version in NAMES[: NAMES.index(since)]:
        error = write_error(module, version)
        assert error.message == (
            f"{member} needs bytecode version {since} or later, but version {version} is to be written:"
            f" write version {since} or later"
        )
        assert error.location is not None and error.location.file == "k.mlir"
        assert error.location.line >= 4
    for version in NAMES[NAMES.index(since) :]:
        module.to_bytecode(version)


def test_inbounds_is_newer_than_atomic_red_view_tko() -> None:
    module = kernel(INBOUNDS)
    assert "'cuda_tile.atomic_red_view_tko' needs bytecode version 13.3" in write_error(module, "13.2").message
    for version in ("13.3", "13.4"):
        assert "'true' in inbounds of 'cuda_tile.atomic_red_view_tko' needs" in write_error(module, version).message
    module.to_bytecode("13.5")


def test_mmaf_scaled_is_newer_than_its_scale_type() -> None:
    module = kernel("""%a = constant <f8E4M3FN: 1.0> : tile<32x32xf8E4M3FN> %z = constant <f32: 0.0> : tile<32x32xf32>
      %s = constant <f8E8M0FNU: 1.0> : tile<32x1xf8E8M0FNU> %t = constant <f8E8M0FNU: 1.0> : tile<1x32xf8E8M0FNU>
      %0 = mmaf_scaled %a, %a, %z, %s, %t : tile<32x32xf8E4M3FN>, tile<32x32xf8E4M3FN>, tile<32x32xf32>,
        tile<32x1xf8E8M0FNU>, tile<1x32xf8E8M0FNU>""")
    assert "type 'f8E8M0FNU' needs bytecode version 13.2 or later" in write_error(module, "13.1").message
    assert "'cuda_tile.mmaf_scaled' needs bytecode version 13.3 or later" in write_error(module, "13.2").message
    module.to_bytecode("13.3")


def test_multimem_operations_need_13_5() -> None:
    module = kernel(f"""%m = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <multicast>>>
      %v = make_tensor_view %m, shape = [8, 8], strides = [8, 1] : {DEVICES}
      %w = make_partition_view %v : partition_view<tile=(4x2), {DEVICES}>
      %0, %1 = multimem_load_reduce_view_tko weak %w[%n, %n] : partition_view<tile=(4x2), {DEVICES}>, tile<i32>
        -> tile<4x2xf32>, token""")
    assert "needs bytecode version 13.5 or later" in write_error(module, "13.4").message
    module.to_bytecode("13.5")


def test_all_newer_members_of_the_table_are_covered() -> None:
    tested = {member for _, member, _ in NEWER} | {"'true' in inbounds of 'cuda_tile.atomic_red_view_tko'"}
    for entry in TABLE["ops"]:
        # Globals have a test below; the types of mmaf_scaled and multimem operations need their version too.
        if entry["name"] in ("module", "entry", "global", "preview$call"):
            continue
        members = [*entry["attrs"], *entry["flags"], *entry["results"]]
        for member in members:
            if (member.get("since") or "13.1") > max("13.1", entry["since"]):
                descriptions = (
                    f"{member['name']}' of 'cuda_tile.{entry['name']}'",
                    f"as {member['name']} of 'cuda_tile.{entry['name']}'",
                    f"in {member['name']} of 'cuda_tile.{entry['name']}'",
                )
                found = any(description in each for each in tested for description in descriptions)
                assert found, (entry["name"], member["name"])
        if entry["since"] != "13.1" and entry["name"] != "mmaf_scaled" and not entry["name"].startswith("multimem"):
            assert f"'cuda_tile.{entry['name']}'" in tested, entry["name"]


@pytest.mark.parametrize(
    ("text", "member"),
    [
        ("global private @g <i8: 1> : tile<1xi8>", "'private' as symbol_visibility of 'cuda_tile.global'"),
        ("global constant @g <i8: 1> : tile<1xi8>", "'constant' of 'cuda_tile.global'"),
    ],
)
def test_qualifiers_of_globals_are_refused_before_13_3(text: str, member: str) -> None:
    module = Module.parse(f"cuda_tile.module @m {{\n  {text}\n  entry @k() {{ }}\n}}", "k.mlir")
    for version in ("13.1", "13.2"):
        error = write_error(module, version)
        assert error.message.startswith(f"{member} needs bytecode version 13.3 or later")
        assert str(error.location) == "k.mlir:2:3"
    module.to_bytecode("13.3")


def test_argument_attributes_are_refused_before_13_5() -> None:
    module = Module.parse("entry @k(%x: tile<i1> {t.x = true}) { }", "k.mlir")
    for version in NAMES[:-1]:
        error = write_error(module, version)
        assert error.message.startswith("an attribute of an argument needs bytecode version 13.5 or later")
        assert str(error.location) == "k.mlir:1:1"
    module.to_bytecode("13.5")


def test_preview_operations_are_refused_before_13_5() -> None:
    module = Module.parse("entry @k() { preview$call @f() : () -> () }")
    assert "needs bytecode version 13.5 or later" in write_error(module, "13.4").message


@pytest.mark.parametrize(
    "line",
    [
        "%0 = negi %i : tile<4xi32>",
        "%0 = tanh %f : tile<4xf32>",
        "%0 = exp %f : tile<4xf32>",
        "for %k in (%n to %n, step %n) : tile<i32> { }",
        '%0 = print_tko "x" -> token',
        "%0 = ftoi %f signed : tile<4xf32> -> tile<4xi32>",
        f"{VIEWS} %0, %1 = load_view_tko weak %w[%n, %n] inbounds = [false, false]"
        f" : partition_view<tile=(4x2), {TENSOR}>, tile<i32> -> tile<4x2xf32>, token",
    ],
)
def test_default_members_are_omitted(line: str) -> None:
    for version in NAMES:
        kernel(line).to_bytecode(version)


def test_operations_of_other_dialects_are_refused() -> None:
    generic = Module.parse("entry @k() { }").to_text(generic=True)
    lines = generic.replace(
        '"cuda_tile.return"', '"arith.constant"() {value = 1 : i32} : () -> i32\n    "cuda_tile.return"'
    )
    error = write_error(Module.parse(lines, "k.mlir"), "13.5")
    assert error.message == "'arith.constant' cannot be encoded in bytecode, which supports only operations of Tile IR"
    at = lines[: lines.index('"arith')].splitlines()
    assert str(error.location) == f"k.mlir:{len(at)}:{len(at[-1]) + 1}"
