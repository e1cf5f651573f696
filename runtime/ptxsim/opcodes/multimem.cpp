#include "opcodes/multimem.h"

namespace ptxsim {

AtomicOperation take_multimem_operation(Decoder &decoder) {
  static constexpr AtomicOperation operations[] = {AtomicOperation::Add, AtomicOperation::Min, AtomicOperation::Max,
                                                   AtomicOperation::And, AtomicOperation::Or,  AtomicOperation::Xor};
  const int found = decoder.take_one_of({"add", "min", "max", "and", "or", "xor"});
  if (found < 0)
    decoder.malformed("'" + decoder.instruction.text + "' has no operation");
  return operations[found];
}

bool is_multimem_access(Type type, uint32_t elements, Space space) {
  if (space != Space::Global && space != Space::Generic)
    return false;
  const uint32_t size = type_size(type), bytes = elements * size;
  return elements == 1 ? size == 4 || size == 8 : (is_half(type) || type == Type::F32) && bytes >= 4 && bytes <= 16;
}

bool has_multimem_reduction(AtomicOperation operation, Type type, bool loads) {
  switch (operation) {
  case AtomicOperation::And:
  case AtomicOperation::Or:
  case AtomicOperation::Xor:
    return is_one_of(type, {Type::B32, Type::B64});
  case AtomicOperation::Add:
    return is_half(type) || is_one_of(type, {Type::U32, Type::S32, Type::U64, Type::F32, Type::F64});
  default:
    return is_one_of(type, {Type::U32, Type::S32, Type::U64, Type::S64}) || (loads && is_half(type));
  }
}

} // namespace ptxsim
