"""Native launches encode a tensor map once for its inputs, and repeat the rules that depend on the launch."""

from __future__ import annotations

import pytest

START = """
@ct.kernel
def example(x, n: ct.Constant): pass

replace_compiler()

def launched(address, shape=(64, 32), strides=None):
    return by_native(0, 1, example, (Interface(address, shape, "<f4", strides), 8))

launched(0x10000)
"""


@pytest.mark.parametrize("buffers", [1, 8, 60, 500])
def test_map_is_encoded_once_for_its_inputs(run_program, buffers: int) -> None:
    program = f"""
addresses = [0x100000 + 0x40 * index for index in range({buffers})]
for _ in range(20):
    for address in addresses: ct.launch(0, 1, example, (Interface(address, (64, 32)), 8))
before = driver.record_encodings()
for _ in range(4):
    for address in addresses: launched(address)
print((driver.record_encodings() - before) / {4 * buffers} < 0.8)
"""
    assert run_program(START + program) == ["True"]


def test_returning_address_with_another_shape_has_another_map(run_program) -> None:
    program = """
shapes = [(64, 32), (128, 32), (64, 64), (1, 32), (64, 32)]
found = [launched(0x20000, shape) for _ in range(3) for shape in shapes]
expected = [by_python(0, 1, example, (Interface(0x20000, shape, "<f4"), 8)) for shape in shapes]
print(found == 3 * expected, len({launched.parameters[-1] for launched in expected}))
"""
    assert run_program(START + program) == ["True 4"]


def test_faulty_bit_is_cleared_on_blackwell_alone(run_program) -> None:
    # Driver 595.71.05, known issues: bit 21 of the second word. The maps of the null driver have random bits.
    program = """
maps = [launched(0x20000 + 0x100 * index).parameters[-1] for index in range(40)]
print(any(int.from_bytes(encoded[8:16], "little") >> 21 & 1 for encoded in maps), ct.launch_counts()["native"] >= 40)
"""
    assert run_program(START + program) == ["False True"]
    hopper = START.replace("replace_compiler()", 'replace_compiler(target="sm_90a")')
    assert run_program(hopper + program, NULL_DRIVER_MAJOR="9") == ["True True"]


def test_rules_of_the_map_are_checked(run_program) -> None:
    # The stride of 2**31 - 4 elements is in the range of strides, and 2**35 bytes below that of maps, 2**40. Rows that
    # are 24 bytes apart, or one row in memory, have specializations of their own without a map.
    program = """
for strides in ((32, 1), (2**31 - 4, 1), (6, 1), (0, 1), (32, 1), (0, 1)):
    expected = by_python(0, 1, example, (Interface(0x20000, (64, 32), "<f4", strides), 8))
    found = launched(0x20000, (64, 32), strides)
    print(found == expected, isinstance(found, Launched), any(len(value) == 128 for value in found.parameters))
print(len(compiles), ct.launch_counts()["native"])
"""
    with_map, without = "True True True", "True True False"
    expected = [with_map, with_map, without, without, with_map, without, "3 4"]
    assert run_program(START + program) == expected


def test_stride_of_one_element_selects_no_specialization(run_program) -> None:
    program = """
for strides in ((32, 1), (0, 1), (-32, 1), (2**40, 1)):
    expected = by_python(0, 1, example, (Interface(0x20000, (1, 32), "<f4", strides), 8))
    print(launched(0x20000, (1, 32), strides) == expected, isinstance(expected, Launched))
print(len(compiles), ct.launch_counts())
"""
    found = run_program(START + program)
    counts = "{'native': 4, 'first launch of a specialization': 1}"
    assert found == ["True True"] * 4 + [f"1 {counts}"]


def test_array_without_elements_takes_the_python_path(run_program) -> None:
    program = """
print(launched(0x20000, (0, 32)).parameters[1:4])
print(ct.launch_counts())
"""
    values = [value.to_bytes(4, "little") for value in (0, 32, 4)]
    assert run_program(START + program) == [
        str(tuple(values)),
        "{'first launch of a specialization': 1, 'array without elements': 1}",
    ]
