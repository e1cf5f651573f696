"""Writes a directory of sources for the tests of this folder."""

from pathlib import Path

SCALE = """
import tilec as ct

@ct.signatures("x: f32[?], y: f32[?], factor: f32, tile=128", "x: f32[?%128], y: f32[?%128], factor: f32, tile=128")
@ct.kernel
def scale(x, y, factor, tile: ct.Constant[int]):
    block = (ct.bid(0),)
    ct.store(y, block, ct.load(x, block, (tile,)) * factor)
"""
IMPORTER = """
from scale import scale

OTHER = scale
"""
MODULE = """
cuda_tile.module @m {
  entry @nothing() { return }
  entry @nothing_else() { return }
}
"""
UNDEFINED = """
import tilec as ct

@ct.signatures("x: f32[?]")
@ct.kernel
def fails(x):
    ct.store(x, 0, unknown)
"""
# The text of scale.py that declares its two signatures.
SIGNATURES = ("x: f32[?], y: f32[?], factor: f32, tile=128", "x: f32[?%128], y: f32[?%128], factor: f32, tile=128")


def write_sources(folder: Path) -> Path:
    """A directory with a Python kernel of two signatures, a file that imports it, and a module of two entries."""
    (folder / "inner" / ".hidden").mkdir(parents=True)
    (folder / "scale.py").write_text(SCALE)
    (folder / "importer.py").write_text(IMPORTER)
    (folder / "inner" / "module.mlir").write_text(MODULE)
    (folder / "inner" / "notes.txt").write_text("not a kernel")
    (folder / "inner" / ".hidden" / "broken.py").write_text("(")
    return folder
