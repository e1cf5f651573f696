// A CUDA driver without a GPU: calls succeed and do nothing. Built as libcuda.so.1, it measures what programs spend
// before the driver, and its record_* functions let tests see what a launch passed to it.
//
// NULL_DRIVER_DEVICES is the number of GPUs (default 1), NULL_DRIVER_MAJOR their major compute capability (default 10).
// The GPU of an address is its bits 40 to 43, or the first. An encoded tensor map is a function of all arguments of its
// encoding. With NULL_DRIVER_ADDS, memory is copied, and each launch adds two f32 arrays into a third, whose entry
// arguments are (address, extent, stride) each; a graph repeats the launches that were captured in it.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  success = 0,
  invalid_value = 1,
  invalid_context = 201,
  not_found = 500,
  out_of_resources = 701,
  capture_unsupported = 900
};
enum { most_parameters = 128, map_bytes = 128 };

// CUlaunchAttribute and CUlaunchConfig of cuda.h 12 and 13.
typedef struct {
  int id;
  char padding[4];
  int value[16];
} LaunchAttribute;
typedef struct {
  unsigned grid[3], block[3], shared_bytes;
  void *stream;
  LaunchAttribute *attributes;
  unsigned attribute_count;
} LaunchConfig;

// The last launch of a thread.
typedef struct {
  unsigned grid[3], block[3], shared_bytes, attribute_count;
  uint64_t stream, function, context;
  LaunchAttribute attributes[4];
  unsigned char parameters[most_parameters][map_bytes];
  uint64_t launches;
  uint64_t copied;      // a hash of what was copied in streams before the launch, and where
  uint64_t allocations; // those in streams that are not freed
} Record;

static _Thread_local Record record;
static _Thread_local uint64_t copied;
static _Thread_local void *contexts[16];
static _Thread_local int context_count, capture_mode;
static int parameter_count, parameter_sizes[most_parameters], recording, capturing, launch_status, adds;
static _Atomic unsigned long long loads, encodings, pointer_queries;

void record_parameters(int count, const int *sizes) {
  recording = 1, parameter_count = count;
  for (int i = 0; i < count; ++i)
    parameter_sizes[i] = sizes[i];
}
const Record *record_last(void) { return &record; }
uint64_t record_loads(void) { return loads; }
uint64_t record_encodings(void) { return encodings; }
uint64_t record_pointer_queries(void) { return pointer_queries; }
void record_capture(int active) { capturing = active; }
void record_launch_status(int status) { launch_status = status; }

static int device_count(void) {
  const char *given = getenv("NULL_DRIVER_DEVICES");
  return given ? atoi(given) : 1;
}
static int forbidden(void) { return capturing && capture_mode != 2; } // CU_STREAM_CAPTURE_MODE_RELAXED

static int nothing(void) { return success; }
static int get_version(int *version) { return *version = 13050, success; }
static int get_count(int *count) { return *count = device_count(), success; }
static int get_device(int *device, int ordinal) { return *device = ordinal, success; }
static int get_name(char *name, int size, int device) {
  return snprintf(name, (size_t)size, "null driver %d", device), success;
}
static int get_attribute(int *value, int attribute, int device) {
  (void)device;
  const char *major = getenv("NULL_DRIVER_MAJOR");
  switch (attribute) {
  case 75: // COMPUTE_CAPABILITY_MAJOR
    return *value = major ? atoi(major) : 10, success;
  case 76: // COMPUTE_CAPABILITY_MINOR
    return *value = 0, success;
  case 5: // MAX_GRID_DIM_X
    return *value = 0x7fffffff, success;
  case 6: // MAX_GRID_DIM_Y
  case 7:
    return *value = 65535, success;
  case 10: // WARP_SIZE
    return *value = 32, success;
  case 97: // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    return *value = 232448, success;
  default:
    return *value = 1024, success;
  }
}
static void *context_of(int device) { return (void *)(uintptr_t)(0x1000 + 0x10 * device); }
static int retain(void **context, int device) { return *context = context_of(device), success; }
static int get_state(int device, unsigned *flags, int *active) {
  return (void)device, *flags = 0, *active = 1, success;
}
static int get_current(void **context) {
  return *context = context_count ? contexts[context_count - 1] : NULL, success;
}
static int set_current(void *context) {
  context_count = context_count ? context_count : 1;
  return contexts[context_count - 1] = context, success;
}
static int push(void *context) { return contexts[context_count++] = context, success; }
static int pop(void **context) { return *context = context_count ? contexts[--context_count] : NULL, success; }
static int get_context_device(int *device) {
  return *device = context_count ? (int)(((uintptr_t)contexts[context_count - 1] - 0x1000) / 0x10) : 0, success;
}
static int get_id(void *context, unsigned long long *id) { return *id = (uintptr_t)context, success; }
static int get_stream_context(void *stream, void **context) { return (void)stream, *context = context_of(0), success; }
static int exchange_mode(int *mode) {
  const int before = capture_mode;
  return capture_mode = *mode, *mode = before, success;
}
static int query_pointer(void *value, int attribute, uint64_t address) {
  ++pointer_queries;
  if (!context_count)
    return invalid_context;
  const int device = (int)(address >> 40 & 15);
  if (attribute == 9) // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    *(int *)value = device < device_count() ? device : 0;
  return success;
}
static int allocate(uint64_t *address, size_t size) {
  if (forbidden())
    return capture_unsupported;
  return *address = (uint64_t)(uintptr_t)aligned_alloc(256, (size + 255) / 256 * 256), success;
}
// Addresses of allocations in streams are those of a stack, so that equal launches have equal ones.
static int allocate_in_stream(uint64_t *address, size_t size, void *stream) {
  (void)size, (void)stream;
  return *address = 0x700000000000 + 0x10000 * record.allocations++, success;
}
static int release_in_stream(uint64_t address, void *stream) {
  (void)address, (void)stream;
  if (!--record.allocations) // A refused launch leaves no trace.
    copied = 0;
  return success;
}
static int release(uint64_t address) { return free((void *)(uintptr_t)address), success; }
static int load_image(void **module, const void *image) {
  (void)image;
  if (forbidden())
    return capture_unsupported;
  ++loads;
  return *module = (void *)0x2000, success;
}
static int load_library(void **library) { return load_image(library, NULL); }
static int get_function(void **function, void *module, const char *name) {
  return (void)module, (void)name, *function = (void *)(0x3000 + loads), success;
}
static int get_function_attribute(int *value) { return *value = 1024, success; }
static int error_text(int status, const char **text) { return (void)status, *text = "null driver", success; }
static int error_name(int status, const char **name) {
  *name = status == out_of_resources ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" : "CUDA_ERROR_UNKNOWN";
  return success;
}

// FNV-1a.
static uint64_t mix(uint64_t hash, const void *bytes, size_t size) {
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
  return hash;
}
static int copy_in_stream(uint64_t to, const void *from, size_t size, void *stream) {
  const uint64_t where[] = {to, (uint64_t)(uintptr_t)stream};
  return copied = mix(mix(copied, where, sizeof where), from, size), success;
}
static int is_capturing(void *stream, int *status) { return (void)stream, *status = capturing, success; }

static int copy_to_device(uint64_t to, const void *from, size_t size) {
  return memcpy((void *)(uintptr_t)to, from, size), success;
}
static int copy_to_host(void *to, uint64_t from, size_t size) {
  return memcpy(to, (void *)(uintptr_t)from, size), success;
}

typedef struct {
  const float *a, *b;
  float *c;
  int count;
} Addition;
enum { most_captured = 16 };
static Addition captured[most_captured];
static int captured_count;
static void *captured_stream;

static void add(const Addition *addition) {
  for (int i = 0; i < addition->count; ++i)
    addition->c[i] = addition->a[i] + addition->b[i];
}
static int add_or_capture(void *stream, void **parameters) {
  const Addition addition = {*(float **)parameters[0], *(float **)parameters[3], *(float **)parameters[6],
                             *(int *)parameters[7]};
  if (captured_stream && stream == captured_stream && captured_count < most_captured)
    captured[captured_count++] = addition;
  else
    add(&addition);
  return success;
}
static int begin_capture(void *stream) { return captured_count = 0, captured_stream = stream, success; }
static int end_capture(void *stream, void **graph) {
  (void)stream;
  return captured_stream = NULL, *graph = captured, success;
}
static int instantiate(void **executable, void *graph) { return *executable = graph, success; }
static int launch_graph(void) {
  for (int i = 0; i < captured_count; ++i)
    add(&captured[i]);
  return success;
}
static _Atomic uintptr_t handles = 0x4000;
static int create(void **handle) { return *handle = (void *)(handles += 0x10), success; }
static int elapsed(float *milliseconds) { return *milliseconds = 1, success; }

static int launch(const LaunchConfig *config, void *function, void **parameters, void **extra) {
  (void)extra;
  if (adds)
    return add_or_capture(config->stream, parameters);
  if (!recording)
    return launch_status;
  for (int i = 0; i < 3; ++i)
    record.grid[i] = config->grid[i], record.block[i] = config->block[i];
  record.shared_bytes = config->shared_bytes, record.stream = (uintptr_t)config->stream;
  record.function = (uintptr_t)function;
  record.context = context_count ? (uintptr_t)contexts[context_count - 1] : 0;
  record.copied = copied, copied = 0;
  record.attribute_count = config->attribute_count;
  memcpy(record.attributes, config->attributes, config->attribute_count * sizeof *record.attributes);
  for (int i = 0; i < parameter_count; ++i)
    memcpy(record.parameters[i], parameters[i], (size_t)parameter_sizes[i]);
  return ++record.launches, launch_status;
}

// A hash of all arguments, spread over the bytes of the map.
static int spread(void *map, uint64_t hash) {
  if ((uintptr_t)map % map_bytes)
    return invalid_value;
  ++encodings;
  for (int i = 0; i < 16; ++i)
    ((uint64_t *)map)[i] = hash = (hash ^ (uint64_t)i) * 0x9e3779b97f4a7c15;
  return success;
}
static uint64_t mix_tensor(int type, unsigned rank, const void *address, const uint64_t *extents,
                           const uint64_t *strides, const unsigned *steps) {
  uint64_t hash = mix(0xcbf29ce484222325, &type, sizeof type);
  hash = mix(mix(hash, &rank, sizeof rank), &address, sizeof address);
  hash = mix(mix(hash, extents, rank * sizeof *extents), strides, (rank - 1) * sizeof *strides);
  return mix(hash, steps, rank * sizeof *steps);
}
static int encode_tiled(void *map, int type, unsigned rank, void *address, const uint64_t *extents,
                        const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave,
                        int swizzle, int promotion, int fill) {
  const int modes[] = {interleave, swizzle, promotion, fill};
  uint64_t hash = mix_tensor(type, rank, address, extents, strides, steps);
  return spread(map, mix(mix(hash, box, rank * sizeof *box), modes, sizeof modes));
}
static int encode_im2col(void *map, int type, unsigned rank, void *address, const uint64_t *extents,
                         const uint64_t *strides, const int *lower, const int *upper, unsigned channels,
                         unsigned pixels, const unsigned *steps, int interleave, int swizzle, int promotion, int fill) {
  const int modes[] = {(int)channels, (int)pixels, interleave, swizzle, promotion, fill};
  uint64_t hash = mix_tensor(type, rank, address, extents, strides, steps);
  hash = mix(mix(hash, lower, (rank - 2) * sizeof *lower), upper, (rank - 2) * sizeof *upper);
  return spread(map, mix(hash, modes, sizeof modes));
}
static int encode_wide(void *map, int type, unsigned rank, void *address, const uint64_t *extents,
                       const uint64_t *strides, int lower, int upper, unsigned channels, unsigned pixels,
                       const unsigned *steps, int interleave, int mode, int swizzle, int promotion, int fill) {
  const int modes[] = {lower, upper, (int)channels, (int)pixels, interleave, mode, swizzle, promotion, fill};
  return spread(map, mix(mix_tensor(type, rank, address, extents, strides, steps), modes, sizeof modes));
}

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status);
int cuInit(unsigned flags);

static const struct {
  const char *name;
  void *function;
} functions[] = {
    {"cuInit", cuInit},
    {"cuGetProcAddress", cuGetProcAddress_v2},
    {"cuDriverGetVersion", get_version},
    {"cuDeviceGetCount", get_count},
    {"cuDeviceGet", get_device},
    {"cuDeviceGetName", get_name},
    {"cuDeviceGetAttribute", get_attribute},
    {"cuDevicePrimaryCtxRetain", retain},
    {"cuDevicePrimaryCtxGetState", get_state},
    {"cuCtxGetCurrent", get_current},
    {"cuCtxSetCurrent", set_current},
    {"cuCtxPushCurrent", push},
    {"cuCtxPopCurrent", pop},
    {"cuCtxGetDevice", get_context_device},
    {"cuCtxGetId", get_id},
    {"cuStreamGetCtx", get_stream_context},
    {"cuThreadExchangeStreamCaptureMode", exchange_mode},
    {"cuPointerGetAttribute", query_pointer},
    {"cuMemAlloc", allocate},
    {"cuMemFree", release},
    {"cuModuleLoadData", load_image},
    {"cuLibraryLoadData", load_library},
    {"cuModuleGetFunction", get_function},
    {"cuLibraryGetKernel", get_function},
    {"cuFuncGetAttribute", get_function_attribute},
    {"cuGetErrorString", error_text},
    {"cuGetErrorName", error_name},
    {"cuLaunchKernelEx", launch},
    {"cuMemAllocAsync", allocate_in_stream},
    {"cuMemFreeAsync", release_in_stream},
    {"cuMemcpyHtoDAsync", copy_in_stream},
    {"cuStreamIsCapturing", is_capturing},
    {"cuMemcpyHtoD", copy_to_device},
    {"cuMemcpyDtoH", copy_to_host},
    {"cuStreamBeginCapture", begin_capture},
    {"cuStreamEndCapture", end_capture},
    {"cuGraphInstantiate", instantiate},
    {"cuGraphInstantiateWithFlags", instantiate},
    {"cuGraphLaunch", launch_graph},
    {"cuStreamCreate", create},
    {"cuEventCreate", create},
    {"cuEventElapsedTime", elapsed},
    {"cuTensorMapEncodeTiled", encode_tiled},
    {"cuTensorMapEncodeIm2col", encode_im2col},
    {"cuTensorMapEncodeIm2colWide", encode_wide},
};

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status) {
  (void)version, (void)flags;
  *function = (void *)nothing;
  for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i)
    if (!strcmp(name, functions[i].name))
      *function = functions[i].function;
  if (status)
    *status = 0;
  return success;
}
int cuInit(unsigned flags) {
  (void)flags;
  return adds = getenv("NULL_DRIVER_ADDS") != NULL, success;
}

// Triton links these functions.
#define EXPORT(name, function) extern __typeof__(function) name __attribute__((alias(#function)))
EXPORT(cuCtxGetCurrent, get_current);
EXPORT(cuCtxGetDevice, get_context_device);
EXPORT(cuCtxGetLimit, nothing);
EXPORT(cuCtxSetCurrent, set_current);
EXPORT(cuCtxSetLimit, nothing);
EXPORT(cuDeviceGet, get_device);
EXPORT(cuDeviceGetAttribute, get_attribute);
EXPORT(cuDevicePrimaryCtxRetain, retain);
EXPORT(cuDriverGetVersion, get_version);
EXPORT(cuFuncGetAttribute, get_function_attribute);
EXPORT(cuFuncSetAttribute, nothing);
EXPORT(cuFuncSetCacheConfig, nothing);
EXPORT(cuGetErrorString, error_text);
EXPORT(cuModuleGetFunction, get_function);
EXPORT(cuModuleLoadData, load_image);
EXPORT(cuModuleUnload, nothing);
EXPORT(cuPointerGetAttribute, query_pointer);
EXPORT(cuStreamIsCapturing, is_capturing);
EXPORT(cuLaunchKernelEx, launch);
