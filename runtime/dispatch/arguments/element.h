// Element types of arrays and scalars, by the names of tilec.runtime.arguments.elements.
#pragma once

#include "arguments/dlpack.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace dispatch {

enum class Element : uint8_t { I1, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64, Bf16, F8e4m3, F8e5m2, F8e8m0 };

struct ElementRow {
  const char *name;
  uint8_t size_bytes, size_log2;
  char kind;          // that of a typestr of the array interface; 0: none
  uint8_t code, bits; // DLDataType
};

// dlpack.h: kDLInt 0, kDLUInt 1, kDLFloat 2, kDLBfloat 4, kDLBool 6, kDLFloat8_e4m3fn 10, _e5m2 12, _e8m0fnu 14.
constexpr ElementRow elements[] = {
    {"i1", 1, 0, 'b', 6, 8},   {"i8", 1, 0, 'i', 0, 8},      {"i16", 2, 1, 'i', 0, 16},  {"i32", 4, 2, 'i', 0, 32},
    {"i64", 8, 3, 'i', 0, 64}, {"u8", 1, 0, 'u', 1, 8},      {"u16", 2, 1, 'u', 1, 16},  {"u32", 4, 2, 'u', 1, 32},
    {"u64", 8, 3, 'u', 1, 64}, {"f16", 2, 1, 'f', 2, 16},    {"f32", 4, 2, 'f', 2, 32},  {"f64", 8, 3, 'f', 2, 64},
    {"bf16", 2, 1, 0, 4, 16},  {"f8E4M3FN", 1, 0, 0, 10, 8}, {"f8E5M2", 1, 0, 0, 12, 8}, {"f8E8M0FNU", 1, 0, 0, 14, 8},
};
constexpr int element_count = sizeof elements / sizeof *elements;

inline const ElementRow &row_of(Element element) { return elements[size_t(element)]; }
inline bool is_float(Element element) { return element >= Element::F16; }

// Each returns the index of the row, or -1.
int element_named(const std::string &name);
int element_of_dlpack(const DlTensor &tensor);
/// Of a typestr such as "<f4"; big-endian and structured types have none.
int element_of_typestr(const char *text, size_t size);

} // namespace dispatch
