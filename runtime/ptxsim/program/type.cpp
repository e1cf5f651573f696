#include "program/type.h"

#include <algorithm>
#include <array>

namespace ptxsim {

namespace {

struct TypeRow {
  Type type;
  std::string_view name;
  uint32_t size;
  char kind; // b, u, s, f
};

constexpr TypeRow type_rows[] = {
    {Type::Pred, "pred", 0, 'b'},       {Type::B8, "b8", 1, 'b'},         {Type::B16, "b16", 2, 'b'},
    {Type::B32, "b32", 4, 'b'},         {Type::B64, "b64", 8, 'b'},       {Type::B128, "b128", 16, 'b'},
    {Type::U8, "u8", 1, 'u'},           {Type::U16, "u16", 2, 'u'},       {Type::U32, "u32", 4, 'u'},
    {Type::U64, "u64", 8, 'u'},         {Type::S8, "s8", 1, 's'},         {Type::S16, "s16", 2, 's'},
    {Type::S32, "s32", 4, 's'},         {Type::S64, "s64", 8, 's'},       {Type::F16, "f16", 2, 'f'},
    {Type::BF16, "bf16", 2, 'f'},       {Type::F32, "f32", 4, 'f'},       {Type::F64, "f64", 8, 'f'},
    {Type::TF32, "tf32", 4, 'f'},       {Type::U16x2, "u16x2", 4, 'u'},   {Type::S16x2, "s16x2", 4, 's'},
    {Type::F16x2, "f16x2", 4, 'f'},     {Type::BF16x2, "bf16x2", 4, 'f'}, {Type::F32x2, "f32x2", 8, 'f'},
    {Type::E4M3, "e4m3", 1, 'f'},       {Type::E5M2, "e5m2", 1, 'f'},     {Type::E2M3, "e2m3", 1, 'f'},
    {Type::E3M2, "e3m2", 1, 'f'},       {Type::E2M1, "e2m1", 0, 'f'},     {Type::UE8M0, "ue8m0", 1, 'f'},
    {Type::UE4M3, "ue4m3", 1, 'f'},     {Type::E4M3x2, "e4m3x2", 2, 'f'}, {Type::E5M2x2, "e5m2x2", 2, 'f'},
    {Type::E2M3x2, "e2m3x2", 2, 'f'},   {Type::E3M2x2, "e3m2x2", 2, 'f'}, {Type::E2M1x2, "e2m1x2", 1, 'f'},
    {Type::UE8M0x2, "ue8m0x2", 2, 'f'}, {Type::E4M3x4, "e4m3x4", 4, 'f'}, {Type::E5M2x4, "e5m2x4", 4, 'f'},
    {Type::E2M3x4, "e2m3x4", 4, 'f'},   {Type::E3M2x4, "e3m2x4", 4, 'f'}, {Type::E2M1x4, "e2m1x4", 2, 'f'},
    {Type::S4, "s4", 0, 's'},           {Type::U4, "u4", 0, 'u'},         {Type::B1, "b1", 0, 'b'},
    {Type::S2F6x2, "s2f6x2", 2, 'f'},
};

const TypeRow &row_of(Type type) {
  for (const TypeRow &row : type_rows)
    if (row.type == type)
      return row;
  return type_rows[0];
}

} // namespace

std::optional<Type> parse_type(std::string_view name) {
  for (const TypeRow &row : type_rows)
    if (row.name == name)
      return row.type;
  return std::nullopt;
}

std::string_view type_name(Type type) { return row_of(type).name; }
uint32_t type_size(Type type) { return row_of(type).size; }
std::optional<Type> bits_type(uint32_t size) {
  for (Type type : {Type::B8, Type::B16, Type::B32, Type::B64, Type::B128})
    if (type_size(type) == size)
      return type;
  return std::nullopt;
}

bool is_float(Type type) { return row_of(type).kind == 'f'; }
bool is_half(Type type) { return is_one_of(type, {Type::F16, Type::BF16, Type::F16x2, Type::BF16x2}); }
bool is_one_of(Type type, std::initializer_list<Type> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}
bool is_signed(Type type) { return row_of(type).kind == 's'; }

std::string_view space_name(Space space) {
  constexpr std::array<std::string_view, 7> names = {"generic", "global", "shared::cta", "shared::cluster",
                                                     "local",   "param",  "const"};
  return names[size_t(space)];
}

} // namespace ptxsim
