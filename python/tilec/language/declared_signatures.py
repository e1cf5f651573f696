"""`@ct.signatures`: the signatures that `tilec compile` compiles a kernel for, declared beside the kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilec.diagnostics.user_traceback import public
from tilec.errors import CompileError
from tilec.language.kernel import Kernel

# The attribute of a kernel that holds its declarations.
_ATTRIBUTE = "declared_signatures"


@dataclass(frozen=True)
class DeclaredSignature:
    """The text of a signature, and compile options by name."""

    text: str
    hints: tuple[tuple[str, bool | int], ...] = ()


@public
def signatures(*texts: str, **hints: bool | int) -> Callable[[Kernel], Kernel]:
    """Declares signatures that `tilec compile` compiles a kernel for; decorators of one kernel add up.

    Args:
        texts: signatures in the text form of docs/signature.md.
        hints: options of tilec.compile_options by name, for these signatures.

    Returns:
        The decorator, which returns the kernel.

    Raises:
        CompileError: the decorated object is not a kernel, or a signature is not text.

    Example:
        >>> @ct.signatures("x: f32[?], tile=128", "x: f32[?], tile=256")
        ... @ct.kernel
        ... def example(x, tile: ct.Constant[int]): ct.store(x, ct.bid(0), ct.ones(tile, ct.float32))
        >>> from tilec.language.declared_signatures import signatures_of
        >>> [declared.text for declared in signatures_of(example)]
        ['x: f32[?], tile=128', 'x: f32[?], tile=256']
    """
    for text in texts:
        if not isinstance(text, str):
            raise CompileError(f"ct.signatures expects texts such as 'x: f32[?], tile=128', got {type(text).__name__}")

    def declare(kernel: Kernel) -> Kernel:
        if not isinstance(kernel, Kernel):
            raise CompileError(f"ct.signatures expects a kernel, got {type(kernel).__name__}: put it above @ct.kernel")
        declared = tuple(DeclaredSignature(text, tuple(hints.items())) for text in texts)
        # Decorators apply from the innermost, which is the last in the source.
        setattr(kernel, _ATTRIBUTE, declared + signatures_of(kernel))
        return kernel

    return declare


def signatures_of(kernel: Kernel) -> tuple[DeclaredSignature, ...]:
    """The declared signatures of a kernel, in their order in the source."""
    return getattr(kernel, _ATTRIBUTE, ())
