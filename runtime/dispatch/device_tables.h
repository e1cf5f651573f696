// The tables of lists of arrays in device memory, for the time of one launch.
#pragma once

#include "driver.h"

#include <cstddef>
#include <vector>

namespace dispatch {

/// Tables that a kernel reads, as tilec.runtime.list_tables allocates them.
class DeviceTables {
public:
  /// Adds a table of host memory, whose device address `copy` stores in `address`; both must remain.
  void add(const uint64_t *words, size_t count, uint64_t &address) { tables.push_back({words, count, &address}); }
  /// Copies the tables in the order of the stream; returns the status of the driver. A stream that a graph captures is
  /// an error, because the graph would read the tables of its capture.
  int copy(const Driver &driver, void *stream);
  /// Frees the copies when the stream has passed what was launched.
  void release(const Driver &driver, void *stream);

private:
  struct Table {
    const uint64_t *words;
    size_t count;
    uint64_t *address;
  };
  std::vector<Table> tables;
  size_t allocated = 0; // tables with a copy
};

} // namespace dispatch
