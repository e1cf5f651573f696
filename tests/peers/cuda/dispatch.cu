// Each thread calls the function that its element selects, so the lanes of a warp call different functions.

namespace {

using Operation = int (*)(int);

__device__ __noinline__ int negated(int x) { return -x; }
__device__ __noinline__ int squared(int x) { return x * x; }
__device__ __noinline__ int halved(int x) { return x >> 1; }
__device__ __noinline__ int bits_set(int x) { return __popc(x); }

__device__ const Operation operations[] = {negated, squared, halved, bits_set};

} // namespace

extern "C" __global__ void dispatch(const int *x, int *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = operations[x[i] & 3](x[i]);
}
