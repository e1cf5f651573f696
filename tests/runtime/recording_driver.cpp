// A CUDA driver with one GPU in host memory, which tests build. It prints its calls to standard output.
// It runs one kernel, c[i] = a[i] + b[i] with arguments (a, b, c, n); RECORDED_POSITIONS is their positions in the
// parameters, by default "0 1 2 3".
// RECORDED_MAJOR is the major compute capability (default 9). RECORDED_CAPTURE simulates stream capture: calls that
// CUDA forbids then fail unless the thread has the relaxed capture mode. Calls that need a context fail without one.
// RECORDED_VERSION is the CUDA version of the driver (default 13050), which lacks the functions of later versions.
// RECORDED_SYMBOLS prints the look-ups of functions, with the version. RECORDED_WITHOUT is the name of a function that
// the driver does not have. RECORDED_ONLY records launches of any kernel and runs none.
// RECORDED_PARAMETERS is the sizes in bytes of the parameters of any kernel, which are then printed in place of a run;
// the first byte of an encoded map is its number. The time between two events is one microsecond per block of the last
// launch along x; with RECORDED_ENDLESS no event is reached.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <vector>

namespace {
constexpr int success = 0, invalid_value = 1, invalid_context = 201, not_found = 500, file_not_found = 301,
              not_ready = 600, assertion_failed = 710, capture_unsupported = 900;
constexpr int relaxed = 2;
constexpr size_t tensor_map_alignment = 128;
constexpr int pointer_device_ordinal = 9;
constexpr int compute_capability_major = 75, compute_capability_minor = 76;
constexpr size_t allocation_alignment = 256;

// CUlaunchConfig and CUlaunchAttribute of cuda.h 12 and 13.
struct LaunchAttribute {
  int id;
  char pad[4];
  unsigned value[16];
};
struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  void *stream;
  LaunchAttribute *attributes;
  unsigned count;
};

thread_local int contexts = 0, capture_mode = 0;
unsigned char encoded_maps = 0;
// The addresses that streams allocated, the last one first.
std::vector<uint64_t> allocated_in_stream;
unsigned blocks_of_last_launch = 0;

void print_parameters(const char *sizes, void **parameters) {
  int size, length;
  for (int i = 0; sscanf(sizes, "%d%n", &size, &length) == 1; sizes += length, ++i) {
    printf("parameter %d ", i);
    uint64_t address = 0;
    memcpy(&address, parameters[i], size < 8 ? size : 8);
    const auto found = std::find(allocated_in_stream.begin(), allocated_in_stream.end(), address);
    if (size == 8 && found != allocated_in_stream.end()) {
      printf("is the memory that the stream allocated last");
      printf(found == allocated_in_stream.begin() ? "\n" : " but %d\n", int(found - allocated_in_stream.begin()));
      continue;
    }
    for (int byte = 0; byte < size; ++byte)
      printf("%02x", static_cast<unsigned char *>(parameters[i])[byte]);
    printf("\n");
  }
}

void add(void **parameters) {
  const char *positions = getenv("RECORDED_POSITIONS");
  int at[4] = {0, 1, 2, 3}, count;
  if (positions)
    sscanf(positions, "%d %d %d %d", &at[0], &at[1], &at[2], &at[3]);
  float *arrays[3];
  for (int i = 0; i < 3; ++i)
    memcpy(&arrays[i], parameters[at[i]], sizeof arrays[i]);
  memcpy(&count, parameters[at[3]], sizeof count);
  for (int i = 0; i < count; ++i)
    arrays[2][i] = arrays[0][i] + arrays[1][i];
  printf("addresses modulo 256: %d %d %d\n", int(uint64_t(arrays[0]) % 256), int(uint64_t(arrays[1]) % 256),
         int(uint64_t(arrays[2]) % 256));
}
int driver_version() {
  const char *version = getenv("RECORDED_VERSION");
  return version ? atoi(version) : 13050;
}
bool forbidden_in_capture() { return getenv("RECORDED_CAPTURE") && capture_mode != relaxed; }
} // namespace

extern "C" {
int cuInit(unsigned) { return success; }
int cuDriverGetVersion(int *version) { return *version = driver_version(), success; }
int cuDeviceGetCount(int *count) { return *count = 1, success; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, success; }
int cuDeviceGetName(char *name, int size, int) { return snprintf(name, size, "recording driver"), success; }
int cuDeviceGetAttribute(int *value, int attribute, int) {
  const char *major = getenv("RECORDED_MAJOR");
  *value = attribute == compute_capability_major ? (major ? atoi(major) : 9) : 0;
  return success;
}
int cuDevicePrimaryCtxRetain(void **context, int) { return *context = reinterpret_cast<void *>(0x1000), success; }
int cuDevicePrimaryCtxGetState(int, unsigned *flags, int *active) { return *flags = 0, *active = 1, success; }
int cuCtxGetCurrent(void **context) { return *context = reinterpret_cast<void *>(contexts ? 0x1000 : 0), success; }
int cuDevicePrimaryCtxRelease_v2(int) { return success; }
int cuGetErrorName(int status, const char **name) {
  switch (status) {
  case invalid_value:
    return *name = "CUDA_ERROR_INVALID_VALUE", success;
  case not_found:
    return *name = "CUDA_ERROR_NOT_FOUND", success;
  case assertion_failed:
    return *name = "CUDA_ERROR_ASSERT", success;
  default:
    return *name = "an error", success;
  }
}
int cuCtxGetDevice(int *device) { return *device = 0, contexts ? success : invalid_context; }
int cuCtxPushCurrent_v2(void *) { return ++contexts, success; }
int cuCtxPopCurrent_v2(void **) { return --contexts, success; }
int cuThreadExchangeStreamCaptureMode(int *mode) {
  int before = capture_mode;
  return capture_mode = *mode, *mode = before, success;
}
int cuPointerGetAttribute(void *value, int attribute, uint64_t) {
  if (attribute != pointer_device_ordinal)
    return invalid_value;
  return *static_cast<int *>(value) = 0, contexts ? success : invalid_context;
}
int cuMemsetD8Async(uint64_t address, unsigned char byte, size_t size, void *stream) {
  printf("set %zu bytes to %u in stream %p\n", size, byte, stream);
  return memset(reinterpret_cast<void *>(address), byte, size), success;
}
int cuMemAlloc_v2(uint64_t *address, size_t size) {
  if (!contexts || forbidden_in_capture())
    return contexts ? capture_unsupported : invalid_context;
  size_t rounded = (size + allocation_alignment - 1) / allocation_alignment * allocation_alignment;
  *address = reinterpret_cast<uint64_t>(aligned_alloc(allocation_alignment, rounded));
  printf("allocate %zu\n", size);
  return success;
}
int cuMemFree_v2(uint64_t address) { return free(reinterpret_cast<void *>(address)), printf("free\n"), success; }
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size) {
  return memcpy(reinterpret_cast<void *>(to), from, size), printf("to device %zu\n", size), success;
}
int cuMemAllocAsync(uint64_t *address, size_t size, void *stream) {
  *address = reinterpret_cast<uint64_t>(calloc(1, size));
  allocated_in_stream.insert(allocated_in_stream.begin(), *address);
  return printf("allocate %zu in stream %p\n", size, stream), success;
}
int cuMemFreeAsync(uint64_t address, void *stream) {
  return free(reinterpret_cast<void *>(address)), printf("free in stream %p\n", stream), success;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, void *stream) {
  printf("words in stream %p:", stream);
  for (size_t word = 0; word < size / 8; ++word)
    printf(" %llx", static_cast<const unsigned long long *>(from)[word]);
  return memcpy(reinterpret_cast<void *>(to), from, size), printf("\n"), success;
}
int cuStreamIsCapturing(void *, int *status) { return *status = getenv("RECORDED_CAPTURE") != nullptr, success; }
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size) {
  return memcpy(to, reinterpret_cast<void *>(from), size), printf("to host %zu\n", size), success;
}
int cuStreamSynchronize(void *stream) {
  printf("wait for stream %p\n", stream);
  const char *status = getenv("RECORDED_STATUS");
  return status ? atoi(status) : success;
}
int cuModuleLoadData(void **module, const void *image) {
  if (!contexts || forbidden_in_capture())
    return contexts ? capture_unsupported : invalid_context;
  printf("load %.3s\n", static_cast<const char *>(image) + 1);
  return *module = reinterpret_cast<void *>(0x2000), success;
}
int cuEventCreate(void **event, unsigned) { return *event = reinterpret_cast<void *>(0x4000), success; }
int cuEventDestroy_v2(void *) { return success; }
int cuEventRecord(void *, void *stream) { return printf("event in stream %p\n", stream), success; }
int cuEventSynchronize(void *) { return printf("wait for event\n"), success; }
int cuEventQuery(void *) { return getenv("RECORDED_ENDLESS") ? not_ready : success; }
int cuEventElapsedTime_v2(float *time_ms, void *, void *) {
  return *time_ms = blocks_of_last_launch / 1000.0f, success;
}
int cuModuleLoad(void **module, const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file)
    return file_not_found;
  char magic[4] = {};
  size_t count = fread(magic, 1, sizeof magic, file);
  fclose(file);
  return count == sizeof magic ? cuModuleLoadData(module, magic) : invalid_value;
}
int cuModuleUnload(void *) { return printf("unload\n"), success; }
int cuModuleGetFunction(void **function, void *, const char *name) {
  printf("function %s\n", name);
  return *function = reinterpret_cast<void *>(0x3000), strcmp(name, "missing") ? success : not_found;
}
int cuFuncSetAttribute(void *, int attribute, int value) {
  return printf("function attribute %d = %d\n", attribute, value), success;
}
int cuLaunchKernelEx(const LaunchConfig *config, void *, void **parameters, void **) {
  blocks_of_last_launch = config->grid[0];
  printf("launch grid %u,%u,%u block %u,%u,%u shared %u stream %p\n", config->grid[0], config->grid[1], config->grid[2],
         config->block[0], config->block[1], config->block[2], config->shared_bytes, config->stream);
  for (unsigned i = 0; i < config->count; ++i) {
    const LaunchAttribute &attribute = config->attributes[i];
    printf("launch attribute %d = %u,%u,%u\n", attribute.id, attribute.value[0], attribute.value[1],
           attribute.value[2]);
  }
  if (const char *sizes = getenv("RECORDED_PARAMETERS"))
    return print_parameters(sizes, parameters), success;
  printf("parameters modulo 128: %d\n", int(reinterpret_cast<uint64_t>(parameters[0]) % tensor_map_alignment));
  if (getenv("RECORDED_ONLY"))
    return success;
  add(parameters);
  return success;
}
static int encoded(void *map, void *address) {
  memset(map, 0x7e, 128);
  if (getenv("RECORDED_PARAMETERS"))
    *static_cast<unsigned char *>(map) = encoded_maps++;
  return address && reinterpret_cast<uint64_t>(map) % tensor_map_alignment == 0 ? success : invalid_value;
}
int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const uint64_t *extents,
                           const uint64_t *strides, const unsigned *box, const unsigned *element_strides,
                           int interleave, int swizzle, int promotion, int fill) {
  printf("tensor map type %d rank %u address %p interleave %d swizzle %d promotion %d fill %d\n", type, rank, address,
         interleave, swizzle, promotion, fill);
  for (unsigned i = 0; i < rank; ++i)
    printf("dimension %u: extent %llu stride %llu box %u step %u\n", i, (unsigned long long)extents[i],
           i ? (unsigned long long)strides[i - 1] : 0, box[i], element_strides[i]);
  return encoded(map, address);
}
static void print_images(int type, unsigned rank, void *address, const uint64_t *extents, const uint64_t *strides,
                         const unsigned *element_strides, int interleave, int swizzle, int promotion, int fill) {
  printf("type %d rank %u address %p interleave %d swizzle %d promotion %d fill %d\n", type, rank, address, interleave,
         swizzle, promotion, fill);
  for (unsigned i = 0; i < rank; ++i)
    printf("dimension %u: extent %llu stride %llu step %u\n", i, (unsigned long long)extents[i],
           i ? (unsigned long long)strides[i - 1] : 0, element_strides[i]);
}
int cuTensorMapEncodeIm2col(void *map, int type, unsigned rank, void *address, const uint64_t *extents,
                            const uint64_t *strides, const int *lower, const int *upper, unsigned channels,
                            unsigned pixels, const unsigned *element_strides, int interleave, int swizzle,
                            int promotion, int fill) {
  printf("im2col map channels %u pixels %u\n", channels, pixels);
  for (unsigned i = 0; i + 2 < rank; ++i)
    printf("corner %u: lower %d upper %d\n", i, lower[i], upper[i]);
  print_images(type, rank, address, extents, strides, element_strides, interleave, swizzle, promotion, fill);
  return encoded(map, address);
}
int cuTensorMapEncodeIm2colWide(void *map, int type, unsigned rank, void *address, const uint64_t *extents,
                                const uint64_t *strides, int lower, int upper, unsigned channels, unsigned pixels,
                                const unsigned *element_strides, int interleave, int mode, int swizzle, int promotion,
                                int fill) {
  printf("wide map lower %d upper %d channels %u pixels %u mode %d\n", lower, upper, channels, pixels, mode);
  print_images(type, rank, address, extents, strides, element_strides, interleave, swizzle, promotion, fill);
  return encoded(map, address);
}
static void *find(const char *symbol, const char *suffix) {
  char name[128];
  snprintf(name, sizeof name, "%s%s", symbol, suffix);
  return dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), name);
}
int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t, void *status) {
  if (getenv("RECORDED_SYMBOLS"))
    printf("%s of %d\n", symbol, version);
  const char *missing = getenv("RECORDED_WITHOUT");
  if (version > driver_version() || (missing && !strcmp(symbol, missing))) {
    if (status)
      *static_cast<int *>(status) = 1;
    return *function = nullptr, success;
  }
  *function = find(symbol, "_v2");
  if (!*function)
    *function = find(symbol, "");
  if (status)
    *static_cast<int *>(status) = *function ? 0 : 1;
  return success;
}
}
