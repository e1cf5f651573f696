"""Whether roles end is known from the steps on their channels alone."""

from __future__ import annotations

import pytest

from tilec.dialect.walk import operations_named
from tilec.lowering.gpu.roles_progress import roles_progress
from tilec.text_input.stage_module import read_stage_module

HEAD = """
!s = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
tile_gpu.kernel @k(%n: i32) target "sm_90a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %x = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring : channel<[!s]>
  %y = tile_gpu.make_channel stages 2 producer tma consumers [threads] reuse ring : channel<[!s]>
"""
STEPS = {
    "put": "%{c}{n} = tile_gpu.put_begin %{c} : channel<[!s]>",
    "commit": "tile_gpu.put_commit %{c} : channel<[!s]>",
    "get": "%{c}{n} = tile_gpu.get %{c} consumer 0 : channel<[!s]>",
    "release": "tile_gpu.release %{c} consumer 0 : channel<[!s]>",
}


def lines(steps: str) -> str:
    """The steps of a text such as `get x, release x`."""
    words = [step.split() for step in steps.split(", ")]
    return "\n".join(STEPS[name].format(c=channel, n=number) for number, (name, channel) in enumerate(words))


def progress(compute: str, load: str) -> bool:
    """Whether both roles end, each of which executes its steps in a loop."""
    loops = [f"scf.for %i = %zero to %n step %one : i32 {{\n{lines(steps)}\n}}" for steps in (compute, load)]
    text = f"{HEAD}tile_gpu.roles compute warps 4 {{\n{loops[0]}\n}} load warps 1 {{\n{loops[1]}\n}}\n}}\n"
    return ends_of(text)


def ends_of(text: str) -> bool:
    module = read_stage_module(text, "kernel.mlir")
    (kernel,) = operations_named(module, ("tile_gpu.kernel",))
    return roles_progress(kernel)


PUT_BOTH = "put x, commit x, put y, commit y"


@pytest.mark.parametrize(
    ("compute", "load", "ends"),
    [
        ("get x, release x, get y, release y", PUT_BOTH, True),
        # The loads fill x first; two slots of y are filled meanwhile.
        ("get y, get x, release x, release y", PUT_BOTH, True),
        # The only slot of x is filled again when it is released, behind which the loads fill y.
        ("get x, get y, release y, release x", PUT_BOTH, True),
        ("get x, get x, release x, release x", "put x, commit x, put x, commit x", False),
        ("get y, get y, release y, release y", "put y, commit y, put y, commit y", True),
        ("get y, get y, get y, " + ", ".join(["release y"] * 3), ", ".join(["put y, commit y"] * 3), False),
        # Nobody fills y.
        ("get x, release x, get y, release y", "put x, commit x", False),
        # A slot that is never released stops the loads, and so do slots that nobody gets.
        ("get x", "put x, commit x", False),
        ("get x, release x", PUT_BOTH, False),
    ],
)  # fmt: skip
def test_roles_end(compute: str, load: str, ends: bool) -> None:
    assert progress(compute, load) == ends


def test_roles_that_skip_slots_are_not_known() -> None:
    text = f"""{HEAD}
  tile_gpu.roles compute warps 4 {{
    tile_gpu.skip %x consumer 0 by %one : channel<[!s]>, i32
  }} load warps 1 {{
  }}
}}
"""
    assert not ends_of(text)
