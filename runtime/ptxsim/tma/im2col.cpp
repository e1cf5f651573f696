#include "tma/im2col.h"

namespace ptxsim {
namespace {

constexpr uint32_t group_pixels = 32, groups = 4; // of im2col::w::128

/// The walk of one access: along W by its traversal stride, then H, then D, then images. A dimension that passes the
/// upper corner of the bounding box continues at the lower one.
class PixelWalk {
public:
  PixelWalk(const TensorMap &map, const Im2colAccess &access) : map(map), at(access.coordinates) {
    for (uint32_t i = 0; i < walked_dimensions(map); ++i) {
      box[i] = bounding_box(map, i);
      const int64_t offset = access.offsets[i];
      box[i] = {box[i].first + offset, box[i].last + offset};
      at[i + 1] += offset;
    }
  }

  /// Appends `count` pixels to `rows` and advances past them.
  void append(std::vector<BoxRow> &rows, uint32_t count) {
    for (; count > 0; --count) {
      rows.push_back(box_row(map, at));
      advance();
    }
  }

private:
  void advance() {
    for (uint32_t i = 0; i < walked_dimensions(map); ++i) {
      at[i + 1] += map.element_stride[i + 1];
      if (at[i + 1] <= box[i].last)
        return;
      at[i + 1] = box[i].first;
    }
    ++at[map.rank - 1];
  }

  const TensorMap &map;
  Coordinates at;
  std::array<Interval, maximum_spatial_rank> box{};
};

/// The row of pixel `pixel` of the halo of a group of im2col::w::128.
uint32_t halo_row(HaloOrder order, uint32_t halo, uint32_t group, uint32_t pixel) {
  switch (order) {
  case HaloOrder::Adjacent:
    return groups * (group_pixels + pixel) + group;
  case HaloOrder::Grouped:
    return groups * group_pixels + group * halo + pixel;
  case HaloOrder::Between:
    return group * (group_pixels + halo) + group_pixels + pixel;
  }
  return 0;
}

/// Each group of 32 pixels, and the pixels of the walk that follow it: these are the first ones of the next group.
std::vector<BoxRow> wide_128_rows(const TensorMap &map, const Im2colAccess &access, HaloOrder order) {
  std::vector<BoxRow> rows(im2col_row_count(map, access));
  PixelWalk walk(map, access);
  const uint32_t pitch = group_pixels + (order == HaloOrder::Between ? access.halo : 0);
  for (uint32_t group = 0; group < groups; ++group) {
    std::vector<BoxRow> pixels;
    walk.append(pixels, group_pixels);
    PixelWalk(walk).append(pixels, access.halo);
    for (uint32_t i = 0; i < pixels.size(); ++i)
      rows[i < group_pixels ? group * pitch + i : halo_row(order, access.halo, group, i - group_pixels)] = pixels[i];
  }
  return rows;
}

} // namespace

uint32_t walked_dimensions(const TensorMap &map) { return map.kind == TensorMapKind::Im2col ? map.rank - 2 : 1; }

Interval bounding_box(const TensorMap &map, uint32_t spatial) {
  const auto extent = static_cast<int64_t>(map.extent[spatial + 1]);
  return {map.lower_corner[spatial], extent - 1 + map.upper_corner[spatial]};
}

uint32_t im2col_row_count(const TensorMap &map, const Im2colAccess &access) {
  if (map.kind == TensorMapKind::Im2colW128)
    return groups * (group_pixels + access.halo);
  return map.pixels_per_column + access.halo;
}

std::vector<BoxRow> im2col_rows(const TensorMap &map, const Im2colAccess &access, HaloOrder order) {
  if (map.kind == TensorMapKind::Im2colW128)
    return wide_128_rows(map, access, order);
  std::vector<BoxRow> rows;
  PixelWalk(map, access).append(rows, im2col_row_count(map, access));
  return rows;
}

} // namespace ptxsim
