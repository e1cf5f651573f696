// Each thread sums every n-th element; sums are combined by shuffles, shared memory and atomics.

extern "C" __global__ void reduction(const float *x, float *total, int n) {
  __shared__ float partial[32];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += x[i];
  for (int lanes = 16; lanes; lanes /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, lanes);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32)
    return;
  sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
  for (int lanes = 16; lanes; lanes /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, lanes);
  if (threadIdx.x == 0)
    atomicAdd(total, sum);
}
