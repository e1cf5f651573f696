#include "program/modifier_order.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

namespace ptxsim {

namespace {

using Words = std::vector<std::string_view>;

/// A word of a mnemonic in the table of instructions that ptxas reads at any position after `base`.
struct MovableWord {
  std::string_view base, word;
};

constexpr MovableWord movable_words[] = {
    {"shfl", "sync"},
    {"vote", "sync"},
    {"redux", "sync"},
    {"fence", "mbarrier_init"},
    {"fence.proxy", "async"},
    {"fence.proxy", "tensormap::generic"},
    {"fence.proxy", "alias"},
    {"prefetch", "tensormap"},
    {"clusterlaunchcontrol.query_cancel", "is_canceled"},
    {"clusterlaunchcontrol.query_cancel", "get_first_ctaid"},
    {"clusterlaunchcontrol.query_cancel", "get_first_ctaid::x"},
    {"clusterlaunchcontrol.query_cancel", "get_first_ctaid::y"},
    {"clusterlaunchcontrol.query_cancel", "get_first_ctaid::z"},
};

/// Modifiers that ptxas reads as part of the name: where one occurs, it is the first after `mnemonic`.
struct NameWords {
  std::string_view mnemonic;
  std::initializer_list<std::string_view> words;
};

const NameWords name_words[] = {
    {"mul", {"lo", "hi", "wide"}},
    {"mad", {"lo", "hi", "wide"}},
    {"madc", {"lo", "hi"}},
    {"mul24", {"lo", "hi"}},
    {"mad24", {"lo", "hi"}},
    {"div", {"full"}},
    {"dp2a", {"lo", "hi"}},
    {"shf", {"l", "r"}},
    {"cvta", {"to"}},
    {"createpolicy", {"fractional", "range", "cvt"}},
    {"setmaxnreg", {"inc", "dec"}},
    {"bar", {"cta"}},
    {"bar", {"cta", "warp", "sync", "arrive", "red"}},
    {"bar.cta", {"sync", "arrive", "red"}},
    {"barrier", {"cta"}},
    {"barrier", {"cta", "cluster", "arrive", "red"}},
    {"barrier.cta", {"arrive", "red"}},
    {"mbarrier.arrive", {"expect_tx"}},
    {"mbarrier.arrive_drop", {"expect_tx"}},
    {"mbarrier.test_wait", {"parity"}},
    {"mbarrier.try_wait", {"parity"}},
    {"tcgen05.mma", {"ws"}},
    {"clusterlaunchcontrol.try_cancel", {"async"}},
};

/// A modifier of `earlier` precedes those of `later`, in instructions with the modifier `with` (empty: in all).
struct Precedence {
  std::string_view mnemonic, with;
  std::initializer_list<std::string_view> earlier, later;
};

const Precedence precedences[] = {
    {"cp.async", "ca", {"shared", "shared::cta"}, {"global"}},
    {"cp.async", "cg", {"shared", "shared::cta"}, {"global"}},
    {"cp.async.bulk", "mbarrier::complete_tx::bytes", {"shared::cluster", "shared::cta"}, {"global"}},
    {"cp.async.bulk", "mbarrier::complete_tx::bytes", {"shared::cluster"}, {"shared::cta"}},
    {"cp.async.bulk", "bulk_group", {"global"}, {"shared::cta"}},
    {"cp.reduce.async.bulk", "mbarrier::complete_tx::bytes", {"shared::cluster"}, {"shared::cta"}},
    {"cp.reduce.async.bulk", "bulk_group", {"global"}, {"shared::cta"}},
    {"tensormap.cp_fenceproxy", "", {"global"}, {"shared::cta"}},
    {"tcgen05.cp", "", {"b8x16"}, {"b6x16_p32", "b4x16_p64"}},
    {"mma", "", {"row"}, {"col"}},
    {"clusterlaunchcontrol.query_cancel", "", {"pred", "b32"}, {"b128"}},
};

Words split(std::string_view text) {
  Words words;
  for (size_t start = 0; start <= text.size();) {
    const size_t dot = std::min(text.find('.', start), text.size());
    words.push_back(text.substr(start, dot - start));
    start = dot + 1;
  }
  return words;
}

/// True if the mnemonic is `text` or its leading words.
bool leads(std::string_view mnemonic, std::string_view text) {
  return text.substr(0, mnemonic.size()) == mnemonic &&
         (text.size() == mnemonic.size() || text[mnemonic.size()] == '.');
}

template <class Container> bool contains(const Container &words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// The words of the name after `mnemonic`: .wide in mul.wide.u32, .red in bar.cta.red.
std::string name_violation(std::string_view text) {
  for (const NameWords &row : name_words) {
    if (!leads(row.mnemonic, text) || text.size() == row.mnemonic.size())
      continue;
    const Words modifiers = split(text.substr(row.mnemonic.size() + 1));
    for (size_t i = 1; i < modifiers.size(); ++i)
      if (contains(row.words, modifiers[i]) && !contains(row.words, modifiers[0]))
        return "." + std::string(modifiers[i]) + " directly after '" + std::string(row.mnemonic) + "'";
  }
  return "";
}

} // namespace

std::string canonical_order(std::string_view text) {
  for (const MovableWord &row : movable_words) {
    if (!leads(row.base, text) || text.size() == row.base.size())
      continue;
    Words modifiers = split(text.substr(row.base.size() + 1));
    const auto word = std::find(modifiers.begin(), modifiers.end(), row.word);
    if (word == modifiers.end())
      continue;
    std::rotate(modifiers.begin(), word, word + 1);
    std::string result(row.base);
    for (std::string_view modifier : modifiers)
      result += "." + std::string(modifier);
    return result;
  }
  return std::string(text);
}

std::string order_violation(std::string_view canonical) {
  if (std::string violation = name_violation(canonical); !violation.empty())
    return violation;
  for (const Precedence &row : precedences) {
    if (!leads(row.mnemonic, canonical))
      continue;
    const Words words = split(canonical);
    if (!row.with.empty() && !contains(words, row.with))
      continue;
    const auto in = [](const auto &set) { return [&set](std::string_view word) { return contains(set, word); }; };
    const auto later = std::find_if(words.begin(), words.end(), in(row.later));
    const auto earlier = std::find_if(later, words.end(), in(row.earlier));
    if (later != words.end() && earlier != words.end())
      return "." + std::string(*earlier) + " before ." + std::string(*later);
  }
  return "";
}

} // namespace ptxsim
