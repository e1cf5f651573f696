// d = a * transpose(b) + c, where A has two elements of each four along K, those of 32 bits one of each two. CUTLASS
// also makes the kept elements and their metadata, by a kernel of its own.
//
// ARCHITECTURE is the architecture tag of CUTLASS, Sm90 or Sm100; ELEMENT the type of the operands.

#include <type_traits>

#include "launch.h"

#include "cutlass/transform/kernel/sparse_gemm_compressor.hpp"

using Architecture = cutlass::arch::ARCHITECTURE;
using Operator = cutlass::arch::OpClassSparseTensorOp;
using Element = ELEMENT;
using Sum = std::conditional_t<std::is_same_v<Element, int8_t>, int32_t, float>;
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;
using Problem = cute::Shape<int, int, int, int>;
// 256 bytes of A along K before its elements are left out.
using TileShape = cute::Shape<cute::_128, cute::_128, cute::Int<256 / sizeof(Element)>>;
using ClusterShape = cute::Shape<cute::_1, cute::_1, cute::_1>;
constexpr bool is_sm100 = std::is_same_v<Architecture, cutlass::arch::Sm100>;
constexpr int alignment = 16 / sizeof(Element);

using OutputSchedule = std::conditional_t<is_sm100, cutlass::epilogue::TmaWarpSpecialized1Sm,
                                          cutlass::epilogue::TmaWarpSpecializedCooperative>;
using Schedule = std::conditional_t<is_sm100, cutlass::gemm::KernelSparseTmaWarpSpecialized1SmSm100,
                                    cutlass::gemm::collective::KernelScheduleAuto>;
using Epilogue =
    typename cutlass::epilogue::collective::CollectiveBuilder<Architecture, Operator, TileShape, ClusterShape,
                                                              cutlass::epilogue::collective::EpilogueTileAuto, Sum, Sum,
                                                              Sum, Row, 4, Sum, Row, 4, OutputSchedule>::CollectiveOp;
using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
    Architecture, Operator, Element, Row, is_sm100 ? 2 * alignment : alignment, Element, Column, alignment, Sum,
    TileShape, ClusterShape, cutlass::gemm::collective::StageCount<3>, Schedule>::CollectiveOp;
using Scheduler = std::conditional_t<is_sm100, cutlass::gemm::StaticPersistentScheduler, void>;
using Kernel = cutlass::gemm::kernel::GemmUniversal<Problem, Mainloop, Epilogue, Scheduler>;
using Config = typename Mainloop::SparseConfig;
using Compressor = cutlass::transform::kernel::StructuredSparseCompressor<Problem, Element, Row, Config, Architecture>;
using Sizes = cutlass::transform::kernel::StructuredSparseCompressorUtility<Problem, Element, Row, Config>;

ENTRY(compress, Compressor)
ENTRY(gemm, Kernel)

/// Writes the numbers of rows and columns of the kept elements, and of bytes of metadata.
extern "C" void compressed_shape(int m, int k, int *shape) {
  Sizes sizes({m, 1, k, 1}, packed(typename Sizes::StrideA{}, m, k));
  shape[0] = sizes.get_tensorA_m_physical();
  shape[1] = sizes.get_tensorA_k_physical();
  shape[2] = sizes.get_metadata_m_physical() * sizes.get_metadata_k_physical();
}

/// The offset of the byte with the metadata of two groups of the row, from element `column` on.
extern "C" int metadata_offset(int m, int k, int row, int column) {
  using Bytes = typename Config::ElementEMma;
  return cute::upcast<Bytes::sparsity>(Config::fill_layoutE(Problem{m, 1, k, 1}))(row, column / Bytes::sparsity, 0);
}

extern "C" bool launch_compress(Launch *launch, int m, int n, int k, const Element *a, Element *kept,
                                uint8_t *metadata) {
  typename Compressor::Arguments arguments{
      {m, n, k, 1}, {a, packed(typename Compressor::StrideA{}, m, k), kept, metadata}, {}};
  return make_launch<Compressor, ClusterShape>(arguments, *launch);
}

extern "C" bool launch_gemm(Launch *launch, int m, int n, int k, const Element *kept, const uint8_t *metadata,
                            const Element *b, const Sum *c, Sum *d) {
  Problem problem{m, n, k, 1};
  typename Mainloop::Arguments operands{
      reinterpret_cast<const typename Mainloop::ArrayElementA *>(kept), Config::fill_layoutA(problem),
      reinterpret_cast<const typename Mainloop::ArrayElementB *>(b),    packed(typename Kernel::StrideB{}, n, k),
      reinterpret_cast<const typename Mainloop::ElementE *>(metadata),  Config::fill_layoutE(problem)};
  typename Epilogue::Arguments output{
      {Sum(1), Sum(1)}, c, packed(typename Kernel::StrideC{}, m, n), d, packed(typename Kernel::StrideD{}, m, n)};
  return make_launch<Kernel>({cutlass::gemm::GemmUniversalMode::kGemm, problem, operands, output}, *launch);
}
