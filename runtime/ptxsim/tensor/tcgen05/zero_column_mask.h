// The zero-column mask of tcgen05.mma.ws (PTX ISA 9.7.16.4.3): columns of B that count as zero, and a shift of B.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ptxsim {

/// Column n of the product is that of column n + shift of B, or of zeros.
struct ZeroColumnMask {
  uint32_t shift = 0;
  std::vector<bool> zero; ///< by column of the product; empty: none is zero
};

struct DecodedColumnMask {
  ZeroColumnMask mask;
  std::string violation;   ///< "expected ..., got ...", or empty
  std::string unconfirmed; ///< behaviour that is not documented, or empty
};

/// The mask of `columns` columns, of which each of `parts` parts has its own start.
DecodedColumnMask decode_zero_column_mask(uint64_t descriptor, uint32_t columns, uint32_t parts);

} // namespace ptxsim
