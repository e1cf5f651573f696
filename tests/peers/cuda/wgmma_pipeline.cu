// d = a * transpose(b), from tiles of 128 x 64 and 32 x 64 elements stored in the layout that wgmma reads. One thread
// copies tiles into a ring of two slots; two warpgroups multiply 64 rows each. Each slot has a full and an empty
// mbarrier.

#include <cstdint>

namespace {

constexpr int slots = 2;
constexpr int half_bytes = 64 * 64 * 2;
constexpr int a_bytes = 2 * half_bytes;
constexpr int b_bytes = 32 * 64 * 2;
constexpr int consumers = 256;

__device__ uint32_t shared_address(const void *pointer) { return uint32_t(__cvta_generic_to_shared(pointer)); }

__device__ void initialize(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ void wait(uint32_t barrier, uint32_t parity) {
  asm volatile("{ .reg .pred done;\n"
               "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@!done bra again; }" ::"r"(barrier),
               "r"(parity)
               : "memory");
}

__device__ void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ void expect(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ void copy(uint32_t target, const char *source, int bytes, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(target),
               "l"(source), "r"(bytes), "r"(barrier)
               : "memory");
}

// Without swizzling: core matrices of 8 x 16 bytes, 128 bytes apart along k and 1024 bytes apart along rows.
__device__ uint64_t descriptor(uint32_t address) {
  return uint64_t(address >> 4) | uint64_t(128 >> 4) << 16 | uint64_t(1024 >> 4) << 32;
}

__device__ void multiply(float (&d)[16], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
               "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, %16, %17, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                 "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
               : "l"(a), "l"(b));
}

} // namespace

extern "C" __global__ void __launch_bounds__(384, 1) wgmma_pipeline(const char *a, const char *b, float *d, int tiles) {
  __shared__ alignas(128) char ring_a[slots][a_bytes];
  __shared__ alignas(128) char ring_b[slots][b_bytes];
  __shared__ alignas(8) uint64_t barriers[2][slots];
  uint32_t full = shared_address(barriers[0]), empty = shared_address(barriers[1]);
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < slots; ++slot) {
      initialize(full + 8 * slot, 1);
      initialize(empty + 8 * slot, consumers);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x >= consumers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == consumers) {
      for (int tile = 0; tile < tiles; ++tile) {
        int slot = tile % slots;
        wait(empty + 8 * slot, (tile / slots & 1) ^ 1);
        expect(full + 8 * slot, a_bytes + b_bytes);
        copy(shared_address(ring_a[slot]), a + tile * a_bytes, a_bytes, full + 8 * slot);
        copy(shared_address(ring_b[slot]), b + tile * b_bytes, b_bytes, full + 8 * slot);
      }
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  int half = threadIdx.x / 128;
  float sum[16] = {};
  for (int tile = 0; tile < tiles; ++tile) {
    int slot = tile % slots;
    wait(full + 8 * slot, tile / slots & 1);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int step = 0; step < 4; ++step)
      multiply(sum, descriptor(shared_address(ring_a[slot]) + half * half_bytes + 256 * step),
               descriptor(shared_address(ring_b[slot]) + 256 * step));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    arrive(empty + 8 * slot);
  }
  // Register i of lane l: row l / 4 (+ 8 for i & 2), column 8 * (i / 4) + 2 * (l % 4) + i % 2, 16 rows per warp.
  int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
  for (int i = 0; i < 16; ++i)
    d[(row + (i & 2) * 4) * 32 + i / 4 * 8 + column + i % 2] = sum[i];
}
