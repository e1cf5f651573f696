#include "targets.h"

#include <algorithm>
#include <initializer_list>

namespace ptxsim {

namespace {

using Names = std::initializer_list<std::string_view>;

struct TargetRow {
  Targets targets;
  std::string_view description;
  uint32_t least; // the number of the first target; 0 if `names` lists all
  Names names;
};

const Names narrow_floats = {"sm_100a", "sm_100f", "sm_101a", "sm_101f", "sm_103a", "sm_103f", "sm_107a",
                             "sm_107f", "sm_110a", "sm_110f", "sm_120a", "sm_120f", "sm_121a", "sm_121f"};
const Names register_pool = {"sm_90a",  "sm_100a", "sm_100f", "sm_101a", "sm_101f", "sm_103a", "sm_103f", "sm_107a",
                             "sm_107f", "sm_110a", "sm_110f", "sm_120a", "sm_120f", "sm_121a", "sm_121f"};

const TargetRow target_rows[] = {
    {Targets::All, "all", 1, {}},
    {Targets::Sm86, "sm_86 and later", 86, {}},
    {Targets::Sm89, "sm_89 and later", 89, {}},
    {Targets::Sm90, "sm_90 and later", 90, {}},
    {Targets::Sm100, "sm_100 and later", 100, {}},
    {Targets::Sm107, "sm_107a", 0, {"sm_107a", "sm_107f"}},
    {Targets::Wgmma, "sm_90a", 0, {"sm_90a"}},
    {Targets::Tcgen05,
     "sm_100a",
     0,
     {"sm_100a", "sm_100f", "sm_101a", "sm_101f", "sm_103a", "sm_103f", "sm_110a", "sm_110f"}},
    {Targets::TensorShift, "sm_100a", 0, {"sm_100a", "sm_101a", "sm_103a", "sm_110a"}},
    {Targets::IntegerMma, "sm_100a", 0, {"sm_100a", "sm_101a", "sm_110a"}},
    {Targets::NarrowFloats, "sm_100a", 0, narrow_floats},
    {Targets::RegisterPool, "sm_90a", 0, register_pool},
    {Targets::FloatRedux, "sm_100a", 0, {"sm_100a", "sm_100f", "sm_103a", "sm_103f"}},
    {Targets::StochasticRounding, "sm_100a", 0, {"sm_100a", "sm_103a", "sm_107a"}},
    {Targets::FixedPoint, "sm_100a", 0, {"sm_100a", "sm_101a", "sm_103a", "sm_107a", "sm_110a", "sm_120a", "sm_121a"}},
};

const TargetRow &row_of(Targets targets) {
  return *std::find_if(std::begin(target_rows), std::end(target_rows),
                       [&](const TargetRow &row) { return row.targets == targets; });
}

/// The number of "sm_100a"; 0 if the name has none.
uint32_t number_of(std::string_view target) {
  uint32_t number = 0;
  for (char c : target.substr(std::min<size_t>(3, target.size())))
    if (c >= '0' && c <= '9')
      number = 10 * number + uint32_t(c - '0');
  return number;
}

/// A form: an instruction whose name begins with the words of `mnemonic` (empty: any) and which has all of
/// `modifiers`, none of `without` and, unless it is 0, this number of operands.
struct FormRow {
  std::string_view mnemonic;
  Names modifiers;
  Targets targets;
  Names without = {};
  size_t operands = 0;
};

const FormRow form_rows[] = {
    {"", {"shared::cluster"}, Targets::Sm90},
    {"", {"cluster"}, Targets::Sm90},
    {"", {"f32x2"}, Targets::Sm100},
    {"", {"xorsign"}, Targets::Sm86},
    // Arithmetic.
    {"add", {"bf16"}, Targets::Sm90},
    {"add", {"bf16x2"}, Targets::Sm90},
    {"sub", {"bf16"}, Targets::Sm90},
    {"sub", {"bf16x2"}, Targets::Sm90},
    {"mul", {"bf16"}, Targets::Sm90},
    {"mul", {"bf16x2"}, Targets::Sm90},
    {"add", {"f32", "f16"}, Targets::Sm100},
    {"add", {"f32", "bf16"}, Targets::Sm100},
    {"sub", {"f32", "f16"}, Targets::Sm100},
    {"sub", {"f32", "bf16"}, Targets::Sm100},
    {"fma", {"f32", "f16"}, Targets::Sm100},
    {"fma", {"f32", "bf16"}, Targets::Sm100},
    {"fma", {"oob"}, Targets::Sm90},
    {"add", {"u16x2"}, Targets::Sm90},
    {"add", {"s16x2"}, Targets::Sm90},
    {"min", {"u16x2"}, Targets::Sm90},
    {"min", {"s16x2"}, Targets::Sm90},
    {"max", {"u16x2"}, Targets::Sm90},
    {"max", {"s16x2"}, Targets::Sm90},
    {"min", {"relu", "s32"}, Targets::Sm90},
    {"max", {"relu", "s32"}, Targets::Sm90},
    {"min", {"f32"}, Targets::Sm100, {}, 4},
    {"max", {"f32"}, Targets::Sm100, {}, 4},
    {"ex2", {"bf16"}, Targets::Sm90},
    {"ex2", {"bf16x2"}, Targets::Sm90},
    {"tanh", {"bf16"}, Targets::Sm90},
    {"tanh", {"bf16x2"}, Targets::Sm90},
    {"setp", {"bf16"}, Targets::Sm90},
    {"setp", {"bf16x2"}, Targets::Sm90},
    {"set", {"bf16"}, Targets::Sm90},
    {"set", {"bf16x2"}, Targets::Sm90},
    // Memory.
    {"mapa", {}, Targets::Sm90},
    {"getctarank", {}, Targets::Sm90},
    {"ld", {"v8"}, Targets::Sm100},
    {"st", {"v8"}, Targets::Sm100},
    {"ld", {"v4", "b64"}, Targets::Sm100},
    {"ld", {"v4", "u64"}, Targets::Sm100},
    {"ld", {"v4", "s64"}, Targets::Sm100},
    {"ld", {"v4", "f64"}, Targets::Sm100},
    {"st", {"v4", "b64"}, Targets::Sm100},
    {"st", {"v4", "u64"}, Targets::Sm100},
    {"st", {"v4", "s64"}, Targets::Sm100},
    {"st", {"v4", "f64"}, Targets::Sm100},
    {"multimem", {}, Targets::Sm90},
    {"atom", {"v2"}, Targets::Sm90},
    {"atom", {"v4"}, Targets::Sm90},
    {"atom", {"v8"}, Targets::Sm90},
    {"atom", {"b128"}, Targets::Sm90},
    {"red", {"v2"}, Targets::Sm90},
    {"red", {"v4"}, Targets::Sm90},
    {"red", {"v8"}, Targets::Sm90},
    {"st.async", {}, Targets::Sm90},
    {"red.async", {}, Targets::Sm90},
    {"st.bulk", {}, Targets::Sm100},
    // Threads, barriers and fences.
    {"redux.sync", {"f32"}, Targets::FloatRedux},
    {"elect", {}, Targets::Sm90},
    {"griddepcontrol", {}, Targets::Sm90},
    {"setmaxnreg", {}, Targets::RegisterPool},
    {"barrier.cluster", {}, Targets::Sm90},
    {"mbarrier.arrive", {}, Targets::Sm90, {"noComplete"}, 3},
    {"mbarrier.arrive_drop", {}, Targets::Sm90, {"noComplete"}, 3},
    {"mbarrier.arrive.expect_tx", {}, Targets::Sm90},
    {"mbarrier.arrive_drop.expect_tx", {}, Targets::Sm90},
    {"mbarrier.expect_tx", {}, Targets::Sm90},
    {"mbarrier.complete_tx", {}, Targets::Sm90},
    {"mbarrier.try_wait", {}, Targets::Sm90},
    {"fence", {"acquire"}, Targets::Sm90},
    {"fence", {"release"}, Targets::Sm90},
    {"fence.proxy.async", {}, Targets::Sm90},
    {"fence.proxy.tensormap::generic", {}, Targets::Sm90},
    {"fence.mbarrier_init", {}, Targets::Sm90},
    // Copies.
    {"cp.async.bulk", {}, Targets::Sm90},
    {"cp.reduce.async.bulk", {}, Targets::Sm90},
    {"cp.async.bulk", {"cp_mask"}, Targets::Sm100},
    {"tensormap.replace", {}, Targets::RegisterPool},
    {"tensormap.cp_fenceproxy", {}, Targets::Sm90},
    {"prefetch.tensormap", {}, Targets::Sm90},
    // Matrices.
    {"mma", {"e4m3"}, Targets::Sm89},
    {"mma", {"e5m2"}, Targets::Sm89},
    {"stmatrix", {}, Targets::Sm90},
    {"stmatrix", {"b8"}, Targets::NarrowFloats},
    {"ldmatrix", {"b8"}, Targets::NarrowFloats},
    {"ldmatrix", {"b8x16"}, Targets::NarrowFloats},
    {"tcgen05.shift", {}, Targets::TensorShift},
    {"tcgen05.mma", {"kind::i8"}, Targets::IntegerMma},
};

bool has_form(const FormRow &row, std::string_view mnemonic, std::string_view canonical, size_t operands) {
  const auto has = [&](std::string_view word) {
    for (size_t at = canonical.find(word); at != std::string_view::npos; at = canonical.find(word, at + 1))
      if (canonical[at - 1] == '.' && (at + word.size() == canonical.size() || canonical[at + word.size()] == '.'))
        return true;
    return false;
  };
  if (row.mnemonic.substr(0, row.mnemonic.find('.')) != mnemonic && !row.mnemonic.empty())
    return false;
  const size_t length = row.mnemonic.size();
  if (canonical.substr(0, length) != row.mnemonic || (length && length < canonical.size() && canonical[length] != '.'))
    return false;
  return (!row.operands || row.operands == operands) && std::all_of(row.modifiers.begin(), row.modifiers.end(), has) &&
         std::none_of(row.without.begin(), row.without.end(), has);
}

} // namespace

bool has_target(Targets targets, std::string_view target) {
  const TargetRow &row = row_of(targets);
  if (row.least)
    return number_of(target) >= row.least || targets == Targets::All;
  return std::find(row.names.begin(), row.names.end(), target) != row.names.end();
}

std::string_view describe(Targets targets) { return row_of(targets).description; }

std::vector<Targets> targets_of_form(std::string_view canonical, size_t operands) {
  std::vector<Targets> result;
  const std::string_view mnemonic = canonical.substr(0, canonical.find('.'));
  for (const FormRow &row : form_rows)
    if (has_form(row, mnemonic, canonical, operands))
      result.push_back(row.targets);
  return result;
}

} // namespace ptxsim
