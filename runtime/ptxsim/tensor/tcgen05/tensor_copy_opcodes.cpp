// tcgen05.cp and tcgen05.shift (PTX ISA 9.7.16.9).
//
// settings of an instruction: the enumerators of Setting, in order.
#include "tensor/tcgen05/tensor_copy_opcodes.h"

#include "tensor/operand_matrix.h"
#include "tensor/tcgen05/tensor_core.h"
#include "tma/transfer.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace ptxsim {
namespace {

enum Setting : uint8_t { CtaGroup, Form, Packing };

/// A shape of tcgen05.cp with its multicast. Each row of `columns` cells is copied to the lanes of its group.
struct CopyForm {
  const char *shape;
  const char *multicast; ///< nullptr: none
  uint32_t rows, columns;
  uint32_t group;       ///< rows that are copied to consecutive lanes
  uint32_t copies;      ///< number of copies of a group
  uint32_t first[4][2]; ///< by group: the first lane of each copy; unused by 32x128b.warpx4
};

constexpr CopyForm copy_forms[] = {
    {"128x256b", nullptr, 128, 8, 128, 1, {{0}}},
    {"128x128b", nullptr, 128, 4, 128, 1, {{0}}},
    {"4x256b", nullptr, 4, 8, 1, 1, {{0}, {32}, {64}, {96}}},
    {"64x128b", "warpx2::02_13", 64, 4, 64, 2, {{0, 64}}},
    {"64x128b", "warpx2::01_23", 64, 4, 32, 2, {{0, 32}, {64, 96}}},
    {"32x128b", "warpx4", 32, 4, 32, 4, {{0}}},
};

/// Lane of copy `copy` of source row `row`, relative to the address.
uint32_t lane_of(const CopyForm &form, uint32_t row, uint32_t copy) {
  if (form.copies == 4)
    return row + 32 * copy;
  return form.first[row / form.group][copy] + row % form.group;
}

/// A source of tcgen05.cp with sixteen packed elements per unit, which become one byte each.
struct PackedSource {
  const char *modifier;
  NumberFormat format;
  uint32_t shift; ///< of an element in its byte
};

constexpr PackedSource packed_sources[] = {
    {"b4x16_p64", NumberFormat::E2M1, 2},
    {"b6x16_p32", NumberFormat::E2M3, 0},
};

struct Copy {
  const CopyForm *form;
  const PackedSource *packing = nullptr;
  SharedOperand source;
  TensorAddress to{0};
  std::vector<Cta *> ctas;
};

void check_copy(Warp &warp, const Copy &copy, const Actor &shared_actor, const Actor &tensor_actor, uint32_t lane) {
  // PTX ISA 9.7.16.6.3 orders tcgen05.cp after tcgen05.shift, and does not name .ashift.
  for (Cta *cta : copy.ctas)
    if (cta->tensor_memory->has_operand_shift_in_flight(copy.to.column, copy.form->columns, tensor_actor.agent,
                                                        warp.clock.known.happened))
      warp.unconfirmed("tcgen05.cp to an operand that .ashift moves, without tcgen05.commit and a wait");
  const uint32_t bytes = copy.packing ? unit_bytes * element_bits(copy.packing->format) / 8 : unit_bytes;
  for (Cta *cta : copy.ctas) {
    visit_units(copy.source,
                [&](uint32_t address) { check_unit_read(warp, *cta, address, bytes, shared_actor, lane); });
    for (uint32_t row = 0; row < copy.form->rows; ++row)
      for (uint32_t i = 0; i < copy.form->copies; ++i)
        check_region(warp, *cta, {copy.to.lane + lane_of(*copy.form, row, i), 1, copy.to.column, copy.form->columns},
                     true, tensor_actor, lane);
  }
}

constexpr uint32_t unit_cells = unit_bytes / sizeof(uint32_t);

/// The cells of a unit of the source.
std::array<uint32_t, unit_cells> cells_of(const PackedSource *packing, const uint8_t *unit) {
  std::array<uint32_t, unit_cells> cells{};
  if (!packing) {
    std::memcpy(cells.data(), unit, unit_bytes);
    return cells;
  }
  uint32_t elements[unit_bytes];
  unpack_unit(packing->format, unit, elements);
  for (uint32_t i = 0; i < unit_bytes; ++i)
    cells[i / 4] |= elements[i] << (8 * (i % 4) + packing->shift);
  return cells;
}

void perform_copy(const Copy &copy) {
  for (Cta *cta : copy.ctas)
    for (uint32_t row = 0; row < copy.form->rows; ++row)
      for (uint32_t column = 0; column < copy.form->columns; column += unit_cells) {
        const uint32_t address = copy.source.layout.address(row, column, sizeof(uint32_t), true);
        const auto cells = cells_of(copy.packing, cta->shared.data() + address);
        for (uint32_t i = 0; i < copy.form->copies; ++i)
          std::copy(cells.begin(), cells.end(),
                    cta->tensor_memory->lane(copy.to.lane + lane_of(*copy.form, row, i)) + copy.to.column + column);
      }
}

void check_destination(Warp &warp, const Copy &copy, uint32_t lane) {
  const bool any_lane = copy.form->rows == 4;
  if (any_lane ? copy.to.lane >= TensorMemory::lanes_per_warp : copy.to.lane != 0)
    warp.trap_lane(lane, trap_kind::tensor_memory,
                   std::string("expected tcgen05.cp to lane 0") + (any_lane ? " to 31" : "") + ", got lane " +
                       std::to_string(copy.to.lane));
  if (copy.to.column % 4)
    warp.trap_lane(lane, trap_kind::tensor_memory,
                   "expected tcgen05.cp to a column that is a multiple of 4, got " + std::to_string(copy.to.column));
}

Outcome execute_copy(Warp &warp, const Instruction &in) {
  warp.require(in.operands[1]);
  for_each_lane(warp.mask, [&](uint32_t lane) {
    auto copy = std::make_shared<Copy>();
    copy->form = &copy_forms[in.settings[Form]];
    if (in.settings[Packing] >= 0)
      copy->packing = &packed_sources[in.settings[Packing]];
    if (copy->packing && copy->packing->format != NumberFormat::E2M1)
      warp.unconfirmed("the bits of a byte that hold an element of 6 bits");
    copy->ctas = tensor_core_ctas(warp, in.settings[CtaGroup], lane);
    copy->to = TensorAddress(static_cast<uint32_t>(warp.defined_address(in.operands[0], lane)));
    copy->source.layout = read_tcgen05_descriptor(warp, warp.lanes<uint64_t>(in.operands[1])[lane], lane);
    copy->source.format = NumberFormat::F32;
    copy->source.rows = copy->form->rows;
    copy->source.depth = copy->form->columns;
    check_destination(warp, *copy, lane);
    AsyncQueue &queue = tensor_core_queue(warp, in.settings[CtaGroup], lane);
    const Epoch position = queue.issue(warp.clock.known);
    check_copy(warp, *copy, warp.queue_actor(queue, position), warp.tensor_actor(queue, position), lane);
    submit_in_order(warp, lane, queue, position, [copy] { perform_copy(*copy); });
  });
  return Outcome::Next;
}

Outcome execute_shift(Warp &warp, const Instruction &in) {
  for_each_lane(warp.mask, [&](uint32_t lane) {
    const TensorAddress at(static_cast<uint32_t>(warp.defined_address(in.operands[0], lane)));
    if (at.lane % TensorMemory::lanes_per_warp || at.lane >= TensorMemory::lanes)
      warp.trap_lane(lane, trap_kind::tensor_memory,
                     "expected tcgen05.shift at lane 0, 32, 64 or 96, got lane " + std::to_string(at.lane));
    if (at.lane)
      warp.unconfirmed("the lanes that tcgen05.shift moves from lane " + std::to_string(at.lane));
    const std::vector<Cta *> ctas = tensor_core_ctas(warp, in.settings[CtaGroup], lane);
    AsyncQueue &queue = tensor_core_queue(warp, in.settings[CtaGroup], lane);
    const Epoch position = queue.issue(warp.clock.known);
    const TensorRegion region{at.lane, TensorMemory::lanes - at.lane, at.column, TensorMemory::operand_columns};
    for (Cta *cta : ctas)
      for (bool write : {false, true})
        check_region(warp, *cta, region, write, warp.tensor_actor(queue, position), lane);
    submit_in_order(warp, lane, queue, position, [=] {
      for (Cta *cta : ctas)
        cta->tensor_memory->shift_down(at.lane, at.column);
    });
  });
  return Outcome::Next;
}

} // namespace

Execute decode_tensor_cp(Decoder &decoder) {
  Instruction &in = decoder.instruction;
  in.settings[CtaGroup] = static_cast<int32_t>(take_cta_group(decoder));
  in.settings[Form] = -1;
  for (size_t form = 0; form < std::size(copy_forms); ++form) {
    const bool multicast = !copy_forms[form].multicast || decoder.has(copy_forms[form].multicast);
    if (!multicast || !decoder.has(copy_forms[form].shape))
      continue;
    decoder.take(copy_forms[form].shape);
    if (copy_forms[form].multicast)
      decoder.take(copy_forms[form].multicast);
    in.settings[Form] = static_cast<int32_t>(form);
    break;
  }
  if (in.settings[Form] < 0)
    decoder.malformed("expected a shape of tcgen05.cp and its multicast modifier");
  in.settings[Packing] = -1;
  if (decoder.take("b8x16")) {
    in.settings[Packing] = decoder.take_one_of({packed_sources[0].modifier, packed_sources[1].modifier});
    if (in.settings[Packing] < 0)
      decoder.malformed("expected .b4x16_p64 or .b6x16_p32 after .b8x16");
  }
  decoder.expect_operands(2, 2);
  decoder.address(0);
  decoder.source(1, Type::B64);
  return execute_copy;
}

Execute decode_tensor_shift(Decoder &decoder) {
  decoder.instruction.settings[CtaGroup] = static_cast<int32_t>(take_cta_group(decoder));
  decoder.expect_modifiers({"down"});
  decoder.expect_operands(1, 1);
  decoder.address(0);
  return execute_shift;
}

} // namespace ptxsim
