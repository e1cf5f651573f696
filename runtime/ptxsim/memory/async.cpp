#include "memory/async.h"

#include <algorithm>

namespace ptxsim {

Epoch AsyncQueue::issue(const Knowledge &issuer) {
  knowledge.join(issuer);
  unfinished.insert(++issued);
  return issued;
}

Epoch AsyncQueue::group_position(uint32_t pending) const {
  return groups.size() > pending ? groups[groups.size() - 1 - pending] : 0;
}

void AsyncEngine::perform_one(std::mt19937_64 &random) {
  // An in-order operation may be next only if no earlier one of its queue is left.
  std::vector<size_t> eligible;
  std::vector<const AsyncQueue *> busy;
  for (size_t i = 0; i < operations.size(); ++i) {
    const AsyncOperation &operation = operations[i];
    if (operation.in_order) {
      if (std::find(busy.begin(), busy.end(), operation.queue) != busy.end())
        continue;
      busy.push_back(operation.queue);
    }
    eligible.push_back(i);
  }
  size_t chosen = eligible[random() % eligible.size()];
  AsyncOperation operation = std::move(operations[chosen]);
  operations.erase(operations.begin() + ptrdiff_t(chosen));
  operation.perform();
}

} // namespace ptxsim
