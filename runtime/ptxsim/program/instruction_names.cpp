#include "program/instruction_names.h"

#include <algorithm>
#include <iterator>

namespace ptxsim {

namespace {

constexpr std::string_view unsupported_names[] = {
    "alloca",    "istypep", "stackrestore", "stacksave", "suld",  "suq",   "sured",  "sust",   "tex",
    "tld4",      "txq",     "vabsdiff",     "vadd",      "vadd2", "vadd4", "vavrg2", "vavrg4", "vabsdiff2",
    "vabsdiff4", "vmad",    "vmax",         "vmax2",     "vmax4", "vmin",  "vmin2",  "vmin4",  "vset",
    "vset2",     "vset4",   "vshl",         "vshr",      "vsub",  "vsub2", "vsub4",  "wmma",
};

} // namespace

bool is_unsupported_name(std::string_view name) {
  return std::find(std::begin(unsupported_names), std::end(unsupported_names), name) != std::end(unsupported_names);
}

} // namespace ptxsim
