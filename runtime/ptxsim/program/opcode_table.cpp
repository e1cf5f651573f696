#include "program/opcode.h"

#include <iterator>
#include <map>

namespace ptxsim {

namespace {

struct GroupRow {
  OpcodeGroup group;
  std::string_view name;
  bool propagates_undefined;
};

constexpr GroupRow group_rows[] = {
    {OpcodeGroup::Arithmetic, "arithmetic", true},
    {OpcodeGroup::Integer, "integer", true},
    {OpcodeGroup::Logic, "logic", true},
    {OpcodeGroup::Compare, "compare", true},
    {OpcodeGroup::Float, "float", true},
    {OpcodeGroup::Convert, "convert", true},
    {OpcodeGroup::Move, "move", true},
    {OpcodeGroup::Memory, "memory", false},
    {OpcodeGroup::Atomic, "atomic", false},
    {OpcodeGroup::Control, "control", false},
    {OpcodeGroup::Warp, "warp", false},
    {OpcodeGroup::Barrier, "barrier", false},
    {OpcodeGroup::Mbarrier, "mbarrier", false},
    {OpcodeGroup::Fence, "fence", false},
    {OpcodeGroup::Copy, "copy", false},
    {OpcodeGroup::Tma, "tma", false},
    {OpcodeGroup::Tensor, "tensor", false},
};

constexpr bool rows_are_in_the_order_of_the_groups() {
  for (size_t i = 0; i < std::size(group_rows); ++i)
    if (group_rows[i].group != OpcodeGroup(i))
      return false;
  return std::size(group_rows) == size_t(OpcodeGroup::Tensor) + 1;
}
static_assert(rows_are_in_the_order_of_the_groups());

} // namespace

std::string_view group_name(OpcodeGroup group) { return group_rows[size_t(group)].name; }

bool propagates_undefined(OpcodeGroup group) { return group_rows[size_t(group)].propagates_undefined; }

const std::vector<const Opcode *> &opcode_table() {
  static const std::vector<const Opcode *> table = [] {
    std::vector<const Opcode *> rows;
    for (const OpcodeTable *group :
         {&integer_opcodes(),     &logic_opcodes(),      &compare_opcodes(),       &float_opcodes(),
          &convert_opcodes(),     &move_opcodes(),       &memory_opcodes(),        &atomic_opcodes(),
          &control_opcodes(),     &warp_opcodes(),       &barrier_opcodes(),       &mbarrier_opcodes(),
          &fence_opcodes(),       &copy_async_opcodes(), &store_async_opcodes(),   &bulk_copy_opcodes(),
          &tensor_copy_opcodes(), &tensor_map_opcodes(), &tensor_memory_opcodes(), &tcgen05_opcodes(),
          &wgmma_opcodes(),       &mma_sync_opcodes(),   &matrix_opcodes(),        &launch_control_opcodes()})
      for (const Opcode &row : *group)
        rows.push_back(&row);
    return rows;
  }();
  return table;
}

int find_opcode(std::string_view text) {
  static const std::map<std::string_view, int> rows = [] {
    std::map<std::string_view, int> by_mnemonic;
    for (const Opcode *row : opcode_table())
      by_mnemonic.emplace(row->mnemonic, int(by_mnemonic.size()));
    return by_mnemonic;
  }();
  for (std::string_view prefix = text; !prefix.empty();) {
    if (auto found = rows.find(prefix); found != rows.end())
      return found->second;
    size_t dot = prefix.rfind('.');
    prefix = dot == std::string_view::npos ? std::string_view() : prefix.substr(0, dot);
  }
  return -1;
}

} // namespace ptxsim
