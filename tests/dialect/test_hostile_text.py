"""Text with too deep nesting, too large numbers or another encoding is refused with a location, without a crash."""

from __future__ import annotations

import sys
import threading

import pytest

from tilec.dialect.assembly.tokens.limits import MAXIMUM_DEPTH
from tilec.errors import InputError, TilecError
from tilec.text_input.module import Module

HEADER = "cuda_tile.module @m { entry @k(%i: tile<i32>, %c: tile<i1>, %p: tile<ptr<f32>>) {\n"
FOOTER = "\n} }\n"
GENERIC = '"builtin.module"() ({ "cuda_tile.global"() {a.b = '
DIGITS = "9" * 5000
ABSI = "%0 = absi %i {{a.b = {}}} : tile<i32>"


def kernel(body: str) -> Module:
    return Module.parse(HEADER + body + FOOTER)


@pytest.mark.parametrize("count", [240, MAXIMUM_DEPTH - 10])
def test_nested_branches(count: int) -> None:
    # NVIDIA's disassembler supports 240 levels.
    module = kernel("if %c { " * count + "}" * count)
    assert module.to_text().count("if %arg1 {") == count
    for text in (module.to_text(), module.to_text(generic=True), module.to_text(generic="nvidia")):
        assert Module.parse(text).to_text() == module.to_text()


def test_nested_text_is_read_near_the_recursion_limit() -> None:
    before = sys.getrecursionlimit()

    def deep(calls: int) -> None:
        if calls:
            deep(calls - 1)
        else:
            kernel("loop { " * 300 + "break " + "}" * 300).to_text()

    deep(before - 200)
    assert sys.getrecursionlimit() == before


def test_nested_text_is_read_in_threads() -> None:
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(kernel("if %c { " * 500 + "}" * 500).to_text()))
    thread.start()
    thread.join()
    assert len(found) == 1


@pytest.mark.parametrize("text", ["[" * 400 + "]" * 400, "{a = " * 400 + "1" + "}" * 400])
def test_nested_attributes(text: str) -> None:
    module = kernel(ABSI.format(text))
    assert Module.parse(module.to_text()).to_text() == module.to_text()


DEEP = {
    "branches": HEADER + "if %c { " * 100_000,
    "attributes": HEADER + "%0 = absi %i {a.b = " + "[" * 100_000,
    "dictionaries": HEADER + "%0 = absi %i {a.b = " + "{a = " * 100_000,
    "elements": HEADER + "%0 = constant <i32: " + "[" * 100_000,
    "types": HEADER + "%0 = absi %i : " + "tile<" * 100_000,
    "foreign types": HEADER + "%0 = absi %i {a.b = " + "tuple<" * 100_000,
    "locations": HEADER + "%0 = absi %i : tile<i32> loc(" + "fused[" * 100_000,
    "generic operations": '"builtin.module"() ({' * 100_000,
    "generic attributes": GENERIC + "[" * 100_000,
    "generic types": GENERIC + "tuple<" * 100_000,
    "generic elements": GENERIC + "dense<" + "[" * 100_000,
    "after closed brackets": HEADER + "(" + "[]{}" * 1000 + "<" * MAXIMUM_DEPTH,
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_too_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(
        InputError, match=f"brackets nest more than ({MAXIMUM_DEPTH}|{2 * MAXIMUM_DEPTH}) levels deep"
    ) as caught:
        Module.parse(text)
    assert caught.value.location is not None


@pytest.mark.parametrize(
    "form", [HEADER + ABSI.format("#x20000") + FOOTER, GENERIC + "#x20000} : () -> () }) : () -> ()"]
)
@pytest.mark.parametrize("link", ["[{}]", "[[[[\n{}]]]]", "{{a = {}}}", "tuple<{}>"])
def test_too_deep_aliases_are_refused(form: str, link: str) -> None:
    links = "".join(f"#x{at + 1} = {link.format(f'#x{at}')}\n" for at in range(20_000))
    with pytest.raises(InputError, match="aliases nest more than [0-9]* levels deep"):
        Module.parse("#x0 = [1]\n" + links + form)


def test_two_thousand_aliases_are_accepted() -> None:
    text = "".join(f"#x{at} = [{at}, [#x{at // 2}]]\n" for at in range(1, 2000)).replace("#x0", "0")
    kernel_text = HEADER + ABSI.format("#x1999") + FOOTER
    assert "1999" in Module.parse(text + kernel_text).to_text()


def test_brackets_in_strings_and_comments_do_not_count() -> None:
    kernel(f'assert %c, "{"(" * 1000}" : tile<i1> // {"[" * 1000}')


NOT_UTF8 = {
    "message": 'assert %c, "\\FF" : tile<i1>',
    "format": '%0 = print_tko "a\\C3" -> token',
    "attribute": ABSI.format('"\\80\\\\"'),
    "location": '%0 = absi %i : tile<i32> loc("\\FF":1:2)',
    "debug info": ABSI.format('#cuda_tile.di_file<"\\FF" in "a">'),
}


@pytest.mark.parametrize("body", NOT_UTF8.values(), ids=NOT_UTF8)
def test_strings_must_be_utf8(body: str) -> None:
    with pytest.raises(InputError, match="expected a string in UTF-8, but got the byte 0x(FF|C3|80)") as caught:
        kernel(body)
    assert caught.value.location is not None and caught.value.location.line == 2


@pytest.mark.parametrize("escape", ["\\m", "\\F", "\\0x", "\\'", "\\\\\\m", "\\ü"])
def test_unknown_escape_is_refused(escape: str) -> None:
    with pytest.raises(InputError, match="unknown escape in a string: expected one of .*, but got ") as caught:
        kernel(f'assert %c, "ab{escape}" : tile<i1>')
    assert caught.value.location is not None
    assert (caught.value.location.line, caught.value.message[-2:]) == (2, escape.removeprefix("\\\\")[:2])


def test_escapes_in_comments_are_ignored() -> None:
    kernel('assert %c, "a" : tile<i1> // "\\FF" "\\m"')


@pytest.mark.parametrize("key", ["", "\\00", "a\\00b"])
def test_keys_must_be_non_empty_without_nul(key: str) -> None:
    with pytest.raises(InputError, match="expected a non-empty key without NUL bytes, but got "):
        kernel(ABSI.format(f'{{"{key}" = 1 : i32}}'))


def test_strings_of_generic_text_must_be_utf8() -> None:
    with pytest.raises(InputError, match="expected a string in UTF-8, but got the byte 0xFE"):
        Module.parse(GENERIC + '"ab\\FE"} : () -> () }) : () -> ()')


def test_escapes_may_be_utf8() -> None:
    assert (
        kernel('assert %c, "\\C3\\BC\\n\\22\\\\FF" : tile<i1>').to_text()
        == kernel('assert %c, "ü\\0A\\22\\\\FF" : tile<i1>').to_text()
    )


NUMBERS = [
    f"%0 = constant <i32: {DIGITS}> : tile<i32>",
    f"%0 = constant <i32: [-{DIGITS}]> : tile<1xi32>",
    f"%0 = absi %i : tile<{DIGITS}xi32>",
    f"%0 = alloca num_elem = {DIGITS}, alignment = 4 : tile<ptr<f32>>",
    "%0 = alloca num_elem = 9223372036854775808, alignment = 4 : tile<ptr<f32>>",
    f"%0 = assume div_by<{DIGITS}>, %i : tile<i32>",
    "%0 = assume bounded<9223372036854775808, ?>, %i : tile<i32>",
    "%0 = assume same_elements<[9223372036854775808]>, %i : tile<i32>",
    "%0 = permute %i [2147483648] : tile<i32> -> tile<i32>",
    f"%0:{DIGITS} = absi %i : tile<i32>",
    f"%0 = make_tensor_view %p, shape = [{DIGITS}], strides = [1] : tensor_view<8xf32, strides=[1]>",
    "%0 = reduce %i dim=4294967296 identities=[0 : i32] : tile<i32> -> tile<i32> (%a: tile<i32>, %b: tile<i32>) { }",
    ABSI.format(DIGITS),
    ABSI.format("-9223372036854775809"),
]


@pytest.mark.parametrize("body", NUMBERS, ids=range(len(NUMBERS)))
def test_out_of_range_number_is_refused(body: str) -> None:
    with pytest.raises(InputError, match="integer constant out of range for") as caught:
        kernel(body)
    assert caught.value.location is not None and caught.value.location.line == 2


@pytest.mark.parametrize("position", ["13::6", "::", "13:", "13:6:", "-1:2", "0x3:1", "1:2147483648"])
def test_invalid_position_is_refused(position: str) -> None:
    with pytest.raises(InputError) as caught:
        kernel(f'%0 = absi %i : tile<i32> loc("k.py":{position})')
    assert caught.value.location is not None and caught.value.location.line == 2


TOKEN = '"cuda_tile.make_token"() : () -> !cuda_tile.token'


@pytest.mark.parametrize(
    "text",
    [
        f"cuda_tile.module @m {{ {TOKEN} }}",
        f'"cuda_tile.module"() <{{sym_name = "m"}}> ({{ {TOKEN} }}) : () -> ()',
    ],
)
def test_operation_outside_kernels_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected entry or global, but got '\"cuda_tile.make_token\"'"):
        Module.parse(text)


@pytest.mark.parametrize("text", [TOKEN, f"module {{ {TOKEN} }}"])
def test_operation_outside_kernels_has_only_the_generic_form(text: str) -> None:
    # Passes of upstream may create them.
    module = Module.parse(text)
    assert "make_token" in module.to_text(generic=True)
    for generic in (False, "nvidia"):
        with pytest.raises(TilecError, match="'cuda_tile.make_token' outside of a kernel has no form"):
            module.to_text(generic=generic)


def test_module_may_have_the_name_of_an_operation() -> None:
    module = Module.parse("cuda_tile.module @cuda_tile.module { entry @k() { } }")
    for generic in (False, True, "nvidia"):
        assert Module.parse(module.to_text(generic=generic)).to_text() == module.to_text()
