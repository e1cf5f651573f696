#include "program/targets.h"

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

/// A form: an instruction whose name begins with the words of one of `mnemonics` (none: any) and which has all of
/// `modifiers`, one of `one_of` if there are any, none of `without` and, unless it is 0, this number of operands.
struct FormRow {
  Names mnemonics;
  Names modifiers;
  Targets targets;
  Names one_of = {};
  Names without = {};
  size_t operands = 0;
};

const FormRow form_rows[] = {
    {{}, {}, Targets::Sm90, {"shared::cluster", "cluster"}},
    {{}, {"f32x2"}, Targets::Sm100},
    {{}, {"xorsign"}, Targets::Sm86},
    // Arithmetic.
    {{"add", "sub", "mul", "ex2", "tanh", "setp", "set"}, {}, Targets::Sm90, {"bf16", "bf16x2"}},
    {{"add", "sub", "fma"}, {"f32"}, Targets::Sm100, {"f16", "bf16"}},
    {{"fma"}, {"oob"}, Targets::Sm90},
    {{"add", "min", "max"}, {}, Targets::Sm90, {"u16x2", "s16x2"}},
    {{"min", "max"}, {"relu", "s32"}, Targets::Sm90},
    {{"min", "max"}, {"f32"}, Targets::Sm100, {}, {}, 4},
    // Memory.
    {{"mapa", "getctarank", "multimem", "st.async", "red.async"}, {}, Targets::Sm90},
    {{"ld", "st"}, {"v8"}, Targets::Sm100},
    {{"ld", "st"}, {"v4"}, Targets::Sm100, {"b64", "u64", "s64", "f64"}},
    {{"atom", "red"}, {}, Targets::Sm90, {"v2", "v4", "v8"}},
    {{"atom"}, {"b128"}, Targets::Sm90},
    {{"st.bulk"}, {}, Targets::Sm100},
    // Threads, barriers and fences.
    {{"redux.sync"}, {"f32"}, Targets::FloatRedux},
    {{"elect", "griddepcontrol", "barrier.cluster"}, {}, Targets::Sm90},
    {{"setmaxnreg"}, {}, Targets::RegisterPool},
    {{"clusterlaunchcontrol"}, {}, Targets::Sm100},
    {{"clusterlaunchcontrol"}, {"multicast::cluster::all"}, Targets::NarrowFloats},
    {{"mbarrier.arrive", "mbarrier.arrive_drop"}, {}, Targets::Sm90, {}, {"noComplete"}, 3},
    {{"mbarrier.arrive.expect_tx", "mbarrier.arrive_drop.expect_tx"}, {}, Targets::Sm90},
    {{"mbarrier.expect_tx", "mbarrier.complete_tx", "mbarrier.try_wait"}, {}, Targets::Sm90},
    {{"fence"}, {}, Targets::Sm90, {"acquire", "release"}},
    {{"fence.proxy.async", "fence.proxy.tensormap::generic", "fence.mbarrier_init"}, {}, Targets::Sm90},
    // Copies.
    {{"cp.async.bulk", "cp.reduce.async.bulk"}, {}, Targets::Sm90},
    {{"cp.async.bulk"}, {"cp_mask"}, Targets::Sm100},
    {{"tensormap.replace"}, {}, Targets::RegisterPool},
    {{"tensormap.cp_fenceproxy", "prefetch.tensormap"}, {}, Targets::Sm90},
    // Matrices.
    {{"mma"}, {}, Targets::Sm89, {"e4m3", "e5m2"}},
    {{"stmatrix"}, {}, Targets::Sm90},
    {{"stmatrix"}, {"b8"}, Targets::NarrowFloats},
    {{"ldmatrix"}, {}, Targets::NarrowFloats, {"b8", "b8x16"}},
    {{"tcgen05.shift"}, {}, Targets::TensorShift},
    {{"tcgen05.mma"}, {"kind::i8"}, Targets::IntegerMma},
};

/// Whether an instruction begins with the words of a mnemonic.
bool begins_with(std::string_view canonical, std::string_view mnemonic) {
  const size_t length = mnemonic.size();
  return canonical.substr(0, length) == mnemonic && (length == canonical.size() || canonical[length] == '.');
}

bool has_form(const FormRow &row, std::string_view canonical, size_t operands) {
  const auto begins = [&](std::string_view mnemonic) { return begins_with(canonical, mnemonic); };
  const auto has = [&](std::string_view word) {
    for (size_t at = canonical.find(word, 1); at != std::string_view::npos; at = canonical.find(word, at + 1))
      if (canonical[at - 1] == '.' && (at + word.size() == canonical.size() || canonical[at + word.size()] == '.'))
        return true;
    return false;
  };
  const auto any = [](const Names &names, const auto &holds) { return std::any_of(names.begin(), names.end(), holds); };
  if (row.mnemonics.size() && !any(row.mnemonics, begins))
    return false;
  if ((row.operands && row.operands != operands) || any(row.without, has) ||
      (row.one_of.size() && !any(row.one_of, has)))
    return false;
  return std::all_of(row.modifiers.begin(), row.modifiers.end(), has);
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
  for (const FormRow &row : form_rows)
    if (has_form(row, canonical, operands))
      result.push_back(row.targets);
  return result;
}

} // namespace ptxsim
