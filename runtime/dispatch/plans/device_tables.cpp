#include "plans/device_tables.h"

#include <cstring>

namespace dispatch {

namespace {

// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED of cuda.h.
constexpr int capture_unsupported = 900;

} // namespace

Outcome MapTable::fill(MapCache &given, const uint64_t *words, uint32_t rows, unsigned row_words,
                       const Driver &driver) {
  cache = &given;
  maps.resize(rows);
  for (uint32_t row = 0; row < rows; ++row) {
    const Outcome outcome = given.find(words + size_t(row) * row_words, driver, maps[row]);
    if (outcome == Outcome::Padding)
      empty.push_back(row);
    else if (outcome != Outcome::Native)
      return outcome;
  }
  if (!empty.empty()) {
    maps.emplace_back();
    memset(&maps.back(), given.padding_byte(), sizeof maps.back());
  }
  return Outcome::Native;
}

int DeviceTables::copy(const Driver &driver, void *stream) {
  int capturing = 0; // CU_STREAM_CAPTURE_STATUS_NONE
  if (int status = driver.is_capturing(stream, &capturing); status || capturing)
    return status ? status : capture_unsupported;
  for (const Table &table : tables) {
    const size_t bytes = table.count * sizeof *table.words;
    if (int status = driver.allocate_in_stream(table.address, bytes, stream))
      return status;
    ++allocated;
    if (MapTable *maps = table.maps)
      for (uint32_t row : maps->empty)
        if (int status = maps->cache->encode_padding(maps->address + (maps->maps.size() - 1) * sizeof(EncodedMap),
                                                     driver, maps->maps[row]))
          return status;
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
