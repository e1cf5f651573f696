#include "execution/formatted_print.h"

#include "execution/machine.h"

#include <cstdio>
#include <cstring>
#include <set>

namespace ptxsim {

std::string read_string(Warp &warp, uint32_t lane, uint64_t address) {
  std::string result;
  for (;; ++address) {
    const char character = char(*warp.locate(Space::Generic, address, 1, 1, lane, false).bytes);
    if (!character)
      return result;
    result += character;
  }
}

namespace {

/// The arguments are consecutive, each aligned to its size (CUDA C++ Programming Guide, "Formatted Output").
class Arguments {
public:
  Arguments(Warp &warp, uint32_t lane, uint64_t address) : warp(warp), lane(lane), next(address) {}

  template <class T> T take() {
    next = (next + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    const T value = load_value<T>(warp.locate(Space::Generic, next, sizeof(T), 1, lane, false).bytes);
    next += sizeof(T);
    return value;
  }

private:
  Warp &warp;
  uint32_t lane;
  uint64_t next;
};

template <class T> std::string print_value(const std::string &conversion, T value) {
  const int length = std::snprintf(nullptr, 0, conversion.c_str(), value);
  if (length < 0)
    return {};
  std::string result(size_t(length) + 1, '\0');
  std::snprintf(result.data(), result.size(), conversion.c_str(), value);
  result.pop_back();
  return result;
}

/// One conversion: % flags width .precision length type.
class Conversion {
public:
  Conversion(const std::string &format, size_t &at, Arguments &arguments, int32_t &count) : text("%") {
    ++at;
    while (at < format.size() && std::strchr("-+ #0", format[at]))
      text += format[at++];
    text += number(format, at, arguments, count);
    if (at < format.size() && format[at] == '.') {
      const std::string precision = number(format, ++at, arguments, count);
      // ISO C 7.21.6.1: a negative precision is taken as if it were omitted.
      if (precision[0] != '-')
        text += "." + precision;
    }
    while (at < format.size() && std::strchr("hlLjzt", format[at]))
      length += format[at++];
    type = at < format.size() ? format[at++] : '\0';
  }

  bool is_known() const {
    static const std::set<std::string> lengths = {"", "hh", "h", "l", "ll", "L", "j", "z", "t"};
    return type && std::strchr("diouxXeEfFgGaAcsp", type) && lengths.count(length);
  }

  std::string text, length;
  char type = '\0';

private:
  static std::string number(const std::string &format, size_t &at, Arguments &arguments, int32_t &count) {
    // Longer widths and precisions are truncated, so that the size of the output is bounded.
    constexpr size_t maximum_digits = 6;
    if (at < format.size() && format[at] == '*') {
      ++at;
      ++count;
      return std::to_string(arguments.take<int32_t>() % 1'000'000);
    }
    std::string digits;
    for (; at < format.size() && format[at] >= '0' && format[at] <= '9'; ++at)
      if (digits.size() < maximum_digits)
        digits += format[at];
    return digits;
  }
};

std::string print_integer(const Conversion &conversion, Arguments &arguments) {
  const bool is_long = !conversion.length.empty() && conversion.length[0] != 'h';
  const std::string spelled = conversion.text + (is_long ? "ll" : conversion.length) + conversion.type;
  return is_long ? print_value(spelled, arguments.take<int64_t>()) : print_value(spelled, arguments.take<int32_t>());
}

std::string print_argument(Warp &warp, uint32_t lane, const Conversion &conversion, Arguments &arguments) {
  if (conversion.type == 's')
    return print_value(conversion.text + "s", read_string(warp, lane, arguments.take<uint64_t>()).c_str());
  if (conversion.type == 'p')
    return print_value(conversion.text + "p", reinterpret_cast<void *>(arguments.take<uint64_t>()));
  if (conversion.type == 'c')
    return print_value(conversion.text + "c", arguments.take<int32_t>());
  if (std::strchr("diouxX", conversion.type))
    return print_integer(conversion, arguments);
  return print_value(conversion.text + conversion.type, arguments.take<double>());
}

} // namespace

FormattedText format_print(Warp &warp, uint32_t lane, uint64_t format_address, uint64_t argument_address) {
  const std::string format = read_string(warp, lane, format_address);
  Arguments arguments(warp, lane, argument_address);
  FormattedText result;
  for (size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      result.text += format[at++];
      continue;
    }
    const Conversion conversion(format, at, arguments, result.arguments);
    if (conversion.type == '%') {
      result.text += '%';
    } else if (conversion.is_known()) {
      ++result.arguments;
      result.text += print_argument(warp, lane, conversion, arguments);
    } else {
      warp.trap_lane(lane, trap_kind::illegal, "vprintf with an unknown conversion in \"" + format + "\"");
    }
  }
  return result;
}

} // namespace ptxsim
