// Matrix fragments in registers: which element a register of a lane holds (PTX ISA, mma.m16n8 and wgmma.m64nN).
// `lane` is within the warp, rows are those of the warp's 16.
#pragma once

#include <cstdint>

namespace ptxsim {

struct Element {
  uint32_t row, column;
};

/// A, `per_register` elements in each 32-bit register, the column counting K.
constexpr Element a_element(uint32_t lane, uint32_t index, uint32_t part, uint32_t per_register) {
  return {lane / 4 + 8 * (index & 1), 4 * per_register * (index >> 1) + per_register * (lane % 4) + part};
}

/// B, the row counting K.
constexpr Element b_element(uint32_t lane, uint32_t index, uint32_t part, uint32_t per_register) {
  return {4 * per_register * index + per_register * (lane % 4) + part, lane / 4};
}

/// C and D with 32-bit elements.
constexpr Element word_element(uint32_t lane, uint32_t index) {
  return {lane / 4 + 8 * (index >> 1 & 1), 8 * (index >> 2) + 2 * (lane % 4) + (index & 1)};
}

/// C and D with two 16-bit elements in each register.
constexpr Element half_element(uint32_t lane, uint32_t index, uint32_t part) {
  return {lane / 4 + 8 * (index & 1), 8 * (index >> 1) + 2 * (lane % 4) + part};
}

} // namespace ptxsim
