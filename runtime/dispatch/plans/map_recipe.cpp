#include "plans/map_recipe.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <stdexcept>

namespace dispatch {

namespace {

constexpr unsigned least_entries = 8, most_entries = 512, max_stack = 16;
// The limits of tilec.lowering.tma.rules.
constexpr uint64_t max_extent = uint64_t(1) << 32, max_documented_extent = uint64_t(1) << 31;
constexpr uint64_t stride_limit = uint64_t(1) << 40;
// PADDING_BYTES of tilec.runtime.tensor_maps.padding_memory.
constexpr uint64_t padding_bytes = 128;
// Driver 595.71.05, known issues: on Blackwell, maps over allocations below 128 KB that are not dense may fault. The
// workaround clears this bit of the second 64-bit word. It is cleared for all drivers and all maps: the fixed versions
// are unknown, and an address can return in another allocation.
constexpr uint64_t faulty_bit = uint64_t(1) << 21;

/// Rounds to negative infinity.
bool floordiv(int64_t left, int64_t right, int64_t &result) {
  if (!right || (left == std::numeric_limits<int64_t>::min() && right == -1))
    return false;
  result = left / right - (left % right && (left < 0) != (right < 0));
  return true;
}

bool apply(Program::Operator op, int64_t left, int64_t right, int64_t &result) {
  switch (op) {
  case Program::Operator::Add:
    return !__builtin_add_overflow(left, right, &result);
  case Program::Operator::Sub:
    return !__builtin_sub_overflow(left, right, &result);
  case Program::Operator::Mul:
    return !__builtin_mul_overflow(left, right, &result);
  case Program::Operator::Floordiv:
    return floordiv(left, right, result);
  case Program::Operator::Ceildiv: // -(-left // right)
    return left != std::numeric_limits<int64_t>::min() && floordiv(-left, right, result) &&
           !__builtin_sub_overflow(int64_t(0), result, &result);
  case Program::Operator::Min:
    return result = std::min(left, right), true;
  case Program::Operator::Max:
    return result = std::max(left, right), true;
  default:
    return false;
  }
}

bool evaluate_all(const std::vector<Program> &programs, const uint64_t *arguments, uint64_t *results) {
  for (size_t i = 0; i < programs.size(); ++i) {
    int64_t value;
    if (!programs[i].evaluate(arguments, value) || value < 0)
      return false;
    results[i] = uint64_t(value);
  }
  return true;
}

} // namespace

bool Program::evaluate(const uint64_t *arguments, int64_t &result) const {
  int64_t stack[max_stack];
  unsigned depth = 0;
  for (const Step &step : steps) {
    if (step.op == Operator::Constant) {
      stack[depth++] = step.value;
    } else if (step.op == Operator::Parameter) {
      stack[depth++] = int64_t(arguments[step.value]);
    } else {
      --depth;
      if (!apply(step.op, stack[depth - 1], stack[depth], stack[depth - 1]))
        return false;
    }
    if (depth == max_stack)
      return false;
  }
  result = stack[0];
  return true;
}

// The rules base_alignment, extent_range, large_extent, packed_extent, stride_range, broadcast and nonempty_box; all
// others depend on the recipe alone, which the first launch of the specialization checked.
Outcome MapRecipe::values(const uint64_t *arguments, Values &found) const {
  int64_t address;
  if (!base.evaluate(arguments, address) || !evaluate_all(extents, arguments, found.extents) ||
      !evaluate_all(strides, arguments, found.strides))
    return Outcome::Contract;
  found.base = uint64_t(address);
  if (address < 0 || found.base % granule_bytes || found.extents[0] % group)
    return Outcome::Contract;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (!found.extents[i])
      return Outcome::Padding;
    if (found.extents[i] > (unconfirmed ? max_extent : max_documented_extent))
      return Outcome::Contract;
  }
  for (size_t i = 0; i < lower.size(); ++i)
    if (int64_t(found.extents[i + 1]) + upper[i] - lower[i] < 1)
      return Outcome::Padding;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (found.extents[i + 1] == 1)
      found.strides[i] = granule_bytes;
    const uint64_t stride = found.strides[i];
    if (stride % granule_bytes || stride >= stride_limit || (!stride && !unconfirmed))
      return Outcome::Contract;
  }
  return Outcome::Native;
}

void EncodedMap::clear_faulty_bit() { words[1] &= ~faulty_bit; }

int MapRecipe::encode(const Values &values, const Driver &driver, EncodedMap &map) const {
  const uint32_t rank = uint32_t(extents.size());
  void *address = reinterpret_cast<void *>(values.base);
  int status = -1;
  if (function == Function::Tiled && driver.encode_tiled)
    status = driver.encode_tiled(&map, element, rank, address, values.extents, values.strides, box.data(),
                                 element_strides.data(), interleave, swizzle, promotion, fill);
  else if (function == Function::Im2col && driver.encode_im2col)
    status =
        driver.encode_im2col(&map, element, rank, address, values.extents, values.strides, lower.data(), upper.data(),
                             channels, pixels, element_strides.data(), interleave, swizzle, promotion, fill);
  else if (function == Function::Wide && driver.encode_wide)
    status = driver.encode_wide(&map, element, rank, address, values.extents, values.strides, lower[0], upper[0],
                                channels, pixels, element_strides.data(), interleave, mode, swizzle, promotion, fill);
  return status;
}

MapCache::MapCache(MapRecipe given, bool blackwell)
    : recipe(std::move(given)), blackwell(blackwell), entries(least_entries) {
  std::vector<Program> all = recipe.extents;
  all.insert(all.end(), recipe.strides.begin(), recipe.strides.end());
  all.push_back(recipe.base);
  for (const Program &program : all)
    for (const Program::Step &step : program.all_steps())
      if (step.op == Program::Operator::Parameter &&
          std::find(inputs.begin(), inputs.end(), step.value) == inputs.end())
        inputs.push_back(uint16_t(step.value));
  if (inputs.size() > max_map_inputs || recipe.extents.empty() || recipe.extents.size() > max_map_rank ||
      recipe.strides.size() + 1 != recipe.extents.size())
    throw std::invalid_argument("a tensor map that is not planned");
}

MapCache::Entry &MapCache::slot(const uint64_t *values) {
  uint64_t hash = 0;
  for (size_t i = 0; i < inputs.size(); ++i)
    hash = (hash ^ values[i]) * 0x9E37'79B9'7F4A'7C15, hash ^= hash >> 32;
  return entries[hash & (entries.size() - 1)];
}

/// A cache whose entries are replaced as often as it has entries is too small.
void MapCache::grow() {
  replaced = 0;
  if (entries.size() == most_entries)
    return;
  std::vector<Entry> before(2 * entries.size());
  before.swap(entries);
  for (const Entry &entry : before)
    if (entry.used)
      slot(entry.inputs) = entry;
}

Outcome MapCache::find(const uint64_t *arguments, const Driver &driver, EncodedMap &map) {
  uint64_t values[max_map_inputs];
  for (size_t i = 0; i < inputs.size(); ++i)
    values[i] = arguments[inputs[i]];
  const Entry &found = slot(values);
  if (found.used && !memcmp(found.inputs, values, inputs.size() * sizeof *values)) {
    map = found.map;
    return Outcome::Native;
  }
  MapRecipe::Values evaluated;
  if (Outcome outcome = recipe.values(arguments, evaluated); outcome != Outcome::Native)
    return outcome;
  map = EncodedMap();
  if (recipe.encode(evaluated, driver, map))
    return Outcome::Driver;
  if (blackwell)
    map.clear_faulty_bit();
  ++misses;
  if (found.used && ++replaced > entries.size())
    grow();
  Entry &entry = slot(values);
  entry.map = map;
  memcpy(entry.inputs, values, inputs.size() * sizeof *values);
  entry.used = true;
  return Outcome::Native;
}

// As over_padding of tilec.runtime.tensor_maps.padding_memory.
int MapCache::encode_padding(uint64_t address, const Driver &driver, EncodedMap &map) const {
  MapRecipe::Values values{address, {recipe.extent_of_padding, 1, 1, 1, 1}, {}};
  std::fill(std::begin(values.strides), std::end(values.strides), padding_bytes);
  map = EncodedMap();
  const int status = recipe.encode(values, driver, map);
  if (blackwell)
    map.clear_faulty_bit();
  return status;
}

} // namespace dispatch
