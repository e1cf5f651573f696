#include "device_tables.h"

namespace dispatch {

namespace {

// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED of cuda.h.
constexpr int capture_unsupported = 900;

} // namespace

int DeviceTables::copy(const Driver &driver, void *stream) {
  int capturing = 0; // CU_STREAM_CAPTURE_STATUS_NONE
  if (int status = driver.is_capturing(stream, &capturing); status || capturing)
    return status ? status : capture_unsupported;
  for (const Table &table : tables) {
    const size_t bytes = table.count * sizeof *table.words;
    if (int status = driver.allocate_in_stream(table.address, bytes, stream))
      return status;
    ++allocated;
    // The driver has read pageable memory when the call returns (CUDA driver API, "API synchronization behavior").
    if (int status = driver.copy_in_stream(*table.address, table.words, bytes, stream))
      return status;
  }
  return 0;
}

void DeviceTables::release(const Driver &driver, void *stream) {
  for (; allocated; --allocated)
    driver.free_in_stream(*tables[allocated - 1].address, stream);
}

} // namespace dispatch
