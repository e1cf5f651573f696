"""Native launches pass to the driver what the Python path passes, and take over from the second launch on."""

from __future__ import annotations

KERNEL = """
@ct.kernel
def example(x, y, scale, n: ct.Constant): pass

x, y = Interface(0x10000, (64, 32)), Interface(0x20000, (32, 64))
replace_compiler()
"""


def test_second_launch_is_native_and_equal(run_program) -> None:
    program = """
first = by_native(7, (4, 2), example, (x, y, 1.5, 8))
print(ct.launch_counts())
print(first == by_native(7, (4, 2), example, (x, y, 1.5, 8)) == by_python(7, (4, 2), example, (x, y, 1.5, 8)))
print(ct.launch_counts())
"""
    assert run_program(KERNEL + program) == [
        "{'first launch of a specialization': 1}",
        "True",
        "{'native': 1, 'first launch of a specialization': 1}",
    ]


def test_parameters_are_the_entry_arguments(run_program) -> None:
    program = """
for _ in range(2):
    launched = by_native(0x70, (4, 2), example, (x, y, 1.5, 8))
print([int.from_bytes(value, "little") for value in launched.parameters if len(value) < 128])
print(launched.grid, launched.block, hex(launched.stream), hex(launched.context))
"""
    assert run_program(KERNEL + program) == [
        f"[{0x10000}, 64, 32, 32, 1, {0x20000}, 32, 64, 64, 1, {0x3FC00000}]",
        "(4, 2, 1) (128, 1, 1) 0x70 0x1000",
    ]


def test_programmatic_dependent_launch_is_an_attribute(run_program) -> None:
    # cuda.h: CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION is 4, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION is 6.
    program = """
replace_compiler(cluster=(2, 1, 1))
for path in (by_python, by_native, by_native):
    for overlap in (False, True):
        print(path(0, 4, example, (x, y, 1.5, 8), programmatic_dependent_launch=overlap).attributes)
"""
    plain, overlapping = "((4, (2, 1, 1)),)", "((4, (2, 1, 1)), (6, (1, 0, 0)))"
    assert run_program(KERNEL + program) == [plain, overlapping] * 3


def test_cluster_only_if_the_grid_is_divisible(run_program) -> None:
    program = """
replace_compiler(cluster=(2, 1, 1), cluster_if_divisible=True)
for path in (by_python, by_native, by_native):
    for grid in (4, 3):
        launched = path(0, grid, example, (x, y, 1.5, 8))
        print(launched.grid, launched.attributes)
"""
    assert run_program(KERNEL + program) == ["(4, 1, 1) ((4, (2, 1, 1)),)", "(3, 1, 1) ()"] * 3


def test_grid_counts_clusters(run_program) -> None:
    """A grid of tile blocks, each of which is a cluster; the second one has more blocks than CUDA permits."""
    program = """
replace_compiler(cluster=(2, 1, 1), grid_counts_clusters=True)
for path in (by_python, by_native, by_native):
    launched = path(0, (3, 5), example, (x, y, 1.5, 8))
    print(launched.grid, launched.attributes)
    print(path(0, 2**30, example, (x, y, 1.5, 8))[1])
"""
    launched = "(6, 5, 1) ((4, (2, 1, 1)),)"
    refused = "error: the grid needs extents of at most (2147483647, 65535, 65535), got (2147483648, 1, 1)"
    assert run_program(KERNEL + program) == [launched, refused] * 3


def test_prepared_kernel_is_launched_natively_at_once(run_program) -> None:
    program = """
example.prepare((x, y, 1.5, 8))
print(launches(), driver.record_loads())
record([8])
ct.launch(0, 1, example, (x, y, 1.5, 8))
print(launches(), driver.record_loads(), ct.launch_counts())
"""
    assert run_program(KERNEL + program) == ["0 1", "1 1 {'native': 1}"]


def test_address_between_elements_is_refused(run_program) -> None:
    # The specialization of addresses that are not multiples of 16 bytes requires those of 4, the size of an element.
    program = """
for address in (0x10004, 0x10008, 0x10002):
    found = by_native(0, 1, example, (Interface(address, (64, 32)), y, 1.5, 8))
    print(found[1] if isinstance(found, tuple) else "launched")
"""
    needed = "error: argument 'x' needs an address that is a multiple of 4 bytes, got 0x10002"
    assert run_program(KERNEL + program) == ["launched", "launched", needed]
