"""Undefined behaviour of Tile IR: for each condition kernels that have it and kernels that just avoid it.

A mode reports a condition with a message that matches the text of the case, and does not report it if the text is None.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

POISON = "poison"
PARAMETERS = "%p: tile<ptr<i32>>, %a: tile<i32>, %b: tile<i32>"
# %p is an array of this number of elements.
ELEMENTS = 12
STORE = "%done = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token"
ZERO = "%zero = constant <i32: 0> : tile<i32>"
LEAST, GREATEST = -(2**31), 2**31 - 1
TENSOR = f"tensor_view<{ELEMENTS}xi32, strides=[1]>"
FOUR = f"""%one = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
    %four = broadcast %one : tile<1xptr<i32>> -> tile<4xptr<i32>>
    {ZERO}
    %numbers = iota : tile<4xi32>"""


@dataclass(frozen=True)
class Case:
    """A kernel, the arguments %a and %b that make it undefined, and those (None: no such arguments) that do not.

    The fields of the three modes are the regular expressions of their messages; that of the interpreter is POISON if
    the last of the four elements that the kernel stores first is poison in the interpreter, and zero elsewhere. Where
    warps multiply, by instructions whose operands the simulator checks, it reports more than its mode promises.
    """

    body: str
    undefined: tuple[int, int]
    defined: tuple[int, int] | None
    interpreter: str
    simulator: str | None = None
    checked: str | None = None
    outside: str = ""
    simulator_of_warps: str | None = None


@dataclass(frozen=True)
class Row:
    """A row of the table of docs/checking.md: a condition, its operations, and which mode reports it."""

    condition: str
    operations: str
    interpreter: str
    simulator: str
    checked: str
    cases: tuple[Case, ...] = field(repr=False)

    def to_text(self) -> str:
        """The row in Markdown."""
        modes = [mode or "-" for mode in (self.interpreter, self.simulator, self.checked)]
        return f"| {' | '.join([self.condition, self.operations, *modes])} |"


def arithmetic(operation: str) -> str:
    return f"%r = {operation} : tile<i32> {STORE}"


def checked(body: str, undefined: tuple[int, int], defined: tuple[int, int], text: str, value: str = "") -> Case:
    """A case that the interpreter reports with a value, checked builds without, and the simulator not at all."""
    return Case(body, undefined, defined, text + value, None, text)


def viewed(kind: str, maker: str, rest: str = "") -> str:
    return f"""%t = make_tensor_view %p, shape = [{ELEMENTS}], strides = [1] : {TENSOR}
    %v = {maker} %t : {kind}
    %x, %k = load_view_tko weak %v[%a]{rest} : {kind}, tile<i32> -> tile<4xi32>, token
    {KEPT}"""


NIBBLES = "0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110"


def sparse(element: str, kept: str, words: str, rhs: str, sums: str) -> str:
    """A multiply whose metadata is %a in every word."""
    zero = {name: "0" if name[0] == "i" else "0.0" for name in (element, sums)}
    total = f"tile<{kept.split('x')[0]}x{rhs.split('x')[1]}x{sums}>"
    types = f"tile<{kept}x{element}>, tile<{words}xi32>, tile<{rhs}x{element}>, {total}"
    return f"""%x = constant <{element}: {zero[element]}> : tile<{kept}x{element}>
            %y = constant <{element}: {zero[element]}> : tile<{rhs}x{element}>
            %z = constant <{sums}: {zero[sums]}> : {total}
            %one = reshape %a : tile<i32> -> tile<1x1xi32> %e = broadcast %one : tile<1x1xi32> -> tile<{words}xi32>
            %s = tilex.mma_sparse %x, %e, %y, %z : {types}
            %u = print_tko "%f", %s : {total} -> token"""


# Stores the tile %x at the start of the array.
KEPT = """%start = constant <i32: 0> : tile<i32>
    %dt = make_tensor_view %p, shape = [4], strides = [1] : tensor_view<4xi32, strides=[1]>
    %dv = make_partition_view %dt : partition_view<tile=(4), tensor_view<4xi32, strides=[1]>>
    %e = store_view_tko weak %x, %dv[%start] token = %k
      : tile<4xi32>, partition_view<tile=(4), tensor_view<4xi32, strides=[1]>>, tile<i32> -> token"""
PARTITION = f"partition_view<tile=(4), padding_value = zero, {TENSOR}>"
STRIDED = f"strided_view<tile=(4), traversal_strides=[3], padding_value = zero, {TENSOR}>"
DYNAMIC = "partition_view<tile=(4), padding_value = zero, tensor_view<?xi32, strides=[1]>>"
ROWS = "gather_scatter_view<tile=(2x4), tensor_view<3x4xi32, strides=[4,1]>, sparse_dim = 0>"
PACKED = "tilex.packed_view<tile=(4), bits=4, tensor_view<4xi8, strides=[1]>>"
IMAGES = "tensor_view<1x3x4xi32, strides=[12,4,1]>"
IM2COL = f"tilex.im2col_view<tile=(4x4), window=[2], dilation=[1], stride=[1], lower=[0], upper=[0], {IMAGES}>"
SLICES = "tensor_view<1x1x3x?xi8, strides=[48,48,16,1]>"
INTERLEAVED = (
    "tilex.im2col_view<tile=(4x16), window=[2], dilation=[1], stride=[1], lower=[0], upper=[0], "
    f"interleave=16, {SLICES}>"
)
BYTES = """%bytes = ptr_to_ptr %p : tile<ptr<i32>> -> tile<ptr<i8>>"""
HALVES = """%halves = ptr_to_ptr %p : tile<ptr<i32>> -> tile<ptr<f4E2M1FN>>"""


def counted(sign: str, step: str) -> str:
    return f"""%s = {step} : tile<i32>
    %r = for {sign}%i in (%a to %b, step %s) : tile<i32> iter_values(%c = %a) -> (tile<i32>) {{
      continue %i : tile<i32>
    }}
    {STORE}"""


def overflow(operation: str, undefined: tuple[int, int], defined: tuple[int, int], value: int, promise: str) -> Case:
    """A violated promise of an operation on i32; `promise` is, for example, "no_signed_wrap of signed i32"."""
    name, _, kind = promise.partition(" of ")
    text = rf"does not fit {kind}, which violates {name}"
    body = arithmetic(f"{operation} overflow<{name}>")
    return Case(body, undefined, defined, f"the result {value} {text}", None, f"the result {text}")


def assumed(predicate: str, undefined: int, defined: int) -> Case:
    text = f"the assumption {predicate.replace('?', '[?]')} does not hold"
    body = f"%r = assume {predicate}, %a : tile<i32> {STORE}"
    return Case(body, (undefined, 0), (defined, 0), f"{text}: the value is {undefined}", None, text)


def unreported(body: str, undefined: tuple[int, int], defined: tuple[int, int] | None, interpreter: str) -> Case:
    """A case that only the interpreter reports."""
    return Case(body, undefined, defined, interpreter)


def converted(source: str, target: str, value: str, fits: str, text: str) -> Case:
    """ftoi of one of two constants, of which %a selects one."""
    body = f"""%bad = constant <{source}: {value}> : tile<{source}> %good = constant <{source}: {fits}> : tile<{source}>
    {ZERO} %is_good = cmpi equal %a, %zero, signed : tile<i32> -> tile<i1>
    %x = select %is_good, %good, %bad : tile<i1>, tile<{source}>
    %n = ftoi %x {target.split()[0]} : tile<{source}> -> tile<{target.split()[1]}>"""
    return Case(body, (1, 0), (0, 0), text, None, f"converting this float to {target} is undefined")


ROW_OF_VIEW = "index 0 of the view must be at least 0 and below"
NOT_INSIDE = "index 0 is marked as within bounds"
WAITS = "step-limit|deadlock"
OUTSIDE = "bounds: (read|write) of"

TABLE = (
    Row("division by zero", "`divi remi`", "error", "", "error", (
        checked(arithmetic("divi %a, %b signed"), (7, 0), (7, 1), "division by zero is undefined"),
        checked(arithmetic("divi %a, %b unsigned"), (7, 0), (7, -1), "division by zero is undefined"),
        checked(arithmetic("remi %a, %b unsigned"), (7, 0), (7, 3), "division by zero is undefined"),
    )),
    Row("a quotient that does not fit its type", "`divi` of the least integer by -1", "error", "", "error", (
        checked(arithmetic("divi %a, %b signed"), (LEAST, -1), (LEAST + 1, -1), "dividing the most negative i32 by -1"),
        checked(arithmetic("divi %a, %b signed"), (LEAST, -1), (LEAST, 1), "dividing the most negative i32 by -1"),
    )),
    Row("a shift amount of the bit width or more", "`shli shri`", "error", "", "error", (
        checked(arithmetic("shli %a, %b"), (1, 32), (1, 31), "shift amount of i32 must be below 32", ", got 32"),
        checked(arithmetic("shri %a, %b signed"), (1, -1), (1, 0), "must be below 32", ", got 4294967295"),
    )),
    Row("a violated `overflow` assumption", "`addi subi muli negi shli trunci`", "error", "", "error", (
        overflow("addi %a, %b", (GREATEST, 1), (GREATEST, 0), 2**31, "no_signed_wrap of signed i32"),
        overflow("addi %a, %b", (-1, 2), (-2, 1), 2**32 + 1, "no_unsigned_wrap of unsigned i32"),
        overflow("subi %a, %b", (LEAST, 1), (LEAST, 0), LEAST - 1, "no_signed_wrap of signed i32"),
        overflow("subi %a, %b", (1, 2), (2, 2), -1, "no_unsigned_wrap of unsigned i32"),
        overflow("muli %a, %b", (2**16, 2**15), (2**16, 2**15 - 1), 2**31, "no_wrap of signed i32"),
        overflow("muli %a, %b", (LEAST, -1), (LEAST, 1), 2**31, "no_signed_wrap of signed i32"),
        overflow("muli %a, %b", (-1, 2), (-1, 1), 2**33 - 2, "no_unsigned_wrap of unsigned i32"),
        overflow("negi %a", (LEAST, 0), (LEAST + 1, 0), 2**31, "no_signed_wrap of signed i32"),
        overflow("shli %a, %b", (2**30, 1), (2**30 - 1, 1), 2**31, "no_signed_wrap of signed i32"),
        overflow("shli %a, %b", (LEAST, 1), (GREATEST, 1), 2**32, "no_unsigned_wrap of unsigned i32"),
        checked(
            f"""%n = trunci %a overflow<no_signed_wrap> : tile<i32> -> tile<i8>
            %r = exti %n signed : tile<i8> -> tile<i32> {STORE}""",
            (128, 0), (127, 0), "does not fit signed i8, which violates no_signed_wrap",
        ),
    )),
    Row("a violated `assume`", "`assume`; of a stride at `make_tensor_view`", "error", "", "error", (
        assumed("bounded<0, ?>", -1, 0),
        assumed("bounded<?, 9>", 10, 9),
        assumed("div_by<16>", 40, 48),
        assumed("div_by<2147483648>", 2**30, LEAST),
        checked(
            f"""{FOUR} %at = broadcast %line : tile<1xi32> -> tile<4xi32>
            %sum = addi %at, %numbers : tile<4xi32>
            %r = assume div_by<4, every 4 along 0>, %sum : tile<4xi32>""".replace(
                "%at =", "%line = reshape %a : tile<i32> -> tile<1xi32> %at ="
            ),
            (6, 0), (8, 0), "the assumption div_by<4, every 4 along 0> does not hold",
        ),
        checked(
            f"""{FOUR} %line = reshape %a : tile<i32> -> tile<1xi32> %at = broadcast %line : tile<1xi32> -> tile<4xi32>
            %scaled = muli %at, %numbers : tile<4xi32>
            %r = assume same_elements<[2]>, %scaled : tile<4xi32>""",
            (1, 0), (0, 0), "the assumption same_elements<.2.> does not hold",
        ),
        checked(
            """%n = assume div_by<4>, %a : tile<i32>
            %t = make_tensor_view %p, shape = [%b], strides = [%n] : tile<i32> -> tensor_view<?xi32, strides=[?]>""",
            (6, 2), (6, 1), "the assumption div_by<4> does not hold",
        ),
    )),
    Row("a float that the integer type cannot represent", "`ftoi` without `saturating`: NaN, infinity, out of range",
        "error", "", "error", (
        converted("f32", "signed i32", "2147483648.0", "2147483520.0", "converting 2147483648.0 to signed i32"),
        converted("f32", "signed i32", "-2147483904.0", "-2147483648.0", "converting -2147483904.0 to signed i32"),
        converted("f32", "signed i8", "128.0", "127.9", "converting 128.0 to signed i8 is undefined"),
        converted("f32", "signed i8", "-129.0", "-128.9", "converting -129.0 to signed i8 is undefined"),
        converted("f32", "unsigned i32", "-1.0", "-0.9", "converting -1.0 to unsigned i32 is undefined"),
        converted("f32", "signed i64", "0x7FC00000", "-9223372036854775808.0", "converting nan to signed i64"),
        converted("f16", "signed i8", "128.0", "127.5", "converting 128.0 to signed i8 is undefined"),
        converted("f64", "signed i32", "-2147483649.0", "-2147483648.5", "converting -2147483649.0 to signed i32"),
    )),
    Row("a sub-tile index out of range", "`extract insert`", "error", "", "error", (
        checked(
            f"""%t = iota : tile<4xi32> %u = extract %t[%a] : tile<4xi32> -> tile<1xi32>
            %r = reshape %u : tile<1xi32> -> tile<i32> {STORE}""",
            (4, 0), (3, 0), "dimension 0 has 4 sub-tiles of 1", ", got index 4",
        ),
        checked(
            "%t = iota : tile<4xi32> %u = iota : tile<2xi32> %r = insert %u, %t[%a] : tile<2xi32>, tile<4xi32>",
            (-1, 0), (1, 0), "dimension 0 has 2 sub-tiles of 2", ", got index 4294967295",
        ),
    )),
    Row("metadata that names no two elements of a group in ascending order",
        "`tilex.mma_sparse`", "error", "", "error", (
        checked(
            sparse("i8", "1x16", "1x1", "32x1", "i32"), (0x44444464, 0), (0x44444484, 0),
            f"must be one of {NIBBLES}", ", got 0b0110",
        ),
        checked(
            sparse("f8E4M3FN", "1x16", "1x1", "32x1", "f32"), (0x04444444, 0), (0xC4444444, 0),
            f"must be one of {NIBBLES}", ", got 0b0000",
        ),
        replace(
            checked(
                sparse("tf32", "16x8", "16x1", "16x1", "f32"), (0x44C44444, 0), (0x44E44444, 0),
                "must be one of 0b0100, 0b1110", ", got 0b1100",
            ),
            simulator_of_warps="expected metadata of 0b0100 or 0b1110, got 0b1100",
        ),
    )),
    Row("a tile index outside of the index space of a view, or an offset outside of a window",
        "loads, stores and reductions of a view; the last tile may extend beyond the tensor", "error", "", "error", (
        checked(viewed(PARTITION, "make_partition_view"), (3, 0), (2, 0), f"{ROW_OF_VIEW} 3", ", got 3"),
        checked(viewed(STRIDED, "make_strided_view"), (-1, 0), (3, 0), f"{ROW_OF_VIEW} 4", ", got -1"),
        Case(
            f"""%t = make_tensor_view %p, shape = [%b], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
            %v = make_partition_view %t : {DYNAMIC}
            %x, %k = load_view_tko weak %v[%a] : {DYNAMIC}, tile<i32> -> tile<4xi32>, token {KEPT}""",
            (2, 8), (2, 9), f"{ROW_OF_VIEW} 2, got 2", None, f"{ROW_OF_VIEW} the number of tiles",
        ),
        Case(
            f"""%t = make_tensor_view %p, shape = [%b], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
            %v = make_partition_view %t : {DYNAMIC} %x = iota : tile<4xi32>
            %k = store_view_tko weak %x, %v[%a] : tile<4xi32>, {DYNAMIC}, tile<i32> -> token""",
            (-1, 8), (1, 8), f"{ROW_OF_VIEW} 2, got -1", None, f"{ROW_OF_VIEW} the number of tiles",
        ),
        checked(
            f"""%t = make_tensor_view %p, shape = [1, 3, 4], strides = [12, 4, 1] : {IMAGES}
            %v = tilex.make_im2col_view %t : {IM2COL} {ZERO}
            %x, %k = tilex.load_im2col_tko weak %v[%zero, %zero] offset [%a]
              : {IM2COL}, tile<i32> -> tile<4x4xi32>, token""",
            (2, 0), (1, 0), "offset 0 of the view must be at least 0 and below 2", ", got 2",
        ),
        Case(
            f"""%t = make_tensor_view %p, shape = [1, 3, 4], strides = [12, 4, 1] : {IMAGES}
            %v = tilex.make_im2col_view %t : {IM2COL} {ZERO}
            %x, %k = tilex.load_im2col_tko weak %v[%zero, %a] offset [%zero]
              : {IM2COL}, tile<i32> -> tile<4x4xi32>, token""",
            (1, 0), (0, 0), "index 1 of the view must be at least 0 and below 1, got 1", None, "index 1 of the view",
        ),
        Case(
            f"""{BYTES} %t = make_tensor_view %bytes, shape = [4], strides = [1] : tensor_view<4xi8, strides=[1]>
            %v = tilex.make_packed_view %t : {PACKED}
            %x, %k = tilex.load_packed_tko weak %v[%a] : {PACKED}, tile<i32> -> tile<4xi8>, token""",
            (2, 0), (1, 0), f"{ROW_OF_VIEW} 2, got 2", None, ROW_OF_VIEW,
        ),
    )),
    Row("a violated `inbounds`", "the same", "error", "outside of the arrays", "error", (
        Case(
            viewed(STRIDED, "make_strided_view", " inbounds = [true]"), (3, 0), (2, 0),
            f"{NOT_INSIDE} of 12 elements, got 12", OUTSIDE, f"{NOT_INSIDE} of 12 elements",
        ),
        Case(
            f"""%t = make_tensor_view %p, shape = [%b], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
            %v = make_partition_view %t : {DYNAMIC} %x = iota : tile<4xi32>
            %k = store_view_tko weak %x, %v[%a] inbounds = [true] : tile<4xi32>, {DYNAMIC}, tile<i32> -> token""",
            (1, 7), (1, 8), f"{NOT_INSIDE} of 7 elements, got 7", None, NOT_INSIDE,
        ),
        Case(
            f"""%t = make_tensor_view %p, shape = [3, 4], strides = [4, 1] : tensor_view<3x4xi32, strides=[4,1]>
            %v = make_gather_scatter_view %t : {ROWS}
            %line = reshape %a : tile<i32> -> tile<1xi32> %at = broadcast %line : tile<1xi32> -> tile<2xi32> {ZERO}
            %y, %k = load_view_tko weak %v[%at, %zero] inbounds = [true, false]
              : {ROWS}, tile<2xi32>, tile<i32> -> tile<2x4xi32>, token
            %h = extract %y[%zero, %zero] : tile<2x4xi32> -> tile<1x4xi32>
            %x = reshape %h : tile<1x4xi32> -> tile<4xi32> {KEPT}""",
            (3, 0), (2, 0), f"{NOT_INSIDE} of 3 elements, got 3", OUTSIDE, f"{NOT_INSIDE} of 3 elements",
        ),
    )),
    Row("an extent that does not fit its type", "`get_tensor_shape get_index_space_shape`", "error", "", "error", (
        Case(
            """%t = make_tensor_view %p, shape = [%a], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
            %r = get_tensor_shape %t : tensor_view<?xi32, strides=[1]> -> tile<i8>""", (256, 0), (255, 0),
            "the extent 256 does not fit i8", None, "the extent does not fit i8",
        ),
        Case(
            f"""%t = make_tensor_view %p, shape = [%a], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
            %v = make_partition_view %t : {DYNAMIC}
            %r = get_index_space_shape %v : {DYNAMIC} -> tile<i8>""", (1021, 0), (1020, 0),
            "the extent 256 does not fit i8", None, "the extent does not fit i8",
        ),
    )),
    Row("a step that is not positive", "`for`", "error, also without `check`", "", "error", (
        checked(counted("", "addi %b, %a"), (5, -5), (1, 9), "a for loop needs a positive step", ", got 0"),
        checked(counted("", "subi %a, %b"), (3, 5), (5, 3), "a for loop needs a positive step", ", got -2"),
    )),
    Row("an overflow of the loop counter: that of the last iteration plus the step does not fit", "`for`",
        "error", "", "error", (
        checked(counted("", "constant <i32: 4>"), (2**31 - 8, GREATEST), (2**31 - 9, 2**31 - 5),
                "the counter of this loop overflows", ".* 2147483644 [+] 4 does not fit signed i32"),
        checked(counted("unsigned ", "constant <i32: 4>"), (-8, -1), (2**31 - 8, LEAST + 1),
                "the counter of this loop overflows", ".* 4294967292 [+] 4 does not fit unsigned i32"),
        checked(counted("", "constant <i32: 4>"), (2**31 - 8, GREATEST), (5, 2), "the counter of this loop overflows"),
    )),
    Row("slices of another size than the view declares", "`make_im2col_view` with `interleave`", "error", "", "error", (
        checked(
            f"""{BYTES} %t = make_tensor_view %bytes, shape = [1, 1, 3, %a], strides = [48, 48, 16, 1]
              : tile<i32> -> {SLICES}
            %v = tilex.make_im2col_view %t : {INTERLEAVED}""",
            (8, 0), (16, 0), "the innermost extent of an interleaved tensor must be 16", ", got 8",
        ),
    )),
    Row("an odd number of elements of 4 bits in a row", "accesses of a view", "error", "", "error", (
        checked(
            f"""{HALVES} %t = make_tensor_view %halves, shape = [%a], strides = [1]
              : tile<i32> -> tensor_view<?xf4E2M1FN, strides=[1]>
            %v = make_partition_view %t : partition_view<tile=(4), tensor_view<?xf4E2M1FN, strides=[1]>> {ZERO}
            %x, %k = load_view_tko weak %v[%zero]
              : partition_view<tile=(4), tensor_view<?xf4E2M1FN, strides=[1]>>, tile<i32> -> tile<4xf4E2M1FN>, token""",
            (7, 0), (8, 0), "the extent of dimension 0, whose elements share bytes, must be even", ", got 7",
        ),
    )),
    Row("a pair of elements of 4 bits that lies in two bytes", "accesses of a view", "error", "", "", (
        unreported(
            f"""{HALVES} %t = make_tensor_view %halves, shape = [4, 8], strides = [%a, 1]
              : tile<i32> -> tensor_view<4x8xf4E2M1FN, strides=[?,1]>
            %v = make_partition_view %t : partition_view<tile=(2x4), tensor_view<4x8xf4E2M1FN, strides=[?,1]>> {ZERO}
            %x, %k = load_view_tko weak %v[%zero, %zero] : partition_view<tile=(2x4), tensor_view<4x8xf4E2M1FN,
              strides=[?,1]>>, tile<i32> -> tile<2x4xf4E2M1FN>, token""",
            (9, 0), (8, 0), "elements of f4E2M1FN are accessed in pairs, but a pair lies in two bytes",
        ),
    )),
    Row("an address outside of the address space",
        "`offset`; accesses of a view 2**63 or more elements from its start; for pointers that only masked accesses "
        "use, only where the mask is true", "error", "", "", (
        unreported(
            """%far = constant <i64: 0x2000000000000000> : tile<i64> %n = exti %a signed : tile<i32> -> tile<i64>
            %big = muli %far, %n : tile<i64>
            %q = offset %p, %big : tile<ptr<i32>>, tile<i64> -> tile<ptr<i32>>""", (1, 0), (0, 0),
            "2305843009213693952 elements from 0x[0-9a-f]+ exceeds the 64-bit address space",
        ),
        unreported(
            """%far = constant <i64: 0x4000000000000000> : tile<i64>
            %t = make_tensor_view %p, shape = [12], strides = [%far] : tile<i64> -> tensor_view<12xi32, strides=[?]>
            %v = make_partition_view %t : partition_view<tile=(1), tensor_view<12xi32, strides=[?]>>
            %x, %k = load_view_tko weak %v[%a]
              : partition_view<tile=(1), tensor_view<12xi32, strides=[?]>>, tile<i32> -> tile<1xi32>, token""",
            (2, 0), (0, 0), f"the offset of {2**63} elements from the start of the tensor exceeds",
        ),
    )),
    Row("several stores to one address in one operation",
        "stores through pointers, of views and by `gather_scatter_view`", "error if the values differ", "", "", (
        unreported(
            f"""{FOUR} %line = reshape %a : tile<i32> -> tile<1xi32> %at = broadcast %line : tile<1xi32> -> tile<4xi32>
            %values = muli %at, %numbers : tile<4xi32>
            %k = store_ptr_tko weak %four, %values : tile<4xptr<i32>>, tile<4xi32> -> token""", (1, 0), (0, 0),
            r"element \[1\]: two elements of this store write different values to one address",
        ),
    )),
    Row("unordered accesses",
        "weak accesses of the same memory: in one tile block without a token or value between them, in two without a "
        "release and an acquire", "error that names both", "", "", (
        unreported(
            """%k = store_ptr_tko weak %p, %a : tile<ptr<i32>>, tile<i32> -> token
            %q = offset %p, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
            %x, %l = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token""", (0, 0), (0, 1),
            "unordered access: no token or value orders it after 'cuda_tile.store_ptr_tko' on the same memory",
        ),
    )),
    Row("elements outside of a tensor", "loads of a view without padding", POISON, "", "", (
        Case(
            f"""{ZERO} %t = make_tensor_view %p, shape = [%a], strides = [1]
              : tile<i32> -> tensor_view<?xi32, strides=[1]>
            %v = make_partition_view %t : partition_view<tile=(4), tensor_view<?xi32, strides=[1]>>
            %x, %k = load_view_tko weak %v[%zero]
              : partition_view<tile=(4), tensor_view<?xi32, strides=[1]>>, tile<i32> -> tile<4xi32>, token {KEPT}""",
            (3, 0), (4, 0), POISON,
        ),
    )),
    Row("elements that a mask excludes", "`load_ptr_tko` without padding, `atomic_rmw_tko`", POISON, "", "", (
        Case(
            f"""{FOUR} %line = reshape %a : tile<i32> -> tile<1xi32> %at = broadcast %line : tile<1xi32> -> tile<4xi32>
            %mask = cmpi less_than %numbers, %at, signed : tile<4xi32> -> tile<4xi1>
            %each = offset %four, %numbers : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
            %x, %k = load_ptr_tko weak %each, %mask : tile<4xptr<i32>>, tile<4xi1> -> tile<4xi32>, token {KEPT}""",
            (3, 0), (4, 0), POISON,
        ),
    )),
    Row("memory of `alloca` before the first store", "`alloca`", POISON, "", "", (
        Case(
            f"""%memory = alloca num_elem = 4, alignment = 16 : tile<ptr<i32>>
            %rt = make_tensor_view %memory, shape = [4], strides = [1] : tensor_view<4xi32, strides=[1]>
            %rv = make_partition_view %rt : partition_view<tile=(4), tensor_view<4xi32, strides=[1]>> {ZERO}
            %x, %k = load_view_tko weak %rv[%zero]
              : partition_view<tile=(4), tensor_view<4xi32, strides=[1]>>, tile<i32> -> tile<4xi32>, token {KEPT}""",
            (0, 0), None, POISON,
        ),
    )),
    Row("memory of `alloca` after its lifetime, which ends with the block that contains the `alloca`", "any access",
        "error, also without `check`", "", "", (
        unreported(
            f"""{ZERO} %is_inner = cmpi not_equal %a, %zero, signed : tile<i32> -> tile<i1>
            %q = if %is_inner -> (tile<ptr<i32>>) {{
              %memory = alloca num_elem = 4, alignment = 16 : tile<ptr<i32>>
              %k = store_ptr_tko weak %memory, %a : tile<ptr<i32>>, tile<i32> -> token
              yield %memory : tile<ptr<i32>>
            }} else {{ yield %p : tile<ptr<i32>> }}
            %r, %l = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token {STORE}""", (5, 0), (0, 0),
            "load of 4 bytes at 0x[0-9a-f]+ is outside all arrays of the launch",
        ),
    )),
    Row("a loop that never ends: an iteration that changes neither the carried values nor memory; longer cycles are "
        "not detected", "`loop`", "error, also without `check`", "", "", (
        unreported(
            f"""{ZERO} %r = loop iter_values(%i = %a) : tile<i32> -> tile<i32> {{
              %done = cmpi equal %i, %zero, signed : tile<i32> -> tile<i1>
              if %done {{ break %i : tile<i32> }}
              continue %i : tile<i32>
            }}""", (3, 0), (0, 0),
            "infinite loop: an iteration changed neither the carried values nor memory.*without effects is assumed",
        ),
    )),
    Row("a wait for another tile block that never ends; the interpreter runs tile blocks in order, so that none can "
        "wait for a later one", "`loop`", "error, also without `check`", "error", "error", (
        # %a is the lock that the loop takes, and that is free only if it is 0.
        Case(
            """%k = store_ptr_tko weak %p, %a : tile<ptr<i32>>, tile<i32> -> token
            %free = constant <i32: 0> : tile<i32> %taken = constant <i32: 1> : tile<i32>
            %end = loop iter_values(%t = %k) : token -> token {
              %old, %u = atomic_cas_tko acquire device %p, %free, %taken token=%t
                : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
              %mine = cmpi equal %old, %free, signed : tile<i32> -> tile<i1>
              if %mine { break %u : token }
              continue %u : token
            }""", (1, 0), (0, 0), "infinite loop: an iteration changed neither", WAITS, WAITS,
        ),
    )),
    Row("a failed assertion", "`assert`", "error, also without `check`", "error", "error", (
        Case(
            f"""{ZERO} %is_zero = cmpi equal %a, %zero, signed : tile<i32> -> tile<i1>
            assert %is_zero, "not zero" : tile<i1>""", (1, 0), (0, 0), *["assertion failed: not zero"] * 3,
        ),
    )),
    Row("an address that is not a multiple of the element size", "any access", "error, also without `check`", "error",
        "error", (
        Case(
            """%i = ptr_to_int %p : tile<ptr<i32>> -> tile<i64> %n = exti %a signed : tile<i32> -> tile<i64>
            %j = addi %i, %n : tile<i64> %q = int_to_ptr %j : tile<i64> -> tile<ptr<i32>>
            %k = store_ptr_tko weak %q, %a : tile<ptr<i32>>, tile<i32> -> token""", (2, 0), (4, 0),
            "needs an address divisible by 4", *["misaligned: .* needs an address aligned to 4 bytes"] * 2,
        ),
    )),
    Row("an access outside of the arrays of the launch", "any access; outside of the memory of the process for plain "
        "addresses", "error, also without `check`", "error", "error", (
        Case(
            """%q = offset %p, %a : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
            %k = store_ptr_tko weak %q, %a : tile<ptr<i32>>, tile<i32> -> token""", (ELEMENTS, 0), (ELEMENTS - 1, 0),
            "is outside all arrays of the launch", OUTSIDE, OUTSIDE,
        ),
    )),
    Row("a store to a `constant` global", "any store", "error, also without `check`", "", "", (
        Case(
            """%g = get_global @table : tile<ptr<i32>>
            %k = store_ptr_tko weak %g, %a : tile<ptr<i32>>, tile<i32> -> token""", (1, 0), None,
            "is in a read-only array", outside="global constant @table alignment = 16 <i32: [3]> : tile<1xi32>",
        ),
    )),
)  # fmt: skip
