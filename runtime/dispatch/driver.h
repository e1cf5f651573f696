// The functions of the CUDA driver that a launch calls, found in the library that is already loaded or installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dispatch {

/// CUlaunchAttribute of cuda.h 12 and 13.
struct LaunchAttribute {
  int id;
  char padding[4];
  union {
    uint32_t cluster[3];
    int flag;
    char bytes[64];
  } value;
};

/// CUlaunchConfig.
struct LaunchConfig {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  void *stream;
  LaunchAttribute *attributes;
  uint32_t attribute_count;
};

// CUlaunchAttributeID.
constexpr int attribute_cluster_dimension = 4, attribute_programmatic_serialization = 6;

struct Driver {
  int (*launch)(const LaunchConfig *, void *function, void **parameters, void **extra);
  int (*current_context)(void **);
  int (*push_context)(void *);
  int (*pop_context)(void **);
  int (*pointer_attribute)(void *, int attribute, uint64_t address);
  int (*is_capturing)(void *stream, int *status);
  int (*allocate_in_stream)(uint64_t *address, size_t bytes, void *stream);
  int (*copy_in_stream)(uint64_t to, const void *from, size_t bytes, void *stream);
  int (*free_in_stream)(uint64_t address, void *stream);
  int (*encode_tiled)(void *map, int type, uint32_t rank, void *address, const uint64_t *extents,
                      const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides, int interleave,
                      int swizzle, int promotion, int fill);
  int (*encode_im2col)(void *map, int type, uint32_t rank, void *address, const uint64_t *extents,
                       const uint64_t *strides, const int *lower, const int *upper, uint32_t channels, uint32_t pixels,
                       const uint32_t *element_strides, int interleave, int swizzle, int promotion, int fill);
  int (*encode_wide)(void *map, int type, uint32_t rank, void *address, const uint64_t *extents,
                     const uint64_t *strides, int lower, int upper, uint32_t channels, uint32_t pixels,
                     const uint32_t *element_strides, int interleave, int mode, int swizzle, int promotion, int fill);
  int device_count = 0;

  /// The context of the last plan, for queries in a thread without a context.
  mutable void *context = nullptr;

  /// The ordinal of the device of the memory at `address`, -1 if the driver does not know it.
  int ordinal_of(uint64_t address) const;
};

/// The driver after load_driver, null without a driver or a GPU.
extern const Driver *loaded_driver;
const Driver *load_driver();

/// The driver, loaded on the first call. The caller holds the GIL.
inline const Driver *driver() { return loaded_driver ? loaded_driver : load_driver(); }

} // namespace dispatch
