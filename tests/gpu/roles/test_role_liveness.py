"""Roles terminate unless steps on their channels wait for each other in a cycle: planted deadlocks, each with a twin.

The twin of a deadlock differs from it in one token: a slot, a step ahead of a loop, or the order of two steps.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.walk import operations_named
from tilec.lowering.gpu.schedule.role_liveness import Liveness, liveness
from tilec.text_input.stage_module import read_stage_module

STEPS = {
    "put": "%{c}{n} = tile_gpu.put_begin %{c} : channel<[!s]>",
    "commit": "tile_gpu.put_commit %{c} : channel<[!s]>",
    "get": "%{c}{n} = tile_gpu.get %{c} consumer 0 : channel<[!s]>",
    "release": "tile_gpu.release %{c} consumer 0 : channel<[!s]>",
    "skip": "tile_gpu.skip %{c} consumer 0 by %one : channel<[!s]>, i32",
    "wait": "tile_gpu.order_wait",
    "signal": "tile_gpu.order_signal",
    "first": "tile_gpu.order_signal first",
    "last": "tile_gpu.order_wait last",
}
FILL, TAKE = "put {0}, commit {0}", "get {0}, release {0}"
CLOSE = "}"


def head(slots: dict[str, int]) -> str:
    """The start of a kernel with rings from `load` to threads, by name, and two from threads to threads."""
    rings = {"x": 1, "y": 1, "a": 1, "b": 1} | slots
    producers = {name: "threads" if name in "ab" else "tma" for name in rings}
    lines = [
        "!s = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>",
        'tile_gpu.kernel @k(%n: i32, %c: i1) target "sm_90a" warps 8 {',
        "%zero = arith.constant 0 : i32",
        "%one = arith.constant 1 : i32",
        "%two = arith.constant 2 : i32",
    ]
    for name, count in rings.items():
        party = f"producer {producers[name]} consumers [threads] reuse ring"
        lines.append(f"%{name} = tile_gpu.make_channel stages {count} {party} : channel<[!s]>")
    return "\n".join(lines)


class Code:
    """The lines of a role, with a number of its own for each slot."""

    def __init__(self) -> None:
        self.number = 0

    def text(self, steps: str) -> str:
        """The lines of steps such as `get x, for(release x), if(put a | commit a)`; `for(..)` has %n iterations.

        `for-1(..)` has one iteration less, with tile_gpu.iterations_ahead; `two(..)` has two, and `no(..)` none.
        """
        lines, rest = [], steps.strip()
        while rest:
            word = next((word for word in ("for-1(", "for(", "two(", "no(", "if(") if rest.startswith(word)), None)
            if word is None:
                step, _, rest = rest.partition(",")
                name, _, channel = step.strip().partition(" ")
                self.number += 1
                lines.append(STEPS[name].format(c=channel, n=self.number))
            else:
                inside, rest = self._inside(rest[len(word) :])
                lines.append(self._block(word, inside))
            rest = rest.strip(" ,")
        return "\n".join(lines)

    @staticmethod
    def _inside(text: str) -> tuple[str, str]:
        depth = 1
        for place, letter in enumerate(text):
            depth += (letter == "(") - (letter == ")")
            if not depth:
                return text[:place], text[place + 1 :]
        raise AssertionError("a parenthesis is closed")

    def _block(self, word: str, inside: str) -> str:
        self.number += 1
        number = self.number
        if word == "if(":
            first, _, second = inside.partition("|")
            return f"scf.if %c id 7 {{\n{self.text(first)}\n}} else {{\n{self.text(second)}\n}}"
        bound, end = {"two(": "two", "no(": "zero"}.get(word, "n"), "}"
        if word == "for-1(":
            end = "} {tile_gpu.iterations_ahead = 1 : i32}"
        depth_id = 1 if inside.count("for(") else 2
        return f"scf.for %i{number} = %zero to %{bound} step %one : i32 id {depth_id} {{\n{self.text(inside)}\n{end}"


def kernel_of(compute: str, load: str, compute1: str | None = None, **slots: int) -> KernelOp:
    roles = [f"compute warps 8 {{\n{Code().text(compute)}\n{CLOSE}"]
    if compute1 is not None:
        roles.append(f"compute1 warps 8 {{\n{Code().text(compute1)}\n{CLOSE}")
    roles.append(f"load warps 1 {{\n{Code().text(load)}\n{CLOSE}")
    module = read_stage_module(f"{head(slots)}\ntile_gpu.roles {' '.join(roles)}\n{CLOSE}\n", "kernel.mlir")
    (kernel,) = operations_named(module, ("tile_gpu.kernel",))
    # The module of a kernel lives as long as something refers to it.
    MODULES.append(module)
    return kernel


MODULES: list[object] = []


def live(compute: str, load: str, compute1: str | None = None, **slots: int) -> Liveness:
    return liveness(kernel_of(compute, load, compute1, **slots))


X, Y, A, B = (FILL.format(name) for name in "xyab")
GET_X, GET_Y, GET_A, GET_B = (TAKE.format(name) for name in "xyab")
TWO_OF_X = "get x, get x, release x, release x"
# The steps of `compute`, `load` and perhaps `compute1`, and the slots of rings that have several.
Roles = tuple[str, str, str | None, dict[str, int]]
# Deadlocks, each with a live twin.
PLANTED: dict[str, tuple[Roles, Roles]] = {
    # `compute` has all slots of x when it waits for another one.
    "a ring with too few slots": (
        (f"for({TWO_OF_X})", f"for({X}, {X})", None, {}),
        (f"for({TWO_OF_X})", f"for({X}, {X})", None, {"x": 2}),
    ),
    # Without loops only the first put that finds no free slot waits.
    "a ring outside of loops": (
        (TWO_OF_X, f"{X}, {X}", None, {}),
        (TWO_OF_X, f"{X}, {X}", None, {"x": 2}),
    ),
    # Each role waits for what the other one gives after it. In the twin b is given an iteration ahead.
    "full and full": (
        (f"for({GET_B}, {A})", "", f"for({GET_A}, {B})", {}),
        (f"for({GET_B}, {A})", "", f"{B}, for-1({GET_A}, {B}), {GET_A}", {}),
    ),
    # Each role keeps a slot of one ring until it has a slot of the other one.
    "free and free": (
        (f"{A}, for-1(get b, {A}, release b), {GET_B}", "", f"{B}, for-1(get a, {B}, release a), {GET_A}", {}),
        (f"{A}, for-1(get b, {A}, release b), {GET_B}", "", f"{B}, for-1(get a, {B}, release a), {GET_A}", {"a": 2}),
    ),
    # Loads fill x twice before they fill y, with which the threads begin.
    "full and free": (
        ("for(get y, get x, release x, get x, release x, release y)", f"for({X}, {X}, {Y})", None, {}),
        ("for(get y, get x, release x, get x, release x, release y)", f"for({X}, {X}, {Y})", None, {"x": 2}),
    ),
    # A slot is released when the threads have that of the next iteration.
    "across the back edge": (
        ("get x, for-1(get x, release x), release x", f"for({X})", None, {}),
        ("get x, for-1(get x, release x), release x", f"for({X})", None, {"x": 2}),
    ),
    # The loads are an iteration ahead in one ring, and wait in it for the slot that is released after the other one.
    "a loop whose first loads precede it": (
        ("for(get x, get y, release y, release x)", f"{X}, for-1({X}, {Y}), {Y}", None, {}),
        ("for(get x, get y, release y, release x)", f"{X}, for-1({X}, {Y}), {Y}", None, {"x": 2}),
    ),
    "a region of a branch": (
        (f"for(if({GET_X} | {TWO_OF_X}))", f"for(if({X} | {X}, {X}))", None, {}),
        (f"for(if({GET_X} | {TWO_OF_X}))", f"for(if({X} | {X}, {X}))", None, {"x": 2}),
    ),
    "a nested loop": (
        (f"for(get y, for({TWO_OF_X}), release y)", f"for({Y}, for({X}, {X}))", None, {}),
        (f"for(get y, for({TWO_OF_X}), release y)", f"for({Y}, for({X}, {X}))", None, {"x": 2}),
    ),
    # The loads fill y again before the inner loop; the threads release it after the loop.
    "an outer loop": (
        (f"for(get y, get y, for({GET_X}), release y, release y)", f"for({Y}, {Y}, for({X}))", None, {}),
        (f"for(get y, get y, for({GET_X}), release y, release y)", f"for({Y}, {Y}, for({X}))", None, {"y": 2}),
    ),
    # The slot that the threads get before both loops is released after them.
    "a ring of two loops": (
        ("get x, for(get x, release x), two(get x, release x), release x", f"{X}, for({X}), two({X})", None, {}),
        ("get x, for(get x, release x), two(get x, release x), release x", f"{X}, for({X}), two({X})", None, {"x": 2}),
    ),
    # The second warpgroup releases x when the first one has issued, which waits for the next slot of x.
    "the order of warpgroups": (
        (f"first, for(wait, {GET_X}, {GET_X}, signal), last", f"for({X}, {X})", None, {}),
        (f"first, for(wait, {GET_X}, {GET_X}, signal), last", f"for({X}, {X})", None, {"x": 2}),
    ),
    # Without the signal to the first warpgroup before the loop none of them starts.
    "the order of warpgroups without a start": (
        ("for(wait, signal)", "", None, {}),
        ("first, for(wait, signal), last", "", None, {}),
    ),
    # Two roles have alternate iterations of the loads. The first one waits for the end of the iteration after its own.
    "alternate iterations": (
        (f"for({GET_B}, {GET_X}, {A}, skip x)", f"for({X})", f"for(skip x, {GET_A}, {GET_X}, {B})", {}),
        (f"for({GET_X}, {A}, {GET_B}, skip x)", f"for({X})", f"for(skip x, {GET_A}, {GET_X}, {B})", {}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_planted_deadlock_and_its_live_twin(name: str) -> None:
    (*deadlock, slots), (*twin, more) = PLANTED[name]
    found = live(*deadlock, **slots)
    assert found.is_deadlock, found.problem
    assert live(*twin, **more) == Liveness()


def test_problem_names_the_steps_of_the_cycle_and_their_lines() -> None:
    found = live(f"for({GET_Y}, {GET_X}, {GET_X})", f"for({X}, {X}, {Y})")
    ring = "of the ring of one slot from tma to threads"
    assert found.problem == (
        f"role 'compute' waits in get {ring} (kernel.mlir:12:7) for role 'load' to execute put_commit {ring} "
        f"(kernel.mlir:26:1); role 'load' waits in put_begin {ring} (kernel.mlir:23:7) for role 'compute' to execute "
        f"release {ring} (kernel.mlir:15:1)"
    )


@pytest.mark.parametrize(
    ("compute", "load", "problem"),
    [
        # No role fills y.
        (f"for({GET_X}, {GET_Y})", f"for({X})", "get of the ring of one slot from tma to threads (kernel.mlir:14:7)"),
        # A slot that is never released stops the loads, and so do slots that no role gets.
        ("for(get x)", f"for({X})", "put_begin of the ring of one slot from tma to threads (kernel.mlir:16:7)"),
        (f"for({GET_X})", f"for({X}, {Y})", "put_begin of the ring of one slot from tma to threads (kernel.mlir:19:7)"),
        (
            f"{GET_X}, {GET_X}, {GET_X}",
            f"two({X})",
            "get of the ring of one slot from tma to threads (kernel.mlir:15:7)",
        ),
    ],
)
def test_steps_that_nothing_answers_are_no_proof(compute: str, load: str, problem: str) -> None:
    assert live(compute, load) == Liveness(f"{problem} waits for more steps than the other roles have")


def test_steps_without_the_loop_that_another_role_has() -> None:
    """A loop of two iterations may be in one role alone."""
    assert live(f"{GET_X}, {GET_X}", f"two({X})") == Liveness()


def test_loop_in_a_loop_without_iterations() -> None:
    assert live(f"no(for({GET_X}))", f"no(for({X}))") == Liveness()
    assert live(f"no(for({TWO_OF_X})), {TWO_OF_X}", f"no(for({X}, {X})), {X}, {X}").is_deadlock


def test_loop_in_a_region_beside_one_with_a_deadlock() -> None:
    assert live(f"for(if(for({GET_X}) | {TWO_OF_X}))", f"for(if(for({X}) | {X}, {X}))").is_deadlock
    assert live(f"for(if(for({GET_X}) | {TWO_OF_X}))", f"for(if(for({X}) | {X}, {X}))", x=2) == Liveness()


def test_branch_of_one_role_alone_is_no_proof() -> None:
    found = live(f"for(if({GET_X} | ))", f"for({X})")
    ring = "the ring of one slot from tma to threads"
    assert found == Liveness(f"a region of branch 7 has steps of some parties of {ring} alone")


def test_two_roles_that_are_one_consumer_without_skips_deadlock() -> None:
    found = live(f"for({GET_X})", f"for({X})", f"for({GET_X})")
    step = "get of the ring of one slot from tma to threads (kernel.mlir:17:7)"
    problem = f"roles 'compute' and 'compute1' count apart how often they execute {step}"
    assert found == Liveness(problem, is_deadlock=True)


def nested(depth: int, innermost: str, outermost: str) -> str:
    return f"for({outermost}{', ' if outermost else ''}{'for(' * (depth - 1)}{innermost}{')' * depth}"


def test_deep_nest_of_loops() -> None:
    assert live(nested(5, GET_X, GET_Y), nested(5, X, Y)) == Liveness()
    assert live(nested(5, TWO_OF_X, GET_Y), nested(5, f"{X}, {X}", Y)).is_deadlock


def test_loops_with_too_many_executions_are_no_proof() -> None:
    assert live(nested(20, GET_X, ""), nested(20, X, "")) == Liveness("a role has more than 50000 steps")


# ---- beside executions of random roles


class Program:
    """A random program of three roles: steps on rings before a loop, in it and after it, with one branch."""

    def __init__(self, seed: int) -> None:
        choose = random.Random(seed)
        self.slots = {name: choose.randint(1, 3) for name in "xyab"}
        self.parts: dict[str, list[list[str]]] = {
            "compute": [[], [], []],
            "load": [[], [], []],
            "compute1": [[], [], []],
        }
        self.ahead = {role: choose.choice((0, 0, 1)) for role in self.parts}
        for ring in choose.sample("xyab", choose.randint(1, 4)):
            producer = "load" if ring in "xy" else choose.choice(("compute", "compute1"))
            consumer = choose.choice(["compute", "compute1"])
            rounds = choose.choice((1, 1, 2))
            for role, steps in ((producer, ["put", "commit"]), (consumer, ["get", "release"])):
                self._add(choose, role, ring, steps, rounds)

    def _add(self, choose: random.Random, role: str, ring: str, steps: list[str], rounds: int) -> None:
        """Adds the steps of a party to the loop, mixed with others; with one ahead some are before it too."""
        own = [f"{step} {ring}" for _ in range(rounds) for step in steps]
        if rounds == 2 and steps[0] == "get" and choose.random() < 0.5:
            own = [own[0], own[2], own[1], own[3]]
        front, body, behind = self.parts[role]
        cut = choose.randint(0, len(own)) if self.ahead[role] else 0
        # A slot is used in one iteration.
        cut -= cut % 2
        mixed(choose, front, own[:cut])
        mixed(choose, body, own[cut:] + own[:cut] if cut else own)
        mixed(choose, behind, own[cut:] if self.ahead[role] else [])

    def kernel(self) -> KernelOp:
        texts = {}
        for role, (front, body, behind) in self.parts.items():
            loop = f"for{'-1' if self.ahead[role] else ''}({', '.join(body)})"
            texts[role] = ", ".join([*front, loop, *behind])
        return kernel_of(texts["compute"], texts["load"], texts["compute1"], **self.slots)

    def ends(self, iterations: int) -> bool:
        """Whether all roles end, with a number of iterations."""
        codes = [
            [*front, *body * (iterations - self.ahead[role]), *behind]
            for role, (front, body, behind) in self.parts.items()
        ]
        return end(codes, self.slots)


def end(codes: list[list[str]], slots: dict[str, int]) -> bool:
    """Whether all roles end, of which each goes on as long as it can; their steps are counted."""
    counts: Counter[str] = Counter()
    places = [0] * len(codes)
    is_going_on = True
    while is_going_on:
        is_going_on = False
        for role, code in enumerate(codes):
            while places[role] < len(code) and can_go_on(code[places[role]], counts, slots):
                counts[code[places[role]]] += 1
                places[role] += 1
                is_going_on = True
    return places == list(map(len, codes))


def can_go_on(step: str, counts: Counter[str], slots: dict[str, int]) -> bool:
    name, ring = step.split()
    if name == "get":
        return counts[f"commit {ring}"] > counts[step]
    return name != "put" or counts[step] - counts[f"release {ring}"] < slots[ring]


def mixed(choose: random.Random, steps: list[str], more: list[str]) -> None:
    """Adds further steps in their order at random places."""
    place = 0
    for step in more:
        place = choose.randint(place, len(steps))
        steps.insert(place, step)
        place += 1


@pytest.mark.parametrize("seed", range(200))
def test_random_roles_terminate_where_their_execution_does(seed: int) -> None:
    program = Program(seed)
    found = liveness(program.kernel())
    ends = [program.ends(iterations) for iterations in range(1, 20)]
    assert found.is_proven == all(ends), found.problem


@pytest.mark.parametrize("seed", range(100))
def test_random_branches_terminate_whatever_regions_they_take(seed: int) -> None:
    choose = random.Random(seed)
    slots = {name: choose.randint(1, 3) for name in "xy"}
    regions: list[tuple[list[str], list[str]]] = []
    for _ in range(2):
        gets: list[str] = []
        puts: list[str] = []
        for ring in "xy":
            rounds = choose.randint(0, 2)
            own = [f"{step} {ring}" for _ in range(rounds) for step in ("get", "release")]
            mixed(choose, gets, [own[0], own[2], own[1], own[3]] if rounds == 2 and choose.random() < 0.3 else own)
            mixed(choose, puts, [f"{step} {ring}" for _ in range(rounds) for step in ("put", "commit")])
        regions.append((gets, puts))
    compute, load = (f"for(if({' | '.join(', '.join(region[role]) for region in regions)}))" for role in range(2))
    is_proven = live(compute, load, **slots).is_proven
    for _ in range(20):
        taken = [choose.choice(regions) for _ in range(12)]
        codes = [[step for region in taken for step in region[role]] for role in range(2)]
        assert end(codes, slots) or not is_proven
    # The other way round, where a branch takes one region alone.
    if not is_proven:
        always = [[region[role] * 12 for role in range(2)] for region in regions]
        both = [(regions[0][role] + regions[1][role]) * 12 for role in range(2)]
        assert not all(end(codes, slots) for codes in (*always, both))
