// Compiled with -frounding-math.
#include "opcodes/conversion/conversion_values.h"
#include "numbers/bit_cast.h"
#include "opcodes/rounding_scope.h"

#include <algorithm>
#include <cmath>

namespace ptxsim {

const SmallFloat &format_of(Type type) {
  switch (type) {
  case Type::F16:
  case Type::F16x2:
    return f16_format;
  case Type::BF16:
  case Type::BF16x2:
    return bf16_format;
  case Type::E4M3x2:
  case Type::E4M3x4:
    return e4m3_format;
  case Type::E5M2x2:
  case Type::E5M2x4:
    return e5m2_format;
  case Type::E2M3x2:
  case Type::E2M3x4:
    return e2m3_format;
  case Type::E3M2x2:
  case Type::E3M2x4:
    return e3m2_format;
  case Type::E2M1x2:
  case Type::E2M1x4:
    return e2m1_format;
  default:
    return tf32_format;
  }
}

double float_value(Type type, uint64_t bits, bool ftz) {
  switch (type) {
  case Type::F32: {
    float value = from_bits<float>(bits);
    return ftz && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0, value) : double(value);
  }
  case Type::F64:
    return from_bits<double>(bits);
  default:
    return decode(format_of(type), uint32_t(bits));
  }
}

uint64_t float_bits(Type type, double value, const Instruction &in) {
  auto rounding = Rounding(in.settings[Rounded]);
  if (in.settings[Sat])
    value = std::isnan(value) ? 0.0 : std::min(std::max(value, 0.0), 1.0);
  if (in.settings[Relu] && !(value > 0) && !std::isnan(value))
    value = 0;
  switch (type) {
  case Type::F32: {
    RoundingScope scope(rounding);
    volatile double wide = value;
    float narrow = std::isnan(value) ? from_bits<float>(0x7FFFFFFF) : float(wide);
    if (in.settings[Ftz] && std::fpclassify(narrow) == FP_SUBNORMAL)
      narrow = std::copysign(0.0f, narrow);
    return to_bits(narrow);
  }
  case Type::F64:
    return to_bits(value);
  case Type::TF32:
    return uint64_t(encode(tf32_format, value, rounding, in.settings[SatFinite])) << 13;
  default:
    return encode(format_of(type), value, rounding, in.settings[SatFinite]);
  }
}

} // namespace ptxsim
