"""Debug info: its text, attributes and locations, verification rules, and round trips through all forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilec.dialect.cuda_tile.debug_info import (
    NESTING_LIMIT,
    DICompileUnitAttr,
    DIFileAttr,
    DILexicalBlockAttr,
    DISubprogramAttr,
    di_location,
    is_call_site,
    scope_of,
    subprogram_of,
)
from tilec.dialect.mlir import context, ir
from tilec.errors import InputError, TilecError, VerificationError
from tilec.text_input.module import Module

LOCATED = Path(__file__).parent / "disassembly" / "located.mlir"
# Aliases for a kernel `kern` in /src/k.py, a block in it, and an inlined function `helper`.
ALIASES = """
#file = #cuda_tile.di_file<"k.py" in "/src">
#unit = #cuda_tile.di_compile_unit<file = #file>
#kern = #cuda_tile.di_subprogram<file = #file, line = 3, name = "kern", linkageName = "k", compileUnit = #unit>
#helper = #cuda_tile.di_subprogram<scopeLine = 21, compileUnit = #unit, linkageName = "h", name = "helper", line = 20,
                                   file = #file>
#block = #cuda_tile.di_lexical_block<scope = #kern, file = #file, line = 5, column = 2>
#start = #cuda_tile.di_loc<loc("/src/k.py":3:1) in #kern>
#inner = #cuda_tile.di_loc<loc("/src/k.py":6:7) in #block>
#called = #cuda_tile.di_loc<loc("/src/k.py":22:5) in #helper>
#call = loc(callsite(#called at #inner))
"""


def kernel(body: str, location: str = "#start", name: str = "k") -> str:
    return f"{ALIASES}cuda_tile.module @m {{ entry @{name}(%a: tile<i32>) {{ {body} }} loc({location}) }}"


def operations(module: Module) -> list[ir.Operation]:
    (entry,) = module.ir.body.operations
    return [entry.operation, *(op.operation for op in entry.body.blocks[0].operations)]


def every_location(module: Module) -> list[str]:
    found = []
    for op in module.ir.body.operations:
        found += [str(argument.location) for argument in op.body.blocks[0].arguments]
        found += located(op.operation)
    return found


def located(operation: ir.Operation) -> list[str]:
    inner = [each for region in operation.regions for block in region.blocks for each in block.operations]
    return [str(operation.location), *(text for each in inner for text in located(each.operation))]


def test_attributes_have_python_constructors_and_properties() -> None:
    with context():
        file = DIFileAttr.get("k.py", "/src")
        unit = DICompileUnitAttr.get(file)
        kern = DISubprogramAttr.get(file, 3, "kern", "k", unit)
        block = DILexicalBlockAttr.get(kern, file, 5, 2)
    assert (file.name, file.directory, unit.file) == ("k.py", "/src", file)
    assert (kern.file, kern.line, kern.name, kern.linkage_name, kern.compile_unit) == (file, 3, "kern", "k", unit)
    # A line or column of 0 means that there is none.
    assert (kern.scope_line, block.scope, block.file, block.line, block.column) == (0, kern, file, 5, 2)
    assert (file.attr_name, block.attr_name) == ("cuda_tile.di_file", "cuda_tile.di_lexical_block")


def test_text_is_read_as_attributes_and_locations() -> None:
    module = Module.parse(kernel("%0 = make_token : token loc(#call)"))
    with context():
        file = DIFileAttr.get("k.py", "/src")
        unit = DICompileUnitAttr.get(file)
        kern = DISubprogramAttr.get(file, 3, "kern", "k", unit)
        helper = DISubprogramAttr.get(file, 20, "helper", "h", unit, 21)
        inner = di_location(DILexicalBlockAttr.get(kern, file, 5, 2), "/src/k.py", 6, 7)
        called = di_location(helper, "/src/k.py", 22, 5)
        entry, token, end = operations(module)
        assert entry.location == di_location(kern, "/src/k.py", 3, 1)
        assert token.location == ir.Location.callsite(called, [inner])
        # Operations and arguments without a location in the text have the location of the kernel.
        assert end.location == entry.location == module.ir.body.operations[0].body.blocks[0].arguments[0].location


def test_scope_of_call_sites_fused_and_named_locations() -> None:
    with context():
        file = DIFileAttr.get("k.py", "/src")
        kern, helper = (DISubprogramAttr.get(file, 1, name, name, DICompileUnitAttr.get(file)) for name in "kh")
        plain, here = ir.Location.file("k.py", 1, 1), di_location(kern, "k.py", 2, 1)
        block = DILexicalBlockAttr.get(DILexicalBlockAttr.get(helper, file, 3), file, 4)
        there = di_location(block, "k.py", 5, 1)
        call = ir.Location.callsite(there, [here])
        assert is_call_site(call) and not is_call_site(here)
        cases = {call: kern, ir.Location.fused([plain, there, here]): block, ir.Location.name("x", here): kern}
        for location, scope in cases.items():
            assert scope_of(location) == scope
        assert subprogram_of(there) == helper
        assert [scope_of(plain), subprogram_of(ir.Location.unknown())] == [None, None]


def test_text_of_the_disassembler_is_printed_unchanged() -> None:
    lines = Module.read(LOCATED).to_text(locations=True).splitlines()
    (end,) = (at for at, line in enumerate(lines) if line.startswith("}"))
    printed = [line[2:].rstrip() for line in lines[1:end]] + lines[end + 1 :]
    assert printed == [line.rstrip() for line in LOCATED.read_text().splitlines()]


BODIES = {
    "scope": "%0 = make_token : token loc(#start)",
    "block and call": "%0 = make_token : token loc(#inner) %1 = make_token : token loc(#call)",
    "nested calls": "%0 = make_token : token loc(callsite(callsite(#called at #called) at #inner))",
    "file locations": '%0 = make_token : token loc("x.py":1:2) %1 = make_token : token loc(unknown)',
    "range": '%0 = make_token : token loc("x.py":1:2 to 3:4) %1 = make_token : token loc("x.py":1:2 to :9)',
    "name": '%0 = make_token : token loc("x"(#inner)) %1 = make_token : token loc("y")',
    "fused": '%0 = make_token : token loc(fused["x.py":1:2, #call]) %1 = make_token : token loc(fused<"m">[#inner])',
    "fused with scope": '%0 = make_token : token loc(fused<#kern>["x.py":1:2, #inner])',
    "names that need quotes": r'%0 = make_token : token loc("a\22b\\c\0A":1:2)',
    "attributes": "%0 = make_token {x.y = #block, x.z = [#file, #kern]} : token",
    "implicit terminators": "%c = constant <i1: true> : tile<i1> if %c { } loc(#inner) if %c { yield loc(#inner) }",
    "arguments": "%0:1 = for %i in (%a to %a, step %a) : tile<i32> iter_values(%x = %a) -> (tile<i32>)"
    " { continue %x : tile<i32> loc(#call) } loc(#inner)",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_text_round_trip(body: str) -> None:
    module = Module.parse(kernel(body), "k.mlir")
    text = module.to_text(locations=True)
    again = Module.parse(text, "again.mlir")
    assert again.to_text(locations=True) == text
    assert every_location(again) == every_location(module)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_generic_round_trip(body: str) -> None:
    module = Module.parse(kernel(body), "k.mlir")
    again = Module.parse(module.to_text(generic=True, locations=True), "again.mlir")
    assert again.to_text(locations=True) == module.to_text(locations=True)


@pytest.mark.parametrize("body", ["scope", "block and call", "nested calls"])
def test_bytecode_round_trip(body: str) -> None:
    module = Module.parse(kernel(BODIES[body]), "k.mlir")
    again = Module.parse(module.to_bytecode(), "k.tileirbc")
    assert every_location(again) == every_location(module)


def test_modules_and_arguments_may_have_locations() -> None:
    text = f"{ALIASES}cuda_tile.module @m {{ entry @k(%a: tile<i32> loc(#later), %b: tile<i32>) {{ }} loc(#start) }}"
    module = Module.parse(text + ' loc(#later)\n#later = loc("a"(#inner))')
    assert '"a"' in str(module.ir.operation.location)
    printed = module.to_text(locations=True)
    assert Module.parse(printed).to_text(locations=True) == printed
    (entry,) = module.ir.body.operations
    first, second = entry.body.blocks[0].arguments
    assert first.location == module.ir.operation.location
    assert second.location == entry.location


def test_without_locations_text_has_no_debug_info() -> None:
    text = Module.parse(kernel("%0 = make_token : token loc(#call)")).to_text()
    assert "#" not in text and "loc" not in text


# Rules, each with a body of kernel k and a location of the kernel that violate it, and the message.
VIOLATIONS = {
    "scope of a kernel is a subprogram": ("", "#inner", "must have cuda_tile.di_subprogram debug info scope"),
    "name of a kernel is that of its subprogram": (
        "",
        "#called",
        'name "k" does not match subprogram scope linkage name "h"',
    ),
    "no scope if the kernel has none": (
        "%0 = make_token : token loc(#start)",
        '"k.py":1:1',
        "operation has debug info scope, but function debug info scope is undefined",
    ),
    "one subprogram per kernel": (
        "%0 = make_token : token loc(#called)",
        "#start",
        "operation debug info scope does not match function debug info scope: expected subprogram 'kern' (k.py:3,"
        ' linkage name "k"), but got subprogram \'helper\' (k.py:20, linkage name "h")',
    ),
    "scope of a call site is that of the caller": (
        "%0 = make_token : token loc(callsite(#start at #called))",
        "#start",
        "does not match",
    ),
    "scope of a fused location is that of its first part": (
        "%0 = make_token : token loc(fused[#called, #start])",
        "#start",
        "does not match",
    ),
    "scope of a named location": ('%0 = make_token : token loc("x"(#called))', "#start", "does not match"),
    "scope in a nested region": (
        "%c = constant <i1: true> : tile<i1> if %c { %0 = make_token : token loc(#called) }",
        "#start",
        "'cuda_tile.make_token' op operation debug info scope does not match",
    ),
    "location of a kernel is not a call site": ("", "#call", "function location must not be a CallSiteLoc"),
}


@pytest.mark.parametrize(("body", "location", "message"), VIOLATIONS.values(), ids=VIOLATIONS)
def test_violation_of_a_rule_is_refused(body: str, location: str, message: str) -> None:
    with pytest.raises(VerificationError) as caught:
        Module.parse(kernel(body, location))
    assert message in caught.value.message


def test_error_has_the_innermost_location() -> None:
    with pytest.raises(VerificationError) as caught:
        Module.parse(kernel("%0 = make_token : token loc(callsite(#start at #called))"))
    assert str(caught.value.location) == "/src/k.py:3:1"


def test_global_with_a_scope_is_refused() -> None:
    text = f"{ALIASES}cuda_tile.module @m {{ global @g <i32: 1> : tile<1xi32> loc(#start) }}"
    with pytest.raises(VerificationError, match="'cuda_tile.global' op global variables must not have scope"):
        Module.parse(text)


def test_lexical_block_without_a_subprogram_in_generic_text_is_refused() -> None:
    text = Module.parse(kernel("%0 = make_token : token loc(#inner)")).to_text(generic=True, locations=True)
    broken = text.replace("di_lexical_block<#cuda_tile.di_subprogram<", "di_lexical_block<[#cuda_tile.di_subprogram<")
    broken = broken.replace(">, #cuda_tile.di_file", ">], #cuda_tile.di_file")
    with pytest.raises(VerificationError, match="no enclosing cuda_tile.di_subprogram"):
        Module.parse(broken)


def test_wrong_attribute_kinds_in_generic_text_are_refused() -> None:
    text = Module.parse(kernel("")).to_text(generic=True, locations=True)
    with pytest.raises(VerificationError, match="expected base attribute"):
        Module.parse(text.replace('di_file<"k.py", "/src">', 'di_file<"k.py", 3>'))


def chain(link: str, count: int) -> str:
    lines = [f"#{at + 1} = {link.format(before=f'#{at}')}" for at in range(count)]
    return "\n".join(lines).replace("#", "#x").replace("#xcuda_tile", "#cuda_tile").replace("#xs", "#s")


NESTED = {
    "call sites": ("loc(callsite({before} at {before}))", 40),
    "parts": ('loc(fused["a"({before}), "b"({before})])', 40),
    "names": ('loc("a"({before}))', 10_000),
}


@pytest.mark.parametrize(("link", "count"), NESTED.values(), ids=NESTED)
def test_aliases_that_expand_to_too_many_locations_are_refused(link: str, count: int) -> None:
    text = f"{ALIASES}#x0 = loc(unknown)\n#x00 = #start\n" + chain(link, count).replace("(#x0", "(#start")
    text += f"\ncuda_tile.module @m {{ entry @k() {{ }} loc(#start) }} loc(#x{count})"
    with pytest.raises(InputError, match=f"more than {NESTING_LIMIT} locations and blocks|aliases nest more than 512"):
        Module.parse(text)


@pytest.mark.parametrize("opening", ["loc(", "callsite(", 'fused["a":1:2, ', '"a"(', "callsite(unknown at "])
def test_deeply_nested_location_is_refused(opening: str) -> None:
    closing = ")" * (opening.count("(") * 101 + 1)
    with pytest.raises(InputError, match="a location is nested more than 100 levels deep"):
        Module.parse(kernel(f"%0 = make_token : token loc({opening * 101}unknown{closing}"))


def test_deeply_nested_scope_is_refused() -> None:
    opening = "#cuda_tile.di_lexical_block<scope = "
    with pytest.raises(InputError, match="nested more than 64 levels deep"):
        Module.parse(kernel(f"%0 = make_token {{x.y = {opening * 70}"))


def test_hundred_nested_calls_are_accepted() -> None:
    calls = "\n".join(f"#c{at + 1} = loc(callsite(#called at #c{at}))" for at in range(100))
    text = kernel("%0 = make_token : token loc(#c100)").replace(
        "cuda_tile.module", f"#c0 = #start\n{calls}\ncuda_tile.module"
    )
    module = Module.parse(text)
    assert Module.parse(module.to_text(locations=True)).to_text(locations=True) == module.to_text(locations=True)


def test_alias_of_another_attribute_is_refused_as_location() -> None:
    with pytest.raises(TilecError, match="expected location, but got '#file'"):
        Module.parse(kernel("%0 = make_token : token loc(#file)"))
