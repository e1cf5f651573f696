#include "arguments/reader.h"
#include "arguments/stream_and_grid.h"
#include "plans/plan_object.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

namespace dispatch {

namespace {

/// The parameters of a launch; the addresses point into `storage`.
struct Parameters {
  std::vector<EncodedMap> storage;
  std::vector<void *> addresses;
};

struct LauncherObject {
  PyObject_HEAD vectorcallfunc call;
  PyObject *plan_object;
  PyObject *slow; // (stream, grid): the same launch on the Python path
  Plan *plan;
  Parameters *parameters;
};

LauncherObject *launcher(PyObject *self) { return reinterpret_cast<LauncherObject *>(self); }

Outcome try_native(LauncherObject *self, PyObject *const *arguments, size_t count, PyObject *names) {
  Request request;
  Call call;
  if (count != 2 || (names && tuple_size(names)))
    return Outcome::Keyword;
  if (!read_grid(arguments[1], request.grid) || !self->plan->set_blocks(request.grid))
    return Outcome::Grid;
  if (arguments[0] == Py_None) // The Python path finds the current stream of the arrays.
    return Outcome::Stream;
  if (Outcome outcome = read_stream(call, arguments[0], request.stream); outcome != Outcome::Native)
    return outcome;
  if (!request.grid[0] || !request.grid[1] || !request.grid[2])
    return Outcome::Native;
  return launch(*self->plan, *connected_driver, request, self->parameters->addresses.data());
}

PyObject *call_launcher(PyObject *object, PyObject *const *arguments, size_t flagged, PyObject *names) {
  LauncherObject *self = launcher(object);
  const Outcome outcome = try_native(self, arguments, size_t(PyVectorcall_NARGS(flagged)), names);
  if (outcome == Outcome::Raised)
    return nullptr;
  count(outcome);
  if (outcome == Outcome::Native)
    Py_RETURN_NONE;
  return PyObject_Vectorcall(self->slow, arguments, flagged, names);
}

/// Copies the bytes of each parameter to an aligned block; null with an exception.
std::unique_ptr<Parameters> copied(PyObject *contents) {
  auto parameters = std::make_unique<Parameters>();
  const Py_ssize_t count = tuple_size(contents);
  parameters->storage.resize(size_t(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *bytes = tuple_item(contents, i);
    if (!PyBytes_Check(bytes) || PyBytes_Size(bytes) > Py_ssize_t(sizeof(EncodedMap))) {
      PyErr_SetString(PyExc_TypeError, "expected the bytes of parameters");
      return nullptr;
    }
    memcpy(&parameters->storage[size_t(i)], PyBytes_AsString(bytes), size_t(PyBytes_Size(bytes)));
    parameters->addresses.push_back(&parameters->storage[size_t(i)]);
  }
  return parameters;
}

PyObject *create(PyTypeObject *type, PyObject *args, PyObject *) {
  PyObject *plan, *contents, *slow;
  if (!PyArg_ParseTuple(args, "OO!O", &plan, &PyTuple_Type, &contents, &slow))
    return nullptr;
  Plan *found = plan_of(plan);
  std::unique_ptr<Parameters> parameters = found ? copied(contents) : nullptr;
  if (!found)
    PyErr_SetString(PyExc_TypeError, "expected a Plan");
  PyObject *self = parameters ? allocate_object(type) : nullptr;
  if (!self)
    return nullptr;
  launcher(self)->call = call_launcher;
  launcher(self)->plan_object = Py_NewRef(plan);
  launcher(self)->slow = Py_NewRef(slow);
  launcher(self)->plan = found;
  launcher(self)->parameters = parameters.release();
  return self;
}

int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(launcher(self)->slow);
  return 0;
}

int clear(PyObject *self) {
  Py_CLEAR(launcher(self)->slow);
  return 0;
}

void destroy(PyObject *self) {
  PyObject_GC_UnTrack(self);
  clear(self);
  Py_CLEAR(launcher(self)->plan_object);
  delete launcher(self)->parameters;
  free_object(self);
}

PyMemberDef members[] = {{"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(LauncherObject, call), Py_READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(create)},
    {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(clear)},
    {Py_tp_dealloc, reinterpret_cast<void *>(destroy)},
    {Py_tp_members, members},
    {Py_tp_doc, const_cast<char *>("A compiled kernel with bound arguments: launcher(stream, grid).")},
    {0, nullptr}};

PyType_Spec specification = {"tilec.runtime.dispatch._dispatch.Launcher", sizeof(LauncherObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};

} // namespace

PyObject *create_launcher_class() { return PyType_FromSpec(&specification); }

} // namespace dispatch
