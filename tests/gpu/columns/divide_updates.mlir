// RUN: tilec opt %s --passes divide-columns --target sm_100a
// An accumulator that threads scale is loaded, scaled and stored in parts of 32 columns; only the last store is waited for.

!d = buffer<128x64xf32, tensor, lanes=128>
#whole = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
#column = "register=(0,0)(0,0)(0,0)(0,0)(0,0)(0,0) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x1"
!w = tensor<128x64xf32, #whole>
!c = tensor<128x1xf32, #column>
tile_gpu.kernel @k(%factor: f32) target "sm_100a" warps 4 {
  %given = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %back = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse once shares %given : channel<[!d]>
  %column = tile_gpu.splat %factor : f32 -> !c
  %wide = tile_gpu.broadcast %column : !c -> !w
  %two = arith.constant dense<2.0> : !w

  // CHECK: [[S:%.*]] = tile_gpu.slot
  // CHECK: [[A:%.*]] = tile_gpu.load_tensor_memory [[S]] from 0
  // CHECK: [[F:%.*]] = tile_gpu.extract {{.*}} -> !tile_128x32xf32
  // CHECK: [[B:%.*]] = arith.mulf [[A]], [[F]]
  // CHECK: [[T:%.*]] = arith.constant dense<2.0{{.*}}> : !tile_128x32xf32
  // CHECK: [[C:%.*]] = arith.addf [[B]], [[T]]
  // CHECK: tile_gpu.store_tensor_memory [[C]], [[S]] from 0 pending
  // CHECK: [[A:%.*]] = tile_gpu.load_tensor_memory [[S]] from 32
  // CHECK: [[B:%.*]] = arith.mulf [[A]]
  // CHECK: [[C:%.*]] = arith.addf [[B]]
  // CHECK: tile_gpu.store_tensor_memory [[C]], [[S]] from 32 :
  %s0 = tile_gpu.slot %given : channel<[!d]>
  %x = tile_gpu.load_tensor_memory %s0 : !d -> !w
  %y = arith.mulf %x, %wide : !w
  %z = arith.addf %y, %two : !w
  %s1 = tile_gpu.slot %given : channel<[!d]>
  tile_gpu.store_tensor_memory %z, %s1 : !w -> !d

  // The tile is also used as it was: it stays whole.
  // CHECK: tile_gpu.load_tensor_memory %{{[^ ]*}} :
  // CHECK: tile_gpu.store_tensor_memory %{{[^ ]*}}, %{{[^ ]*}} :
  %u = tile_gpu.load_tensor_memory %s0 : !d -> !w
  %v = arith.mulf %u, %two : !w
  tile_gpu.store_tensor_memory %v, %s0 : !w -> !d
  tile_gpu.print "%f", %u : !w

  // Multiplies have the accumulator in between: it stays whole.
  // CHECK: tile_gpu.load_tensor_memory %{{[^ ]*}} :
  // CHECK: tile_gpu.put_commit
  // CHECK: tile_gpu.store_tensor_memory %{{[^ ]*}}, %{{[^ ]*}} :
  %q = tile_gpu.load_tensor_memory %s0 : !d -> !w
  %r = arith.mulf %q, %two : !w
  tile_gpu.put_begin %back : channel<[!d]>
  tile_gpu.put_commit %back : channel<[!d]>
  %taken = tile_gpu.get %given consumer 0 : channel<[!d]>
  tile_gpu.release %given consumer 0 : channel<[!d]>
  tile_gpu.store_tensor_memory %r, %s0 : !w -> !d
}
