// Where the threads of a launch wait: the notes of a deadlock or of a run that exceeds a limit.
#pragma once

#include "memory/async.h"

#include <memory>
#include <string>
#include <vector>

namespace ptxsim {

class Cluster;
class Program;

struct WaitingReport {
  /// Of the threads that have not exited.
  WaitingReport(const Program &program, const std::vector<std::unique_ptr<Cluster>> &clusters);

  Origin origin;         // one of them: one that runs, if any does
  bool diverged = false; // lanes of a warp wait for each other at different instructions
  std::vector<std::string> notes;
};

} // namespace ptxsim
