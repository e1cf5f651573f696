"""The part of generated C headers that does not depend on the kernels.

It encodes tensor maps as tilec.runtime.tensor_maps.driver_tensor_map does, and replaces those that read nothing as
tilec.runtime.tensor_maps.padding_memory does.
"""

from __future__ import annotations

# Arrays of a larger rank are refused.
MAX_RANK = 8

SUPPORT = r"""
#ifndef TILEC_LAUNCH_H
#define TILEC_LAUNCH_H

/* The number of blocks along each axis. */
typedef struct {
  unsigned x, y, z;
} tilec_grid;

/* A kernel that is loaded in one context. */
typedef struct {
  CUmodule module;
  CUfunction function;
  int capability;      /* of the device: 10 * major + minor */
  CUdeviceptr padding; /* memory for the tensor maps of arrays without elements */
  /* Whether launches may start before the preceding kernel of the stream ends; a load function sets 0. */
  int programmatic_dependent_launch;
} tilec_kernel;

/* Arrays by rank: address, extents, and strides in elements. */
typedef struct {
  CUdeviceptr data;
} tilec_array_0d;
@ARRAYS@
/* Lists of arrays by rank: descriptions in host memory, which a launch copies, and their number. */
@LISTS@
/* The assumptions of a kernel about an array; an extent or stride of -1 is known at launch only. */
typedef struct {
  int rank;
  int64_t alignment; /* in bytes */
  int64_t limit;     /* of extents and strides */
  int64_t shape[@MAX_RANK@], strides[@MAX_RANK@], shape_divisors[@MAX_RANK@], stride_divisors[@MAX_RANK@];
} tilec_contract;

/* A kernel compiled for one target. */
typedef struct {
  int capability;
  const char *file, *entry;
  unsigned block[3], cluster[3], blocks_of_tile[3], shared_bytes, tensor_maps;
} tilec_image;

enum { TILEC_TILED, TILEC_IM2COL, TILEC_IM2COL_WIDE };

/* The fields of a tensor map; strides in bytes, corners in the order W, H, D. */
typedef struct {
  int kind, type, interleave, swizzle, promotion, fill, mode, corners;
  unsigned rank, box[5], element_strides[5], channels, pixels;
  int64_t base, extents[5], strides[5], granule_bytes, extent_of_padding;
  int lower[3], upper[3];
} tilec_tensor_map;

enum { TILEC_PADDING_BYTES = 128, TILEC_MAP_ALIGNMENT = 128, TILEC_PORTABLE_CLUSTER = 8, TILEC_MAX_PATH = 4096 };

static inline int64_t tilec_floordiv(int64_t left, int64_t right) {
  return left / right - (left % right != 0 && (left < 0) != (right < 0));
}
static inline int64_t tilec_ceildiv(int64_t left, int64_t right) { return -tilec_floordiv(-left, right); }
static inline int64_t tilec_min(int64_t left, int64_t right) { return left < right ? left : right; }
static inline int64_t tilec_max(int64_t left, int64_t right) { return left > right ? left : right; }

/* Writes address, extents and strides to `values`; returns whether they satisfy the contract. */
static inline int tilec_bind(const tilec_contract *contract, CUdeviceptr data, const int64_t *shape,
                             const int64_t *strides, int64_t *values) {
  int valid = data % (uint64_t)contract->alignment == 0, empty = 0, axis;
  for (axis = 0; axis < contract->rank; ++axis)
    empty |= shape[axis] == 0;
  values[0] = (int64_t)data;
  for (axis = 0; axis < contract->rank; ++axis) {
    const int64_t extent = shape[axis], known = contract->strides[axis], divisor = contract->stride_divisors[axis];
    /* The stride of an axis of extent 1, or of an array without elements, has no effect. */
    const int64_t stride = extent > 1 && !empty ? strides[axis] : known < 0 ? divisor : known;
    valid &= extent >= 0 && extent <= contract->limit && stride >= 0 && stride <= contract->limit;
    valid &= contract->shape[axis] < 0 || extent == contract->shape[axis];
    valid &= known < 0 || stride == known;
    valid &= extent % contract->shape_divisors[axis] == 0 && stride % divisor == 0;
    values[1 + axis] = extent;
    values[1 + contract->rank + axis] = stride;
  }
  return valid;
}

/* Whether an extent is 0, or the box between the corners has no position. */
static inline int tilec_reads_nothing(const tilec_tensor_map *map) {
  unsigned i;
  int corner;
  for (i = 0; i < map->rank; ++i)
    if (map->extents[i] == 0)
      return 1;
  for (corner = 0; corner < map->corners; ++corner)
    if (map->extents[1 + corner] + map->upper[corner] - map->lower[corner] < 1)
      return 1;
  return 0;
}

/* Replaces a map that reads nothing by one over the padding memory at `address`. */
static inline void tilec_use_padding(tilec_tensor_map *map, CUdeviceptr address) {
  /* PTX ISA 5.5.4.1: the largest corner by the number of values. */
  static const int largest[4] = {0, 32767, 127, 15};
  int corner, inside = map->corners > 0;
  unsigned i;
  for (corner = 0; corner < map->corners; ++corner)
    inside &= map->lower[corner] >= 0 && map->upper[corner] <= 0;
  map->base = (int64_t)address;
  for (corner = 0; corner < map->corners; ++corner) {
    const int64_t last = map->extents[1 + corner] - 1 + map->upper[corner];
    const int64_t upper = tilec_min(tilec_max(last, map->lower[corner]), largest[map->corners]);
    map->upper[corner] = inside ? 0 : (int)upper;
  }
  map->extents[0] = map->extent_of_padding;
  for (i = 1; i < map->rank; ++i) {
    const int64_t start = inside && (int)i <= map->corners ? map->lower[i - 1] : 0;
    map->extents[i] = start + 1;
    map->strides[i - 1] = TILEC_PADDING_BYTES;
    map->base -= TILEC_PADDING_BYTES * start;
  }
}

static inline CUresult tilec_encode_by_kind(CUtensorMap *encoded, const tilec_tensor_map *map) {
  const CUtensorMapDataType type = (CUtensorMapDataType)map->type;
  const CUtensorMapInterleave interleave = (CUtensorMapInterleave)map->interleave;
  const CUtensorMapSwizzle swizzle = (CUtensorMapSwizzle)map->swizzle;
  const CUtensorMapL2promotion promotion = (CUtensorMapL2promotion)map->promotion;
  const CUtensorMapFloatOOBfill fill = (CUtensorMapFloatOOBfill)map->fill;
  void *const base = (void *)(uintptr_t)map->base;
  cuuint64_t extents[5], strides[5];
  unsigned i;
  for (i = 0; i < map->rank; ++i) {
    extents[i] = (cuuint64_t)map->extents[i];
    strides[i] = (cuuint64_t)map->strides[i];
  }
  if (map->kind == TILEC_TILED)
    return cuTensorMapEncodeTiled(encoded, type, map->rank, base, extents, strides, map->box, map->element_strides,
                                  interleave, swizzle, promotion, fill);
  if (map->kind == TILEC_IM2COL)
    return cuTensorMapEncodeIm2col(encoded, type, map->rank, base, extents, strides, map->lower, map->upper,
                                   map->channels, map->pixels, map->element_strides, interleave, swizzle, promotion,
                                   fill);
#if CUDA_VERSION >= 12080
  return cuTensorMapEncodeIm2colWide(encoded, type, map->rank, base, extents, strides, map->lower[0], map->upper[0],
                                     map->channels, map->pixels, map->element_strides, interleave,
                                     (CUtensorMapIm2ColWideMode)map->mode, swizzle, promotion, fill);
#else
  return CUDA_ERROR_NOT_SUPPORTED;
#endif
}

/* The first map in the array at an aligned address; cuda.h aligns maps from C11 on only. */
static inline CUtensorMap *tilec_aligned(CUtensorMap *maps) {
  return (CUtensorMap *)(((uintptr_t)maps + TILEC_MAP_ALIGNMENT - 1) / TILEC_MAP_ALIGNMENT * TILEC_MAP_ALIGNMENT);
}

/* Encodes map `index` of a kernel. */
static inline CUresult tilec_encode(CUtensorMap *encoded, tilec_tensor_map *map, unsigned index,
                                    const tilec_kernel *kernel, CUstream stream) {
  CUresult status = CUDA_SUCCESS;
  unsigned i;
  if (tilec_reads_nothing(map)) {
    const CUdeviceptr address = kernel->padding + index * TILEC_PADDING_BYTES;
    /* All bits set is a NaN in every type that TMA fills with NaN. */
    status = cuMemsetD8Async(address, map->fill ? 0xff : 0, TILEC_PADDING_BYTES, stream);
    tilec_use_padding(map, address);
  } else {
    /* The stride of an extent of 1 has no effect, but must be valid. */
    for (i = 1; i < map->rank; ++i)
      if (map->extents[i] == 1)
        map->strides[i - 1] = map->granule_bytes;
    /* Maps have no stride of 0: a kernel for such arrays is compiled for a signature that states it. */
    for (i = 1; i < map->rank; ++i)
      if (map->strides[i - 1] == 0)
        return CUDA_ERROR_INVALID_VALUE;
  }
  if (status == CUDA_SUCCESS)
    status = tilec_encode_by_kind(encoded, map);
  /* Driver 595.71.05, known issues: on Blackwell, maps over small allocations that are not dense may fault if this bit
     is set. */
  if (status == CUDA_SUCCESS && kernel->capability >= 100)
    encoded->opaque[1] &= ~((cuuint64_t)1 << 21);
  return status;
}

/* Frees what a load function allocated; the context must be current and no launch in progress. */
static inline CUresult tilec_unload(tilec_kernel *kernel) {
  CUresult status = CUDA_SUCCESS, unloaded = CUDA_SUCCESS;
  if (kernel->padding)
    status = cuMemFree(kernel->padding);
  if (kernel->module)
    unloaded = cuModuleUnload(kernel->module);
  memset(kernel, 0, sizeof *kernel);
  return status == CUDA_SUCCESS ? unloaded : status;
}

static inline CUresult tilec_prepare(tilec_kernel *kernel, const tilec_image *image) {
  const unsigned blocks = image->cluster[0] * image->cluster[1] * image->cluster[2];
  CUresult status = cuModuleGetFunction(&kernel->function, kernel->module, image->entry);
  if (status == CUDA_SUCCESS && image->shared_bytes)
    status = cuFuncSetAttribute(kernel->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                (int)image->shared_bytes);
  if (status == CUDA_SUCCESS && blocks > TILEC_PORTABLE_CLUSTER)
    status = cuFuncSetAttribute(kernel->function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  if (status == CUDA_SUCCESS && image->tensor_maps)
    status = cuMemAlloc(&kernel->padding, image->tensor_maps * TILEC_PADDING_BYTES);
  return status;
}

/* Loads the image for the device of the current context from the cubin in `folder`. */
static inline CUresult tilec_load(tilec_kernel *kernel, const tilec_image *images, int count, const char *folder) {
  char path[TILEC_MAX_PATH];
  CUdevice device;
  int major = 0, minor = 0, i;
  CUresult status = cuCtxGetDevice(&device);
  memset(kernel, 0, sizeof *kernel);
  if (status == CUDA_SUCCESS)
    status = cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  if (status == CUDA_SUCCESS)
    status = cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  if (status != CUDA_SUCCESS)
    return status;
  kernel->capability = 10 * major + minor;
  for (i = 0; i < count && images[i].capability != kernel->capability; ++i)
    ;
  if (i == count)
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, images[i].file) >= sizeof path)
    return CUDA_ERROR_INVALID_VALUE;
  status = cuModuleLoad(&kernel->module, path);
  if (status == CUDA_SUCCESS)
    status = tilec_prepare(kernel, &images[i]);
  if (status != CUDA_SUCCESS)
    tilec_unload(kernel);
  return status;
}

/* Copies the table of a list to memory that the stream allocates; a captured graph would read the table later. */
static inline CUresult tilec_copy_table(CUdeviceptr *address, const void *table, size_t bytes, CUstream stream) {
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  CUresult status = cuStreamIsCapturing(stream, &capture);
  if (status == CUDA_SUCCESS && capture != CU_STREAM_CAPTURE_STATUS_NONE)
    status = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (status == CUDA_SUCCESS)
    status = cuMemAllocAsync(address, bytes ? bytes : 1, stream);
  if (status == CUDA_SUCCESS)
    status = cuMemcpyHtoDAsync(*address, table, bytes, stream);
  return status;
}

/* Frees the tables after the launch; returns the first error. */
static inline CUresult tilec_free_tables(const CUdeviceptr *tables, int count, CUstream stream, CUresult status) {
  int i;
  for (i = 0; i < count; ++i) {
    const CUresult freed = tables[i] ? cuMemFreeAsync(tables[i], stream) : CUDA_SUCCESS;
    status = status == CUDA_SUCCESS ? freed : status;
  }
  return status;
}

/* Launches a loaded kernel. */
static inline CUresult tilec_launch(const tilec_kernel *kernel, const tilec_image *image, CUstream stream,
                                    tilec_grid grid, void **parameters) {
  CUlaunchConfig config;
  CUlaunchAttribute attributes[2];
  memset(&config, 0, sizeof config);
  memset(attributes, 0, sizeof attributes);
  config.gridDimX = grid.x * image->blocks_of_tile[0];
  config.gridDimY = grid.y * image->blocks_of_tile[1];
  config.gridDimZ = grid.z * image->blocks_of_tile[2];
  config.blockDimX = image->block[0], config.blockDimY = image->block[1], config.blockDimZ = image->block[2];
  config.sharedMemBytes = image->shared_bytes;
  config.hStream = stream;
  config.attrs = attributes;
  /* A kernel that needs clusters is refused by the driver if the grid is not divided into them. */
  if (image->cluster[0] * image->cluster[1] * image->cluster[2] > 1 && config.gridDimX % image->cluster[0] == 0 &&
      config.gridDimY % image->cluster[1] == 0 && config.gridDimZ % image->cluster[2] == 0) {
    CUlaunchAttribute *const cluster = &attributes[config.numAttrs++];
    cluster->id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster->value.clusterDim.x = image->cluster[0];
    cluster->value.clusterDim.y = image->cluster[1];
    cluster->value.clusterDim.z = image->cluster[2];
  }
  if (kernel->programmatic_dependent_launch) {
    CUlaunchAttribute *const overlap = &attributes[config.numAttrs++];
    overlap->id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    overlap->value.programmaticStreamSerializationAllowed = 1;
  }
  return cuLaunchKernelEx(&config, kernel->function, parameters, NULL);
}

#endif /* TILEC_LAUNCH_H */
"""


def support_text() -> str:
    """The C text, with the types of arrays and lists of each rank."""
    ranks = (f"  CUdeviceptr data;\n  int64_t shape[{n}], strides[{n}];\n}} tilec_array_{n}d;" for n in _RANKS)
    arrays = "".join(f"typedef struct {{\n{fields}\n" for fields in ranks)
    lists = "".join(_LIST.replace("@RANK@", str(rank)) for rank in (0, *_RANKS))
    return SUPPORT.replace("@ARRAYS@\n", arrays).replace("@LISTS@\n", lists).replace("@MAX_RANK@", str(MAX_RANK))


_RANKS = range(1, MAX_RANK + 1)
_LIST = """typedef struct {
  const tilec_array_@RANK@d *arrays;
  int64_t count;
} tilec_list_@RANK@d;
"""
