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


def lines(steps: str, first: int = 0) -> str:
    """The steps of a text such as `get x, release x`, whose slots have numbers from the first one on."""
    words = [step.split() for step in steps.split(", ") if step]
    return "\n".join(STEPS[name].format(c=channel, n=number) for number, (name, channel) in enumerate(words, first))


def progress(compute: str, load: str) -> bool:
    """Whether both roles end, each of which executes its steps in a loop."""
    loops = [f"scf.for %i = %zero to %n step %one : i32 {{\n{lines(steps)}\n}}" for steps in (compute, load)]
    text = f"{HEAD}tile_gpu.roles compute warps 4 {{\n{loops[0]}\n}} load warps 1 {{\n{loops[1]}\n}}\n}}\n"
    return ends_of(text)


def ends_of(text: str) -> bool:
    module = read_stage_module(text, "kernel.mlir")
    (kernel,) = operations_named(module, ("tile_gpu.kernel",))
    return roles_progress(kernel, kernel)


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


def with_branches(compute: str, load: str) -> str:
    """Two roles with a loop of the steps around `(first | second)`, which are those of one branch."""

    def body(steps: str) -> str:
        before, _, rest = steps.partition("(")
        branch, _, after = rest.partition(")")
        first, _, second = (part.strip() for part in branch.partition("|"))
        inside = f"scf.if %c id 7 {{\n{lines(first, 10)}\n}} else {{\n{lines(second, 20)}\n}}"
        parts = (lines(before.strip()), inside if rest else "", lines(after.strip(), 30))
        return "\n".join(("scf.for %i = %zero to %n step %one : i32 {", *parts, "}"))

    text = HEAD.replace("%n: i32", "%n: i32, %c: i1")
    return f"{text}tile_gpu.roles compute warps 4 {{\n{body(compute)}\n}} load warps 1 {{\n{body(load)}\n}}\n}}\n"


ONE_OF_BOTH = ("(get x, release x | get y, release y)", "(put x, commit x | put y, commit y)")
TWO_OF_X = "put x, commit x, put x, commit x"


@pytest.mark.parametrize(
    ("compute", "load", "ends"),
    [
        (*ONE_OF_BOTH, True),
        # The only slot of x is filled again when it is released, behind the second one.
        ("(get x, release x | get x, get x, release x, release x)", f"(put x, commit x | {TWO_OF_X})", False),
        ("get y, release y (| get x, release x)", "put y, commit y (| put x, commit x)", True),
        # In front of y the loads fill x twice, which has one slot, released behind y.
        ("get y, release y (| get x, release x, get x, release x)", f"(| {TWO_OF_X}) put y, commit y", False),
    ],
)
def test_roles_end_whichever_region_a_branch_takes(compute: str, load: str, ends: bool) -> None:
    module = read_stage_module(with_branches(compute, load), "kernel.mlir")
    (kernel,) = operations_named(module, ("tile_gpu.kernel",))
    ended = read_stage_module(with_branches(*ONE_OF_BOTH), "kernel.mlir")
    (before,) = operations_named(ended, ("tile_gpu.kernel",))
    assert roles_progress(kernel, before) == ends


@pytest.mark.parametrize(("gets", "ends"), [(2, True), (3, False)])
def test_loop_of_few_iterations_has_just_these(gets: int, ends: bool) -> None:
    """Another role may have the steps of two iterations without a loop."""
    compute = lines(", ".join(["get x, release x"] * gets))
    text = f"""{HEAD}
  %two = arith.constant 2 : i32
  tile_gpu.roles compute warps 4 {{
    {compute}
  }} load warps 1 {{
    scf.for %i = %zero to %two step %one : i32 {{
      {lines("put x, commit x")}
    }}
  }}
}}
"""
    assert ends_of(text) == ends


def in_loops(inside: str, depth: int, outer: str = "") -> str:
    """Nested loops around a branch with some steps; those of `outer` are in the outermost loop alone."""
    heads = [f"scf.for %i{number} = %zero to %n step %one : i32 {{" for number in range(depth)]
    branch = ["scf.if %c id 7 {", lines(inside), "}"]
    return "\n".join([heads[0], lines(outer, 10), *heads[1:], *branch, *["}"] * depth])


def nest(depth: int, compute: tuple[str, str], load: tuple[str, str]) -> str:
    """Two roles with nested loops: the steps of the innermost and of the outermost one."""
    loops = [in_loops(inside, depth, outer) for inside, outer in (compute, load)]
    text = HEAD.replace("%n: i32", "%n: i32, %c: i1")
    return f"{text}tile_gpu.roles compute warps 4 {{\n{loops[0]}\n}} load warps 1 {{\n{loops[1]}\n}}\n}}\n"


@pytest.mark.parametrize(
    ("compute", "load", "ends"),
    [
        (("get x, release x", ""), ("put x, commit x", ""), True),
        (("get x, get x, release x, release x", ""), (TWO_OF_X, ""), False),
        (("get x, release x", "get y, release y"), ("put x, commit x", "put y, commit y"), True),
        # The third iteration of the outermost loop waits for a slot of y.
        (("get x, release x", "get y"), ("put x, commit x", "put y, commit y"), False),
    ],
)
def test_outer_loops_have_fewer_iterations_in_a_deep_nest(
    compute: tuple[str, str], load: tuple[str, str], ends: bool
) -> None:
    """Six loops of seven iterations each have half a million steps, in each of several choices."""
    assert ends_of(nest(6, compute, load)) == ends


def test_steps_that_take_too_long_to_execute_are_not_known() -> None:
    assert not ends_of(nest(20, ("get x, release x", ""), ("put x, commit x", "")))
