"""Vectors of control: branches and loops, every terminator, and carried values of every type."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from pointer_vectors import half_bytes
from program import Program, pointer_type, tile_type
from sample import INTEGERS, NUMBERS, codes

I32 = "tile<i32>"
SHAPE = (4,)
BOTH = (0, 1)


def program_of(*operations: str, case: str, edges: tuple[str, ...] = ()) -> Program:
    return Program(*operations, case=case, **({"edges": list(edges)} if edges else {}))


def if_result(element: str, condition: int) -> dict[str, Any]:
    """An if that yields a tile of each branch."""
    program = program_of("if", "yield", case=f"tiles of {element}, {bool(condition)}")
    a, b = (codes(element, seed, SHAPE[0]) for seed in ("then", "else"))
    condition_operand, kind = program.scalar("i1", condition), tile_type(element, SHAPE)
    x, y = program.loaded_tile(element, a, SHAPE), program.loaded_tile(element, b, SHAPE)
    value = program.let(f"if {condition_operand} -> ({kind}) {{ yield {x} : {kind} }} else {{ yield {y} : {kind} }}")
    program.expect(value, element, a if condition else b, SHAPE)
    return program.record()


def effects(condition: int, otherwise: bool) -> dict[str, Any]:
    """An if without results, with and without an else."""
    program = program_of("if", case=f"no result, {'else, ' if otherwise else ''}{bool(condition)}")
    condition_operand = program.scalar("i1", condition)
    expected = 1 if condition else 2 if otherwise else 9
    pointer = program.buffer("i32", [9], [expected])
    one, two = program.constant("i32", 1), program.constant("i32", 2)
    store = "%t{0} = store_ptr_tko weak {1}, {2} : tile<ptr<i32>>, tile<i32> -> token"
    other = f" else {{ {store.format(1, pointer, two)} }}" if otherwise else ""
    program.line(f"if {condition_operand} {{ {store.format(0, pointer, one)} }}{other}")
    return program.record()


def nested(outer: int, inner: int) -> dict[str, Any]:
    """Ifs within ifs that yield two values and a token."""
    program = program_of("if", "yield", case=f"nested, {bool(outer)}, {bool(inner)}")
    a, b = program.scalar("i1", outer), program.scalar("i1", inner)
    pointer = program.buffer("i32", None, [10 * outer + inner])
    numbers = [program.constant("i32", number) for number in (0, 1, 10, 11)]
    start = program.let("make_token : token")
    types = f"{I32}, {I32}, token"

    def branch(low: str, high: str) -> str:
        inside = f"yield {low}, {high}, {start} : {types}", f"yield {high}, {low}, %s : {types}"
        stored = f"%s = store_ptr_tko weak {pointer}, {low} token={start} : tile<ptr<i32>>, {I32} -> token"
        return (
            f"%i:3 = if {b} -> ({types}) {{ {stored}\n{inside[1]} }} else {{ {inside[0]} }}\n"
            f"yield %i#0, %i#1, %i#2 : {types}"
        )

    both = [branch(*numbers[2:]), branch(*numbers[:2])]
    program.line(f"%o:3 = if {a} -> ({types}) {{\n{both[0]}\n}} else {{\n{both[1]}\n}}")
    program.let(f"store_ptr_tko weak {pointer}, %o#0 token=%o#2 : tile<ptr<i32>>, {I32} -> token")
    program.expect("%o#1", "i32", [10 * outer + 1 - inner])
    return program.record()


def counter_values(element: str, low: int, high: int, step: int, unsigned: bool) -> dict[str, Any]:
    """The sum and the number of the counter values of a for loop."""
    sign = " unsigned" if unsigned else ""
    program = program_of("for", "continue", case=f"{element}{sign} {low} to {high} step {step}")
    width = int(element[1:])
    bounds = [program.scalar(element, bound % (1 << width)) for bound in (low, high, step)]
    zero, kind = program.constant(element, "false" if width == 1 else 0), tile_type(element)
    count, one = program.constant("i32", 0), program.constant("i32", 1)
    program.line(
        f"%r:2 = for{sign} %i in ({bounds[0]} to {bounds[1]}, step {bounds[2]}) : {kind}"
        f" iter_values(%s = {zero}, %n = {count}) -> ({kind}, {I32}) {{"
    )
    program.line(f"%a = addi %s, %i : {kind}\n%b = addi %n, {one} : {I32}\ncontinue %a, %b : {kind}, {I32}\n}}")
    visited = range(low, high, step)
    program.expect("%r#0", element, [sum(visited) % (1 << width)])
    program.expect("%r#1", "i32", [len(visited)])
    return program.record()


def counters() -> Iterator[dict[str, Any]]:
    for element in INTEGERS[1:]:
        for low, high, step in ((0, 10, 1), (0, 10, 3), (-7, 8, 5), (5, 5, 1), (6, 5, 1), (-3, -2, 4), (1, 100, 26)):
            yield counter_values(element, low, high, step, False)
        half = 1 << int(element[1:]) - 1
        for low, high, step in ((0, 10, 1), (3, 10, 4), (half - 2, half + 9, 3), (2 * half - 9, 2 * half - 4, 2)):
            yield counter_values(element, low, high, step, True)
        yield counter_values(element, half + 5, 3, 1, True)
        yield counter_values(element, -half, -half + 7, 2, False)
    for low, high in ((0, 1), (0, 0)):
        yield counter_values("i1", low, high, 1, True)


def carried_tiles(element: str) -> dict[str, Any]:
    """Two tiles of a type that are swapped in every iteration of a for and of a loop."""
    program = program_of("for", "loop", "break", "continue", case=f"tiles of {element} change places")
    a, b = (codes(element, seed, SHAPE[0]) for seed in ("first", "second"))
    kind = tile_type(element, SHAPE)
    x, y = program.loaded_tile(element, a, SHAPE), program.loaded_tile(element, b, SHAPE)
    zero, one, three = (program.constant("i32", number) for number in (0, 1, 3))
    program.line(
        f"%f:2 = for %i in ({zero} to {three}, step {one}) : {I32}"
        f" iter_values(%p = {x}, %q = {y}) -> ({kind}, {kind}) {{\ncontinue %q, %p : {kind}, {kind}\n}}"
    )
    program.line(
        f"%l:2 = loop iter_values(%p = {x}, %q = {y}, %n = {zero}) : {kind}, {kind}, {I32} -> {kind}, {kind} {{\n"
        f"%e = cmpi equal %n, {three}, signed : {I32} -> tile<i1>\n"
        f"if %e {{ break %p, %q : {kind}, {kind} }}\n"
        f"%m = addi %n, {one} : {I32}\ncontinue %q, %p, %m : {kind}, {kind}, {I32}\n}}"
    )
    for name in ("%f", "%l"):
        program.expect(f"{name}#0", element, b, SHAPE)
        program.expect(f"{name}#1", element, a, SHAPE)
    return program.record()


def pointers(pointee: str) -> dict[str, Any]:
    """A pointer advanced by a for, a pointer advanced and returned by a loop, and a pointer selected by an if."""
    program = program_of("for", "loop", "if", "break", "continue", "yield", case=f"pointers to {pointee}")
    kind, size = pointer_type(pointee), half_bytes(pointee)
    base = program.buffer(pointee, codes(pointee, "pointed", 8))
    zero, one, two = (program.constant("i32", number) for number in (0, 1, 2))
    move = f"%m = offset %p, {two} : {kind}, {I32} -> {kind}"
    program.line(
        f"%f = for %i in ({zero} to {two}, step {one}) : {I32} iter_values(%p = {base}) -> ({kind}) {{\n"
        f"{move}\ncontinue %m : {kind}\n}}"
    )
    program.line(
        f"%l = loop iter_values(%p = {base}, %n = {zero}) : {kind}, {I32} -> {kind} {{\n"
        f"%e = cmpi equal %n, {one}, signed : {I32} -> tile<i1>\nif %e {{ break %p : {kind} }}\n"
        f"{move}\n%k = addi %n, {one} : {I32}\ncontinue %m, %k : {kind}, {I32}\n}}"
    )
    condition_operand = program.scalar("i1", 1)
    program.line(f"%c = if {condition_operand} -> ({kind}) {{ yield %l : {kind} }} else {{ yield %f : {kind} }}")
    start = program.let(f"ptr_to_int {base} : {kind} -> tile<i64>")
    for name, elements in (("%f", 4), ("%l", 2), ("%c", 2)):
        end = program.let(f"ptr_to_int {name} : {kind} -> tile<i64>")
        program.expect(program.let(f"subi {end}, {start} : tile<i64>"), "i64", [elements * size // 2])
    return program.record()


def tokens() -> dict[str, Any]:
    """A token carried by a for and by a loop orders the stores of their iterations."""
    program = program_of("for", "loop", "break", "continue", case="tokens")
    pointer = program.buffer("i32", [0], [2])
    zero, one, three = (program.constant("i32", number) for number in (0, 1, 3))
    start = program.let("make_token : token")
    store = f"%t = store_ptr_tko weak {pointer}, %i token=%p : tile<ptr<i32>>, {I32} -> token"
    program.line(
        f"%f = for %i in ({zero} to {three}, step {one}) : {I32} iter_values(%p = {start}) -> (token) {{\n"
        f"{store}\ncontinue %t : token\n}}"
    )
    program.line(
        f"%l = loop iter_values(%p = %f, %i = {zero}) : token, {I32} -> token {{\n{store}\n"
        f"%e = cmpi equal %i, {three}, signed : {I32} -> tile<i1>\nif %e {{ break %t : token }}\n"
        f"%k = addi %i, {one} : {I32}\ncontinue %t, %k : token, {I32}\n}}"
    )
    value, token = program.load(pointer, "i32", "%l")
    program.expect(value, "i32", [3])
    two = program.constant("i32", 2)
    program.store(pointer, two, "i32", token)
    return program.record()


def early_break(limit: int) -> dict[str, Any]:
    """A continue within nested ifs skips odd numbers; above the limit a break leaves the loop with the sum."""
    program = program_of("loop", "break", "continue", "if", case=f"left early at {limit}", edges=("early exit",))
    bound = program.scalar("i32", limit)
    zero, one = program.constant("i32", 0), program.constant("i32", 1)
    types = f"{I32}, {I32}"
    program.line(
        f"%r:2 = loop iter_values(%n = {zero}, %s = {zero}) : {types} -> {types} {{\n"
        f"%m = addi %n, {one} : {I32}\n"
        f"%g = cmpi greater_than %n, {bound}, signed : {I32} -> tile<i1>\n"
        f"%b = andi %n, {one} : {I32}\n"
        f"%o = cmpi equal %b, {one}, signed : {I32} -> tile<i1>\n"
        f"if %g {{ break %s, %n : {types} }} else {{ if %o {{ continue %m, %s : {types} }} }}\n"
        f"%t = addi %s, %n : {I32}\ncontinue %m, %t : {types}\n}}"
    )
    program.expect("%r#0", "i32", [sum(range(0, max(limit, -1) + 1, 2))])
    program.expect("%r#1", "i32", [max(limit, -1) + 1])
    return program.record()


def early_continue(limit: int) -> dict[str, Any]:
    """A continue in an if of a for loop skips multiples of three."""
    program = program_of("for", "continue", "if", case=f"no multiples of three, {limit}", edges=("early exit",))
    bound = program.scalar("i32", limit)
    zero, one, three = (program.constant("i32", number) for number in (0, 1, 3))
    program.line(
        f"%r = for %i in ({zero} to {bound}, step {one}) : {I32} iter_values(%s = {zero}) -> ({I32}) {{\n"
        f"%m = remi %i, {three} signed : {I32}\n%z = cmpi equal %m, {zero}, signed : {I32} -> tile<i1>\n"
        f"if %z {{ continue %s : {I32} }}\n%t = addi %s, %i : {I32}\ncontinue %t : {I32}\n}}"
    )
    program.expect("%r", "i32", [sum(i for i in range(limit) if i % 3)])
    return program.record()


def nested_loops(start: int) -> dict[str, Any]:
    """A loop in a for loop counts how often each number below `start` can be halved."""
    program = program_of("for", "loop", "break", "continue", case=f"nested loops, {start}")
    bound = program.scalar("i32", start)
    zero, one = program.constant("i32", 0), program.constant("i32", 1)
    program.line(
        f"%r = for %i in ({one} to {bound}, step {one}) : {I32} iter_values(%s = {zero}) -> ({I32}) {{\n"
        f"%h = loop iter_values(%n = %i, %c = %s) : {I32}, {I32} -> {I32} {{\n"
        f"%b = andi %n, {one} : {I32}\n%o = cmpi equal %b, {one}, signed : {I32} -> tile<i1>\n"
        f"if %o {{ break %c : {I32} }}\n"
        f"%m = shri %n, {one} signed : {I32}\n%d = addi %c, {one} : {I32}\ncontinue %m, %d : {I32}, {I32}\n}}\n"
        f"continue %h : {I32}\n}}"
    )
    program.expect("%r", "i32", [sum((i & -i).bit_length() - 1 for i in range(1, start))])
    return program.record()


def early_return(condition: int, where: str) -> dict[str, Any]:
    """A kernel that ends before its last store, from an if or from a loop."""
    program = program_of("return", "if", "loop", case=f"from {where}, {bool(condition)}", edges=("early exit",))
    condition_operand = program.scalar("i1", condition)
    pointer = program.buffer("i32", [9], [9 if condition else 5])
    if where == "an if":
        program.line(f"if {condition_operand} {{ return }}")
    elif where == "an else":
        program.line(f"if {condition_operand} {{ if {condition_operand} {{ return }} }} else {{ }}")
    else:
        program.line(f"loop {{\nif {condition_operand} {{ return }}\nbreak\n}}")
    program.store(pointer, program.constant("i32", 5), "i32")
    return program.record()


def loops_without_values() -> dict[str, Any]:
    """Loops without values: a loop that breaks in the first iteration, and a for loop without iterations."""
    program = program_of("loop", "for", "break", "continue", case="no values")
    zero, one = program.constant("i32", 0), program.constant("i32", 1)
    pointer = program.buffer("i32", [9], [1])
    program.line(f"loop {{\n%t = store_ptr_tko weak {pointer}, {one} : tile<ptr<i32>>, {I32} -> token\nbreak\n}}")
    no = program.constant("i1", False)
    program.line(f'for %i in ({one} to {zero}, step {one}) : {I32} {{\nassert {no}, "never" : tile<i1>\n}}')
    return program.record()


def vectors() -> Iterator[dict[str, Any]]:
    for element in NUMBERS:
        for condition in BOTH:
            yield if_result(element, condition)
        yield carried_tiles(element)
        yield pointers(element)
    for condition, otherwise in product(BOTH, BOTH):
        yield effects(condition, bool(otherwise))
        yield nested(condition, otherwise)
    yield from counters()
    yield tokens()
    for limit in (-1, 0, 1, 10, 13):
        yield early_break(limit)
    for limit in (0, 1, 10, 13):
        yield early_continue(limit)
    for start in (1, 2, 9, 33):
        yield nested_loops(start)
    for condition, where in product(BOTH, ("an if", "an else", "a loop")):
        yield early_return(condition, where)
    yield loops_without_values()
