"""Constraints of an exported kernel, for tests."""

from __future__ import annotations

from typing import Any

import tilec as ct
from tilec.compilation import ArrayConstraint, CallingConvention, KernelSignature, ScalarConstraint

V1, V2 = CallingConvention.cutile_python_v1(), CallingConvention.cutile_python_v2()


def array(dtype: ct.DType = ct.float32, ndim: int = 1, **changes: Any) -> ArrayConstraint:
    defaults: dict[str, Any] = {
        "index_dtype": ct.int32,
        "stride_lower_bound_incl": 0,
        "alias_groups": (),
        "may_alias_internally": False,
    }
    return ArrayConstraint(dtype, ndim, **{**defaults, **changes})


@ct.kernel
def scale(x, pair, n: ct.Constant[int], out):
    ct.store(out, 0, ct.load(x, 0, n) * pair[0] + pair[1])


SCALE = KernelSignature(
    [
        array(stride_constant=(1,)),
        (ScalarConstraint(ct.float32), 2),
        8,
        array(stride_constant=(1,), shape_constant=(8,)),
    ],
    V2,
)
