// The rounding mode of the processor. Files that include this are compiled with -frounding-math.
#pragma once

#include "numbers/small_float.h"

#include <cfenv>
#include <cstddef>

namespace ptxsim {

/// Sets the rounding mode of the processor until the end of the scope. NearestAway, which processors lack, is left to
/// the caller and rounds to nearest even.
class RoundingScope {
public:
  explicit RoundingScope(Rounding rounding) : changed(mode_of(rounding) != FE_TONEAREST) {
    if (changed)
      std::fesetround(mode_of(rounding));
  }
  ~RoundingScope() {
    if (changed)
      std::fesetround(FE_TONEAREST);
  }
  RoundingScope(const RoundingScope &) = delete;
  RoundingScope &operator=(const RoundingScope &) = delete;

private:
  static int mode_of(Rounding rounding) {
    constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD, FE_TONEAREST};
    return modes[size_t(rounding)];
  }
  bool changed;
};

} // namespace ptxsim
