// tilec.runtime.ptxsim._native: the simulator for Python.
#include "binding_tensor.h"
#include "execution/machine.h"
#include "program/opcode.h"

#include <algorithm>
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <tuple>

namespace nb = nanobind;
using namespace ptxsim;

namespace {

// Owned by the module, which lives as long as the process.
PyObject *ptx_error_type = nullptr;
PyObject *trap_type = nullptr;

/// The text of a program may not be valid UTF-8.
nb::object decoded(const std::string &text) {
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), "replace"));
}

nb::list decoded(const std::vector<std::string> &texts) {
  nb::list result;
  for (const std::string &text : texts)
    result.append(decoded(text));
  return result;
}

void raise(PyObject *type, const std::string &message,
           std::initializer_list<std::pair<const char *, nb::object>> fields) {
  nb::object error = nb::borrow(type)(decoded(message));
  for (const auto &[name, value] : fields)
    nb::setattr(error, name, value);
  PyErr_SetObject(type, error.ptr());
}

void translate(const std::exception_ptr &pointer, void *) {
  try {
    std::rethrow_exception(pointer);
  } catch (const PtxError &error) {
    raise(ptx_error_type, error.message,
          {{"line", nb::int_(error.line)}, {"column", nb::int_(error.column)}, {"message", decoded(error.message)}});
  } catch (const Trap &trap) {
    raise(trap_type, trap.kind + ": " + trap.message,
          {{"kind", nb::cast(trap.kind)},
           {"message", decoded(trap.message)},
           {"line", nb::int_(trap.line)},
           {"file", decoded(trap.file)},
           {"source_line", nb::int_(trap.source_line)},
           {"block", nb::cast(std::make_tuple(trap.block[0], trap.block[1], trap.block[2]))},
           {"thread", nb::cast(std::make_tuple(trap.thread[0], trap.thread[1], trap.thread[2]))},
           {"notes", decoded(trap.notes)}});
  }
}

std::array<uint32_t, 3> triple(nb::sequence values) {
  std::array<uint32_t, 3> result{1, 1, 1};
  if (nb::len(values) > 3)
    throw nb::value_error("grid, block and cluster have at most three dimensions");
  for (size_t i = 0; i < nb::len(values); ++i)
    result[i] = nb::cast<uint32_t>(values[i]);
  return result;
}

std::map<std::string, uint64_t> run(Program &program, const std::string &entry, nb::sequence grid, nb::sequence block,
                                    nb::sequence cluster, uint32_t shared_bytes, nb::bytes parameters,
                                    const std::vector<std::tuple<uint64_t, uint64_t, bool>> &ranges, uint64_t seed,
                                    bool checks, bool allow_unconfirmed, bool unchecked_global, uint64_t step_limit,
                                    uint64_t idle_limit, bool same_value_races, bool read_fences, nb::object print,
                                    double time_limit_s, bool tensor_load_waits, nb::object progress) {
  LaunchOptions options;
  options.grid = triple(grid);
  options.block = triple(block);
  options.cluster = triple(cluster);
  options.dynamic_shared_bytes = shared_bytes;
  options.parameters.assign(parameters.c_str(), parameters.c_str() + parameters.size());
  for (const auto &[address, size, writable] : ranges)
    options.ranges.push_back({address, size, writable});
  options.seed = seed;
  options.checks = checks;
  options.allow_unconfirmed = allow_unconfirmed;
  options.unchecked_global = unchecked_global;
  options.step_limit = step_limit;
  options.idle_limit = idle_limit;
  options.time_limit_s = time_limit_s;
  options.same_value_races = same_value_races;
  options.read_fences = read_fences;
  options.tensor_load_waits = tensor_load_waits;
  options.print = [&print](const std::string &text) {
    nb::gil_scoped_acquire held;
    nb::object write = print.is_none() ? nb::module_::import_("sys").attr("stdout").attr("write") : print;
    write(decoded(text));
  };
  options.poll = [] {
    nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals())
      throw nb::python_error();
  };
  if (!progress.is_none())
    options.progress = [&progress](uint64_t ended, uint64_t total) {
      nb::gil_scoped_acquire held;
      progress(ended, total);
    };
  nb::gil_scoped_release released;
  std::lock_guard<std::mutex> lock(program.running);
  Machine machine(program, program.entry(entry), std::move(options));
  return machine.run().values;
}

std::vector<Function> entries(const Program &program) {
  std::vector<Function> result;
  for (const Function &function : program.functions)
    if (function.entry && function.defined)
      result.push_back(function);
  return result;
}

std::vector<std::tuple<uint32_t, std::string>> unsupported(const Program &program) {
  std::vector<std::tuple<uint32_t, std::string>> result;
  for (const Unsupported &one : program.unsupported)
    result.emplace_back(one.line, one.text);
  return result;
}

std::vector<std::tuple<uint32_t, std::string>> check_forms(std::string text) {
  std::vector<Unsupported> refused;
  const Program program(std::move(text), &refused);
  std::vector<std::tuple<uint32_t, std::string>> result = unsupported(program);
  for (const Unsupported &one : refused)
    result.emplace_back(one.line, one.text);
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<std::tuple<std::string, uint32_t, uint32_t>> parameters(const Function &function) {
  std::vector<std::tuple<std::string, uint32_t, uint32_t>> result;
  for (const Parameter &one : function.parameters)
    result.emplace_back(one.name, one.size, one.alignment);
  return result;
}

std::tuple<uint32_t, uint32_t, uint32_t> as_tuple(const std::array<uint32_t, 3> &size) {
  return {size[0], size[1], size[2]};
}

} // namespace

NB_MODULE(_native, module) {
  module.doc() = "The PTX simulator.";
  nb::object ptx_error =
      nb::steal(PyErr_NewExceptionWithDoc("tilec.runtime.ptxsim._native.PtxError",
                                          "The text is not PTX: line, column, message.", PyExc_ValueError, nullptr));
  nb::object trap = nb::steal(PyErr_NewExceptionWithDoc(
      "tilec.runtime.ptxsim._native.Trap",
      "The program executed behaviour that PTX forbids: kind, message, line, file, source_line, block, thread, notes.",
      PyExc_RuntimeError, nullptr));
  ptx_error_type = ptx_error.ptr();
  trap_type = trap.ptr();
  module.attr("PtxError") = ptx_error;
  module.attr("Trap") = trap;
  nb::register_exception_translator(translate, nullptr);

  nb::class_<Function>(module, "Entry", "A kernel of a program.")
      .def_ro("name", &Function::name)
      .def_prop_ro("parameters", parameters, "(name, size_bytes, alignment) in order")
      .def_ro("parameter_bytes", &Function::parameter_bytes)
      .def_prop_ro(
          "required_threads", [](const Function &f) { return as_tuple(f.required_threads); },
          ".reqntid; zeros where absent.")
      .def_prop_ro(
          "max_threads", [](const Function &f) { return as_tuple(f.max_threads); }, ".maxntid; zeros where absent.")
      .def_prop_ro(
          "cluster", [](const Function &f) { return as_tuple(f.cluster); }, ".reqnctapercluster; zeros where absent.")
      .def_ro("shared_bytes", &Function::shared_bytes, "static shared memory");

  nb::class_<Program>(module, "Program", "PTX text, parsed and decoded. Raises PtxError.")
      .def(nb::init<std::string>(), nb::arg("text"))
      .def_ro("target", &Program::target)
      .def_prop_ro("entries", entries)
      .def_prop_ro("unsupported", unsupported, "(line, text) of instructions that are not supported")
      .def("run", run, nb::arg("entry"), nb::arg("grid"), nb::arg("block"),
           nb::arg("cluster") = nb::make_tuple(1, 1, 1), nb::arg("shared_bytes") = 0,
           nb::arg("parameters") = nb::bytes("", 0),
           nb::arg("ranges") = std::vector<std::tuple<uint64_t, uint64_t, bool>>(), nb::arg("seed") = 0,
           nb::arg("checks") = true, nb::arg("allow_unconfirmed") = false, nb::arg("unchecked_global") = false,
           nb::arg("step_limit") = 0, nb::arg("idle_limit") = LaunchOptions().idle_limit,
           nb::arg("same_value_races") = false, nb::arg("read_fences") = true, nb::arg("print") = nb::none(),
           nb::arg("time_limit_s") = 0.0, nb::arg("tensor_load_waits") = false, nb::arg("progress") = nb::none(),
           "Runs a grid and returns the counters. `ranges` is the accessible global memory: (address, size, writable). "
           "`print` is called with the output of vprintf, block by block; None is sys.stdout.write. "
           "`progress` is called now and then with the numbers of blocks that have ended, and of all. "
           "Raises Trap, and PtxError for a launch that the driver would refuse.");

  module.def(
      "opcodes",
      [] {
        std::vector<std::string> names;
        for (const Opcode *row : opcode_table())
          names.emplace_back(row->mnemonic);
        return names;
      },
      "The mnemonics of the instruction table.");
  module.def("check_forms", check_forms, nb::arg("text"),
             "(line, text) of the instructions that are not supported, or refused. Raises PtxError for other errors.");
  bind_tensor(module);
}
