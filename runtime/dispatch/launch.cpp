#include "launch.h"

#include "arguments/reader.h"
#include "arguments/stream_and_grid.h"
#include "plans/kernel_dispatch.h"
#include "plans/plan_object.h"

#include <cstdlib>
#include <cstring>

namespace dispatch {

namespace {

/// The arguments of one call of `launch`, as they came.
struct Invocation {
  PyObject *const *arguments;
  Py_ssize_t count;
  PyObject *names;

  PyObject *stream() const { return arguments[0]; }
  PyObject *grid() const { return arguments[1]; }
  PyObject *kernel() const { return arguments[2]; }
  PyObject *args() const { return arguments[3]; }
};

Outcome read_keywords(const Invocation &invocation, Request &request) {
  const Py_ssize_t count = tuple_size(invocation.names);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *name = tuple_item(invocation.names, i), *value = invocation.arguments[invocation.count + i];
    if (!PyUnicode_CompareWithASCIIString(name, "programmatic_dependent_launch") && PyBool_Check(value))
      request.overlaps_previous = value == Py_True;
    else if (value != Py_None ||
             (PyUnicode_CompareWithASCIIString(name, "backend") && PyUnicode_CompareWithASCIIString(name, "hints")))
      return Outcome::Keyword;
  }
  return Outcome::Native;
}

/// `TILEC_BACKEND`: os.environ writes through to the environment of the process.
bool launches_on_gpu() {
  const char *backend = getenv("TILEC_BACKEND");
  return !backend || !*backend || !strcmp(backend, "launch");
}

Outcome read_arguments(Call &call, const Dispatch &dispatch, PyObject *args) {
  if (size_t(tuple_size(args)) != dispatch.parameters.size())
    return Outcome::ArgumentCount;
  for (size_t i = 0; i < dispatch.parameters.size(); ++i) {
    const ParameterRule &rule = dispatch.parameters[i];
    PyObject *value = tuple_item(args, Py_ssize_t(i));
    if (rule.unknown)
      return Outcome::NotPlanned;
    if (Outcome outcome = read_value(call, value, rule); outcome != Outcome::Native)
      return outcome;
  }
  if (!call.on_device)
    return Outcome::NoDeviceArray;
  if (call.ordinal < 0)
    return Outcome::ArrayForm;
  call.key[0] = uint64_t(call.ordinal);
  return Outcome::Native;
}

Outcome describe(Dispatch &dispatch, PyObject *kernel) {
  PyObject *rules = call_with(python_path().describe_kernel, kernel);
  PyObject *items = rules ? PySequence_Tuple(rules) : nullptr;
  Py_XDECREF(rules);
  if (!items)
    return clear_exception(Outcome::NotPlanned);
  if (!dispatch.described) // by another thread
    for (Py_ssize_t i = 0; i < tuple_size(items); ++i)
      dispatch.parameters.push_back(rule_of(tuple_item(items, i)));
  dispatch.described = true;
  Py_DECREF(items);
  return Outcome::Native;
}

/// Compiles and loads the specialization of `args` and adds it to the table; false with an exception.
bool add_plan(Dispatch &dispatch, Call &call, PyObject *kernel, PyObject *args, PyObject *grid) {
  PyObject *object = PyObject_CallFunctionObjArgs(python_path().plan, kernel, args, grid, nullptr);
  if (!object)
    return false;
  Plan *plan = plan_of(object);
  if (!plan || !plan->accepts(call)) {
    Py_DECREF(object);
    return true;
  }
  auto added = std::make_unique<Specialization>();
  added->key.assign(call.key, call.key + call.key_count);
  added->hash = hash_of(call.key, call.key_count);
  added->plan_object = object;
  added->plan = plan;
  for (unsigned i = 0; i < call.identity_count; ++i)
    added->identities.push_back(Py_NewRef(call.identities[i]));
  dispatch.table.add(std::move(added));
  return true;
}

Outcome launch_plan(Plan &plan, Call &call, Request request) {
  if (Outcome outcome = plan.prepare(call); outcome != Outcome::Native)
    return outcome;
  if (!plan.set_blocks(request.grid))
    return Outcome::Grid;
  if (!request.grid[0] || !request.grid[1] || !request.grid[2])
    return Outcome::Native;
  return launch(plan, *connected_driver, call, request);
}

/// Compiles and launches a specialization; false with an exception.
[[gnu::noinline]] bool launch_first(const Invocation &invocation, Dispatch &dispatch, Call &call,
                                    const Request &request, PyObject *args, Outcome &outcome) {
  if (!add_plan(dispatch, call, invocation.kernel(), args, invocation.grid()))
    return false;
  if (Plan *plan = dispatch.table.find(call.key, call.key_count, hash_of(call.key, call.key_count)))
    outcome = launch_plan(*plan, call, request);
  return true;
}

/// The same with copies of lists and records, so that their key and their compile have equal contents.
[[gnu::noinline]] bool launch_copies(const Invocation &invocation, Dispatch &dispatch, const Request &request,
                                     PyObject *args, Outcome &outcome) {
  Call call;
  PyObject *copies = call_with(python_path().copy_arguments, args);
  if (!copies)
    return clear_exception(outcome) != Outcome::Raised;
  if (call.hold(copies) != Outcome::Native || !PyTuple_Check(copies) ||
      read_arguments(call, dispatch, copies) != Outcome::Native)
    return !PyErr_Occurred();
  return launch_first(invocation, dispatch, call, request, copies, outcome);
}

/// Everything before the driver call can be repeated on the Python path.
Outcome try_native(const Invocation &invocation, Call &call, Request &request, PyObject *&args, Dispatch *&dispatch) {
  if (invocation.count != 4)
    return Outcome::Keyword;
  if (invocation.names)
    if (Outcome outcome = read_keywords(invocation, request); outcome != Outcome::Native)
      return outcome;
  dispatch = dispatch_of(invocation.kernel());
  if (!dispatch)
    return Outcome::NotAKernel;
  if (!launches_on_gpu())
    return Outcome::Backend;
  if (!dispatch->described)
    if (Outcome outcome = describe(*dispatch, invocation.kernel()); outcome != Outcome::Native)
      return outcome;
  args = invocation.args();
  if (PyList_CheckExact(args)) { // Other threads may change a list.
    args = PyList_AsTuple(args);
    if (!args)
      return clear_exception(Outcome::ArgumentType);
    if (Outcome outcome = call.hold(args); outcome != Outcome::Native)
      return outcome;
  } else if (!PyTuple_CheckExact(args)) {
    return Outcome::ArgumentType;
  }
  if (Outcome outcome = read_arguments(call, *dispatch, args); outcome != Outcome::Native)
    return outcome;
  if (!read_grid(invocation.grid(), request.grid))
    return Outcome::Grid;
  if (Outcome outcome = read_stream(call, invocation.stream(), request.stream); outcome != Outcome::Native)
    return outcome;
  Plan *plan = dispatch->table.find(call.key, call.key_count, hash_of(call.key, call.key_count));
  if (!plan)
    return Outcome::FirstLaunch;
  return launch_plan(*plan, call, request);
}

} // namespace

PythonPath &python_path() {
  static PythonPath functions{};
  return functions;
}

PyObject *launch_kernel(PyObject *, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
  const Invocation invocation{arguments, count, names};
  Call call;
  Request request;
  PyObject *args = nullptr;
  Dispatch *dispatch = nullptr;
  Outcome outcome = try_native(invocation, call, request, args, dispatch);
  if (outcome == Outcome::Raised)
    return nullptr;
  dispatch::count(outcome);
  // A launch without blocks checks no rule of tensor maps, which a plan does.
  if (outcome == Outcome::FirstLaunch && request.grid[0] && request.grid[1] && request.grid[2]) {
    const bool done = call.changeable ? launch_copies(invocation, *dispatch, request, args, outcome)
                                      : launch_first(invocation, *dispatch, call, request, args, outcome);
    if (!done)
      return nullptr;
  }
  if (outcome == Outcome::Native)
    Py_RETURN_NONE;
  return PyObject_Vectorcall(python_path().launch, arguments, size_t(count), names);
}

const char prepare_documentation[] =
    "prepare($self, args, /)\n--\n\n"
    "Compiles this kernel for arguments in device memory and loads it, so that its first launch does neither.\n\n"
    "Such a launch can be captured in a CUDA graph.\n\n"
    "Args:\n"
    "    args: arguments as of ct.launch; their values do not matter, but their types, alignments and constants do.\n\n"
    "Returns:\n"
    "    None.\n\n"
    "Raises:\n"
    "    CompileError: the kernel violates a rule, at its source line.\n"
    "    InputError: the arguments do not match the parameters, or no array is in device memory.\n"
    "    LaunchError: no GPU can run the kernel.\n";

PyObject *prepare(PyObject *kernel, PyObject *given) {
  Dispatch *dispatch = dispatch_of(kernel);
  Call call;
  PyObject *listed = PySequence_Tuple(given),
           *args = listed ? call_with(python_path().copy_arguments, listed) : nullptr;
  Py_XDECREF(listed);
  if (!args || call.hold(args) != Outcome::Native)
    return nullptr;
  if (!dispatch->described && describe(*dispatch, kernel) == Outcome::Raised)
    return nullptr;
  const Outcome outcome = read_arguments(call, *dispatch, args);
  if (outcome == Outcome::Raised)
    return nullptr;
  if (outcome != Outcome::Native) { // The Python path has the message, and prepares what it alone launches.
    PyObject *plan = PyObject_CallFunctionObjArgs(python_path().plan, kernel, args, Py_None, nullptr);
    Py_XDECREF(plan);
    if (!plan)
      return nullptr;
  } else if (!add_plan(*dispatch, call, kernel, args, Py_None)) {
    return nullptr;
  }
  Py_RETURN_NONE;
}

} // namespace dispatch
