#include "opcodes/conversion/conversion_forms.h"

#include <algorithm>
#include <initializer_list>

namespace ptxsim {

namespace {

using Types = std::initializer_list<Type>;
using Words = std::initializer_list<std::string_view>;

/// Which of .sat, .relu and .satfinite a row allows.
enum class Clamp { None, Sat, Finite, ReluOrFinite, Relu, FiniteRequired };

struct Row {
  Types to, from;
  Words roundings; // "": the form without a rounding mode
  bool ftz;
  Clamp clamp;
  ConversionRequirement requirement = {};
  bool scalable = false;
};

const Types integers = {Type::U8, Type::S8, Type::U16, Type::S16, Type::U32, Type::S32, Type::U64, Type::S64};
const Types wide_integers = {Type::U16, Type::S16, Type::U32, Type::S32, Type::U64, Type::S64};
const Types eight_bit_floats = {Type::E4M3x2, Type::E5M2x2};
const Types smaller_floats = {Type::E2M3x2, Type::E3M2x2, Type::E2M1x2};
const Types narrow_floats = {Type::E4M3x2, Type::E5M2x2, Type::E2M3x2, Type::E3M2x2, Type::E2M1x2};
const Types four_floats = {Type::E4M3x4, Type::E5M2x4, Type::E2M3x4, Type::E3M2x4, Type::E2M1x4};
const Words to_float = {"rn", "rz", "rm", "rp"};
const Words to_float_or_none = {"", "rn", "rz", "rm", "rp"};
const Words to_integer = {"rni", "rzi", "rmi", "rpi"};
const Words to_integer_or_none = {"", "rni", "rzi", "rmi", "rpi"};
const Words no_rounding = {""};

const Row rows[] = {
    {{Type::F64}, {Type::F16}, no_rounding, false, Clamp::Sat},
    {{Type::F64}, {Type::F32}, no_rounding, true, Clamp::Sat},
    {{Type::F32}, {Type::F16}, no_rounding, true, Clamp::Sat},
    {{Type::F16, Type::F64}, integers, to_float, false, Clamp::Sat},
    {{Type::F16}, {Type::F64}, to_float, false, Clamp::Sat},
    {{Type::F32}, integers, to_float, true, Clamp::Sat},
    {{Type::F32}, {Type::F64}, to_float, true, Clamp::Sat},
    {integers, {Type::F16, Type::F64}, to_integer, false, Clamp::Sat},
    {integers, {Type::F32}, to_integer, true, Clamp::Sat},
    {wide_integers, {Type::BF16}, to_integer, false, Clamp::None, {Targets::Sm90}},
    {{Type::BF16}, wide_integers, to_float, false, Clamp::None, {Targets::Sm90}},
    {{Type::BF16}, {Type::F64}, to_float, false, Clamp::None, {Targets::Sm90}},
    {{Type::F16, Type::F64}, {Type::BF16}, to_float_or_none, false, Clamp::None, {Targets::Sm90}},
    {{Type::BF16}, {Type::F16}, to_float_or_none, false, Clamp::None, {Targets::Sm90}},
    {{Type::F32}, {Type::BF16}, to_float_or_none, false, Clamp::None},
    {{Type::F32}, {Type::BF16}, to_float_or_none, true, Clamp::None, {Targets::Sm90}},
    {{Type::F16}, {Type::F16}, to_integer_or_none, false, Clamp::Sat},
    {{Type::F64}, {Type::F64}, to_integer_or_none, false, Clamp::Sat},
    {{Type::F32}, {Type::F32}, to_integer_or_none, true, Clamp::Sat},
    {{Type::BF16}, {Type::BF16}, to_integer_or_none, false, Clamp::None, {Targets::Sm90}},
    {{Type::F16}, {Type::F32}, to_float, true, Clamp::Sat},
    {{Type::BF16}, {Type::F32}, to_float, true, Clamp::None},
    {{Type::F16, Type::BF16, Type::F16x2, Type::BF16x2}, {Type::F32}, {"rn", "rz"}, false, Clamp::ReluOrFinite},
    {{Type::F16x2, Type::BF16x2}, {Type::F32}, {"rs"}, false, Clamp::ReluOrFinite, {Targets::StochasticRounding}},
    {{Type::TF32}, {Type::F32}, {"rn", "rz"}, false, Clamp::Relu, {Targets::Sm90}},
    {{Type::TF32}, {Type::F32}, {"rn", "rz"}, false, Clamp::ReluOrFinite, {Targets::Sm100}},
    {{Type::TF32}, {Type::F32}, {"rna"}, false, Clamp::Finite},
    {eight_bit_floats, {Type::F32, Type::F16x2}, {"rn"}, false, Clamp::FiniteRequired, {Targets::Sm89}},
    {eight_bit_floats, {Type::BF16x2}, {"rn"}, false, Clamp::FiniteRequired, {Targets::NarrowFloats, 91}},
    {smaller_floats, {Type::F32}, {"rn"}, false, Clamp::FiniteRequired, {Targets::NarrowFloats}},
    {smaller_floats, {Type::F16x2, Type::BF16x2}, {"rn"}, false, Clamp::FiniteRequired, {Targets::NarrowFloats, 91}},
    {four_floats, {Type::F32}, {"rs"}, false, Clamp::FiniteRequired, {Targets::StochasticRounding}},
    {{Type::F16x2}, eight_bit_floats, {"rn"}, false, Clamp::Relu, {Targets::Sm89}},
    {{Type::F16x2}, smaller_floats, {"rn"}, false, Clamp::Relu, {Targets::NarrowFloats}},
    {{Type::BF16x2}, narrow_floats, {"rn"}, false, Clamp::ReluOrFinite, {Targets::NarrowFloats, 92}, true},
    {{Type::BF16x2}, {Type::S2F6x2}, {"rn"}, false, Clamp::ReluOrFinite, {Targets::FixedPoint, 91}, true},
    {{Type::S2F6x2}, {Type::F32, Type::BF16x2}, {"rn"}, false, Clamp::FiniteRequired, {Targets::FixedPoint, 91}, true},
    {{Type::UE8M0x2}, {Type::F32, Type::BF16x2}, {"rz", "rp"}, false, Clamp::Finite, {Targets::NarrowFloats}},
    {{Type::BF16x2}, {Type::UE8M0x2}, {"rn"}, false, Clamp::None, {Targets::NarrowFloats}},
};

bool contains(Types types, Type type) { return std::find(types.begin(), types.end(), type) != types.end(); }

bool clamp_exists(Clamp clamp, const ConversionForm &form) {
  switch (clamp) {
  case Clamp::None:
    return !form.sat && !form.relu && !form.satfinite;
  case Clamp::Sat:
    return !form.relu && !form.satfinite;
  case Clamp::Finite:
    return !form.sat && !form.relu;
  case Clamp::ReluOrFinite:
    return !form.sat;
  case Clamp::Relu:
    return !form.sat && !form.satfinite;
  default:
    return !form.sat && form.satfinite;
  }
}

/// True if all values of `from` are values of `to`, so that saturation has no effect.
bool holds_all(Type to, Type from) {
  const uint32_t digits_to = type_size(to) * 8 - is_signed(to), digits_from = type_size(from) * 8 - is_signed(from);
  return digits_to >= digits_from && (is_signed(to) || !is_signed(from));
}

} // namespace

std::optional<ConversionRequirement> find_conversion(const ConversionForm &form) {
  if (contains(integers, form.to) && contains(integers, form.from)) {
    const bool exists = form.rounding.empty() && !form.ftz && !form.relu && !form.satfinite && !form.scaled &&
                        !(form.sat && holds_all(form.to, form.from));
    return exists ? std::optional(ConversionRequirement{}) : std::nullopt;
  }
  const auto row = std::find_if(std::begin(rows), std::end(rows), [&](const Row &row) {
    return contains(row.to, form.to) && contains(row.from, form.from) &&
           std::find(row.roundings.begin(), row.roundings.end(), form.rounding) != row.roundings.end() &&
           (row.ftz || !form.ftz) && (row.scalable || !form.scaled) && clamp_exists(row.clamp, form);
  });
  return row == std::end(rows) ? std::nullopt : std::optional(row->requirement);
}

} // namespace ptxsim
