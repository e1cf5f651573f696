// The fundamental and alternate types of PTX (PTX ISA 5.2).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace ptxsim {

enum class Type : uint8_t {
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  BF16,
  F32,
  F64,
  TF32,
  U16x2,
  S16x2,
  F16x2,
  BF16x2,
  F32x2,
  E4M3,
  E5M2,
  E2M3,
  E3M2,
  E2M1,
  UE8M0,
  UE4M3,
  E4M3x2,
  E5M2x2,
  E2M3x2,
  E3M2x2,
  E2M1x2,
  UE8M0x2,
  E4M3x4,
  E5M2x4,
  E2M3x4,
  E3M2x4,
  E2M1x4,
  S4,
  U4,
  B1,
  S2F6x2,
};

/// The type a modifier such as "f16x2" names, without the dot.
std::optional<Type> parse_type(std::string_view name);

std::string_view type_name(Type type);

/// Bytes of a register or memory cell of this type; 0 for predicates and types narrower than a byte.
uint32_t type_size(Type type);

/// The untyped type of this many bytes: .b8, .b16, ..., .b128.
std::optional<Type> bits_type(uint32_t size);

bool is_float(Type type);
/// Whether a register of the type holds one or two floats of 16 bits.
bool is_half(Type type);
bool is_one_of(Type type, std::initializer_list<Type> types);
bool is_signed(Type type);

enum class Space : uint8_t { Generic, Global, SharedCta, SharedCluster, Local, Param, Const };

std::string_view space_name(Space space);

} // namespace ptxsim
