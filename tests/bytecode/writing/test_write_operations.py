"""The bytes of operations: value numbers, flags, operand groups, regions, and members added in later versions."""

from __future__ import annotations

import pytest
from sections import body, entries, sections

from tilec.errors import InputError
from tilec.text_input.module import Module

RETURN = "5C 00 00"


def code(text: str, version: str = "13.1") -> str:
    """The operations of a kernel without the return at its end."""
    found = body(Module.parse(text).to_bytecode(version)).hex(" ").upper()
    assert found.endswith(RETURN)
    return found.removesuffix(RETURN).strip()


def test_results_are_numbered_after_the_arguments() -> None:
    # Types: i32, tile<i32>. addi (03): type 1, overflow none (0) or no_wrap (3), values.
    text = """entry @k(%a: tile<i32>, %b: tile<i32>) {
      %0 = addi %a, %b : tile<i32>
      %1 = addi %0, %b overflow<no_wrap> : tile<i32>
      %2 = addi %1, %0 : tile<i32>
    }"""
    assert code(text) == "03 01 00 00 01 03 01 03 02 01 03 01 00 03 02"


def test_each_result_of_an_operation_has_a_number() -> None:
    # get_tile_block_id (30) has three results of type 1.
    text = """entry @k(%a: tile<i32>) {
      %0, %1, %2 = get_tile_block_id : tile<i32>
      %3 = addi %2, %0 : tile<i32>
    }"""
    assert code(text) == "30 01 01 01 03 01 00 03 01"


def test_value_numbers_of_two_bytes() -> None:
    lines = "\n".join(f"%{index} = absi %a : tile<i32>" for index in range(200))
    found = code(f"entry @k(%a: tile<i32>) {{ {lines} %x = absi %199 : tile<i32> }}")
    # The operand of the last operation is value 200: C8 01.
    assert found == "01 01 00 " * 200 + "01 01 C8 01"


def test_value_numbers_of_a_region_are_reused_after_it() -> None:
    # Types: i1, tile<i1>, i32, tile<i32>. Both the sum in the region and the result of the if are value 2.
    text = """entry @k(%b: tile<i1>, %n: tile<i32>) {
      %r = if %b -> (tile<i32>) {
        %s = addi %n, %n : tile<i32>
        yield %s : tile<i32>
      } else {
        yield %n : tile<i32>
      }
      %t = addi %r, %n : tile<i32>
    }"""
    # if (32): one result, its type, condition, two regions; a region: one block without arguments, its operations.
    then = "01 00 02  03 03 00 01 01  6D 00 01 02"
    otherwise = "01 00 01  6D 00 01 01"
    assert code(text) == " ".join(f"32 01 03 00 02 {then} {otherwise} 03 03 00 02 01".split())


def test_an_absent_else_has_no_block() -> None:
    assert code("entry @k(%b: tile<i1>) { if %b { } }") == "32 00 00 02 01 00 01 6D 00 00 00"
    assert code("entry @k(%b: tile<i1>) { if %b { } else { } }") == "32 00 00 02 01 00 01 6D 00 00 01 00 01 6D 00 00"


LOOP = """entry @k(%n: tile<i32>) {
  %r = for UNSIGNED %k in (%n to %n, step %n) : tile<i32> iter_values(%a = %n) -> (tile<i32>) {
    continue %k : tile<i32>
  }
}"""


def test_arguments_of_a_loop_have_the_next_numbers() -> None:
    # for (29): one result of type 1, four operands, one region of one block with two arguments of type 1.
    region = "01 01 02 01 01 01  11 00 01 01"
    plain, unsigned = LOOP.replace("UNSIGNED", ""), LOOP.replace("UNSIGNED", "unsigned")
    assert code(plain, "13.1") == " ".join(f"29 01 01 04 00 00 00 00 {region}".split())
    # From 13.2 on flags come before the operands.
    assert code(plain, "13.2") == " ".join(f"29 01 01 00 04 00 00 00 00 {region}".split())
    assert code(unsigned, "13.2") == " ".join(f"29 01 01 01 04 00 00 00 00 {region}".split())


def test_loop_and_break() -> None:
    text = """entry @k(%n: tile<i32>) {
      %r = loop iter_values(%a = %n) : tile<i32> -> tile<i32> {
        break %a : tile<i32>
      }
    }"""
    # loop (41): one result of type 1, one operand, one region of one block with an argument; break (0A) of value 1.
    assert code(text) == "41 01 01 01 00 01 01 01 01 01 0A 00 01 01"


# Types: f32, ptr<f32>, tile<ptr<f32>>, i1, tile<i1>, the signature; type 6 is token, and 7 is tile<f32>.
MEMORY = """entry @k(%p: tile<ptr<f32>>, %m: tile<i1>) {{
  %t = make_token : token
  {}
}}"""
LOADED = "tile<f32>, token"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # load_ptr_tko (3D): two types, flags, ordering, [scope], [hints], source, [mask], [padding], [token].
        (f"%r, %u = load_ptr_tko weak %p : tile<ptr<f32>> -> {LOADED}", "3D 07 06 00 00 00"),
        (f"%r, %u = load_ptr_tko relaxed device %p token=%t : tile<ptr<f32>> -> {LOADED}", "3D 07 06 11 01 01 00 02"),
        (
            f"%r, %u = load_ptr_tko acquire sys %p, %m token=%t : tile<ptr<f32>>, tile<i1> -> {LOADED}",
            "3D 07 06 15 02 02 00 01 02",
        ),
        # Hints are a dictionary without a tag: one entry, string 1, a dictionary (0A): string 2 is 3 of i32, type 8.
        (
            "%r, %u = load_ptr_tko weak %p optimization_hints = <sm_90 = {latency = 3}>"
            f" : tile<ptr<f32>> -> {LOADED}",
            "3D 07 06 02 00 01 01 0A 01 02 01 08 03 00",
        ),
        # join_tokens (3C): a count of results, one type, a count of operands.
        ("%r = join_tokens %t, %t, %t : token", "3C 01 06 03 02 02 02"),
    ],
)
def test_each_optional_member_has_a_flag(line: str, expected: str) -> None:
    assert code(MEMORY.format(line)) == f"44 06 {expected}"


def test_mode_of_an_atomic_is_after_its_scope() -> None:
    text = """entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
      %r, %u = atomic_rmw_tko acq_rel sys %p, umin, %n : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    }"""
    # atomic_rmw_tko (08): tile<i32> is type 3, token is 5; no flags, acq_rel 4, sys 2, umin 8; pointers and values.
    assert code(text) == "08 03 05 00 04 02 08 00 01"


# Types: f32, ptr, tile<ptr>, i32, tile<i32>, signature, the view, the partition view, tile<8x8xf32>, token.
VIEW = "tensor_view<?x?xf32, strides=[?,1]>"
PARTITION = f"partition_view<tile=(8x8), {VIEW}>"
ACCESS = f"""entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {{
  %v = make_tensor_view %p, shape = [%n, %n], strides = [%n, 1] : tile<i32> -> {VIEW}
  %w = make_partition_view %v : {PARTITION}
  %x, %t = load_view_tko weak %w[%n, %n]INBOUNDS : {PARTITION}, tile<i32> -> tile<8x8xf32>, token
}}"""


@pytest.mark.parametrize(
    ("inbounds", "version", "expected"),
    [
        ("", "13.1", ""),
        (" inbounds = [false, false]", "13.3", ""),
        # From 13.4 on: the number of indices, and one byte for each.
        ("", "13.4", "02 00 00"),
        (" inbounds = [true, false]", "13.4", "02 01 00"),
    ],
)
def test_each_group_of_operands_has_a_size(inbounds: str, version: str, expected: str) -> None:
    # make_tensor_view (43): one result, base, 2 extents, 1 stride; make_partition_view (42).
    views = "43 01 06 00 02 01 01 01 01 42 07 02"
    # load_view_tko (3E): two results, no flags, weak, [inbounds], the view 3, two indices.
    load = " ".join(f"3E 02 08 09 00 00 {expected} 03 02 01 01".split())
    assert code(ACCESS.replace("INBOUNDS", inbounds), version) == f"{views} {load}"


PRINT = """entry @k(%n: tile<i32>) {
  %t = print_tko "x" -> token
  %m = absi %n : tile<i32>
  %o = absi %m : tile<i32>
}"""


def test_print_has_no_token_in_the_oldest_version() -> None:
    # print_tko (55): no results, string 1, no tiles. The next operation has result 1, not 2.
    assert code(PRINT, "13.1") == "55 00 01 00 01 01 00 01 01 01"
    # One result of type 3 (token), no flags, string 1, no tiles.
    assert code(PRINT, "13.2") == "55 01 03 00 01 00 01 01 00 01 01 02"


def test_print_with_a_token() -> None:
    text = """entry @k(%n: tile<i32>) {
      %t = make_token : token
      %u = print_tko "%i" , %n token=%t : tile<i32> -> token
    }"""
    assert code(text, "13.2") == "44 03 55 01 03 01 01 01 00 01"


def test_reduction_has_identities_and_a_body() -> None:
    text = """entry @k() {
      %c = constant <f32: 0.0> : tile<4xf32>
      %r = reduce %c dim=0 identities=[-1.0 : f32] : tile<4xf32> -> tile<f32>
      (%a: tile<f32>, %b: tile<f32>) { yield %a : tile<f32> }
    }"""
    # Types: signature, f32, tile<4xf32>, tile<f32>. -1.0 is a float (02) of type 1 with bit pattern BF800000.
    identities = "01 02 01 80 80 80 F8 17"
    region = "01 01 02 03 03 01 6D 00 01 01"
    assert code(text) == f"10 02 00 58 01 03 00 {identities} 01 00 {region}"


@pytest.mark.parametrize(
    ("line", "versions", "older", "newer"),
    [
        # Attributes added to negi (50), tanh (6A) and exp (17), which have the default full (5); flags of ftoi (2B).
        ("negi %i : tile<i32>", ("13.1", "13.2"), "50 03 01", "50 03 00 01"),
        ("tanh %f : tile<f32>", ("13.1", "13.2"), "6A 01 00", "6A 01 05 00"),
        ("exp %f : tile<f32>", ("13.2", "13.3"), "17 01 00", "17 01 05 00"),
        ("ftoi %f signed : tile<f32> -> tile<i32>", ("13.3", "13.4"), "2B 03 01 06 00", "2B 03 00 01 06 00"),
    ],
)
def test_members_added_in_a_later_version(line: str, versions: tuple[str, str], older: str, newer: str) -> None:
    text = f"entry @k(%f: tile<f32>, %i: tile<i32>) {{ %0 = {line} }}"
    assert [code(text, version) for version in versions] == [older, newer]


def test_mmaf_has_flags_since_13_3() -> None:
    text = """entry @k() {
      %a = constant <f8E5M2: 1.0> : tile<32x32xf8E5M2>
      %c = constant <f32: 0.0> : tile<32x32xf32>
      %r = mmaf %a, %a, %c FAST : tile<32x32xf8E5M2>, tile<32x32xf8E5M2>, tile<32x32xf32>
    }"""
    constants = "10 02 00 10 04 01"
    plain, fast = text.replace("FAST", ""), text.replace("FAST", "fast_acc")
    assert code(plain, "13.2") == f"{constants} 49 04 00 00 01"
    assert code(plain, "13.3") == f"{constants} 49 04 00 00 00 01"
    assert code(fast, "13.3") == f"{constants} 49 04 01 00 00 01"


def test_two_flags_are_in_the_order_of_the_table() -> None:
    text = "entry @k(%f: tile<f32>) {{ %0 = maxf %f, %f {} : tile<f32> }}"
    # maxf (45): propagate_nan is bit 0, flush_to_zero bit 1.
    for keywords, flags in (("", 0), ("propagate_nan", 1), ("flush_to_zero", 2), ("flush_to_zero propagate_nan", 3)):
        assert code(text.format(keywords)) == f"45 01 {flags:02X} 00 00"


def test_strings_are_utf8_after_unescaping() -> None:
    content = Module.parse(r'entry @k(%b: tile<i1>) { assert %b, "\00\C3\A9\22" : tile<i1> }').to_bytecode("13.1")
    assert entries(sections(content)["strings"], 4) == [b"k", b'\x00\xc3\xa9"']


def test_writing_does_not_change_the_module() -> None:
    module = Module.parse(ACCESS.replace("INBOUNDS", ""))
    before = module.to_text(generic=True, locations=True)
    assert module.to_bytecode("13.4") == module.to_bytecode("13.4")
    assert module.to_text(generic=True, locations=True) == before


def nested(depth: int) -> str:
    return "entry @k(%b: tile<i1>) {\n" + "if %b {\n" * depth + "}\n" * depth + "}"


def test_nested_regions() -> None:
    assert (
        code(nested(500)) == "32 00 00 02 01 00 02 " * 499 + "32 00 00 02 01 00 01 6D 00 00 00" + " 6D 00 00 00" * 499
    )
    with pytest.raises(InputError, match="regions are nested more than 500 deep") as raised:
        code(nested(501))
    assert (raised.value.location.file, raised.value.location.line) == ("<string>", 502)
