"""What signatures and the front end need to know of a kernel."""

from __future__ import annotations

from types import FunctionType
from typing import Protocol

from tilec.errors import SourceLocation
from tilec.language.hints import Hints
from tilec.language.parameter_annotations import ParameterAnnotation


class KernelDeclaration(Protocol):
    """The declaration of a kernel: ct.kernel makes it.

    `parameters` are the names of its parameters in order, `constants` those annotated with ct.Constant, `location` that
    of its `def` statement.
    """

    name: str
    function: FunctionType
    hints: Hints
    parameters: tuple[str, ...]
    annotations: dict[str, ParameterAnnotation]
    constants: frozenset[str]

    @property
    def location(self) -> SourceLocation: ...
