// Asynchronous operations: instructions submit them, and the seed chooses their order among those that PTX permits.
#pragma once

#include "memory/clocks.h"

#include <array>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ptxsim {

class Warp;
struct Instruction;
struct Operand;

/// The instruction and thread that an asynchronous operation, or a trap, comes from.
struct Origin {
  const Instruction *instruction = nullptr;
  Warp *warp = nullptr;
  uint32_t lane = 0;
};

enum class QueueKind : uint8_t { TensorCore, TensorLoad, TensorStore, WarpgroupMma, Warpgroup, BulkGroup, CopyAsync };

/// A register that the operation at this position has yet to read or to write.
struct InFlightRegister {
  Epoch position = 0;
  const Operand *operand = nullptr;
};

/// Operations of one issuer as an agent: an operation's position in the queue is its epoch.
struct AsyncQueue {
  Agent agent = 0;
  Epoch issued = 0;           // position of the newest operation
  std::set<Epoch> unfinished; // positions that have not been performed
  std::set<Epoch> unread;     // those of `unfinished` that have yet to read their source in shared memory (bulk stores)
  std::vector<Epoch> groups;  // the newest position at each commit_group
  std::vector<uint32_t> group_lanes;
  std::array<Epoch, 32> latest_copies{};   // by lane: of cp.async without a later cp.async.mbarrier.arrive
  std::vector<InFlightRegister> in_flight; // registers of operations that have not been waited for
  Knowledge knowledge;                     // of the issuers of its operations, at the time of issue

  /// Takes the next position, after joining the knowledge of the issuer.
  Epoch issue(const Knowledge &issuer);
  bool finished(Epoch through) const { return unfinished.empty() || *unfinished.begin() > through; }
  bool was_read(Epoch through) const { return unread.empty() || *unread.begin() > through; }
  /// The last position of all groups but the newest `pending` ones.
  Epoch group_position(uint32_t pending) const;
};

struct AsyncOperation {
  Origin origin;
  AsyncQueue *queue = nullptr; // operations of one queue with `in_order` are performed in order of submission
  bool in_order = false;
  std::function<void()> perform; // moves the data, finishes the position, signals
};

class AsyncEngine {
public:
  void submit(AsyncOperation operation) { operations.push_back(std::move(operation)); }
  bool empty() const { return operations.empty(); }

  /// Performs one of the operations that may be performed next, chosen by `random`.
  void perform_one(std::mt19937_64 &random);

private:
  std::vector<AsyncOperation> operations;
};

} // namespace ptxsim
