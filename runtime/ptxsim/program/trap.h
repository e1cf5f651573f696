// Errors of the simulator: in the PTX text (PtxError) or during a run (Trap).
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace ptxsim {

/// The text is not PTX, or a name in it does not resolve.
struct PtxError : std::exception {
  PtxError(uint32_t line, uint32_t column, std::string message)
      : line(line), column(column), message(std::move(message)) {}
  const char *what() const noexcept override { return message.c_str(); }
  uint32_t line;
  uint32_t column;
  std::string message;
};

/// The program executed behaviour that PTX forbids or leaves undefined.
struct Trap : std::exception {
  const char *what() const noexcept override { return message.c_str(); }
  std::string kind;    // one of trap_kind
  std::string message; // expected and found
  uint32_t line = 0;   // of the PTX text
  std::string file;    // from .loc; empty where the text has none
  uint32_t source_line = 0;
  std::array<uint32_t, 3> block{};
  std::array<uint32_t, 3> thread{};
  std::vector<std::string> notes; // the other access, the instruction at which each warp waits
};

namespace trap_kind {
inline constexpr char race[] = "race";
inline constexpr char bounds[] = "bounds";
inline constexpr char misaligned[] = "misaligned";
inline constexpr char uninitialised[] = "uninitialised";
inline constexpr char mbarrier[] = "mbarrier";
inline constexpr char barrier[] = "barrier";
inline constexpr char divergence[] = "divergence";
inline constexpr char deadlock[] = "deadlock";
inline constexpr char descriptor[] = "descriptor";
inline constexpr char tensor_memory[] = "tensor-memory";
inline constexpr char in_flight[] = "in-flight";
inline constexpr char exit_pending[] = "exit-pending";
inline constexpr char unconfirmed[] = "unconfirmed";
inline constexpr char unsupported[] = "unsupported";
inline constexpr char illegal[] = "illegal";
inline constexpr char assertion[] = "assertion failed"; // __assertfail
inline constexpr char program[] = "program";            // trap, brkpt
inline constexpr char step_limit[] = "step-limit";
inline constexpr char time_limit[] = "time-limit";
} // namespace trap_kind

} // namespace ptxsim
