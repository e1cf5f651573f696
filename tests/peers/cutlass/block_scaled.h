// d = (a * scale_a) * transpose(b * scale_b) + c on sm_100a, where each block of elements along k has a scale factor.

#pragma once

#include "launch.h"

/// Alignments are in elements. TileDepth is the extent of a tile along k.
template <class ElementA, class ElementB, int alignment, class TileDepth, class Schedule> struct BlockScaled {
  using Row = cutlass::layout::RowMajor;
  using Column = cutlass::layout::ColumnMajor;
  using TileShape = cute::Shape<cute::_128, cute::_128, TileDepth>;
  using ClusterShape = cute::Shape<cute::_1, cute::_1, cute::_1>;
  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm100, cutlass::arch::OpClassBlockScaledTensorOp, TileShape, ClusterShape,
      cutlass::epilogue::collective::EpilogueTileAuto, float, float, float, Row, 4, float, Row, 4,
      cutlass::epilogue::TmaWarpSpecialized1Sm>::CollectiveOp;
  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm100, cutlass::arch::OpClassBlockScaledTensorOp, ElementA, Row, alignment, ElementB, Column,
      alignment, float, TileShape, ClusterShape, cutlass::gemm::collective::StageCount<3>, Schedule>::CollectiveOp;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Mainloop, Epilogue,
                                                      cutlass::gemm::StaticPersistentScheduler>;

  static bool launch(Launch &launch, int m, int n, int k, const void *a, const void *b, const void *scale_a,
                     const void *scale_b, const float *c, float *d) {
    using Scales = typename Mainloop::Sm1xxBlkScaledConfig;
    auto problem = cute::make_shape(m, n, k, 1);
    typename Mainloop::Arguments operands{
        static_cast<const typename Mainloop::ArrayElementA *>(a),         packed(typename Kernel::StrideA{}, m, k),
        static_cast<const typename Mainloop::ArrayElementB *>(b),         packed(typename Kernel::StrideB{}, n, k),
        static_cast<const typename ElementA::ScaleFactorType *>(scale_a), Scales::tile_atom_to_shape_SFA(problem),
        static_cast<const typename ElementB::ScaleFactorType *>(scale_b), Scales::tile_atom_to_shape_SFB(problem)};
    typename Epilogue::Arguments output{
        {1.0f, 1.0f}, c, packed(typename Kernel::StrideC{}, m, n), d, packed(typename Kernel::StrideD{}, m, n)};
    return make_launch<Kernel>({cutlass::gemm::GemmUniversalMode::kGemm, problem, operands, output}, launch);
  }
};

/// Defines the entry `gemm` and its function `launch_gemm` for these arguments of BlockScaled.
#define BLOCK_SCALED_GEMM(...)                                                                                         \
  ENTRY(gemm, BlockScaled<__VA_ARGS__>::Kernel)                                                                        \
  extern "C" bool launch_gemm(Launch *launch, int m, int n, int k, const void *a, const void *b, const void *scale_a,  \
                              const void *scale_b, const float *c, float *d) {                                         \
    return BlockScaled<__VA_ARGS__>::launch(*launch, m, n, k, a, b, scale_a, scale_b, c, d);                           \
  }
