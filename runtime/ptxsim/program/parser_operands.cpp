#include "program/parser.h"

#include "program/special.h"

namespace ptxsim {

Operand Parser::operand() {
  const Nesting nesting(*this);
  if (cursor.take('!')) {
    Operand result = operand();
    result.negated = !result.negated;
    return result;
  }
  if (cursor.peek() == '[')
    return address();
  if (cursor.take('{'))
    return vector('}');
  if (cursor.take('('))
    return vector(')');
  Operand result;
  if (cursor.at_number() || cursor.peek() == '-' || cursor.peek() == '+' || cursor.peek() == '~') {
    result.constant = true;
    bool negative = cursor.peek() == '-' && !(cursor.peek(1) == ' ');
    if (negative)
      cursor.take('-');
    if (cursor.at_number()) {
      Literal literal = cursor.literal();
      result.size = literal.float_size;
      result.value = literal.bits;
      if (negative)
        result.value = literal.float_size == 8   ? literal.bits ^ (1ull << 63)
                       : literal.float_size == 4 ? literal.bits ^ (1ull << 31)
                                                 : 0 - literal.bits;
      if (!literal.float_size)
        result.value = uint64_t(constant_sum(constant_product(int64_t(result.value))));
    } else {
      int64_t value = constant_expression();
      result.value = negative ? 0 - uint64_t(value) : uint64_t(value);
    }
    return result;
  }
  std::string_view name = cursor.name(true);
  if (name.empty())
    cursor.error("expected an operand, found " + cursor.found());
  result = symbol_or_register(name);
  if (cursor.take('|')) { // two destinations
    Operand pair;
    pair.kind = Operand::Kind::Vector;
    pair.text = "|";
    pair.elements = {std::move(result), operand()};
    return pair;
  }
  if (result.kind == Operand::Kind::Unresolved && (cursor.peek() == '+' || cursor.peek() == '-'))
    result.offset = constant_expression();
  return result;
}

Operand Parser::symbol_or_register(std::string_view name) {
  Operand result;
  result.text = name;
  if (name == "_") {
    result.kind = Operand::Kind::Sink;
    return result;
  }
  if (name == "WARP_SZ") {
    result.constant = true;
    result.value = lane_count;
    result.text.clear();
    return result;
  }
  if (const Register *found = find_register(result.text)) {
    result.kind = found->predicate ? Operand::Kind::Predicate : Operand::Kind::Register;
    result.size = found->size;
    result.slot = found->slot;
    result.number = found->number;
  } else if (name[0] == '%' && !find_special(name)) {
    cursor.error("'" + result.text + "' is not declared");
  }
  return result;
}

Operand Parser::vector(char close) {
  Operand result;
  result.kind = Operand::Kind::Vector;
  if (cursor.take(close))
    return result;
  do
    result.elements.push_back(operand());
  while (cursor.take(','));
  cursor.expect(close);
  return result;
}

Operand Parser::address() {
  cursor.expect('[');
  Operand result;
  if (cursor.at_number() || cursor.peek() == '-') {
    result.offset = constant_expression();
  } else {
    std::string_view name = cursor.name(true);
    if (name.empty())
      cursor.error("expected an address, found " + cursor.found());
    result = symbol_or_register(name);
    if (result.kind == Operand::Kind::Predicate || result.kind == Operand::Kind::Sink)
      cursor.error("expected a register or variable as address, found '" + result.text + "'");
    if (result.kind == Operand::Kind::Register)
      result.text.clear();
    if (cursor.peek() == '+' || cursor.peek() == '-')
      result.offset = constant_expression();
  }
  result.kind = Operand::Kind::Address;
  while (cursor.take(','))
    result.elements.push_back(operand());
  cursor.expect(']');
  return result;
}

int64_t Parser::constant_expression() {
  bool starts_with_sign = cursor.peek() == '+' || cursor.peek() == '-';
  return constant_sum(starts_with_sign ? 0 : constant_product(constant_primary()));
}

/// Parses the terms after the first one, whose value is `value`.
int64_t Parser::constant_sum(int64_t value) {
  for (;;) {
    // Constants wrap at 64 bits.
    if (cursor.take('+'))
      value = int64_t(uint64_t(value) + uint64_t(constant_product(constant_primary())));
    else if (cursor.take('-'))
      value = int64_t(uint64_t(value) - uint64_t(constant_product(constant_primary())));
    else
      return value;
  }
}

/// Parses the factors after the first one, whose value is `value`.
int64_t Parser::constant_product(int64_t value) {
  while (cursor.peek() == '*' || cursor.peek() == '/') {
    bool divide = cursor.take('/');
    if (!divide)
      cursor.take('*');
    int64_t right = constant_primary();
    if (divide && right == 0)
      cursor.error("division by zero in a constant expression");
    if (divide && right == -1)
      value = int64_t(0 - uint64_t(value)); // the minimum divided by -1 wraps
    else
      value = divide ? value / right : int64_t(uint64_t(value) * uint64_t(right));
  }
  return value;
}

int64_t Parser::constant_primary() {
  const Nesting nesting(*this);
  if (cursor.take('-'))
    return int64_t(0 - uint64_t(constant_primary()));
  if (cursor.take('~'))
    return ~constant_primary();
  if (cursor.take('(')) {
    int64_t value = constant_expression();
    cursor.expect(')');
    return value;
  }
  if (!cursor.at_number())
    cursor.error("expected a constant, found " + cursor.found());
  Literal literal = cursor.literal();
  if (literal.float_size)
    cursor.error("expected an integer constant");
  return int64_t(literal.bits);
}

} // namespace ptxsim
