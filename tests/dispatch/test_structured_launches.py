"""Dataclasses, nested tuples, lists of arrays, enumerations and 64-bit extents are launched natively."""

from __future__ import annotations

START = """
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Annotated, Any
from random_arguments import Count, Level, Pair, Ratio, Scaled, Slotted, Static
from tilec.runtime.dispatch._dispatch import reset_launch_counts

x, y, z = (Interface(0x10000 * n, (64, 32)) for n in (1, 2, 3))
empty, odd = Interface(0x50000, (0, 32)), Interface(0x60004, (8, 8))

@ct.kernel
def example(x, given, n: ct.Constant): pass

def twice(kernel, *args, stream=7):
    "Launches by the Python path, then for the first and the second time natively."
    expected = by_python(stream, 2, kernel, args)
    assert isinstance(expected, Launched), expected
    found = by_native(stream, 2, kernel, args)
    reset_launch_counts()
    assert found == by_native(stream, 2, kernel, args) == expected, (found, expected)
    assert ct.launch_counts() == {"native": 1}, ct.launch_counts()
    return expected

replace_compiler()
"""


def test_structures_are_native_from_the_second_launch_on(run_program) -> None:
    program = """
for given in (
    Pair(y, 2), Pair(1.5, (y, z)), Pair(y, Pair(z, "text")), Slotted(y), Scaled(y, 3), Scaled(y, 3, Pair(z, None)),
    (y, (1, (2.5, (z, None)))), ((), y), [y], [y, z], [y, odd], [empty, y], Pair([y, z], 1), ([y], [z, odd]),
    Level.LOW, Level.HIGH, Ratio.HALF, Count(5), Pair(Level.LOW, Ratio.HALF),
):
    twice(example, x, given, 1)
for constant in (Pair(1, 2), Pair(Level.LOW, (1, None)), Slotted("text"), (1, (2, (ct.float16,)))):
    twice(example, x, y, constant)
print("done")
"""
    assert run_program(START + program) == ["done"]


def test_extents_beyond_32_bits(run_program) -> None:
    program = """
@ct.kernel
def wide(x: ct.IndexedWithInt64[ct.Array], n: ct.Constant): pass

large = Interface(0x10000, (2**40,), strides=(2**32,))
words = [int.from_bytes(value, "little") for value in twice(wide, large, 1).parameters]
print(words == [0x10000, 2**40, 2**32])
print(by_native(0, 1, example, (large, 1, 1))[1])
"""
    wide = "error: argument 'x': an extent of 1099511627776 is outside of 0 to 2147483647"
    assert run_program(START + program) == ["True", f"{wide}: annotate the parameter as ct.IndexedWithInt64"]


def test_annotated_items_and_lists(run_program) -> None:
    program = """
@ct.kernel
def items(x: tuple[Static, ct.Constant], y: tuple[ct.IndexedWithInt64[ct.Array], ...]): pass

@ct.kernel
def listed(x: Annotated[list, ct.ListAnnotation(element=Static)]): pass

twice(items, (x, 4), (y, z))
twice(items, (x, "other"), (Interface(0x10000, (2**40,)),))
twice(listed, [x, y])
print(len({by_native(0, 1, items, ((x, n), ())).function for n in (1, True, 1.0, Level.LOW)}))
print(len({by_native(0, 1, listed, ([Interface(0x10000, (extent, 32))],)).function for extent in (32, 64)}))
"""
    assert run_program(START + program) == ["4", "2"]


def test_structures_of_different_types_are_different_specializations(run_program) -> None:
    program = """
@dataclass
class Other:
    first: Any
    second: Any

values = (
    Pair(y, 2), Other(y, 2), Pair(y, 2.0), Pair(y, True), Pair(2, y), Pair(y, None), Pair(y, "text"), Pair(y, (2,)),
    (y, 2), (y, (2,)), ((y, 2),), [y], [odd], [y, odd], [Interface(0x10000, (32,))], y, None, 2,
)
functions = [by_native(0, 1, example, (x, value, 1)).function for value in values]
again = [by_native(0, 1, example, (x, value, 1)).function for value in values]
print(functions == again, len(values) - len(set(functions)))
"""
    # Lists of arrays with and without the alignment of TMA have the kernel of those without.
    assert run_program(START + program) == ["True 1"]


def test_changed_contents_are_read_again(run_program) -> None:
    program = """
arrays, record = [y], Pair(y, 1)
for given in (arrays, record):
    for _ in range(2): by_native(0, 1, example, (x, given, 1))
arrays.append(z)
record.first, record.second = z, 2**40
for given in (arrays, record):
    expected = by_python(0, 1, example, (x, given, 1))
    print(by_native(0, 1, example, (x, given, 1)) == expected == by_native(0, 1, example, (x, given, 1)))
arrays.clear()
print(by_native(0, 1, example, (x, arrays, 1))[1])
"""
    empty = "error: argument 'given' is an empty list: expected at least one array"
    assert run_program(START + program) == ["True", "True", empty]


def test_contents_that_change_during_the_compile_belong_to_no_other_specialization(run_program) -> None:
    program = """
record = Pair(y, None)
original = kernel_launch.specialized
def specialized(*given, **keywords):
    record.second = "changed"
    return original(*given, **keywords)
kernel_launch.specialized = specialized
ct.launch(0, 1, example, (x, record, 1))
record.second = None
kernel_launch.specialized = original
first, second = by_native(0, 1, example, (x, Pair(y, None), 1)), by_native(0, 1, example, (x, Pair(y, "changed"), 1))
print(first.function != second.function, [text.count("changed") for text in compiles])
"""
    assert run_program(START + program) == ["True [0, 1]"]


def test_tables_of_lists_are_freed_and_cannot_be_captured(run_program) -> None:
    program = """
launched = twice(example, x, ([y, z], [odd]), 1)
print(driver.record_last().contents.allocations)
driver.record_capture(1)
print(by_native(7, 2, example, (x, ([y, z], [odd]), 1))[1])
print(driver.record_last().contents.allocations)
"""
    captured = "error: a list of arrays cannot be passed to a launch that a CUDA graph captures: pass a tuple"
    assert run_program(START + program) == ["0", captured, "0"]


def test_arrays_of_lists_have_tensor_maps(run_program) -> None:
    program = """
replace_compiler(maps_of_lists=True)
launched = twice(example, x, ([y, z, y], [odd]), 1)
encoded = driver.record_encodings()
other = twice(example, x, ([y, z, z], [odd]), 1)
print(launched.copied != other.copied, launched.parameters[-1] == other.parameters[-1])
by_native(7, 2, example, (x, ([z, y, z, y], [odd]), 1))
print(driver.record_encodings() - encoded, driver.record_last().contents.allocations)
"""
    # The Python path encodes each map, and native launches find the maps of equal arrays.
    assert run_program(START + program) == ["True True", "4 0"]


def test_empty_arrays_of_lists_have_tensor_maps_over_padding(run_program) -> None:
    program = """
replace_compiler(maps_of_lists=True)
twice(example, x, [y, z], 1)
launched = [by_native(7, 2, example, (x, given, 1)) for given in ([y, empty], [empty, empty], [empty, y], [y, empty])]
print(ct.launch_counts(), driver.record_last().contents.allocations)
print(launched[0] == launched[3], len({each.copied for each in launched}))
"""
    assert run_program(START + program) == ["{'native': 5} 0", "True 3"]


def test_references_to_structures_are_flat(run_program) -> None:
    program = """
import gc, sys

member, arrays = Level.LOW, [y, z]
args = (x, Pair(arrays, (Slotted(y), Ratio.HALF)), Pair(member, 1))
watched = [x, y, z, member, arrays, args, *args, Pair, Slotted, Level, example, Ratio.HALF]
def references():
    gc.collect()
    return [sys.getrefcount(value) for value in watched]

for _ in range(300): ct.launch(0, 1, example, args)
before, objects = references(), len(gc.get_objects())
for _ in range(20000): ct.launch(0, 1, example, args)
print(before == references(), abs(len(gc.get_objects()) - objects) < 10, ct.launch_counts())
"""
    counts = "{'native': 20299, 'first launch of a specialization': 1}"
    assert run_program(START + program) == [f"True True {counts}"]


def test_prepared_structures_are_launched_natively_at_once(run_program) -> None:
    program = """
example.prepare((x, Pair([y, z], Level.LOW), 1))
record([8] * 8)
ct.launch(0, 1, example, (x, Pair([y, z], Level.LOW), 1))
print(ct.launch_counts())
"""
    assert run_program(START + program) == ["{'native': 1}"]
