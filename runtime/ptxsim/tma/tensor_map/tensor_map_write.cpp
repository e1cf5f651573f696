#include "tma/tensor_map/tensor_map_write.h"

#include "memory/memory.h"
#include "tma/tensor_map/tensor_map_encoding.h"

namespace ptxsim {
namespace {

using namespace tensor_map_encoding;

void set_bits(uint8_t *word_at, uint32_t low, uint32_t count, uint32_t value) {
  const uint32_t mask = ((1u << count) - 1) << low;
  store_value<uint32_t>(word_at, (load_value<uint32_t>(word_at) & ~mask) | (value << low & mask));
}

std::string range_error(const char *quantity, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most)
    return "";
  return std::string("expected ") + quantity + " of " + std::to_string(least) + " to " + std::to_string(most) +
         ", got " + std::to_string(value);
}

void set_stride(uint8_t *map, uint32_t ordinal, uint64_t bytes) {
  store_value<uint32_t>(map + stride_low_at + 4 * ordinal, static_cast<uint32_t>(bytes >> 4));
  set_bits(map + stride_high_at, 4 * ordinal, 4, static_cast<uint32_t>(bytes >> 36));
}

/// Writes an element type code of PTX as the code and the tf32 flag of the encoding.
void set_element(uint8_t *map, uint64_t code) {
  constexpr struct {
    uint8_t code, tf32;
  } codes[] = {{0, 0}, {1, 0}, {2, 0},  {3, 0}, {4, 0}, {5, 0},  {6, 0},  {7, 0},
               {8, 0}, {9, 0}, {10, 0}, {7, 1}, {8, 1}, {11, 0}, {12, 0}, {13, 0}};
  set_bits(map + flags_at, 7, 4, codes[code].code);
  set_bits(map + flags_at, 16, 1, codes[code].tf32);
}

void set_box(uint8_t *map, uint32_t ordinal, uint64_t value) {
  if (ordinal == 0)
    set_bits(map + box0_at, 24, 8, static_cast<uint32_t>(value - 1));
  else
    map[box_at + ordinal - 1] = static_cast<uint8_t>(value - 1);
}

void set_swizzle(uint8_t *map, uint64_t mode) {
  // Mode 4 is the 96-byte swizzle of sm_103a, which has its own flag.
  set_bits(map + flags_at, 13, 2, mode == 4 ? 0 : static_cast<uint32_t>(mode));
  set_bits(map + flags_at, 22, 1, mode == 4);
}

struct Limits {
  const char *quantity;
  uint32_t ordinals; // 0: the field has no ordinal
  uint64_t least, most;
};

constexpr Limits field_limits[] = {
    {"a global address", 0, 0, ~uint64_t{0}},
    {"a rank, counted from zero,", 0, 0, 4},
    {"a box extent", 5, 1, 256},
    {"a tensor extent", 5, 1, uint64_t{1} << 32},
    {"a stride in bytes", 4, 0, (uint64_t{1} << 40) - 1},
    {"an element stride", 5, 1, 8},
    {"an element type code", 0, 0, 15},
    {"an interleave code", 0, 0, 2},
    {"a swizzle code", 0, 0, 4},
    {"a swizzle atomicity code", 0, 0, 3},
    {"a fill code", 0, 0, 1},
};

/// The highest code of a field on a target, as ptxas 13.0 checks literals.
uint64_t most_of(TensorMapField field, std::string_view target) {
  constexpr uint64_t before_packed_types = 12, before_swizzle_96 = 3;
  if (field == TensorMapField::ElementType && target.substr(0, 5) == "sm_90")
    return before_packed_types;
  if (field == TensorMapField::SwizzleMode && target != "sm_103a")
    return before_swizzle_96;
  return field_limits[static_cast<uint8_t>(field)].most;
}

} // namespace

std::string replace_field(uint8_t *map, TensorMapField field, uint32_t ordinal, uint64_t value,
                          std::string_view target) {
  const Limits &limits = field_limits[static_cast<uint8_t>(field)];
  if (std::string wrong = range_error(limits.quantity, value, limits.least, most_of(field, target)); !wrong.empty())
    return wrong;
  if (limits.ordinals && ordinal >= limits.ordinals)
    return range_error("a dimension", ordinal, 0, limits.ordinals - 1);
  if (field == TensorMapField::BoxDim && load_value<uint32_t>(map + kind_at) != 0)
    return "expected a tiled tensor map in the replacement of a box extent, got one of an im2col kind";
  switch (field) {
  case TensorMapField::GlobalAddress:
    store_value<uint64_t>(map, value);
    break;
  case TensorMapField::Rank:
    set_bits(map + flags_at, 4, 3, static_cast<uint32_t>(value));
    break;
  case TensorMapField::BoxDim:
    set_box(map, ordinal, value);
    break;
  case TensorMapField::GlobalDim:
    store_value<uint32_t>(map + extent_at + 4 * ordinal, static_cast<uint32_t>(value - 1));
    break;
  case TensorMapField::GlobalStride:
    if (value % 16)
      return "expected a stride of a multiple of 16 bytes, got " + std::to_string(value);
    set_stride(map, ordinal, value);
    break;
  case TensorMapField::ElementStride:
    set_bits(map + box0_at, 3 * ordinal, 3, static_cast<uint32_t>(value - 1));
    break;
  case TensorMapField::ElementType:
    set_element(map, value);
    break;
  case TensorMapField::InterleaveLayout:
    set_bits(map + flags_at, 11, 2, static_cast<uint32_t>(value));
    break;
  case TensorMapField::SwizzleMode:
    set_swizzle(map, value);
    break;
  case TensorMapField::SwizzleAtomicity:
    set_bits(map + flags_at, 19, 2, static_cast<uint32_t>(value));
    break;
  case TensorMapField::FillMode:
    set_bits(map + flags_at, 15, 1, static_cast<uint32_t>(value));
    break;
  }
  return "";
}

} // namespace ptxsim
