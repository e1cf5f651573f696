// d = convolution of a and b + c, of f16 elements with f32 results, as implicit GEMMs: an operand of each is loaded by
// TMA in im2col mode. ARCHITECTURE is the architecture tag of CUTLASS: Sm90 or Sm100.

#include <utility>

#include "launch.h"

#include "cutlass/conv/collective/collective_builder.hpp"
#include "cutlass/conv/convnd_problem_shape.hpp"
#include "cutlass/conv/kernel/conv_universal.hpp"

using Element = cutlass::half_t;
using Architecture = cutlass::arch::ARCHITECTURE;
using Operator = cutlass::conv::Operator;
constexpr bool is_sm100 = std::is_same_v<Architecture, cutlass::arch::Sm100>;
using OneBlock = cute::Shape<cute::_1, cute::_1, cute::_1>;

/// Selects a scheduler for Sm100 whose grid has a block per tile. That of CUTLASS asks for further tiles by
/// clusterlaunchcontrol, which the simulator does not support.
struct OneTilePerBlock {};

namespace cutlass::gemm::kernel::detail {

template <class TileShape, class ClusterShape, uint32_t stages>
struct TileSchedulerSelector<OneTilePerBlock, arch::Sm100, TileShape, ClusterShape, stages> {
  struct Scheduler : PersistentTileSchedulerSm100<ClusterShape, stages> {
    using Base = PersistentTileSchedulerSm100<ClusterShape, stages>;
    using WorkTileInfo = typename Base::WorkTileInfo;
    using Base::Base;

    template <class Pipeline, class State> CUTLASS_DEVICE State advance_to_next_work(Pipeline &, State state) const {
      return state;
    }

    template <class Pipeline, class State> CUTLASS_DEVICE auto fetch_next_work(WorkTileInfo, Pipeline &, State) const {
      return cute::make_tuple(WorkTileInfo::invalid_work_tile(), false);
    }
  };
};

} // namespace cutlass::gemm::kernel::detail

/// Spatial dimensions outermost first; those beyond the rank of the kernel are unused.
struct Convolution {
  int images;
  int channels;
  int filters;
  int extents[3];
  int window[3];
  int lower[3];
  int upper[3];
  int stride[3];
  int dilation[3];
};

template <Operator operation, class Layout, class OutputLayout = Layout, class ClusterShape = OneBlock> struct Traits {
  static constexpr int alignment = 8;
  // The columns of the product of the filter gradient are (channel, tap).
  using Columns = std::conditional_t<operation == Operator::kWgrad, cute::Shape<cute::_64>, cute::_64>;
  // On Sm100, pairs of blocks in a cluster compute a tile together.
  using Rows = std::conditional_t<is_sm100 && cute::size<0>(ClusterShape{}) == 2, cute::_256, cute::_128>;
  using TileShape = cute::Shape<Rows, Columns, cute::Shape<cute::_64>>;
  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      Architecture, cutlass::arch::OpClassTensorOp, TileShape, ClusterShape,
      cutlass::epilogue::collective::EpilogueTileAuto, float, float, float, OutputLayout, 4, float, OutputLayout, 4,
      cutlass::epilogue::collective::EpilogueScheduleAuto>::CollectiveOp;
  using Mainloop = typename cutlass::conv::collective::CollectiveBuilder<
      Architecture, cutlass::arch::OpClassTensorOp, operation, Element, Layout, alignment, Element, Layout, alignment,
      float, TileShape, ClusterShape, cutlass::conv::collective::StageCount<3>,
      cutlass::conv::collective::KernelScheduleAuto>::CollectiveOp;
  static constexpr int rank = Mainloop::NumSpatialDimensions;
  using Problem = cutlass::conv::ConvProblemShape<operation, rank>;
  using Scheduler = std::conditional_t<is_sm100, OneTilePerBlock, void>;
  using Kernel = cutlass::conv::kernel::ConvUniversal<Problem, Mainloop, Epilogue, Scheduler>;

  template <int... i> static Problem problem(const Convolution &given, std::integer_sequence<int, i...>) {
    return {cutlass::conv::Mode::kCrossCorrelation,
            {given.images, given.extents[i]..., given.channels},
            {given.filters, given.window[i]..., given.channels},
            {given.lower[i]...},
            {given.upper[i]...},
            {given.stride[i]...},
            {given.dilation[i]...},
            1};
  }

  static auto output_stride(const Problem &problem) {
    typename Kernel::StrideD stride;
    if constexpr (operation == Operator::kWgrad)
      stride = cutlass::make_cute_packed_stride(stride, problem.shape_C, problem.stride_C, operation);
    else
      cute::for_each(cute::make_seq<rank + 1>{}, [&](auto i) { cute::get<0, i>(stride) = problem.stride_C[rank - i]; });
    return stride;
  }

  static bool launch(const Convolution &given, const Element *a, const Element *b, const float *c, float *d,
                     Launch &launch) {
    Problem shape = problem(given, std::make_integer_sequence<int, rank>());
    auto stride = output_stride(shape);
    return make_launch<Kernel>({shape, {a, b}, {{1.0f, 1.0f}, c, stride, d, stride}}, launch);
  }
};

#define CONVOLUTION(name, ...)                                                                                         \
  ENTRY(name, Traits<__VA_ARGS__>::Kernel)                                                                             \
  extern "C" bool launch_##name(Launch *launch, const Convolution *given, const Element *a, const Element *b,          \
                                const float *c, float *d) {                                                            \
    return Traits<__VA_ARGS__>::launch(*given, a, b, c, d, *launch);                                                   \
  }

CONVOLUTION(forward_1d, Operator::kFprop, cutlass::layout::TensorNWC)
CONVOLUTION(forward_2d, Operator::kFprop, cutlass::layout::TensorNHWC)
CONVOLUTION(forward_2d_multicast, Operator::kFprop, cutlass::layout::TensorNHWC, cutlass::layout::TensorNHWC,
            cute::Shape<cute::_2, cute::_2, cute::_1>)
CONVOLUTION(forward_3d, Operator::kFprop, cutlass::layout::TensorNDHWC)
CONVOLUTION(input_gradient, Operator::kDgrad, cutlass::layout::TensorNHWC)
CONVOLUTION(filter_gradient, Operator::kWgrad, cutlass::layout::TensorNHWC, cutlass::layout::TensorKCSR)
