// A position in PTX text: skips blanks and comments, reads names and literals.
#pragma once

#include "program/trap.h"

#include <string>
#include <string_view>

namespace ptxsim {

/// An integer, or the bits of a float of `float_size` bytes.
struct Literal {
  uint64_t bits = 0;
  uint8_t float_size = 0;
};

class Cursor {
public:
  explicit Cursor(std::string_view text) : text(text) { skip(); }

  uint32_t line() const { return line_number; }
  bool at_end() const { return position >= text.size(); }
  char peek(size_t ahead = 0) const { return position + ahead < text.size() ? text[position + ahead] : '\0'; }

  /// Takes this punctuation or word, if it comes next.
  bool take(char punctuation);
  bool take_word(std::string_view word);
  void expect(char punctuation);

  /// Letters, digits, _, $, %; with `dotted`, also a following ".x" as in %tid.x. Empty if none comes next.
  std::string_view name(bool dotted = false);
  std::string_view expect_name(const char *expected);
  /// ".directive" without the dot; empty if none comes next.
  std::string_view directive();
  /// An instruction's mnemonic with its modifiers: "mbarrier.try_wait.parity.shared::cta.b64".
  std::string_view mnemonic();
  std::string_view quoted();
  bool at_number() const;
  Literal literal();
  /// Skips a balanced { ... }.
  void skip_braces();
  void skip_line();
  /// Skips up to and including this character.
  void skip_past(char punctuation);

  [[noreturn]] void error(const std::string &message) const;
  /// What comes next, for a message: a character in quotes, or the end of the text.
  std::string found() const;

private:
  void skip();
  void advance(size_t count);
  std::string_view text;
  size_t position = 0;
  size_t line_start = 0;
  uint32_t line_number = 1;
};

} // namespace ptxsim
