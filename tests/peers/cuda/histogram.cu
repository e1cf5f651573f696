// Counts values in shared memory. All warps clear all counters and mark the values that occur, with concurrent
// stores of the same value.

constexpr int bins = 64;

extern "C" __global__ void histogram(const int *x, int *counts, int *occurs, int n) {
  __shared__ int count[bins];
  __shared__ int seen[bins];
  for (int bin = threadIdx.x % 32; bin < bins; bin += 32) {
    count[bin] = 0;
    seen[bin] = 0;
  }
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&count[x[i]], 1);
    seen[x[i]] = 1;
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) {
    atomicAdd(&counts[bin], count[bin]);
    if (seen[bin])
      occurs[bin] = 1;
  }
}
