// Tensor maps of a specialization: evaluated from the entry arguments, checked, encoded by the driver, and cached.
#pragma once

#include "driver.h"
#include "outcome.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dispatch {

constexpr unsigned max_map_rank = 5, map_words = 16, max_map_inputs = 16;

/// CUtensorMap. cuda.h of CUDA 13 aligns it to 128 bytes (64 before).
struct alignas(128) EncodedMap {
  uint64_t words[map_words];

  /// Clears the bit that makes small maps fault on Blackwell.
  void clear_faulty_bit();
};

/// An integer expression of the entry arguments as a postfix program.
class Program {
public:
  enum class Operator : uint8_t { Constant, Parameter, Add, Sub, Mul, Floordiv, Ceildiv, Min, Max };
  struct Step {
    Operator op;
    int64_t value; // of a constant, or the index of an entry argument
  };

  Program() = default;
  explicit Program(std::vector<Step> steps) : steps(std::move(steps)) {}
  /// False if a value exceeds 64 bits or a divisor is 0.
  bool evaluate(const uint64_t *arguments, int64_t &result) const;
  const std::vector<Step> &all_steps() const { return steps; }

private:
  std::vector<Step> steps;
};

/// The fields of tilec.runtime.tensor_maps.tensor_map.Recipe, enumerated as in cuda.h.
struct MapRecipe {
  enum class Function : uint8_t { Tiled, Im2col, Wide };

  Function function = Function::Tiled;
  int mode = 0; // CUtensorMapIm2ColWideMode
  int element = 0, interleave = 0, swizzle = 0, promotion = 0, fill = 0;
  uint64_t granule_bytes = 16; // divides the address and the strides
  uint64_t group = 1;          // divides the innermost extent
  bool unconfirmed = false;
  int list = -1;                  // the entry argument of the table of a list, whose words the programs read, or -1
  uint64_t extent_of_padding = 1; // the innermost extent of a map over padding
  Program base;
  std::vector<Program> extents, strides;
  std::vector<uint32_t> box, element_strides;
  std::vector<int> lower, upper;
  uint32_t channels = 0, pixels = 0;

  /// The values of a map that depend on the launch.
  struct Values {
    uint64_t base;
    uint64_t extents[max_map_rank], strides[max_map_rank];
  };
  /// Evaluates and checks the rules of tilec.lowering.tma that depend on the launch.
  Outcome values(const uint64_t *arguments, Values &found) const;
  /// The status of the driver, -1 if it lacks the function.
  int encode(const Values &values, const Driver &driver, EncodedMap &map) const;
};

/// The maps of one recipe by the entry arguments that it reads. The caller holds the GIL.
class MapCache {
public:
  /// `blackwell`: the GPU has compute capability 10.0 or later.
  MapCache(MapRecipe recipe, bool blackwell);

  /// Copies the map for these entry arguments, or for these words of an array of a list, to `map`.
  Outcome find(const uint64_t *arguments, const Driver &driver, EncodedMap &map);
  /// The status of the driver for the map of an array without elements, over padding at `address`; any thread calls it.
  int encode_padding(uint64_t address, const Driver &driver, EncodedMap &map) const;
  /// The byte that padding consists of.
  uint8_t padding_byte() const { return recipe.fill ? 0xFF : 0; }
  /// The entry argument of the table of a list of which each array has a map, or -1.
  int list() const { return recipe.list; }
  uint64_t encoded() const { return misses; }

private:
  struct Entry {
    EncodedMap map;
    uint64_t inputs[max_map_inputs];
    bool used = false;
  };
  Entry &slot(const uint64_t *inputs);
  void grow();

  MapRecipe recipe;
  bool blackwell;
  std::vector<uint16_t> inputs; // the indices of the entry arguments that the recipe reads
  std::vector<Entry> entries;   // direct mapped, a power of two
  unsigned replaced = 0;        // entries replaced since the cache grew
  uint64_t misses = 0;
};

} // namespace dispatch
