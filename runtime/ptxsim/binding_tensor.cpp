// Functions on matrices and tensor maps for tests: addresses, descriptors, sums.
#include "binding_tensor.h"

#include "tensor/fused_sum.h"
#include "tensor/matrix_descriptor.h"
#include "tensor/tcgen05/accumulator_layout.h"
#include "tensor/tcgen05/instruction_descriptor.h"
#include "tma/box_pieces.h"
#include "tma/im2col.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>

namespace nb = nanobind;

namespace ptxsim {
namespace {

NumberFormat format_named(const std::string &name) {
  constexpr const char *names[] = {"f16",  "bf16", "tf32", "e4m3", "e5m2", "e2m3",
                                   "e3m2", "e2m1", "u8",   "s8",   "f32",  "s32"};
  for (uint8_t i = 0; i < std::size(names); ++i)
    if (name == names[i])
      return static_cast<NumberFormat>(i);
  throw std::invalid_argument("expected a number format, got '" + name + "'");
}

ElementMatrix matrix_of(const std::string &format, const std::vector<uint32_t> &bits, uint32_t rows, uint32_t columns) {
  ElementMatrix matrix(format_named(format), rows, columns);
  if (bits.size() != size_t{rows} * columns)
    throw std::invalid_argument("expected " + std::to_string(size_t{rows} * columns) + " elements, got " +
                                std::to_string(bits.size()));
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t column = 0; column < columns; ++column)
      matrix.set(row, column, bits[size_t{row} * columns + column]);
  return matrix;
}

std::vector<uint32_t> matrix_multiply_add(const std::string &format, const std::string &result,
                                          const std::vector<uint32_t> &a, const std::vector<uint32_t> &b,
                                          const std::vector<uint32_t> &c, uint32_t rows, uint32_t columns,
                                          uint32_t depth, int fraction_bits, int result_fraction_bits) {
  const ElementMatrix left = matrix_of(format, a, rows, depth), right = matrix_of(format, b, depth, columns);
  std::vector<uint32_t> d = c;
  SumRule rule{fraction_bits, format_named(result), result_fraction_bits, 0};
  fused_multiply_add(left, right, d.data(), d.data(), columns, rule);
  return d;
}

uint32_t matrix_address(uint64_t descriptor, bool tcgen05, uint32_t row, uint32_t depth, uint32_t bytes,
                        bool depth_major) {
  const DecodedDescriptor decoded =
      tcgen05 ? decode_tcgen05_descriptor(descriptor) : decode_wgmma_descriptor(descriptor);
  if (!decoded.violation.empty())
    throw std::invalid_argument(decoded.violation);
  return decoded.layout.address(row, depth, bytes, depth_major);
}

TensorMap map_of(nb::bytes map) {
  if (map.size() != tensor_map_bytes)
    throw std::invalid_argument("expected a tensor map of 128 bytes, got " + std::to_string(map.size()));
  return decode_tensor_map(static_cast<const uint8_t *>(map.data()));
}

std::string tensor_map_error(nb::bytes map) { return tensor_map_violation(map_of(map)); }
std::string tensor_map_undocumented(nb::bytes map) { return tensor_map_unconfirmed(map_of(map)); }

using PieceTuple = std::tuple<uint32_t, uint64_t, uint32_t, bool>;

Coordinates coordinates_of(const std::vector<int64_t> &values) {
  Coordinates coordinates{};
  std::copy_n(values.begin(), std::min<size_t>(values.size(), maximum_rank), coordinates.begin());
  return coordinates;
}

std::vector<PieceTuple> tuples_of(const TensorMap &map, const std::vector<BoxRow> &rows, uint32_t shared) {
  std::vector<PieceTuple> pieces;
  for (const Piece &piece : row_pieces(map, rows, shared))
    pieces.emplace_back(piece.shared_address, piece.global_address, piece.bytes, piece.inside);
  return pieces;
}

std::vector<PieceTuple> tile_pieces(nb::bytes bytes, const std::vector<int64_t> &coordinates, uint32_t shared,
                                    bool gather) {
  const TensorMap map = map_of(bytes);
  const Coordinates at = coordinates_of(coordinates);
  return tuples_of(map, gather ? gather_rows(map, at) : tile_rows(map, at), shared);
}

HaloOrder halo_order_named(const std::string &name) {
  constexpr const char *names[] = {"adjacent", "grouped", "between"};
  for (uint8_t i = 0; i < std::size(names); ++i)
    if (name == names[i])
      return static_cast<HaloOrder>(i);
  throw std::invalid_argument("expected an order of halo rows, got '" + name + "'");
}

/// The pieces of im2col::w::128 in an order of halo rows.
std::vector<PieceTuple> wide_128_pieces(nb::bytes bytes, const std::vector<int64_t> &coordinates, uint32_t halo,
                                        uint32_t offset, const std::string &order) {
  const TensorMap map = map_of(bytes);
  const Im2colAccess access{coordinates_of(coordinates), {offset, 0, 0}, halo};
  return tuples_of(map, im2col_rows(map, access, halo_order_named(order)), 0);
}

std::string instruction_descriptor_error(uint32_t bits, const std::string &kind, uint32_t cta_group, uint32_t blocks) {
  constexpr const char *kinds[] = {"f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"};
  for (uint8_t i = 0; i < std::size(kinds); ++i)
    if (kind == kinds[i])
      return (blocks ? decode_block_scaled_descriptor(bits, static_cast<TensorKind>(i), blocks, cta_group)
                     : decode_instruction_descriptor(bits, static_cast<TensorKind>(i), cta_group))
          .violation;
  throw std::invalid_argument("expected a kind of tcgen05.mma, got '" + kind + "'");
}

} // namespace

void bind_tensor(nb::module_ &module) {
  module.def("swizzle", [](uint32_t mode, uint32_t address) { return swizzled(static_cast<Swizzle>(mode), address); });
  module.def("matrix_address", matrix_address, nb::arg("descriptor"), nb::arg("tcgen05"), nb::arg("row"),
             nb::arg("depth"), nb::arg("bytes"), nb::arg("depth_major"));
  module.def("matrix_multiply_add", matrix_multiply_add, nb::arg("format"), nb::arg("result"), nb::arg("a"),
             nb::arg("b"), nb::arg("c"), nb::arg("rows"), nb::arg("columns"), nb::arg("depth"),
             nb::arg("fraction_bits") = 25, nb::arg("result_fraction_bits") = 23);
  module.def("tensor_map_error", tensor_map_error, nb::arg("map"));
  module.def("tensor_map_undocumented", tensor_map_undocumented, nb::arg("map"));
  module.def("tile_pieces", tile_pieces, nb::arg("map"), nb::arg("coordinates"), nb::arg("shared_address"),
             nb::arg("gather") = false);
  module.def("wide_128_pieces", wide_128_pieces, nb::arg("map"), nb::arg("coordinates"), nb::arg("halo"),
             nb::arg("offset"), nb::arg("order"));
  module.def("instruction_descriptor_error", instruction_descriptor_error, nb::arg("bits"), nb::arg("kind"),
             nb::arg("cta_group") = 1, nb::arg("blocks") = 0);
}

} // namespace ptxsim
