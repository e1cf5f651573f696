// A launch of a CUTLASS kernel. CUTLASS makes the parameters on the host; the caller encodes tensor maps in place of
// the driver.

#pragma once

#define CUTLASS_ENABLE_DIRECT_CUDA_DRIVER_CALL 1

#include <cstdint>
#include <cstring>

#include "cute/tensor.hpp"
#include "cutlass/cutlass.h"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/dispatch_policy.hpp"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
#include "cutlass/gemm/kernel/tile_scheduler.hpp"
#include "cutlass/util/packed_stride.hpp"

/// Writes the 128 bytes of a tensor map; other arguments as those of cuTensorMapEncodeTiled. Returns 0, or an error.
using Encode = int (*)(void *map, int type, int rank, void *base, const uint64_t *extents, const uint64_t *strides,
                       const uint32_t *box, const uint32_t *element_strides, int interleave, int swizzle, int fill);

/// As Encode for cuTensorMapEncodeIm2col.
using EncodeIm2col = int (*)(void *map, int type, int rank, void *base, const uint64_t *extents,
                             const uint64_t *strides, const int *lower, const int *upper, uint32_t channels,
                             uint32_t pixels, const uint32_t *element_strides, int interleave, int swizzle, int fill);

struct Launch {
  int grid[3];
  int block[3];
  int cluster[3];
  int shared_bytes;
  int parameter_bytes;
  char parameters[4096];
};

inline Encode encode;
inline EncodeIm2col encode_im2col;

extern "C" void set_encoders(Encode tiled, EncodeIm2col im2col) {
  encode = tiled;
  encode_im2col = im2col;
}

extern "C" CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *base,
                                           const cuuint64_t *extents, const cuuint64_t *strides, const cuuint32_t *box,
                                           const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                                           CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                           CUtensorMapFloatOOBfill fill) {
  return CUresult(
      encode(map, type, int(rank), base, extents, strides, box, element_strides, interleave, swizzle, fill));
}

extern "C" CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *base,
                                            const cuuint64_t *extents, const cuuint64_t *strides, const int *lower,
                                            const int *upper, cuuint32_t channels, cuuint32_t pixels,
                                            const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                                            CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                            CUtensorMapFloatOOBfill fill) {
  return CUresult(encode_im2col(map, type, int(rank), base, extents, strides, lower, upper, channels, pixels,
                                element_strides, interleave, swizzle, fill));
}

inline bool is_possible(bool possible) { return possible; }
inline bool is_possible(cutlass::Status status) { return status == cutlass::Status::kSuccess; }

/// Returns false if the kernel does not implement the problem. The grid is that of a GPU with two multiprocessors, so
/// that blocks compute several tiles.
template <class Kernel, class ClusterShape = typename Kernel::ClusterShape>
bool make_launch(typename Kernel::Arguments arguments, Launch &launch) {
  arguments.hw_info.sm_count = 2;
  arguments.hw_info.max_active_clusters = 2;
  if (!is_possible(Kernel::can_implement(arguments)))
    return false;
  typename Kernel::Params parameters = Kernel::to_underlying_arguments(arguments, nullptr);
  dim3 grid = Kernel::get_grid_shape(parameters), block = Kernel::get_block_shape();
  ClusterShape cluster;
  launch = {{int(grid.x), int(grid.y), int(grid.z)},
            {int(block.x), int(block.y), int(block.z)},
            {int(cute::size<0>(cluster)), int(cute::size<1>(cluster)), int(cute::size<2>(cluster))},
            Kernel::SharedStorageSize,
            int(sizeof parameters),
            {}};
  static_assert(sizeof parameters <= sizeof launch.parameters);
  std::memcpy(launch.parameters, &parameters, sizeof parameters);
  return true;
}

template <class Stride> Stride packed(Stride stride, int rows, int columns) {
  return cutlass::make_cute_packed_stride(stride, {rows, columns, 1});
}

/// Defines the entry `name` of a kernel, whose type may contain commas.
#define ENTRY(name, ...)                                                                                               \
  extern "C" __global__ void __launch_bounds__(__VA_ARGS__::MaxThreadsPerBlock, 1)                                     \
      name(const __grid_constant__ __VA_ARGS__::Params parameters) {                                                   \
    extern __shared__ char shared[];                                                                                   \
    __VA_ARGS__{}(parameters, shared);                                                                                 \
  }
