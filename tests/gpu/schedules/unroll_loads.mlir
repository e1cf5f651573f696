// RUN: tilec opt %s --passes unroll-loads,expand-schedules --target sm_100a
// A thread loads one vector of 16 bytes per iteration: four iterations stand side by side, their loads first, and
// the iterations that are left have a loop of their own. Sums are added in the order of the iterations.

#row = "register=(0,1)(0,2) lane=(0,4)(0,8)(0,16)(0,32)(0,64) warp=(0,128)(0,256) shape=1x512"
!x = tensor<1x512xf32, #row>
tile_gpu.kernel @k(%p: i64, %q: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %long = arith.constant 512 : i32
  %first = tile_gpu.load_view %p[%zero, %zero] extents [%one, %n] strides [%n, %one] vector 4 along 1 : !x
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %first) -> (!x) : i32 {
    %start = arith.muli %i, %long : i32
    %x = tile_gpu.load_view %p[%zero, %start] extents [%one, %n] strides [%n, %one] vector 4 along 1 early : !x
    %y = arith.addf %s, %x : !x
    scf.yield %y : !x
  }
  tile_gpu.store_view %sum -> %q[%zero, %zero] extents [%one, %n] strides [%n, %one] vector 4 along 1 : !x
}

// CHECK: [[ROUNDS:%.*]] = arith.divui
// CHECK: [[DONE:%.*]] = arith.muli [[ROUNDS]],
// CHECK: [[FIRST:%.*]] = scf.for {{.*}} to [[ROUNDS]]
// CHECK-COUNT-4: tile_gpu.load_view
// CHECK-NOT: tile_gpu.load_view
// CHECK: [[A:%.*]] = arith.addf
// CHECK: [[B:%.*]] = arith.addf [[A]],
// CHECK: [[C:%.*]] = arith.addf [[B]],
// CHECK: [[D:%.*]] = arith.addf [[C]],
// CHECK: scf.yield [[D]]
// CHECK: scf.for {{.*}} = [[DONE]] to {{.*}} iter_args({{.*}} = [[FIRST]])
// CHECK: tile_gpu.load_view
// CHECK: scf.yield
