#include "program/cursor.h"

#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace ptxsim {

static bool is_name_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
}
static bool is_name_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

/// Escapes the bytes that are not printable ASCII.
static std::string ascii(const std::string &message) {
  std::string result;
  for (unsigned char c : message) {
    constexpr char digits[] = "0123456789ABCDEF";
    if (c < 0x80 && (c >= ' ' || c == '\t'))
      result += char(c);
    else
      result += std::string("\\x") + digits[c >> 4] + digits[c & 15];
  }
  return result;
}

void Cursor::error(const std::string &message) const {
  throw PtxError(line_number, uint32_t(position - line_start) + 1, ascii(message));
}

std::string Cursor::found() const { return at_end() ? "the end of the text" : std::string("'") + peek() + "'"; }

void Cursor::advance(size_t count) {
  position += count;
  skip();
}

void Cursor::skip() {
  while (position < text.size()) {
    char c = text[position];
    if (c == '\n') {
      ++line_number;
      line_start = ++position;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      ++position;
    } else if (c == '/' && peek(1) == '/') {
      while (position < text.size() && text[position] != '\n')
        ++position;
    } else if (c == '/' && peek(1) == '*') {
      size_t end = text.find("*/", position + 2);
      if (end == std::string_view::npos)
        error("unterminated comment");
      for (; position < end; ++position)
        if (text[position] == '\n') {
          ++line_number;
          line_start = position + 1;
        }
      position = end + 2;
    } else {
      return;
    }
  }
}

bool Cursor::take(char punctuation) {
  if (peek() != punctuation || at_end())
    return false;
  advance(1);
  return true;
}

bool Cursor::take_word(std::string_view word) {
  if (text.substr(position, word.size()) != word || is_name_part(peek(word.size())))
    return false;
  advance(word.size());
  return true;
}

void Cursor::expect(char punctuation) {
  if (!take(punctuation))
    error(std::string("expected '") + punctuation + "', found " + found());
}

std::string_view Cursor::name(bool dotted) {
  if (!is_name_start(peek()))
    return {};
  size_t length = 1;
  while (is_name_part(peek(length)))
    ++length;
  if (dotted && peek() == '%' && peek(length) == '.' && is_name_start(peek(length + 1)))
    for (++length; is_name_part(peek(length));)
      ++length;
  std::string_view result = text.substr(position, length);
  advance(length);
  return result;
}

std::string_view Cursor::expect_name(const char *expected) {
  std::string_view result = name();
  if (result.empty())
    error(std::string("expected ") + expected + ", found " + found());
  return result;
}

std::string_view Cursor::directive() {
  if (peek() != '.' || !is_name_start(peek(1)))
    return {};
  size_t length = 1;
  while (is_name_part(peek(length)))
    ++length;
  std::string_view result = text.substr(position + 1, length - 1);
  advance(length);
  return result;
}

std::string_view Cursor::mnemonic() {
  if (!is_name_start(peek()))
    return {};
  size_t length = 1;
  for (;; ++length) {
    char c = peek(length);
    if (is_name_part(c) || (c == '.' && is_name_part(peek(length + 1))))
      continue;
    if (c == ':' && peek(length + 1) == ':' && is_name_part(peek(length + 2))) {
      ++length;
      continue;
    }
    break;
  }
  std::string_view result = text.substr(position, length);
  advance(length);
  return result;
}

std::string_view Cursor::quoted() {
  if (peek() != '"')
    error("expected a string");
  size_t length = 1;
  while (peek(length) != '"') {
    if (position + length >= text.size() || peek(length) == '\n')
      error("unterminated string");
    length += peek(length) == '\\' ? 2 : 1;
  }
  std::string_view result = text.substr(position + 1, length - 1);
  advance(length + 1);
  return result;
}

bool Cursor::at_number() const { return std::isdigit(static_cast<unsigned char>(peek())); }

Literal Cursor::literal() {
  const char *start = text.data() + position;
  auto hexadecimal = [&](size_t skipped, size_t digits) {
    std::string bits(text.substr(position + skipped, digits));
    char *end = nullptr;
    uint64_t value = std::strtoull(bits.c_str(), &end, 16);
    if (bits.size() != digits || *end)
      error("expected " + std::to_string(digits) + " hexadecimal digits");
    advance(skipped + digits);
    return value;
  };
  if (peek() == '0' && (peek(1) == 'f' || peek(1) == 'F'))
    return {hexadecimal(2, 8), 4};
  if (peek() == '0' && (peek(1) == 'd' || peek(1) == 'D'))
    return {hexadecimal(2, 16), 8};
  size_t length = 0;
  bool prefixed = peek() == '0' && std::strchr("xXbB", peek(1)) && peek(1);
  while (is_name_part(peek(length)) ||
         (!prefixed && (peek(length) == '.' || ((peek(length) == '+' || peek(length) == '-') && length &&
                                                (peek(length - 1) == 'e' || peek(length - 1) == 'E')))))
    ++length;
  std::string digits(start, length);
  if (digits.empty())
    error("expected a number, found " + found());
  if (!prefixed && digits.find_first_of(".eE") != std::string::npos) {
    char *end = nullptr;
    double value = std::strtod(digits.c_str(), &end);
    if (*end)
      error("expected a number, found '" + digits + "'");
    advance(length);
    uint64_t bits;
    std::memcpy(&bits, &value, 8);
    return {bits, 8};
  }
  std::string plain = digits;
  while (!plain.empty() && (plain.back() == 'U' || plain.back() == 'u'))
    plain.pop_back();
  char *end = nullptr;
  bool binary = plain.size() > 2 && (plain[1] == 'b' || plain[1] == 'B');
  uint64_t value = binary ? std::strtoull(plain.c_str() + 2, &end, 2) : std::strtoull(plain.c_str(), &end, 0);
  if (plain.empty() || *end)
    error("expected a number, found '" + digits + "'");
  advance(length);
  return {value, 0};
}

void Cursor::skip_braces() {
  expect('{');
  for (int depth = 1; depth > 0;) {
    if (at_end())
      error("unterminated '{'");
    if (peek() == '"') {
      quoted();
      continue;
    }
    depth += peek() == '{' ? 1 : peek() == '}' ? -1 : 0;
    advance(1);
  }
}

void Cursor::skip_line() {
  while (!at_end() && text[position] != '\n')
    ++position;
  skip();
}

void Cursor::skip_past(char punctuation) {
  while (!at_end() && peek() != punctuation)
    advance(1);
  expect(punctuation);
}

} // namespace ptxsim
