"""Splits a file of bytecode into its sections and tables, without code of tilec."""

from __future__ import annotations

HEADER = 12
NAMES = {1: "strings", 2: "functions", 3: "debug", 4: "constants", 5: "types", 6: "globals", 7: "producer"}


def number(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned LEB128 number and the offset of its end."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def sections(data: bytes) -> dict[str, bytes]:
    """The payloads by name, in the order of the file; asserts their alignment and padding."""
    found, at = {}, HEADER
    while data[at]:
        kind, (length, at) = data[at], number(data, at + 1)
        if kind & 0x80:
            alignment, at = number(data, at)
            start = -(-at // alignment) * alignment
            assert data[at:start] == b"\xcb" * (start - at)
            at = start
        found[NAMES[kind & 0x7F]] = data[at : at + length]
        at += length
    assert at == len(data) - 1
    return found


def entries(payload: bytes, width: int) -> list[bytes]:
    """The entries of a table whose offsets have `width` bytes."""
    count, at = number(payload, 0)
    start = -(-at // width) * width
    assert payload[at:start] == b"\xcb" * (start - at)
    offsets = [int.from_bytes(payload[start + width * i : start + width * (i + 1)], "little") for i in range(count)]
    content = payload[start + width * count :]
    return [content[begin:end] for begin, end in zip(offsets, [*offsets[1:], len(content)], strict=True)]


def body(data: bytes) -> bytes:
    """The operations of the only kernel of a file; it has neither hints nor argument attributes."""
    payload = sections(data)["functions"]
    count, at = number(payload, 0)
    assert count == 1
    for _ in ("name", "signature", "flags", "location"):
        _, at = number(payload, at)
    if data[9] == 5:
        assert payload[at : at + 4] == bytes((0x0B, 0, 0x06, 0))
        at += 4
    length, at = number(payload, at)
    assert at + length == len(payload)
    return payload[at:]
