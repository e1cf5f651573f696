#include "driver.h"

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace dispatch {

namespace {

constexpr int pointer_device_ordinal = 9; // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL

using Find = int (*)(const char *name, void **function, int version, uint64_t flags, void *status);

/// cuGetProcAddress of the installed driver; null without a driver.
void *get_proc_address() {
#ifdef _WIN32
  HMODULE library = LoadLibraryA("nvcuda.dll");
  return library ? reinterpret_cast<void *>(GetProcAddress(library, "cuGetProcAddress_v2")) : nullptr;
#else
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  return library ? dlsym(library, "cuGetProcAddress_v2") : nullptr;
#endif
}

template <class Function> bool find(Find get, const char *name, int version, Function &function) {
  void *address = nullptr;
  if (get(name, &address, version, 0, nullptr) || !address)
    return false;
  function = reinterpret_cast<Function>(address);
  return true;
}

// cudaTypedefs.h: the version of each function is the suffix of its PFN_ type.
bool load(Driver &found) {
  void *symbol = get_proc_address();
  if (!symbol)
    return false;
  auto get = reinterpret_cast<Find>(symbol);
  int (*initialize)(unsigned) = nullptr;
  int (*count)(int *) = nullptr;
  if (!find(get, "cuInit", 2000, initialize) || !find(get, "cuDeviceGetCount", 2000, count))
    return false;
  found.encode_tiled = nullptr, found.encode_im2col = nullptr, found.encode_wide = nullptr;
  find(get, "cuTensorMapEncodeTiled", 12000, found.encode_tiled);
  find(get, "cuTensorMapEncodeIm2col", 12000, found.encode_im2col);
  find(get, "cuTensorMapEncodeIm2colWide", 12080, found.encode_wide);
  return find(get, "cuLaunchKernelEx", 11060, found.launch) &&
         find(get, "cuCtxGetCurrent", 4000, found.current_context) &&
         find(get, "cuCtxPushCurrent", 4000, found.push_context) &&
         find(get, "cuCtxPopCurrent", 4000, found.pop_context) &&
         find(get, "cuPointerGetAttribute", 4000, found.pointer_attribute) &&
         find(get, "cuStreamIsCapturing", 10000, found.is_capturing) &&
         find(get, "cuMemAllocAsync", 11020, found.allocate_in_stream) &&
         find(get, "cuMemcpyHtoDAsync", 3020, found.copy_in_stream) &&
         find(get, "cuMemFreeAsync", 11020, found.free_in_stream) && !initialize(0) && !count(&found.device_count) &&
         found.device_count > 0;
}

} // namespace

int Driver::ordinal_of(uint64_t address) const {
  int ordinal = -1;
  if (!pointer_attribute(&ordinal, pointer_device_ordinal, address))
    return ordinal;
  if (!context || push_context(context))
    return -1;
  void *popped;
  const int status = pointer_attribute(&ordinal, pointer_device_ordinal, address);
  pop_context(&popped);
  return status ? -1 : ordinal;
}

const Driver *load_driver() {
  static Driver found;
  static const bool loaded = load(found);
  if (loaded)
    loaded_driver = &found;
  return loaded_driver;
}

const Driver *loaded_driver = nullptr;

} // namespace dispatch
