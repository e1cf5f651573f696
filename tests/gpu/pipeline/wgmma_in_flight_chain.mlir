// RUN: tilec opt %s --passes wgmma-in-flight,expand-schedules --target sm_90a
// Of three multiplies that add to one accumulator, one is in flight while the next one is issued: the slot of the
// last one is released in the next iteration, and those of the others in their own.

#d = "register=(0,1)(8,0)(0,8)(0,16)(0,32) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0) shape=64x64"
!d = tensor<64x64xf32, #d>
!a = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=0 swizzle=128B>
!c = channel<[!a, !b]>
tile_gpu.kernel @k(%p: i64, %n: i32, %m: i32) target "sm_90a" warps 4 {
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : !d
  %c = tile_gpu.make_channel stages 3 producer tma consumers [wgmma] reuse ring : !c
  tile_gpu.roles compute warps 4 {
    %w = scf.for %k = %m to %n step %one iter_args(%s = %none) -> (!d) : i32 id 0 {
      %e:2 = tile_gpu.get %c consumer 0 : !c
      %f = tile_gpu.wgmma f16 %e#0, %e#1, %s id 1 : !a, !b -> !d
      %g = tile_gpu.wgmma_wait %f pending 0 : !d
      tile_gpu.release %c consumer 0 : !c
      %h:2 = tile_gpu.get %c consumer 0 : !c
      %i = tile_gpu.wgmma f16 %h#0, %h#1, %g id 2 : !a, !b -> !d
      %j = tile_gpu.wgmma_wait %i pending 0 : !d
      tile_gpu.release %c consumer 0 : !c
      %q:2 = tile_gpu.get %c consumer 0 : !c
      %r = tile_gpu.wgmma f16 %q#0, %q#1, %j id 3 : !a, !b -> !d
      %t = tile_gpu.wgmma_wait %r pending 0 : !d
      tile_gpu.release %c consumer 0 : !c
      scf.yield %t : !d
    }
    tile_gpu.store_view %w -> %p[%m, %m] extents [%n, %n] strides [%n, %one] vector 1 : !d
  } load warps 1 {
    scf.for %k = %m to %n step %one : i32 id 0 {
      %u:2 = tile_gpu.put_begin %c : !c
      tile_gpu.put_commit %c : !c
      %v:2 = tile_gpu.put_begin %c : !c
      tile_gpu.put_commit %c : !c
      %x:2 = tile_gpu.put_begin %c : !c
      tile_gpu.put_commit %c : !c
    }
  }
}

// CHECK: [[SUM:%.*]] = scf.for [[K:%.*]] = %arg2 to
// CHECK: tile_gpu.get
// CHECK-NEXT: tile_gpu.wgmma f16
// CHECK: [[LATER:%.*]] = arith.cmpi ne, [[K]], %arg2
// CHECK: tile_gpu.wgmma_wait {{.*}} pending 1
// CHECK: scf.if [[LATER]] {
// CHECK-NEXT: tile_gpu.release %{{.*}} consumer 0 late
// CHECK-NEXT: }
// CHECK-NEXT: tile_gpu.get
// CHECK-NEXT: tile_gpu.wgmma f16
// CHECK-NEXT: tile_gpu.wgmma_wait {{.*}} pending 1
// CHECK-NEXT: tile_gpu.release %{{.*}} consumer 0 late
// CHECK-NEXT: tile_gpu.get
// CHECK-NEXT: tile_gpu.wgmma f16
// CHECK-NEXT: [[NEXT:%.*]] = tile_gpu.wgmma_wait {{.*}} pending 1
// CHECK-NEXT: tile_gpu.release %{{.*}} consumer 0 late
// CHECK-NEXT: scf.yield [[NEXT]]
// CHECK: [[DONE:%.*]] = tile_gpu.wgmma_wait [[SUM]] pending 0
// CHECK: scf.if
// CHECK-NEXT: tile_gpu.release %{{.*}} consumer 0 late
// CHECK-NEXT: }
// CHECK-NOT: late
// CHECK: tile_gpu.store_view [[DONE]]

// With two slots none is loaded while two are read.
tile_gpu.kernel @short(%p: i64, %n: i32, %m: i32) target "sm_90a" warps 4 {
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : !d
  %c = tile_gpu.make_channel stages 2 producer tma consumers [wgmma] reuse ring : !c
  tile_gpu.roles compute warps 4 {
    %w = scf.for %k = %m to %n step %one iter_args(%s = %none) -> (!d) : i32 id 0 {
      %e:2 = tile_gpu.get %c consumer 0 : !c
      %f = tile_gpu.wgmma f16 %e#0, %e#1, %s id 1 : !a, !b -> !d
      %g = tile_gpu.wgmma_wait %f pending 0 : !d
      tile_gpu.release %c consumer 0 : !c
      %h:2 = tile_gpu.get %c consumer 0 : !c
      %i = tile_gpu.wgmma f16 %h#0, %h#1, %g id 2 : !a, !b -> !d
      %j = tile_gpu.wgmma_wait %i pending 0 : !d
      tile_gpu.release %c consumer 0 : !c
      %q:2 = tile_gpu.get %c consumer 0 : !c
      %r = tile_gpu.wgmma f16 %q#0, %q#1, %j id 3 : !a, !b -> !d
      %t = tile_gpu.wgmma_wait %r pending 0 : !d
      tile_gpu.release %c consumer 0 : !c
      scf.yield %t : !d
    }
    tile_gpu.store_view %w -> %p[%m, %m] extents [%n, %n] strides [%n, %one] vector 1 : !d
  } load warps 1 {
    scf.for %k = %m to %n step %one : i32 id 0 {
      %u:2 = tile_gpu.put_begin %c : !c
      tile_gpu.put_commit %c : !c
      %v:2 = tile_gpu.put_begin %c : !c
      tile_gpu.put_commit %c : !c
      %x:2 = tile_gpu.put_begin %c : !c
      tile_gpu.put_commit %c : !c
    }
  }
}

// CHECK: kernel @short
// CHECK-NOT: late
// CHECK-NOT: pending 1
