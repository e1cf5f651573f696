// d = (a * scale_a) * transpose(b * scale_b) + c on sm_100a: elements are e2m1, two per byte, and 16 of them along k
// have a ue4m3 factor.

#include "launch.h"

using Element = cutlass::nv_float4_t<cutlass::float_e2m1_t>;
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;
using TileShape = cute::Shape<cute::_128, cute::_128, cute::_256>;
using ClusterShape = cute::Shape<cute::_1, cute::_1, cute::_1>;

using Epilogue = cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm100, cutlass::arch::OpClassBlockScaledTensorOp, TileShape, ClusterShape,
    cutlass::epilogue::collective::EpilogueTileAuto, float, float, float, Row, 4, float, Row, 4,
    cutlass::epilogue::TmaWarpSpecialized1Sm>::CollectiveOp;
using Mainloop =
    cutlass::gemm::collective::CollectiveBuilder<cutlass::arch::Sm100, cutlass::arch::OpClassBlockScaledTensorOp,
                                                 Element, Row, 32, Element, Column, 32, float, TileShape, ClusterShape,
                                                 cutlass::gemm::collective::StageCount<3>,
                                                 cutlass::gemm::KernelTmaWarpSpecialized1SmNvf4Sm100>::CollectiveOp;
using Kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Mainloop, Epilogue,
                                                    cutlass::gemm::StaticPersistentScheduler>;

extern "C" __global__ void __launch_bounds__(Kernel::MaxThreadsPerBlock, 1)
    gemm(const __grid_constant__ Kernel::Params parameters) {
  extern __shared__ char shared[];
  Kernel{}(parameters, shared);
}

extern "C" bool launch_gemm(Launch *launch, int m, int n, int k, const void *a, const void *b, const void *scale_a,
                            const void *scale_b, const float *c, float *d) {
  using Scales = Mainloop::Sm1xxBlkScaledConfig;
  auto problem = cute::make_shape(m, n, k, 1);
  Mainloop::Arguments operands{
      static_cast<const Mainloop::ArrayElementA *>(a),      packed(Kernel::StrideA{}, m, k),
      static_cast<const Mainloop::ArrayElementB *>(b),      packed(Kernel::StrideB{}, n, k),
      static_cast<const cutlass::float_ue4m3_t *>(scale_a), Scales::tile_atom_to_shape_SFA(problem),
      static_cast<const cutlass::float_ue4m3_t *>(scale_b), Scales::tile_atom_to_shape_SFB(problem)};
  Epilogue::Arguments output{{1.0f, 1.0f}, c, packed(Kernel::StrideC{}, m, n), d, packed(Kernel::StrideD{}, m, n)};
  return make_launch<Kernel>({cutlass::gemm::GemmUniversalMode::kGemm, problem, operands, output}, *launch);
}
