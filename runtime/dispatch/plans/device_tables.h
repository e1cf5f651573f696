// The tables of lists of arrays, and of their tensor maps, in device memory, for the time of one launch.
#pragma once

#include "plans/map_recipe.h"

#include <cstddef>
#include <vector>

namespace dispatch {

/// The maps of the arrays of a list, and padding for those without elements after the last one.
struct MapTable {
  const MapCache *cache = nullptr;
  std::vector<EncodedMap> maps;
  std::vector<uint32_t> empty; // the arrays whose map depends on the address of the table
  uint64_t address = 0;

  /// Encodes a map for each row of `words`. The caller holds the GIL.
  Outcome fill(MapCache &cache, const uint64_t *words, uint32_t rows, unsigned row_words, const Driver &driver);
};

/// Tables that a kernel reads, as tilec.runtime.launch.list_tables allocates them.
class DeviceTables {
public:
  /// Adds a table of host memory, whose device address `copy` stores in `address`; both must remain.
  void add(const uint64_t *words, size_t count, uint64_t &address) { tables.push_back({words, count, &address}); }
  /// Adds a table of maps, which must remain.
  void add(MapTable &maps) {
    tables.push_back({maps.maps.data()->words, maps.maps.size() * map_words, &maps.address, &maps});
  }
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
    MapTable *maps = nullptr;
  };
  std::vector<Table> tables;
  size_t allocated = 0; // tables with a copy
};

} // namespace dispatch
