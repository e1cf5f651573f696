"""A folder of compiled kernels; each selects the variant that fits the arguments of a run, without the compiler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from tilec.errors import InputError, KernelUseError, Note
from tilec.frozen import Frozen
from tilec.runtime.arguments.arguments import Argument, ArrayArgument, ListArgument, leaves
from tilec.runtime.arguments.binding import bind
from tilec.runtime.artifact import artifact as artifacts
from tilec.runtime.artifact import kernel_index
from tilec.runtime.artifact.artifact import Artifact
from tilec.runtime.artifact.kernel_index import INDEX_FILE, Variant


class LoadedVariant(Frozen):
    """A variant in its folder; its files are read when they are needed."""

    folder: Path
    variant: Variant

    @cached_property
    def artifact(self) -> Artifact:
        """The compiled kernel."""
        return artifacts.load(self.folder / self.variant.files["metadata"])

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments that the kernel was compiled for."""
        return artifacts.load_metadata(self.folder / self.variant.files["metadata"]).arguments

    @property
    def specialization(self) -> tuple[int, int, int]:
        """The number of known extents and strides, the sum of the divisors, and that of the alignments."""
        found = [
            argument.element if isinstance(argument, ListArgument) else argument for argument in leaves(self.arguments)
        ]
        arrays = [argument for argument in found if isinstance(argument, ArrayArgument)]
        known = sum(value is not None for array in arrays for value in (*array.shape, *array.strides))
        divisors = sum(sum((*array.shape_divisors, *array.stride_divisors)) for array in arrays)
        return known, divisors, sum(array.alignment for array in arrays)


class LoadedKernel(Frozen):
    """A kernel of a folder, which `tilec.run` and `ct.launch` run."""

    name: str
    variants: tuple[LoadedVariant, ...]

    def __getitem__(self, _grid: object) -> Any:
        raise KernelUseError.of_subscript(self.name)

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets that the kernel was compiled for."""
        return tuple(dict.fromkeys(loaded.variant.target for loaded in self.variants))

    def artifact_for(self, given: Sequence[object], target: str) -> Artifact:
        """The variant that fits the arguments.

        Among several it is the most specialized one: that with the most known extents and strides, then the largest
        divisors and alignments, then the first in the index.

        Args:
            given: the arguments of the run, with or without the constants.
            target: the target, such as "sm_100a".

        Returns:
            The artifact.

        Raises:
            InputError: no variant fits; a note for each states the reason.

        Example:
            >>> from tilec.runtime.artifact.kernel_folder import LoadedKernel
            >>> try: LoadedKernel("add", ()).artifact_for((1,), "sm_90a")
            ... except ct.TileError as error: print(error.message)
            kernel 'add' was not compiled for sm_90a, only for: none
        """
        candidates = [loaded for loaded in self.variants if loaded.variant.target == target]
        if not candidates:
            found = ", ".join(self.targets) or "none"
            raise InputError(f"kernel '{self.name}' was not compiled for {target}, only for: {found}")
        fitting, reasons = [], []
        for loaded in candidates:
            try:
                bind(loaded.arguments, given)
                fitting.append(loaded)
            except InputError as error:
                reasons.append(Note(f"{loaded.variant.name} ({loaded.variant.signature}): {error.message}"))
        if not fitting:
            count = f"{len(candidates)} variants" if len(candidates) > 1 else "variant"
            raise InputError(f"the arguments fit none of the {count} of kernel '{self.name}'", notes=reasons)
        return max(fitting, key=lambda loaded: loaded.specialization).artifact


class KernelFolder:
    """The kernels of a folder by name: `folder["matmul"]`, `"matmul" in folder`, `for name in folder`."""

    def __init__(self, path: Path, variants: Sequence[Variant]) -> None:
        self.path = path
        names = dict.fromkeys(variant.kernel for variant in variants)
        self._kernels = {
            name: LoadedKernel(name, tuple(LoadedVariant(path, v) for v in variants if v.kernel == name))
            for name in names
        }

    def __getitem__(self, name: str) -> LoadedKernel:
        if name not in self._kernels:
            known = ", ".join(f"'{found}'" for found in self._kernels) or "none"
            raise InputError(f"{self.path} has no kernel '{name}', its kernels are: {known}")
        return self._kernels[name]

    def __contains__(self, name: object) -> bool:
        return name in self._kernels

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __repr__(self) -> str:
        return f"<tilec kernels of {self.path}: {', '.join(self._kernels)}>"


def load_folder(path: str | Path) -> KernelFolder:
    """Reads the index of a folder that `tilec compile --folder` wrote.

    Args:
        path: the folder.

    Returns:
        The kernels by name.

    Raises:
        InputError: the folder has no valid index.

    Example:
        >>> from tilec.runtime.artifact.kernel_folder import load_folder
        >>> try: load_folder("no/such/folder")
        ... except ct.TileError as error: print(error.message)
        cannot read no/such/folder/index.json: No such file or directory
    """
    index = Path(path) / INDEX_FILE
    text = artifacts.read(index).decode(errors="replace")
    return KernelFolder(Path(path), kernel_index.read(text, str(index)))


def load(path: str | Path) -> Artifact | KernelFolder:
    """Reads a compiled kernel, or a folder of kernels, without the compiler.

    Args:
        path: a folder with an index, a file of an artifact, or the common stem of its files.

    Returns:
        The kernels of the folder, or the artifact.

    Raises:
        InputError: the path is neither, or a file is invalid.

    Example:
        >>> try: ct.load("no/such/kernel")
        ... except ct.TileError as error: print(error.message)
        cannot read no/such/kernel.launch.json: No such file or directory
    """
    return load_folder(path) if Path(path).is_dir() else artifacts.load(path)
