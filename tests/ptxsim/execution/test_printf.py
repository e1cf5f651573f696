"""vprintf formats a packed buffer with C conversions, and prints to sys.stdout or a callback in block order."""

from __future__ import annotations

import struct

import pytest

from tilec.runtime.ptxsim import _native

MODULE = """
.version 8.8
.target sm_100a
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[{length}] = {{{bytes}}};
.global .align 1 .b8 word[4] = {{97, 98, 99, 0}};
.visible .entry k() {{
  .local .align 8 .b8 buffer[64];
  .reg .b32 %r<8>; .reg .b64 %rd<8>;
  mov.u32 %r0, %ctaid.x;
{stores}
  mov.u64 %rd0, buffer; cvta.local.u64 %rd0, %rd0; mov.u64 %rd1, text; cvta.global.u64 %rd1, %rd1;
  {{ .param .b64 f; .param .b64 a; .param .b32 r;
    st.param.b64 [f], %rd1; st.param.b64 [a], %rd0;
    call.uni (r), vprintf, (f, a);
    ld.param.b32 %r1, [r]; }}
  ret;
}}
"""


def _printed(text: str, stores: str = "", grid: int = 1, block: int = 1, seed: int = 0) -> str:
    encoded = text.encode() + b"\0"
    source = MODULE.format(length=len(encoded), bytes=", ".join(map(str, encoded)), stores=stores)
    pieces: list[str] = []
    _native.Program(source).run("k", (grid,), (block,), print=pieces.append, seed=seed)
    return "".join(pieces)


def _words(*values: int) -> str:
    """Stores consecutive 32-bit values to the buffer."""
    return "".join(f"st.local.b32 [buffer+{4 * i}], {value};" for i, value in enumerate(values))


def _quads(*values: object) -> str:
    """Stores consecutive 64-bit values to the buffer."""
    return "".join(f"st.local.b64 [buffer+{8 * i}], {value};" for i, value in enumerate(values))


def _double(value: float) -> str:
    return "0d" + struct.pack(">d", value).hex().upper()


CONVERSIONS = [
    ("plain 100%%\n", "", "plain 100%\n"),
    ("%d|%5d|%-5d|%05d|%+d", _words(*[-42] * 5), "-42|  -42|-42  |-0042|-42"),
    ("%u %x %X %#o", _words(*[4294967295] * 4), "4294967295 ffffffff FFFFFFFF 037777777777"),
    ("%d %lld", _quads(1, -5000000000), "1 -5000000000"),
    ("%d %f|%.2f|%10.3e|%g", _quads(1, *[_double(-2.5)] * 4), "1 -2.500000|-2.50|-2.500e+00|-2.5"),
    ("[%s] [%5s] %c", "mov.u64 %rd2, word;" + _quads("%rd2", "%rd2", 33), "[abc] [  abc] !"),
    ("%*d|%.*f", _words(6, 7, 1) + f"st.local.b64 [buffer+16], {_double(0.25)};", "     7|0.2"),
    ("%.*f", _words(-1, 0) + f"st.local.b64 [buffer+8], {_double(0.25)};", "0.250000"),
    ("%hhd %hd", _words(257, 65537), "1 1"),
    ("%zu %p", _quads(9, 16), "9 0x10"),
]


@pytest.mark.parametrize(("text", "stores", "expected"), CONVERSIONS)
def test_conversions(text, stores, expected):
    assert _printed(text, stores) == expected


@pytest.mark.parametrize("seed", range(6))
def test_output_is_in_block_order(seed):
    printed = _printed("%d ", "st.local.b32 [buffer], %r0;", grid=5, block=2, seed=seed)
    assert printed == "0 0 1 1 2 2 3 3 4 4 "


def test_standard_output(capsys):
    encoded = b"hello\n\0"
    source = MODULE.format(length=len(encoded), bytes=", ".join(map(str, encoded)), stores="")
    _native.Program(source).run("k", (1,), (1,))
    assert capsys.readouterr().out == "hello\n"


@pytest.mark.parametrize("text", ["%y", "%n", "%", "%hld", "%hhhd"])
def test_unknown_conversion(text):
    with pytest.raises(_native.Trap, match="unknown conversion"):
        _printed(text)
