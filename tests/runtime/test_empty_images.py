"""A kernel that loads pixels of images without elements, or without positions for its window, runs and reads zeros."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.arguments.arguments import PointerArgument, ScalarArgument
from tilec.runtime.artifact.artifact import Artifact
from tilec.runtime.artifact.metadata import Metadata, TensorMapParameter, ValueParameter
from tilec.runtime.simulate import simulate
from tilec.runtime.tensor_maps.expression import Expression, Operation, Parameter
from tilec.runtime.tensor_maps.tensor_map import Recipe

# Copies the 16 pixels of 8 channels from the lower corner to `out`; each thread copies 16 bytes.
PTX = """\
.version 8.8
.target {target}
.address_size 64
.visible .entry kernel(.param .u64 x, .param .u32 n, .param .u32 h, .param .u32 w, .param .u64 out,
  .param .align 64 .b8 map[128])
{{
.reg .pred %p<3>;
.reg .b16 %h<3>;
.reg .b32 %r<8>;
.reg .b64 %rd<5>;
.shared .align 128 .b8 tile[256];
.shared .align 8 .b64 full;
mov.u32 %r0, %tid.x;
setp.eq.u32 %p0, %r0, 0;
mov.u32 %r1, tile;
mov.u32 %r2, full;
mov.b64 %rd0, map;
cvta.param.u64 %rd1, %rd0;
@%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
@%p0 fence.mbarrier_init.release.cluster;
bar.sync 0;
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 256;
mov.b16 %h0, 1;
@%p0 cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes
  [%r1], [%rd1, {{0, -1, -1, 0}}], [%r2], {{%h0, %h0}};
poll:
mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;
@!%p1 bra poll;
shl.b32 %r3, %r0, 4;
add.u32 %r3, %r3, %r1;
ld.shared.v4.b32 {{%r4, %r5, %r6, %r7}}, [%r3];
ld.param.u64 %rd2, [out];
mad.wide.u32 %rd2, %r0, 16, %rd2;
st.global.v4.b32 [%rd2], {{%r4, %r5, %r6, %r7}};
ret;
}}
"""
X, N, H, W, OUT = map(Parameter, range(5))


def product(*factors: Expression) -> Expression:
    first, *rest = factors
    return Operation("mul", first, product(*rest)) if rest else first


# A window of 3x3 with padding 1 before and none after the image.
RECIPE = Recipe(
    base=X,
    element="u16",
    extents=(8, W, H, N),
    strides=(16, product(W, 16), product(H, W, 16)),
    box=(),
    element_strides=(1, 1, 1, 1),
    kind="im2col",
    lower=(-1, -1),
    upper=(-2, -2),
    channels_per_pixel=8,
    pixels_per_column=16,
)


def loaded(x: np.ndarray, target: str) -> np.ndarray:
    metadata = Metadata(
        entry="kernel",
        target=target,
        arguments=(
            PointerArgument("x", "u16"),
            *(ScalarArgument(name, "i32") for name in "nhw"),
            PointerArgument("out", "u16"),
        ),
        parameters=(
            ValueParameter("u64", "x"),
            *(ValueParameter("u32", name) for name in "nhw"),
            ValueParameter("u64", "out"),
            TensorMapParameter(0),
        ),
        tensor_maps=(RECIPE,),
        block=(16, 1, 1),
    )
    out = np.full((16, 8), 99, np.uint16)
    simulate(Artifact(metadata, PTX.format(target=target)), 1, [x, *x.shape[:3], out])
    return out


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("shape", [(0, 4, 4), (1, 0, 4), (1, 4, 0), (2, 4, 1), (2, 1, 4), (2, 1, 1), (0, 1000, 1000)])
def test_pixels_of_nothing_are_zero(shape: tuple[int, ...], target: str) -> None:
    assert not loaded(np.full((*shape, 8), 7, np.uint16), target).any()


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_pixels_of_images(target: str) -> None:
    """Two images of 3x3 have 2x2 positions each; those of the tap in the middle are their first rows and columns."""
    x = np.repeat(np.arange(1, 19, dtype=np.uint16), 8).reshape(2, 3, 3, 8)
    assert loaded(x, target)[:9, 0].tolist() == [1, 2, 4, 5, 10, 11, 13, 14, 0]
