// The functions of the CUDA driver that a launch calls. tilec.runtime.devices looks them up by NVIDIA's bindings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

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

/// The functions of Driver by name, each with the CUDA version of its form, such as 12080.
std::map<std::string, int> driver_functions();
/// Takes the addresses of these functions, of which those that the driver lacks are 0, once per process.
void connect_driver(int device_count, const std::map<std::string, uintptr_t> &addresses);

/// The driver that was connected, null before, without a GPU and without one of the functions that every launch needs.
extern const Driver *connected_driver;
/// The functions that encode tensor maps of the same driver; null is one that the driver lacks.
const Driver &encoding_driver();

} // namespace dispatch
