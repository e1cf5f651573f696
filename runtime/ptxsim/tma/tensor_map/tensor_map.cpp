#include "tma/tensor_map/tensor_map.h"

#include "memory/memory.h"
#include "tma/element_layout.h"
#include "tma/tensor_map/im2col_rules.h"
#include "tma/tensor_map/layout_rules.h"
#include "tma/tensor_map/tensor_map_encoding.h"

namespace ptxsim {
namespace {

struct ElementFacts {
  const char *name;
  uint32_t bits;
  bool is_float;
};

constexpr ElementFacts element_facts[] = {
    {"u8", 8, false},        {"u16", 16, false},      {"u32", 32, false}, {"s32", 32, false},
    {"u64", 64, false},      {"s64", 64, false},      {"f16", 16, true},  {"f32", 32, true},
    {"f32.ftz", 32, true},   {"f64", 64, true},       {"bf16", 16, true}, {"b4x16", 4, false},
    {"b4x16_p64", 4, false}, {"b6x16_p32", 6, false}, {"tf32", 32, true}, {"tf32.ftz", 32, true},
};
constexpr uint32_t element_codes = 14; // tf32 has the code of f32 and a flag

const ElementFacts &facts(TensorElement element) { return element_facts[static_cast<uint8_t>(element)]; }

constexpr uint32_t bits(uint32_t word, uint32_t low, uint32_t count) { return word >> low & ((1u << count) - 1); }

Swizzle decode_swizzle(uint32_t flags) {
  if (bits(flags, 22, 1))
    return Swizzle::B96;
  const uint32_t mode = bits(flags, 13, 2);
  if (mode < 3)
    return static_cast<Swizzle>(mode);
  constexpr Swizzle atoms[] = {Swizzle::B128, Swizzle::B128Atom32, Swizzle::B128Atom32Flip8, Swizzle::B128Atom64};
  return atoms[bits(flags, 19, 2)];
}

TensorElement decode_element(uint32_t flags) {
  const uint32_t code = bits(flags, 7, 4);
  if (!bits(flags, 16, 1))
    return static_cast<TensorElement>(code);
  return code == 8 ? TensorElement::TF32Ftz : TensorElement::TF32;
}

std::string got(uint64_t value) { return ", got " + std::to_string(value); }

/// The rules of the element type code and of the flag of tf32. A map that violates one has no valid `element`.
std::string element_violation(const TensorMap &map) {
  if (map.element_code >= element_codes)
    return "expected an element type code of 0 to 13" + got(map.element_code);
  const bool is_f32 = map.element_code == static_cast<uint32_t>(TensorElement::F32) ||
                      map.element_code == static_cast<uint32_t>(TensorElement::F32Ftz);
  if (map.element >= TensorElement::TF32 && !is_f32)
    return "expected element type code 7 or 8 with the flag of tf32" + got(map.element_code);
  return "";
}

std::string stride_violation(const TensorMap &map) {
  const uint64_t step = global_alignment(map);
  if (map.address % step)
    return "expected a global address that is a multiple of " + std::to_string(step) + got(map.address);
  for (uint32_t i = 1; i < map.rank; ++i)
    if (map.stride_bytes[i] % step)
      return "expected stride " + std::to_string(i) + " to be a multiple of " + std::to_string(step) + " bytes" +
             got(map.stride_bytes[i]);
  return "";
}

std::string box_violation(const TensorMap &map) {
  const uint32_t row = shared_bytes(map.element, map.box[0]);
  if (map.interleave != Interleave::None)
    return "";
  const std::string expected =
      map.kind == TensorMapKind::Tiled ? "expected an innermost box of " : "expected channels per pixel of ";
  if (row % 16)
    return expected + "a multiple of 16 bytes" + got(row);
  const uint32_t span = swizzle_span(map.swizzle);
  if (span && row > span)
    return expected + "at most " + std::to_string(span) + " bytes with swizzle " + swizzle_name(map.swizzle) + got(row);
  return "";
}

void decode_im2col_fields(TensorMap &map, const uint8_t *bytes) {
  using namespace tensor_map_encoding;
  for (uint32_t i = 0; i < maximum_spatial_rank; ++i) {
    map.lower_corner[i] = load_value<int16_t>(bytes + lower_corner_at + 2 * i);
    map.upper_corner[i] = load_value<int16_t>(bytes + upper_corner_at + 2 * i);
  }
  map.channels_per_pixel = load_value<uint16_t>(bytes + channels_at);
  map.pixels_per_column = load_value<uint16_t>(bytes + pixels_at);
  map.box = {map.channels_per_pixel, 1, 1, 1, 1};
}

} // namespace

uint32_t element_bits(TensorElement element) { return facts(element).bits; }
uint32_t element_bytes(TensorElement element) { return facts(element).bits / 8; }
const char *element_name(TensorElement element) { return facts(element).name; }
bool is_float(TensorElement element) { return facts(element).is_float; }

const char *interleave_name(Interleave interleave) {
  constexpr const char *names[] = {"none", "16B", "32B"};
  return names[static_cast<uint8_t>(interleave)];
}

const char *kind_name(TensorMapKind kind) {
  constexpr const char *names[] = {"tiled", "im2col", "im2col_w", "im2col_w128"};
  return names[static_cast<uint8_t>(kind)];
}

TensorMap decode_tensor_map(const uint8_t *bytes) {
  using namespace tensor_map_encoding;
  const auto word = [&](uint32_t offset) { return load_value<uint32_t>(bytes + offset); };
  const uint32_t flags = word(flags_at);
  TensorMap map;
  map.address = load_value<uint64_t>(bytes);
  map.rank = bits(flags, 4, 3) + 1;
  map.element_code = bits(flags, 7, 4);
  map.element = decode_element(flags);
  map.interleave = static_cast<Interleave>(bits(flags, 11, 2));
  map.swizzle = decode_swizzle(flags);
  map.swizzle_atomicity = bits(flags, 19, 2);
  map.fill_nan = bits(flags, 15, 1);
  map.stride_bytes[0] = element_bytes(map.element);
  for (uint32_t i = 0; i < maximum_rank; ++i) {
    map.extent[i] = static_cast<uint64_t>(word(extent_at + 4 * i)) + 1;
    map.element_stride[i] = bits(word(box0_at), 3 * i, 3) + 1;
    map.box[i] = (i == 0 ? word(box0_at) >> 24 : bits(word(box_at), 8 * (i - 1), 8)) + 1;
    if (i > 0)
      map.stride_bytes[i] =
          (word(stride_low_at + 4 * (i - 1)) | static_cast<uint64_t>(bits(word(stride_high_at), 4 * (i - 1), 4)) << 32)
          << 4;
  }
  map.kind = static_cast<TensorMapKind>(word(kind_at));
  if (map.kind != TensorMapKind::Tiled)
    decode_im2col_fields(map, bytes);
  return map;
}

std::string tensor_map_violation(const TensorMap &map) {
  if (map.kind > TensorMapKind::Im2colW128)
    return "expected a kind of 0 to 3" + got(static_cast<uint32_t>(map.kind));
  if (map.rank > maximum_rank)
    return "expected rank 1 to 5" + got(map.rank);
  if (std::string violation = element_violation(map); !violation.empty())
    return violation;
  if (static_cast<uint32_t>(map.interleave) > 2)
    return "expected interleave none, 16B or 32B, got code 3";
  if (map.fill_nan && !is_float(map.element))
    return std::string("expected a float element type with the NaN fill, got ") + element_name(map.element);
  for (const auto &check : {stride_violation, im2col_map_violation, layout_violation, packed_violation, box_violation})
    if (std::string violation = check(map); !violation.empty())
      return violation;
  return "";
}

std::string tensor_map_unconfirmed(const TensorMap &map) {
  if (std::string feature = layout_unconfirmed(map); !feature.empty())
    return feature;
  for (uint32_t i = 1; i < map.rank; ++i)
    if (map.stride_bytes[i] == 0 && map.extent[i] > 1)
      return "a tensor map with stride 0 in dimension " + std::to_string(i);
  return im2col_map_unconfirmed(map);
}

uint32_t tile_count(const TensorMap &map, uint32_t dimension) {
  // Without interleave the element stride of dimension 0 is ignored (CUDA driver API).
  if (dimension == 0 && map.interleave == Interleave::None)
    return map.box[0];
  const uint32_t stride = map.element_stride[dimension];
  return (map.box[dimension] + stride - 1) / stride;
}

} // namespace ptxsim
