"""Self-contained attributes are a tag and data, in argument attributes, identities and predicates of assume."""

from __future__ import annotations

import pytest
from sections import body, entries, sections

from tilec.dialect.mlir import context, ir
from tilec.errors import InputError
from tilec.text_input.module import Module

# The bytes of the function record before and after the attributes of its only argument.
HEAD, TAIL = "01 00 02 02 00 0B 00 06 01 0A", "03 5C 00 00"


def argument(attributes: str) -> tuple[str, list[bytes]]:
    """The encoded dictionary of an argument of type i1, and the strings after the first one.

    Type 0 is i1, type 1 is tile<i1>, and type 2 is the signature.
    """
    found = sections(Module.parse(f"entry @k(%x: tile<i1> {attributes}) {{ }}").to_bytecode("13.5"))
    payload = found["functions"].hex(" ").upper()
    assert payload.startswith(HEAD) and payload.endswith(TAIL)
    return payload[len(HEAD) : -len(TAIL)].strip(), entries(found["strings"], 4)[1:]


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        # Integers (01): type, and the unsigned value; types 3 and up are added by the attribute.
        ("7 : i8", "01 03 07"),
        ("-1 : i8", "01 03 FF 01"),
        ("-1 : i4", "01 03 0F"),
        ("-8 : i4", "01 03 08"),
        ("300 : i16", "01 03 AC 02"),
        ("-1 : i32", "01 03 FF FF FF FF 0F"),
        ("-1 : i64", "01 03 FF FF FF FF FF FF FF FF FF 01"),
        ("-9223372036854775808 : i64", "01 03 80 80 80 80 80 80 80 80 80 01"),
        # Floats (02): one byte for up to 8 bits, else the bit pattern with the sign in the least significant bit.
        ("1.0 : f8E4M3FN", "02 03 38"),
        ("-2.0 : f8E5M2", "02 03 C0"),
        ("0.5 : f8E8M0FNU", "02 03 7E"),
        ("-6.0 : f4E2M1FN", "02 03 0F"),
        ("1.125 : fnv8E5M3FNU", "02 03 79"),
        # 2 * 3C00 is 7800, whose groups of seven bits are 0, 70, 1.
        ("1.0 : f16", "02 03 80 F0 01"),
        ("-2.0 : bf16", "02 03 80 80 06"),
        ("1.0 : tf32", "02 03 80 F0 0F"),
        ("1.0 : f32", "02 03 80 80 80 F8 07"),
        ("0.0 : f32", "02 03 00"),
        ("0x7FC00001 : f32", "02 03 82 80 80 FC 0F"),
        # BFF0 0000 0000 0000 is a negative 64-bit number n, which is encoded as 2 * ~n + 1.
        ("-1.0 : f64", "02 03 FF FF FF FF FF FF FF 8F 80 01"),
        # Booleans (03), types (04), strings (05), arrays (06), dictionaries (0A).
        ("true", "03 01"),
        ("false", "03 00"),
        ("!cuda_tile.tile<i1>", "04 01"),
        ('"text"', "05 02"),
        ("[]", "06 00"),
        ("[true, [false]]", "06 02 03 01 06 01 03 00"),
        ("{}", "0A 00"),
        ("{y = true}", "0A 01 02 03 01"),
        # Constant elements (07): the type of their tile, here 4 (3 is i8), and the constant.
        ("dense<[1, 2]> : tensor<2xi8>", "07 04 00"),
        # Predicates of assume (08, 09, 0C).
        ("#cuda_tile.div_by<16>", "08 10 00"),
        ("#cuda_tile.div_by<16, every 4 along 1>", "08 10 03 08 02"),
        ("#cuda_tile.same_elements<[4, 1]>", "09 02 04 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00"),
        ("#cuda_tile.bounded<?, ?>", "0C 00"),
        ("#cuda_tile.bounded<0, ?>", "0C 01 00"),
        ("#cuda_tile.bounded<?, 300>", "0C 02 D8 04"),
        ("#cuda_tile.bounded<-3, 64>", "0C 03 05 80 01"),
    ],
)
def test_tag_and_data(attribute: str, expected: str) -> None:
    found, strings = argument(f"{{t.x = {attribute}}}")
    # One entry, whose key is string 1.
    assert found == f"01 01 {expected}"
    assert strings[0] == b"t.x"


def test_dictionary_entries_are_keys_and_values() -> None:
    found, strings = argument('{t.b = "v", t.a = "w"}')
    # MLIR sorts the keys alphabetically.
    assert found == "02 01 05 02 03 05 04"
    assert strings == [b"t.a", b"w", b"t.b", b"v"]


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("unit", "attribute unit has no form in bytecode: expected an integer, float, boolean, type, string, array"),
        ("@symbol", "attribute @symbol has no form in bytecode"),
        ("array<i32: 1>", "attribute array<i32: 1> has no form in bytecode"),
        ("1 : index", "attribute 1 : index has no form in bytecode: expected one of i1, i4, i8, i16, i32, i64"),
        ("1 : i128", "attribute 1 : i128 has no form in bytecode"),
        ("1.0 : f80", "has no form in bytecode: expected one of f16"),
        ("index", "type 'index' has no form in bytecode"),
        ("[true, {y = unit}]", "attribute unit has no form in bytecode"),
    ],
)
def test_other_attributes_are_refused(attribute: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        argument(f"{{t.x = {attribute}}}")
    assert message in raised.value.message
    assert raised.value.location is not None and raised.value.location.line == 1


@pytest.mark.parametrize("extreme", [-(1 << 63), (1 << 63) - 1])
def test_arrays_with_an_extreme_are_refused(extreme: int) -> None:
    with pytest.raises(InputError) as raised:
        argument(f"{{t.x = #cuda_tile.same_elements<[{extreme}]>}}")
    assert raised.value.message == f"an array with the element {extreme}, an extreme of i64, has no form in bytecode"


def test_key_that_the_bindings_read_as_empty_is_refused() -> None:
    """MLIR's own parser accepts such a key, and its bindings end a name at the first NUL byte."""
    module = Module.parse("entry @k(%x: tile<i1>) { }")
    with context():
        attributes = ir.Attribute.parse('[{t.x = {"\\00" = true}}]')
        module.ir.body.operations[0].operation.attributes["arg_attrs"] = attributes
    with pytest.raises(InputError, match=r'dictionary \{"\\00" = true\} has an empty key, which bytecode cannot hold'):
        module.to_bytecode("13.5")


def test_predicate_of_assume() -> None:
    module = Module.parse("entry @k(%n: tile<i32>) { %0 = assume bounded<-5, 70000>, %n : tile<i32> }")
    # assume (06): type, the predicate with its tag, the operand; -5 is encoded as 9, and 70000 as 140000.
    assert body(module.to_bytecode("13.1")).hex(" ").upper() == "06 01 0C 03 09 E0 C5 08 00 5C 00 00"


def test_permutation_has_four_bytes_per_element() -> None:
    module = Module.parse(
        "entry @k() { %0 = iota : tile<4xi32> %1 = reshape %0 : tile<4xi32> -> tile<4x1xi32>"
        " %2 = permute %1 [1, 0] : tile<4x1xi32> -> tile<1x4xi32> }"
    )
    assert body(module.to_bytecode("13.1")).hex(" ").upper().endswith("53 04 02 01 00 00 00 00 00 00 00 01 5C 00 00")
