// d = a * transpose(b) + c of e4m3 elements on sm_90a, where one warpgroup loads and two multiply.

#include "launch.h"

using Element = cutlass::float_e4m3_t;
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;
using TileShape = cute::Shape<cute::_128, cute::_128, cute::_128>;
using ClusterShape = cute::Shape<cute::_1, cute::_1, cute::_1>;

using Epilogue =
    cutlass::epilogue::collective::CollectiveBuilder<cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, TileShape,
                                                     ClusterShape, cutlass::epilogue::collective::EpilogueTileAuto,
                                                     float, float, float, Row, 4, float, Row, 4,
                                                     cutlass::epilogue::TmaWarpSpecializedCooperative>::CollectiveOp;
using Mainloop =
    cutlass::gemm::collective::CollectiveBuilder<cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Element, Row, 16,
                                                 Element, Column, 16, float, TileShape, ClusterShape,
                                                 cutlass::gemm::collective::StageCount<3>,
                                                 cutlass::gemm::KernelTmaWarpSpecializedCooperative>::CollectiveOp;
using Kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Mainloop, Epilogue>;

ENTRY(gemm, Kernel)

extern "C" bool launch_gemm(Launch *launch, int m, int n, int k, const Element *a, const Element *b, const float *c,
                            float *d) {
  Mainloop::Arguments operands{a, packed(Kernel::StrideA{}, m, k), b, packed(Kernel::StrideB{}, n, k)};
  Epilogue::Arguments output{{1.0f, 1.0f}, c, packed(Kernel::StrideC{}, m, n), d, packed(Kernel::StrideD{}, m, n)};
  return make_launch<Kernel>({cutlass::gemm::GemmUniversalMode::kGemm, {m, n, k, 1}, operands, output}, *launch);
}
