#include "driver.h"

#include <type_traits>

namespace dispatch {

namespace {

constexpr int pointer_device_ordinal = 9; // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL

/// A member of Driver that is a function.
struct Function {
  const char *name;
  int version; // cudaTypedefs.h: the suffix of its PFN_ type
  bool is_optional;
  void (*set)(Driver &driver, uintptr_t address);
};

template <auto Member> void assign(Driver &driver, uintptr_t address) {
  using Type = std::remove_reference_t<decltype(driver.*Member)>;
  driver.*Member = reinterpret_cast<Type>(address);
}

constexpr Function functions[] = {
    {"cuLaunchKernelEx", 11060, false, assign<&Driver::launch>},
    {"cuCtxGetCurrent", 4000, false, assign<&Driver::current_context>},
    {"cuCtxPushCurrent", 4000, false, assign<&Driver::push_context>},
    {"cuCtxPopCurrent", 4000, false, assign<&Driver::pop_context>},
    {"cuPointerGetAttribute", 4000, false, assign<&Driver::pointer_attribute>},
    {"cuStreamIsCapturing", 10000, false, assign<&Driver::is_capturing>},
    {"cuMemAllocAsync", 11020, false, assign<&Driver::allocate_in_stream>},
    {"cuMemcpyHtoDAsync", 3020, false, assign<&Driver::copy_in_stream>},
    {"cuMemFreeAsync", 11020, false, assign<&Driver::free_in_stream>},
    {"cuTensorMapEncodeTiled", 12000, true, assign<&Driver::encode_tiled>},
    {"cuTensorMapEncodeIm2col", 12000, true, assign<&Driver::encode_im2col>},
    {"cuTensorMapEncodeIm2colWide", 12080, true, assign<&Driver::encode_wide>},
};

Driver connected;

} // namespace

const Driver *connected_driver = nullptr;

const Driver &encoding_driver() { return connected; }

std::map<std::string, int> driver_functions() {
  std::map<std::string, int> versions;
  for (const Function &function : functions)
    versions[function.name] = function.version;
  return versions;
}

void connect_driver(int device_count, const std::map<std::string, uintptr_t> &addresses) {
  // Launches without the GIL read the driver.
  static bool is_connected = false;
  if (is_connected)
    return;
  is_connected = true;
  bool is_complete = device_count > 0;
  connected.device_count = device_count;
  for (const Function &function : functions) {
    const uintptr_t address = addresses.at(function.name);
    function.set(connected, address);
    is_complete &= address || function.is_optional;
  }
  if (is_complete)
    connected_driver = &connected;
}

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

} // namespace dispatch
