"""Every row of the instruction table has a test that names it."""

from __future__ import annotations

import re
from pathlib import Path

from tilec.runtime.ptxsim import _native


def test_every_row_is_tested():
    texts = [path.read_text() for path in Path(__file__).parent.glob("test_*.py") if path != Path(__file__)]
    words = set(re.findall(r"[a-z_0-9]+(?:\.[\w:]+)*", "\n".join(texts)))
    tested = {name for name in _native.opcodes() if any(word == name or word.startswith(name + ".") for word in words)}
    # A longer row takes what its prefix would match, so each row needs a word that no longer row takes.
    rows = sorted(_native.opcodes(), key=len, reverse=True)
    own = {next((row for row in rows if word == row or word.startswith(row + ".")), None) for word in words}
    assert sorted(set(_native.opcodes()) - own) == []
    assert tested == set(_native.opcodes())
