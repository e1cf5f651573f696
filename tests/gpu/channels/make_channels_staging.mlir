// RUN: tilec opt %s --passes make-channels --target sm_100a
// Tiles that TMA stores are in one staging buffer, which the thread that stores has read before the next tile. It waits
// until earlier stores are visible before the first of the stores that follow those of earlier iterations.

!s = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!t = tensor<128x64xf16, #rows>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %t = arith.constant dense<1.0> : !t
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  // CHECK: [[S:%.*]] = tile_gpu.shared
  // CHECK-NOT: store_wait
  // CHECK: tile_gpu.tma_store [[S]] -> %map
  %first = tile_gpu.place %t : !t -> !s
  tile_gpu.store_tile %first -> %map[%zero, %zero] : !s
  // CHECK: scf.for
  scf.for %i = %zero to %n step %one : i32 {
    // CHECK: tile_gpu.store_wait{{$}}
    // CHECK: tile_gpu.tma_store [[S]] -> %map
    %a = tile_gpu.place %t : !t -> !s
    tile_gpu.store_tile %a -> %map[%zero, %i] after_stores after_itself : !s
    // CHECK: tile_gpu.store_wait read
    // CHECK: tile_gpu.tma_store [[S]] -> %map
    %b = tile_gpu.place %t : !t -> !s
    tile_gpu.store_tile %b -> %map[%one, %i] after_stores after_itself : !s
    // CHECK: tile_gpu.store_wait read
    // CHECK: tile_gpu.tma_store [[S]] -> %map
    %c = tile_gpu.place %t : !t -> !s
    tile_gpu.store_tile %c -> %map[%i, %i] : !s
    // A store that must follow one of the same iteration has a wait of its own.
    // CHECK: tile_gpu.store_wait{{$}}
    // CHECK: tile_gpu.tma_store [[S]] -> %map
    %d = tile_gpu.place %t : !t -> !s
    tile_gpu.store_tile %d -> %map[%i, %zero] after_stores : !s
  }
  // The wait inside of the loop is another one.
  // CHECK: tile_gpu.store_wait{{$}}
  // CHECK: tile_gpu.tma_store [[S]] -> %map
  // CHECK: tile_gpu.store_wait{{$}}
  %last = tile_gpu.place %t : !t -> !s
  tile_gpu.store_tile %last -> %map[%n, %n] after_stores after_itself : !s
}
