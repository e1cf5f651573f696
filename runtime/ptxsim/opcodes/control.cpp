// Control flow (PTX ISA 9.7.12): branches, calls, exit.
#include "execution/formatted_print.h"
#include "execution/lanewise.h"
#include "execution/machine.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ptxsim {

namespace {

Outcome branch(Warp &warp, const Instruction &in) {
  warp.jump(in.operands[0].target, warp.mask);
  return Outcome::Jump;
}

Execute decode_bra(Decoder &d) {
  d.take("uni");
  d.expect_operands(1, 1);
  d.label(0);
  return &branch;
}

/// Sets the program counter of the fragments with any of these lanes.
void return_to(Warp &warp, uint32_t lanes, uint32_t pc) {
  for (Fragment &fragment : warp.fragments)
    if (fragment.mask & lanes)
      fragment.pc = pc;
}

/// The index of each lane selects its target; lanes with equal indices form one fragment.
Outcome branch_indexed(Warp &warp, const Instruction &in) {
  warp.require(in.operands[0]);
  const uint32_t *index = warp.lanes<uint32_t>(in.operands[0]);
  const auto &targets = in.operands[1].elements;
  uint32_t first = warp.first_lane(), same = 0;
  if (index[first] >= targets.size())
    warp.trap_lane(first, trap_kind::illegal,
                   "brx.idx with index " + std::to_string(index[first]) + " into " + std::to_string(targets.size()) +
                       " targets");
  for_each_lane(warp.mask, [&](uint32_t lane) { same |= uint32_t(index[lane] == index[first]) << lane; });
  // Lanes with another index execute this instruction again.
  uint32_t here = warp.fragment().pc;
  uint32_t others = warp.mask & ~same;
  warp.jump(targets[index[first]].target, same);
  if (others)
    return_to(warp, others, here);
  return Outcome::Jump;
}

Execute decode_brx(Decoder &d) {
  d.take("uni");
  d.expect_operands(2, 2);
  d.source(0, Type::U32);
  Operand &table = d.instruction.operands[1];
  if (table.kind != Operand::Kind::Vector)
    d.malformed("brx.idx expects the label of .branchtargets, found " + Decoder::description(table));
  for (const Operand &target : table.elements)
    if (target.kind != Operand::Kind::Label)
      d.malformed("label '" + target.text + "' is not declared");
  return &branch_indexed;
}

// Calls. Operands: {results}, function, {arguments}. Registers and parameter variables have fixed addresses, so a
// function cannot be active twice in one thread.

enum CallOperand { Results, Callee, Arguments };
enum CallSetting { Uniform };

void copy_value(Warp &warp, const Operand &to, const Operand &from) {
  const Program &program = warp.machine.program;
  auto variable = [&](const Operand &operand) { return program.variables[size_t(operand.variable)]; };
  if (to.kind == Operand::Kind::Predicate) {
    warp.set_predicate(to, warp.predicate(from));
    warp.mark_undefined(to, warp.mask & ~warp.written_lanes(from));
    return;
  }
  uint64_t size = to.variable >= 0 ? variable(to).size : to.size;
  if (from.variable >= 0)
    size = std::min<uint64_t>(size, variable(from).size);
  for_each_lane(warp.mask, [&](uint32_t lane) {
    const uint8_t *source =
        from.variable >= 0 ? warp.local(lane) + variable(from).address : warp.lanes<uint8_t>(from) + lane * from.size;
    uint8_t *target =
        to.variable >= 0 ? warp.local(lane) + variable(to).address : warp.lanes<uint8_t>(to) + lane * to.size;
    std::memcpy(target, source, size);
  });
  if (to.variable >= 0)
    return;
  warp.wrote(to);
  if (from.variable < 0)
    for_each_lane(warp.mask & ~warp.written_lanes(from),
                  [&](uint32_t lane) { warp.set_defined_bytes(to, lane, warp.defined_bytes(from, lane)); });
}

bool contains(const Function &function, uint32_t pc) { return pc >= function.first && pc < function.last; }

void check_recursion(Warp &warp, const Function &callee) {
  const Fragment &fragment = warp.fragment();
  bool active = contains(callee, fragment.pc);
  for (uint32_t back : fragment.stack)
    active |= contains(callee, back - 1);
  if (active)
    warp.trap(trap_kind::unsupported, "recursive call of '" + callee.name + "'");
}

bool is_predicate(const Operand &operand) { return operand.kind == Operand::Kind::Predicate; }

/// The size of a register, a literal or a .param variable; 0 for a predicate.
uint64_t bytes_of(const Program &program, const Operand &operand) {
  return operand.variable >= 0 ? program.variables[size_t(operand.variable)].size : operand.size;
}

/// Traps unless there is an operand of the size and kind of each formal parameter; `_` discards a result.
void check_operands(Warp &warp, const Function &callee, const std::vector<Operand> &formals,
                    const std::vector<Operand> &operands, const char *role) {
  if (operands.size() != formals.size())
    warp.trap(trap_kind::illegal, "'" + callee.name + "' has " + std::to_string(formals.size()) + " " + role +
                                      "s, found " + std::to_string(operands.size()));
  for (size_t i = 0; i < operands.size(); ++i) {
    const uint64_t expected = bytes_of(warp.machine.program, formals[i]);
    const uint64_t found = bytes_of(warp.machine.program, operands[i]);
    const bool same_kind = is_predicate(formals[i]) == is_predicate(operands[i]);
    if (operands[i].kind == Operand::Kind::Sink || (same_kind && expected == found))
      continue;
    const std::string subject = std::string(role) + " " + std::to_string(i + 1) + " of '" + callee.name + "' ";
    if (!same_kind)
      warp.trap(trap_kind::illegal, subject + "is a predicate in the call or in the function, but not in both");
    warp.trap(trap_kind::illegal,
              subject + "has " + std::to_string(expected) + " bytes, found " + std::to_string(found));
  }
}

/// The bits of an argument: a register or a .param variable of at most 8 bytes.
uint64_t argument_bits(Warp &warp, const Operand &argument, uint32_t lane) {
  if (argument.variable < 0)
    return warp.bits(argument, lane);
  const Variable &variable = warp.machine.program.variables[size_t(argument.variable)];
  uint64_t bits = 0;
  std::memcpy(&bits, warp.local(lane) + variable.address, std::min<size_t>(variable.size, sizeof bits));
  return bits;
}

void require_arguments(Warp &warp, const std::vector<Operand> &arguments) {
  for (const Operand &argument : arguments)
    if (argument.variable < 0)
      warp.require(argument);
}

/// __assertfail(message, file, line, function, size of a character), as assert() of CUDA calls it.
Outcome fail_assertion(Warp &warp, const Instruction &in) {
  const auto &arguments = in.operands[Arguments].elements;
  const uint32_t lane = warp.first_lane();
  auto text = [&](size_t index) { return read_string(warp, lane, argument_bits(warp, arguments[index], lane)); };
  std::vector<std::string> notes;
  if (warp.machine.program.locations[in.location].file.empty())
    notes.push_back(text(1) + ":" + std::to_string(uint32_t(argument_bits(warp, arguments[2], lane))) + ": in " +
                    text(3));
  warp.trap(trap_kind::assertion, text(0), std::move(notes));
}

/// Sets a result, a register or a .param variable, to a value of its size.
template <class T> void set_result(Warp &warp, const Operand &result, uint32_t lane, T value) {
  if (result.variable >= 0)
    store_value(warp.local(lane) + warp.machine.program.variables[size_t(result.variable)].address, value);
  else
    warp.set_bits(result, lane, uint64_t(value));
}

/// Sets the result to value(lane) in each lane.
template <class Value> Outcome return_value(Warp &warp, const Instruction &in, Value value) {
  const Operand &result = in.operands[Results].elements[0];
  for_each_lane(warp.mask, [&](uint32_t lane) { set_result(warp, result, lane, value(lane)); });
  if (result.variable < 0)
    warp.wrote(result);
  return Outcome::Next;
}

/// malloc(size) of device code returns the address.
Outcome allocate(Warp &warp, const Instruction &in) {
  const Operand &size = in.operands[Arguments].elements[0];
  return return_value(warp, in, [&](uint32_t lane) { return warp.machine.allocate(argument_bits(warp, size, lane)); });
}

/// free(address) of device code; address 0 has no effect.
Outcome release(Warp &warp, const Instruction &in) {
  const Operand &argument = in.operands[Arguments].elements[0];
  for_each_lane(warp.mask, [&](uint32_t lane) {
    const uint64_t address = argument_bits(warp, argument, lane);
    if (address && !warp.machine.release(address))
      warp.trap_lane(lane, trap_kind::illegal, "free of an address that malloc has not returned");
  });
  return Outcome::Next;
}

/// vprintf(format, arguments) returns the number of arguments printed.
Outcome print(Warp &warp, const Instruction &in) {
  const auto &arguments = in.operands[Arguments].elements;
  return return_value(warp, in, [&](uint32_t lane) {
    const FormattedText formatted =
        format_print(warp, lane, argument_bits(warp, arguments[0], lane), argument_bits(warp, arguments[1], lane));
    warp.machine.print(warp.cta, formatted.text);
    return formatted.arguments;
  });
}

using Sizes = std::vector<uint64_t>;

/// A function of the CUDA runtime that device code may declare and call; the sizes are in bytes.
struct SystemFunction {
  const char *name;
  Sizes results, arguments;
  Execute execute;
};

const SystemFunction system_functions[] = {
    {"__assertfail", {}, {8, 8, 4, 8, 8}, fail_assertion},
    {"free", {}, {8}, release},
    {"malloc", {8}, {8}, allocate},
    {"vprintf", {4}, {8, 8}, print},
};

Sizes sizes_of(const Program &program, const std::vector<Operand> &formals) {
  Sizes sizes;
  for (const Operand &formal : formals)
    sizes.push_back(bytes_of(program, formal));
  return sizes;
}

/// Calls a function that has no body.
Outcome call_system(Warp &warp, const Instruction &in, const Function &callee) {
  const auto system = std::find_if(std::begin(system_functions), std::end(system_functions),
                                   [&](const SystemFunction &function) { return function.name == callee.name; });
  if (system == std::end(system_functions))
    warp.trap(trap_kind::unsupported, "call of '" + callee.name + "', which has no body");
  const Program &program = warp.machine.program;
  if (sizes_of(program, callee.results) != system->results || sizes_of(program, callee.formals) != system->arguments)
    warp.trap(trap_kind::illegal, "'" + callee.name + "' is declared with parameters of other sizes than it has");
  require_arguments(warp, in.operands[Arguments].elements);
  return system->execute(warp, in);
}

/// The function whose address is in the register. Without .uni it may differ between lanes: the lanes with the same
/// function become warp.mask, and `others` execute the call again.
uint32_t indirect_callee(Warp &warp, const Instruction &in, uint32_t &others) {
  const Operand &target = in.operands[Callee];
  warp.require(target);
  const uint64_t *functions = warp.lanes<uint64_t>(target);
  const uint64_t chosen = in.settings[Uniform] ? warp.uniform<uint64_t>(target) : functions[warp.first_lane()];
  const uint64_t index = chosen / function_alignment - 1;
  if (index >= warp.machine.program.functions.size() || function_address(index) != chosen)
    warp.trap(trap_kind::illegal, "call through a register that does not hold the address of a function");
  uint32_t same = 0;
  for_each_lane(warp.mask, [&](uint32_t lane) { same |= uint32_t(functions[lane] == chosen) << lane; });
  others = warp.mask & ~same;
  warp.mask = same;
  return uint32_t(index);
}

Outcome call(Warp &warp, const Instruction &in) {
  const Operand &target = in.operands[Callee];
  const uint32_t here = warp.fragment().pc;
  uint32_t index = target.target, others = 0;
  if (target.kind == Operand::Kind::Register)
    index = indirect_callee(warp, in, others);
  const Function &callee = warp.machine.program.functions[index];
  const auto &arguments = in.operands[Arguments].elements;
  check_operands(warp, callee, callee.formals, arguments, "argument");
  check_operands(warp, callee, callee.results, in.operands[Results].elements, "result");
  if (!callee.defined) {
    const Outcome outcome = call_system(warp, in, callee);
    if (!others)
      return outcome;
    warp.jump(here + 1, warp.mask);
    return_to(warp, others, here);
    return Outcome::Jump;
  }
  check_recursion(warp, callee);
  for (size_t i = 0; i < arguments.size(); ++i)
    copy_value(warp, callee.formals[i], arguments[i]);
  warp.call(callee.first);
  if (others)
    return_to(warp, others, here);
  return Outcome::Jump;
}

void require_parameter(Decoder &d, const Operand &operand) {
  const Variable &variable = d.program.variables[size_t(operand.variable)];
  if (variable.space != Space::Param || variable.entry_parameter)
    d.malformed("call with '" + operand.text + "': expected a .param variable of the function");
}

/// The type of a literal for a parameter.
Type literal_type(Decoder &d, uint64_t size) {
  for (Type type : {Type::B8, Type::B16, Type::B32, Type::B64})
    if (type_size(type) == size)
      return type;
  d.malformed("call with a literal for a parameter of " + std::to_string(size) + " bytes");
}

Execute decode_call(Decoder &d) {
  d.instruction.settings[Uniform] = d.take("uni");
  auto &operands = d.instruction.operands;
  Operand empty_list;
  empty_list.kind = Operand::Kind::Vector;
  if (operands.empty())
    d.malformed("call expects a function");
  if (operands[0].kind != Operand::Kind::Vector)
    operands.insert(operands.begin(), empty_list);
  if (operands.size() == 2)
    operands.push_back(empty_list);
  if (operands.size() == 4)
    operands.pop_back(); // the prototype of an indirect call
  d.expect_operands(3, 3);
  Operand &callee = operands[Callee];
  const auto &functions = d.program.functions;
  auto found =
      std::find_if(functions.begin(), functions.end(), [&](const Function &f) { return f.name == callee.text; });
  const Function *known = nullptr;
  if (callee.kind == Operand::Kind::Register) {
    d.source(Callee, Type::U64);
  } else if (found != functions.end()) {
    callee.kind = Operand::Kind::Function;
    callee.target = uint32_t(found - functions.begin());
    known = &*found;
  } else {
    d.malformed("function '" + callee.text + "' is not declared");
  }
  auto resolve = [&](Operand &operand, const std::vector<Operand> *formals, size_t i) {
    if (operand.variable >= 0)
      return require_parameter(d, operand);
    if (operand.kind == Operand::Kind::Register || operand.kind == Operand::Kind::Predicate ||
        operand.kind == Operand::Kind::Sink)
      return;
    if (!operand.constant)
      d.malformed("call with " + Decoder::description(operand) + ": expected a .param variable, register or literal");
    if (!formals || i >= formals->size())
      d.malformed("call with a literal for an unknown parameter: expected a .param variable or register");
    d.source(operand, literal_type(d, bytes_of(d.program, (*formals)[i])));
  };
  for (size_t i = 0; i < operands[Arguments].elements.size(); ++i) {
    if (operands[Arguments].elements[i].kind == Operand::Kind::Sink)
      d.malformed("call with '_' as an argument");
    resolve(operands[Arguments].elements[i], known ? &known->formals : nullptr, i);
  }
  for (Operand &result : operands[Results].elements)
    resolve(result, nullptr, 0);
  return &call;
}

Outcome return_from_function(Warp &warp, const Instruction &) {
  const Fragment &fragment = warp.fragment();
  if (!fragment.stack.empty()) {
    const auto &code = warp.machine.program.code;
    const Instruction &site = code[fragment.stack.back() - 1];
    const auto &functions = warp.machine.program.functions;
    auto callee = std::find_if(functions.begin(), functions.end(),
                               [&](const Function &function) { return contains(function, fragment.pc); });
    const auto &results = site.operands[Results].elements;
    for (size_t i = 0; i < results.size(); ++i)
      copy_value(warp, results[i], callee->results[i]);
  }
  warp.return_from_call();
  return Outcome::Jump;
}

Execute decode_ret(Decoder &d) {
  d.take("uni");
  d.expect_operands(0, 0);
  return &return_from_function;
}

Outcome exit_threads(Warp &warp, const Instruction &) {
  warp.exit_lanes();
  return Outcome::Jump;
}

Outcome trap(Warp &warp, const Instruction &in) {
  warp.trap(trap_kind::program, "the program executes '" + in.text + "'");
}

/// Time is not simulated: nanosleep, pmevent and griddepcontrol have no effect.
Execute decode_without_effect(Decoder &d) {
  d.take_one_of({"u32", "mask", "launch_dependents", "wait"});
  for (Operand &operand : d.instruction.operands)
    d.source(operand, Type::U32);
  return &no_operation;
}

} // namespace

const OpcodeTable &control_opcodes() {
  static const OpcodeTable table = {
      {"bra", OpcodeGroup::Control, decode_bra},
      {"brx.idx", OpcodeGroup::Control, decode_brx},
      {"call", OpcodeGroup::Control, decode_call},
      {"ret", OpcodeGroup::Control, decode_ret},
      {"exit", OpcodeGroup::Control, decode_without_operands<exit_threads>},
      {"trap", OpcodeGroup::Control, decode_without_operands<trap>},
      {"brkpt", OpcodeGroup::Control, decode_without_operands<trap>},
      {"nanosleep", OpcodeGroup::Control, decode_without_effect},
      {"pmevent", OpcodeGroup::Control, decode_without_effect},
      {"griddepcontrol", OpcodeGroup::Control, decode_without_effect},
  };
  return table;
}

} // namespace ptxsim
