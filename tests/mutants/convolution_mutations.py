"""Mutations of the copies of a convolution: one field of a tensor map or one operand of an instruction is changed."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tilec.runtime.artifact.artifact import Artifact
from tilec.runtime.tensor_maps.tensor_map import Recipe

# The coordinates and the offsets of a copy between a tensor and shared memory.
_COPY = re.compile(r"cp\.async\.bulk\.tensor\.\dd[^;]*;", re.DOTALL)
_COORDINATES = re.compile(r"\[%rd\d+, \{([^}]*)\}\]")
_OFFSETS = re.compile(r"\], \{([^}]*)\};")
# A descriptor whose start moves, and its fields but the start, or the upper half of them.
_MOVED = re.compile(r"(add\.s64 %rd\d+, %rd\d+, )(\d+);")
_FIELDS = re.compile(r"((?:or\.b64 %rd\d+, %rd\d+|mov\.b64 %rd\d+, \{%r\d+), )(0x[0-9a-f]+)(\}?;)")
_BYTES = re.compile(r"(mbarrier\.arrive\.expect_tx\S* _, \[%r\d+\], )(\d+);")


@dataclass(frozen=True)
class ChangedArtifact:
    """An artifact with one change, and what was changed."""

    change: str
    artifact: Artifact

    def __str__(self) -> str:
        return self.change


def changed_artifacts(artifact: Artifact) -> Iterator[ChangedArtifact]:
    """All mutants: of the tensor maps, then of the instructions."""
    maps = artifact.metadata.tensor_maps
    for index, recipe in enumerate(maps):
        for change, changed in _changed_recipes(recipe, artifact.metadata.allow_unconfirmed):
            replaced = (*maps[:index], changed, *maps[index + 1 :])
            metadata = dataclasses.replace(artifact.metadata, tensor_maps=replaced)
            yield ChangedArtifact(f"map {index}, {change}", dataclasses.replace(artifact, metadata=metadata))
    for change, ptx in _changed_texts(artifact.ptx):
        yield ChangedArtifact(change, dataclasses.replace(artifact, ptx=ptx))


def changed_descriptors(artifact: Artifact, row_bytes: int) -> Iterator[ChangedArtifact]:
    """Mutants of matrix descriptors: the start is another row or that of the buffer, groups of rows are a row apart."""
    units = row_bytes // 16
    for found in _MOVED.finditer(artifact.ptx):
        moved, line = int(found[2]), artifact.ptx.count("\n", 0, found.start()) + 1
        for changed in (moved - units, moved + units, 0):
            ptx = f"{artifact.ptx[: found.start()]}{found[1]}{changed};{artifact.ptx[found.end() :]}"
            change = f"line {line}, start {moved} to {changed}"
            yield ChangedArtifact(change, dataclasses.replace(artifact, ptx=ptx))
    for found in _FIELDS.finditer(artifact.ptx):
        fields, line = int(found[2], 16), artifact.ptx.count("\n", 0, found.start()) + 1
        # The stride byte offset begins at bit 32: the upper half may be alone.
        row = units << (32 if found[1].startswith("or") else 0)
        for changed in (fields - row, fields + row):
            ptx = f"{artifact.ptx[: found.start()]}{found[1]}{changed:#x}{found[3]}{artifact.ptx[found.end() :]}"
            change = f"line {line}, fields {fields:#x} to {changed:#x}"
            yield ChangedArtifact(change, dataclasses.replace(artifact, ptx=ptx))


def _changed_recipes(recipe: Recipe, allow_unconfirmed: bool) -> Iterator[tuple[str, Recipe]]:
    for name in ("box", "lower", "upper", "element_strides"):
        values = getattr(recipe, name)
        for k, value in enumerate(values):
            # The upper corner decides the number of steps.
            step = recipe.element_strides[1 + k] if name == "upper" else 1
            if name == "element_strides" and (
                _has_one_element(recipe, k) or allow_unconfirmed and _is_along_images(recipe, k)
            ):
                continue
            for changed in (value - step, value + step):
                new = (*values[:k], changed, *values[k + 1 :])
                yield f"{name}[{k}] {value} to {changed}", dataclasses.replace(recipe, **{name: new})
    for name in ("channels_per_pixel", "pixels_per_column"):
        value = getattr(recipe, name)
        # im2col::w::128 loads 128 pixels whatever the map says (PTX ISA 5.5.5.1).
        if value and (name, recipe.kind) != ("pixels_per_column", "im2col_w128"):
            yield f"{name} {value} to {value - 1}", dataclasses.replace(recipe, **{name: value - 1})
            yield f"{name} {value} to {value // 2}", dataclasses.replace(recipe, **{name: value // 2})
    for other in ("none", "64B", "32B"):
        if other != recipe.swizzle:
            yield f"swizzle {recipe.swizzle} to {other}", dataclasses.replace(recipe, swizzle=other)
    for other in ("im2col", "im2col_w", "im2col_w128"):
        if recipe.kind not in ("tiled", other):
            yield f"kind {recipe.kind} to {other}", dataclasses.replace(recipe, kind=other)


def _has_one_element(recipe: Recipe, dimension: int) -> bool:
    """Whether a copy moves one element along a dimension, so that an element stride has no effect."""
    if recipe.kind == "tiled":
        return recipe.box[dimension] == 1
    return recipe.kind != "im2col" and 1 < dimension < len(recipe.extents) - 1


def _is_along_images(recipe: Recipe, dimension: int) -> bool:
    """Whether an element stride is that of the images, which no manual describes, and which may not be refused."""
    return recipe.kind != "tiled" and dimension == len(recipe.extents) - 1


def _changed_texts(ptx: str) -> Iterator[tuple[str, str]]:
    for copy in _COPY.finditer(ptx):
        text, line = copy.group(), ptx.count("\n", 0, copy.start()) + 1
        for name, pattern, type in (("coordinate", _COORDINATES, "s32"), ("offset", _OFFSETS, "u16")):
            found = pattern.search(text)
            operands = [] if found is None else [operand.strip() for operand in found[1].split(",")]
            for k, operand in enumerate(operands):
                changed = ", ".join([*operands[:k], "%mutated", *operands[k + 1 :]])
                mutated = text[: found.start(1)] + changed + text[found.end(1) :]
                yield (
                    f"line {line}, {name} {k} + 1",
                    _with_sum(ptx, copy.start(), copy.end(), mutated, type, operand),
                )
    for arrival in _BYTES.finditer(ptx):
        line = ptx.count("\n", 0, arrival.start()) + 1
        for changed in (int(arrival[2]) // 2, int(arrival[2]) + 16):
            text = f"{ptx[: arrival.start()]}{arrival[1]}{changed};{ptx[arrival.end() :]}"
            yield f"line {line}, bytes {arrival[2]} to {changed}", text


def _with_sum(ptx: str, start: int, end: int, copy: str, type: str, operand: str) -> str:
    """The text with `copy` in place of an instruction, after %mutated = operand + 1."""
    first = ptx.rindex("\n", 0, start) + 1
    guard = ptx[first:start]
    body = f"{{ .reg .{type} %mutated; add.{type} %mutated, {operand}, 1; {guard.strip()} {copy} }}"
    return ptx[:first] + "    " + body + ptx[end:]
