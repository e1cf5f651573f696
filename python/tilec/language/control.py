"""What is decided while the kernel is compiled."""

from __future__ import annotations

from tilec.language.stub import kernel_function


@kernel_function
def static_assert(condition, message=None, /):
    """Refuse to compile unless the constant `condition` holds."""


@kernel_function
def static_iter(iterable):
    """`for x in ct.static_iter(...)`: the body is repeated for each element of a tuple or constant range."""


@kernel_function
def static_eval(expr, /):
    """The value of an expression that is known while compiling."""


@kernel_function
def ensure_constant(value, /):
    """`value`, which must be known while compiling."""


@kernel_function
def assert_(cond, /, message=None):
    """Report every element that does not hold when the kernel runs."""
