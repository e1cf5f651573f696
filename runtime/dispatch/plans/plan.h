// A specialization that can be launched: function, context, block, and how parameters come from entry arguments.
#pragma once

#include "arguments/call.h"
#include "driver.h"
#include "plans/device_tables.h"
#include "plans/map_recipe.h"

#include <array>
#include <string>
#include <vector>

namespace dispatch {

constexpr unsigned max_parameters = 512, max_maps = 32;

/// An argument of the signature that has entry arguments; -1 is an extent or stride known at launch only. That of a
/// list has the properties of its arrays.
struct PlannedArgument {
  Given::Kind kind = Given::Kind::Number;
  Element element = Element::I1;
  uint64_t alignment = 1;
  std::vector<int64_t> shape, strides, shape_divisors, stride_divisors;
  unsigned word = 0; // the first entry argument

  unsigned word_count() const {
    return kind == Given::Kind::Array ? 1 + 2 * unsigned(shape.size()) : is_list() ? 2 : 1;
  }
  bool is_list() const { return kind == Given::Kind::List; }
};

struct Plan {
  void *function = nullptr, *context = nullptr;
  int ordinal = 0;
  std::array<uint32_t, 3> block{}, cluster{1, 1, 1};
  bool grid_counts_clusters = false, cluster_if_divisible = false;
  uint32_t shared_bytes = 0;
  std::vector<PlannedArgument> arguments;
  std::vector<int> parameters; // an entry argument, or -1 - index of a map
  std::vector<MapCache> maps;
  unsigned word_count = 0;

  /// Whether a launch of these blocks has clusters.
  bool is_clustered(const uint32_t *grid) const;
  /// Turns the grid that is given into blocks; false if they are too many or not whole clusters, if it needs them.
  bool set_blocks(uint32_t *grid) const;
  /// Whether these entry arguments satisfy the signature, as tilec.runtime.arguments.binding checks.
  bool accepts(const Call &call) const;
  /// The list whose table is this entry argument.
  const Given &list_at(int word, const Call &call) const;
  /// Makes strides effective, and checks the ranges of integers.
  Outcome prepare(Call &call) const;
};

/// Where and how a plan is launched.
struct Request {
  uint32_t grid[3];
  void *stream;
  bool overlaps_previous = false; // programmatic dependent launch
};

/// Encodes the maps and calls the driver without the GIL. Copies the tables of lists to the device.
Outcome launch(Plan &plan, const Driver &driver, Call &call, const Request &request);
/// Calls the driver, without the GIL, with these parameters.
Outcome launch(const Plan &plan, const Driver &driver, const Request &request, void **parameters,
               DeviceTables *tables = nullptr);

} // namespace dispatch
