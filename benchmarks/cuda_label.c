// An extension module that labels tensors of the CPU build of torch as CUDA tensors, for measurements without a GPU:
// to_dlpack(tensor) in place of torch._C._to_dlpack, and exchange_table(capsule) in place of the table of
// torch.Tensor.__dlpack_c_exchange_api__. Each adds a call and a store.
#include <Python.h>
#include <stdint.h>

// dlpack.h 1.3.
typedef struct {
  void *data;
  int32_t device_type, device_id, rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} Tensor;
typedef struct {
  uint32_t major, minor;
  void *previous, *allocate, *managed_from_object, *managed_to_object;
  int (*borrow)(void *object, Tensor *tensor);
  int (*current_stream)(int32_t device_type, int32_t device_id, void **stream);
} Table;

enum { cuda = 2 };
static PyObject *original;
static Table table;
static int (*original_borrow)(void *, Tensor *);

static int borrow(void *object, Tensor *tensor) {
  const int status = original_borrow(object, tensor);
  tensor->device_type = cuda, tensor->device_id = 0;
  return status;
}

static int current_stream(int32_t device_type, int32_t device_id, void **stream) {
  (void)device_type, (void)device_id;
  *stream = NULL;
  return 0;
}

static PyObject *exchange_table(PyObject *module, PyObject *capsule) {
  (void)module;
  const Table *found = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
  if (!found)
    return NULL;
  table = *found;
  original_borrow = found->borrow;
  table.borrow = borrow, table.current_stream = current_stream;
  return PyCapsule_New(&table, "dlpack_exchange_api", NULL);
}

static PyObject *set_original(PyObject *module, PyObject *function) {
  (void)module;
  original = Py_NewRef(function);
  Py_RETURN_NONE;
}

static PyObject *to_dlpack(PyObject *module, PyObject *tensor) {
  (void)module;
  PyObject *capsule = PyObject_CallOneArg(original, tensor);
  Tensor *found = capsule ? PyCapsule_GetPointer(capsule, "dltensor") : NULL;
  if (found)
    found->device_type = cuda, found->device_id = 0;
  return capsule;
}

static PyMethodDef functions[] = {{"exchange_table", exchange_table, METH_O, NULL},
                                  {"set_original", set_original, METH_O, NULL},
                                  {"to_dlpack", to_dlpack, METH_O, NULL},
                                  {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "cuda_label", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_cuda_label(void) { return PyModule_Create(&definition); }
