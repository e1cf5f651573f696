#include "plans/kernel_dispatch.h"

#include "launch.h"

namespace dispatch {

namespace {

// Written once, when the module is created.
PyTypeObject *kernel_class = nullptr;

struct KernelObject {
  PyObject_HEAD Dispatch *dispatch;
};

PyObject *create(PyTypeObject *type, PyObject *, PyObject *) {
  PyObject *self = allocate_object(type);
  if (self)
    reinterpret_cast<KernelObject *>(self)->dispatch = new Dispatch;
  return self;
}

int initialize(PyObject *, PyObject *, PyObject *) { return 0; }

void destroy(PyObject *self) {
  delete reinterpret_cast<KernelObject *>(self)->dispatch;
  free_object(self);
}

PyMethodDef methods[] = {
    {"prepare", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(prepare)), METH_O, prepare_documentation},
    {nullptr, nullptr, 0, nullptr}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void *>(create)},
                       {Py_tp_init, reinterpret_cast<void *>(initialize)},
                       {Py_tp_dealloc, reinterpret_cast<void *>(destroy)},
                       {Py_tp_methods, methods},
                       {Py_tp_doc, const_cast<char *>("The specializations of a kernel that were launched.")},
                       {0, nullptr}};

PyType_Spec specification = {"tilec.runtime.dispatch._dispatch.KernelDispatch", sizeof(KernelObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

} // namespace

PyObject *create_kernel_class() {
  PyObject *created = PyType_FromSpec(&specification);
  kernel_class = reinterpret_cast<PyTypeObject *>(created);
  return created;
}

Dispatch *dispatch_of(PyObject *object) {
  return PyObject_TypeCheck(object, kernel_class) ? reinterpret_cast<KernelObject *>(object)->dispatch : nullptr;
}

} // namespace dispatch
