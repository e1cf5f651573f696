/* A vector addition in C, without Python: compile the kernel to the folder `out`, then build and run this program.

   tilec compile kernels.py --folder out --header kernels.h --target sm_90a --target sm_100a
   cc main.c -o main -I out -I "$CUDA_HOME/include" -lcuda
   ./main out */
#include "kernels.h"
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 10000, TILE = 1024 };

static void check(CUresult status, const char *call) {
  const char *name = "unknown error";
  if (status == CUDA_SUCCESS)
    return;
  cuGetErrorName(status, &name);
  fprintf(stderr, "%s: %s\n", call, name);
  exit(1);
}

/* A one-dimensional array in device memory. */
static tilec_array_1d device_array(const float *values) {
  tilec_array_1d array = {0, {COUNT}, {1}};
  check(cuMemAlloc(&array.data, COUNT * sizeof *values), "cuMemAlloc");
  check(cuMemcpyHtoD(array.data, values, COUNT * sizeof *values), "cuMemcpyHtoD");
  return array;
}

int main(int argument_count, char **arguments) {
  static float a[COUNT], b[COUNT], c[COUNT];
  const char *folder = argument_count > 1 ? arguments[1] : "out";
  const tilec_grid grid = {(COUNT + TILE - 1) / TILE, 1, 1};
  tilec_array_1d on_device[3];
  tilec_kernel kernel;
  CUdevice device;
  CUcontext context;
  int i;
  for (i = 0; i < COUNT; ++i)
    a[i] = (float)i, b[i] = 2.0f * (float)i;

  check(cuInit(0), "cuInit");
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxPushCurrent(context), "cuCtxPushCurrent");
  on_device[0] = device_array(a), on_device[1] = device_array(b), on_device[2] = device_array(c);

  check(vector_add_load(&kernel, folder), "vector_add_load");
  check(vector_add_launch(&kernel, NULL, grid, on_device[0], on_device[1], on_device[2]), "vector_add_launch");
  check(cuMemcpyDtoH(c, on_device[2].data, sizeof c), "cuMemcpyDtoH");
  check(tilec_unload(&kernel), "tilec_unload");

  for (i = 0; i < COUNT; ++i)
    if (c[i] != a[i] + b[i])
      return printf("FAILED: c[%d] is %g, expected %g\n", i, c[i], a[i] + b[i]), 1;
  printf("PASSED: %d sums\n", COUNT);
  for (i = 0; i < 3; ++i)
    check(cuMemFree(on_device[i].data), "cuMemFree");
  check(cuDevicePrimaryCtxRelease(device), "cuDevicePrimaryCtxRelease");
  return 0;
}
