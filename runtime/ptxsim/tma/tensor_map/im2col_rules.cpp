#include "tma/tensor_map/im2col_rules.h"

namespace ptxsim {
namespace {

constexpr const char *spatial_names[] = {"W", "H", "D"};
constexpr Interval channels_per_pixel_range{1, 256}, pixels_per_column_range{1, 1024};
// By the number of dimensions that an access walks along.
constexpr Interval corner_ranges[] = {{-32768, 32767}, {-128, 127}, {-16, 15}};
constexpr Interval offset_ranges[] = {{0, 65535}, {0, 255}, {0, 31}};
constexpr Interval wide_offset_range{0, 31}, wide_halo_range{0, 511}, wide_128_halo_range{0, 31};

bool is_wide(const TensorMap &map) { return map.kind != TensorMapKind::Im2col; }

std::string got(int64_t value) { return ", got " + std::to_string(value); }
std::string text(Interval range) { return std::to_string(range.first) + " to " + std::to_string(range.last); }
bool contains(Interval range, int64_t value) { return value >= range.first && value <= range.last; }

std::string for_map(const TensorMap &map) {
  return std::string(" for a map of kind ") + kind_name(map.kind) + " and rank " + std::to_string(map.rank);
}

std::string range_violation(const TensorMap &map, const std::string &quantity, Interval range, int64_t value) {
  if (contains(range, value))
    return "";
  return "expected " + quantity + " of " + text(range) + for_map(map) + got(value);
}

std::string pixel_violation(const TensorMap &map) {
  std::string violation = range_violation(map, "channels per pixel", channels_per_pixel_range, map.channels_per_pixel);
  if (violation.empty() && map.kind != TensorMapKind::Im2colW128)
    violation = range_violation(map, "pixels per column", pixels_per_column_range, map.pixels_per_column);
  return violation;
}

std::string corner_violation(const TensorMap &map, uint32_t spatial) {
  const std::string corner = std::string("corner ") + spatial_names[spatial];
  const Interval range = corner_ranges[walked_dimensions(map) - 1], box = bounding_box(map, spatial);
  std::string violation = range_violation(map, "lower " + corner, range, map.lower_corner[spatial]);
  if (violation.empty())
    violation = range_violation(map, "upper " + corner, range, map.upper_corner[spatial]);
  if (violation.empty() && box.first > box.last)
    violation = "expected lower " + corner + " of at most " + std::to_string(box.last) +
                ", the last coordinate plus the upper corner" + got(box.first);
  return violation;
}

std::string corners_violation(const TensorMap &map) {
  for (uint32_t i = 0; i < walked_dimensions(map); ++i)
    if (std::string violation = corner_violation(map, i); !violation.empty())
      return violation;
  return "";
}

/// The restrictions of the wide kinds alone.
std::string wide_violation(const TensorMap &map) {
  if (!is_wide(map))
    return "";
  if (map.interleave != Interleave::None)
    return "expected no interleaved layout" + for_map(map) + ", got " + interleave_name(map.interleave);
  if (map.swizzle == Swizzle::None || map.swizzle == Swizzle::B128Atom32Flip8)
    return "expected a swizzle other than none and 128B_atom_32B_flip_8B" + for_map(map) + ", got " +
           swizzle_name(map.swizzle);
  if (map.swizzle == Swizzle::B96 && map.kind == TensorMapKind::Im2colW128)
    return "expected a swizzle other than 96B" + for_map(map) + ", got 96B";
  return "";
}

std::string coordinate_name(uint32_t spatial) {
  return "coordinate " + std::to_string(spatial + 1) + " (" + spatial_names[spatial] + ")";
}

/// The first pixel is inside the bounding box, or, for the wide kinds, left of it.
std::string base_violation(const TensorMap &map, const Im2colAccess &access) {
  for (uint32_t i = 0; i < walked_dimensions(map); ++i) {
    const int64_t base = access.coordinates[i + 1];
    const Interval box = bounding_box(map, i);
    if (is_wide(map) && base > box.last)
      return "expected " + coordinate_name(i) + " of at most " + std::to_string(box.last) +
             ", the end of the bounding box" + got(base);
    if (!is_wide(map) && !contains(box, base))
      return "expected " + coordinate_name(i) + " in the bounding box without offsets, " + text(box) + got(base);
  }
  return "";
}

std::string offset_violation(const TensorMap &map, const Im2colAccess &access) {
  if (is_wide(map))
    return range_violation(map, "wOffset", wide_offset_range, access.offsets[0]);
  for (uint32_t i = 0; i < walked_dimensions(map); ++i)
    if (std::string violation = range_violation(map, std::string("im2col offset ") + spatial_names[i],
                                                offset_ranges[walked_dimensions(map) - 1], access.offsets[i]);
        !violation.empty())
      return violation;
  return "";
}

} // namespace

std::string im2col_map_violation(const TensorMap &map) {
  if (map.kind == TensorMapKind::Tiled)
    return "";
  if (map.rank < 3)
    return std::string("expected rank 3 to 5 for a map of kind ") + kind_name(map.kind) + got(map.rank);
  for (const auto &check : {pixel_violation, corners_violation, wide_violation})
    if (std::string violation = check(map); !violation.empty())
      return violation;
  return "";
}

std::string im2col_map_unconfirmed(const TensorMap &map) {
  if (map.kind == TensorMapKind::Tiled)
    return "";
  if (map.element_stride[map.rank - 1] != 1)
    return "an element stride of " + std::to_string(map.element_stride[map.rank - 1]) + " in dimension " +
           std::to_string(map.rank - 1) + " (N)" + for_map(map);
  // PTX ISA 5.5.5 permits these, but the driver encodes only 64B, 128B and 128B_atom_32B.
  for (const Swizzle swizzle : {Swizzle::B32, Swizzle::B96, Swizzle::B128Atom64})
    if (is_wide(map) && map.swizzle == swizzle)
      return std::string("swizzle ") + swizzle_name(swizzle) + for_map(map);
  return "";
}

std::string im2col_access_violation(const TensorMap &map, const Im2colAccess &access) {
  const Interval halo_range = map.kind == TensorMapKind::Im2colW128 ? wide_128_halo_range : wide_halo_range;
  std::string violation = range_violation(map, "wHalo", halo_range, access.halo);
  if (violation.empty())
    violation = offset_violation(map, access);
  return violation.empty() ? base_violation(map, access) : violation;
}

std::string im2col_store_violation(const TensorMap &map) {
  for (uint32_t i = 0; i < walked_dimensions(map); ++i) {
    if (map.lower_corner[i] < 0)
      return std::string("expected lower corner ") + spatial_names[i] + " of at least 0 in a store" +
             got(map.lower_corner[i]);
    if (map.upper_corner[i] > 0)
      return std::string("expected upper corner ") + spatial_names[i] + " of at most 0 in a store" +
             got(map.upper_corner[i]);
  }
  return "";
}

} // namespace ptxsim
