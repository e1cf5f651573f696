// RUN: tilec opt %s --passes make-channels --target sm_100a
// An accumulator that nothing uses, as after a loop without iterations, gets no channel.

!d = buffer<128x64xf32, tensor, lanes=128>
tile_gpu.kernel @k() target "sm_100a" warps 4 {
  %u = tile_gpu.undefined : !d
}

// CHECK: tile_gpu.kernel
// CHECK-NOT: tile_gpu.undefined
// CHECK-NOT: tile_gpu.make_channel
