"""Rows of attention: changed scores, gradients, and inference."""

from __future__ import annotations

from typing import Any

from sheet.case import SLICES, Array, Case, Scalar

_FLOAT, _INT = Scalar("float32"), Scalar("int32")
_HEADS = 16


def _heads(count: int, dtype: str = "float16") -> tuple[Array, ...]:
    """Arrays [batch, head, row, column]."""
    return (Array(dtype, 4),) * count


def _forward(name: str, kernel: str, rows: int, keys: int, width: int, extra: Array | None, *more: Any) -> Case:
    extras = () if extra is None else (extra,)
    arguments = (*_heads(3), *extras, *_heads(1), _FLOAT, *more, _HEADS, width, rows, keys)
    return Case(f"attention {name} {rows}x{keys} d{width}", "sheet.kernels_attention", kernel, arguments)


def _cap(rows: int, keys: int, width: int, window: int) -> Case:
    arguments = (*_heads(4), _FLOAT, _FLOAT, _HEADS, width, rows, keys, window)
    name = f"attention softcap window {window} {rows}x{keys} d{width}"
    return Case(name, "sheet.kernels_attention", "attention_with_cap", arguments)


def _sink(rows: int, keys: int, width: int, group: int) -> Case:
    arguments = (*_heads(3), Array("float16", 1), *_heads(1), _FLOAT, 64, group, width, rows, keys)
    return Case(f"attention sink {rows}x{keys} d{width}", "sheet.kernels_attention", "attention_with_sink", arguments)


def _bytes(rows: int, keys: int, width: int) -> Case:
    arguments = (*_heads(3, "float8_e4m3fn"), *_heads(1), _FLOAT, _FLOAT, _HEADS, width, rows, keys)
    return Case(f"attention fp8 {rows}x{keys} d{width}", "sheet.kernels_attention", "attention_of_bytes", arguments)


def _sequences(rows: int, keys: int, width: int) -> Case:
    tokens = Array("float16", 3)
    arguments = (tokens, tokens, tokens, Array("int32", 1), tokens, _FLOAT, width, rows, keys)
    name = f"attention varlen {rows}x{keys} d{width}"
    return Case(name, "sheet.kernels_attention", "attention_of_sequences", arguments, hints=SLICES)


def _gradient(name: str, kernel: str, results: int, tile: tuple[int, int], width: int, *, causal: bool) -> Case:
    rows, keys = tile
    statistics = (Array("float32", 3),) * 2
    arguments = (*_heads(4), *statistics, *_heads(results), _FLOAT, _HEADS, width, rows, keys, causal)
    kind = "causal" if causal else "full"
    return Case(f"backward {name} {kind} {rows}x{keys} d{width}", "sheet.kernels_gradients", kernel, arguments)


def _serving(name: str, kernel: str, *arguments: Any) -> Case:
    return Case(name, "sheet.kernels_serving", kernel, arguments)


def _latent_decode(heads: int, keys: int) -> Case:
    arrays = (Array("bfloat16", 3),) * 5
    arguments = (*arrays, Array("float32", 2), _FLOAT, _INT, heads, 512, 64, keys)
    return _serving(f"mla decode {heads} heads x{keys}", "latent_decode", *arguments)


def _decode(group: int, keys: int, width: int) -> tuple[Case, Case]:
    arrays = _heads(3, "bfloat16")
    grouped = (*arrays, *_heads(1, "bfloat16"), _FLOAT, _INT, group, width, keys)
    parts = (Array("float32", 5), Array("float32", 4))
    split = (*arrays, *parts, _FLOAT, _INT, 8, group, width, keys)
    name = f"{group}x{keys} d{width}"
    return (
        _serving(f"gqa decode {name}", "grouped_decode", *grouped),
        _serving(f"flash decode {name}", "split_decode", *split),
    )


_LATENT = Array("bfloat16", 4)
ATTENTION = (
    *(_forward("bias", "attention_with_bias", 128, 128, width, Array("float16", 3)) for width in (64, 128)),
    *(_forward("alibi", "attention_with_slopes", 128, 128, width, Array("float32", 1)) for width in (64, 128)),
    _cap(128, 128, 128, 4096),
    _cap(128, 64, 256, 4096),
    _sink(128, 128, 64, 8),
    _sink(128, 64, 64, 8),
    _bytes(128, 128, 128),
    _bytes(256, 128, 128),
    _sequences(128, 128, 64),
    _sequences(128, 128, 128),
)
GRADIENTS = (
    Case(
        "backward sums 128 d128", "sheet.kernels_gradients", "gradient_sums",
        (*_heads(2), Array("float32", 3), _HEADS, 128, 128),
    ),
    *(
        _gradient("dq", "query_gradients", 1, tile, width, causal=causal)
        for tile, width in (((128, 128), 64), ((128, 128), 128))
        for causal in (False, True)
    ),
    *(
        _gradient("dk dv", "key_gradients", 2, tile, width, causal=causal)
        for tile, width in (((128, 128), 64), ((64, 128), 128), ((128, 128), 128))
        for causal in (False, True)
    ),
)  # fmt: skip
SERVING = (
    _latent_decode(128, 64),
    _latent_decode(64, 64),
    _latent_decode(16, 64),
    _serving(
        "mla prefill 128x128 d128+64", "latent_prefill",
        *(_LATENT,) * 3, Array("bfloat16", 3), *(_LATENT,) * 2, _FLOAT, 128, 128, 64, 128, 128,
    ),
    *(
        _serving(
            f"paged prefill 128x{page} d128", "paged_prefill",
            *_heads(3), Array("int32", 2), *_heads(1), _FLOAT, _INT, 32, 4, 128, 128, page,
        )
        for page in (64, 128)
    ),
    *_decode(8, 128, 128),
    *_decode(16, 128, 128),
    _serving(
        "flash decode join 8x16 d128", "joined_parts",
        Array("float32", 5), Array("float32", 4), *_heads(1, "bfloat16"), 16, 8, 128,
    ),
)  # fmt: skip
