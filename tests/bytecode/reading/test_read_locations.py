"""Locations of operations are those of the debug section, or else the number of the operation in its kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
from file_assembler import Kernel

from tilec.dialect.mlir import ir
from tilec.errors import InputError, VerificationError
from tilec.text_input.module import Module

INTEGER = ("10 01 02 00", "03", "0D 01 00")
LOOP = "29 00 03 00 00 00 01  01 01 02 01 11 00 00"


def locations(kernel: Kernel) -> list[str]:
    found: list[str] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        found.append(str(operation.location).removeprefix("loc(").removesuffix(")"))
        return ir.WalkResult.ADVANCE

    module = Module.parse(kernel.bytes(), "k.tileirbc")
    module.ir.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def test_operations_are_numbered_in_their_kernel() -> None:
    # The module, the kernel, absi, for, continue, return.
    kernel = Kernel(f"01 02 00 {LOOP}", INTEGER)
    assert locations(kernel) == ['"k.tileirbc":0:0', *[f'"k.tileirbc:@k":{number}:0' for number in range(5)]]


def test_arguments_have_the_location_of_their_kernel_or_loop() -> None:
    module = Module.parse(Kernel(LOOP, INTEGER).bytes(), "k.tileirbc")
    (entry,) = module.ir.body.operations
    (loop, _) = entry.body.blocks[0].operations
    assert str(entry.body.blocks[0].arguments[0].location) == 'loc("k.tileirbc:@k":0:0)'
    assert str(loop.body.blocks[0].arguments[0].location) == 'loc("k.tileirbc:@k":1:0)'


def test_location_of_a_global_is_its_name() -> None:
    types = ("10 00 00", "03", "0D 01 01 01 00 00 00 00 00 00 00")
    kernel = Kernel(types=types, strings=("k", "g"), constants=("00 00 00 00",), globals="01 01 02 00 00")
    assert locations(kernel)[1] == '"k.tileirbc:@g":0:0'


# 1: file "a.py" in "/d"; 2: its compile unit; 3: a subprogram; 4: a location in it, line 7, column 9.
ENTRIES = ["02 01 02", "01 01", "05 01 05 00 00 02 05", "04 03 01 07 09"]


def debug(indices: list[int]) -> str:
    numbers = "".join(index.to_bytes(8, "little").hex() for index in indices)
    starts, content = [], ""
    for entry in ENTRIES:
        starts.append((len(bytes.fromhex(content))).to_bytes(4, "little").hex())
        content += entry
    head = bytes.fromhex(f"01 CB CB CB 00 00 00 00 {len(indices):02x}")
    head += b"\xcb" * (-len(head) % 8) + bytes.fromhex(numbers + f"{len(ENTRIES):02x}")
    head += b"\xcb" * (-len(head) % 4) + bytes.fromhex("".join(starts) + content)
    return head.hex()


def test_locations_of_the_debug_section() -> None:
    kernel = Kernel("01 02 00", INTEGER, ("k", "a.py", "/d"), debug=debug([4, 4, 0]), locations=1)
    _, entry, absi, ret = locations(kernel)
    assert '"a.py":7:9' in entry and entry == absi
    # Without an entry in the debug section, the location is the number of the operation.
    assert ret == '"k.tileirbc:@k":2:0'


def test_kernel_without_debug_info_has_numbers() -> None:
    kernel = Kernel("01 02 00", INTEGER, ("k", "a.py", "/d"), debug=debug([4, 4, 0]))
    assert locations(kernel)[1:] == [f'"k.tileirbc:@k":{number}:0' for number in range(3)]


@pytest.mark.parametrize(
    ("kernel", "location", "message"),
    [
        (
            Kernel("01 02 00", INTEGER, ("k", "a.py", "/d"), debug=debug([4, 4]), locations=1),
            ":@k:2",
            "location 2 is out",
        ),
        (
            Kernel("01 02 00", INTEGER, ("k", "a.py", "/d"), debug=debug([4, 9]), locations=1),
            ":@k:1",
            "debug info index 8",
        ),
        (
            Kernel("01 02 00", INTEGER, ("k", "a.py", "/d"), debug=debug([1, 4]), locations=1),
            ":@k",
            "expected a location",
        ),
        (
            Kernel("01 02 00", INTEGER, ("k", "a.py", "/d"), debug=debug([4]), locations=2),
            ":@k",
            "expected one of 1 lists",
        ),
        (Kernel("", INTEGER, debug="7F"), "", "expected 127 lists of locations, but only 0 bytes are left"),
    ],
)
def test_invalid_location_is_reported_for_its_user(kernel: Kernel, location: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Module.parse(kernel.bytes(), "k.tileirbc")
    assert str(caught.value).startswith(f"k.tileirbc{location}: error: ")
    assert "(debug section)" in caught.value.message and message in caught.value.message


def test_errors_do_not_quote_bytes_as_source_lines(tmp_path: Path) -> None:
    path = tmp_path / "k.tileirbc"
    path.write_bytes(Kernel("03 02 00 00 00 06 02 08 03 00 00", INTEGER).bytes())
    with pytest.raises(VerificationError) as caught:
        Module.read(path)
    assert str(caught.value) == (
        f"{path}:@k:2: error: 'cuda_tile.assume' op div_by: divisor must be a power of two up to 2^62, but got 3"
    )
