// RUN: tilec opt %s --passes divide-columns --target sm_100a
// Columns of an accumulator are read where they are used, and its slot is released after the last of them.

!d = buffer<128x128xf32, tensor, lanes=128>
#whole = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32)(0,64) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x128"
#half = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!w = tensor<128x128xf32, #whole>
!h = tensor<128x64xf32, #half>
tile_gpu.kernel @k(%p: i64, %n: i32, %some: i1) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %nothing = arith.constant dense<0.0> : !w
  %c = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %d = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse ring : channel<[!d]>
  // CHECK: [[G:%.*]] = tile_gpu.get [[C:%.*]] consumer 0
  // CHECK-NEXT: [[A:%.*]] = scf.if %{{.*}} -> ({{.*}}) {
  // CHECK-NEXT:   tile_gpu.load_tensor_memory [[G]] from 0
  // CHECK: } else {
  // CHECK: tile_gpu.print "%f", [[A]]
  // CHECK: [[B:%.*]] = scf.if
  // CHECK-NEXT:   tile_gpu.load_tensor_memory [[G]] from 64
  // CHECK: tile_gpu.release [[C]]
  // CHECK-NEXT: tile_gpu.print "%f", [[B]]
  %g = tile_gpu.get %c consumer 0 : channel<[!d]>
  %x = scf.if %some -> (!w) {
    %l = tile_gpu.load_tensor_memory %g : !d -> !w
    scf.yield %l : !w
  } else {
    scf.yield %nothing : !w
  }
  tile_gpu.release %c consumer 0 : channel<[!d]>
  %x0 = tile_gpu.extract %x[%zero, %zero] : !w -> !h
  tile_gpu.print "%f", %x0 : !h
  %x1 = tile_gpu.extract %x[%zero, %one] : !w -> !h
  tile_gpu.print "%f", %x1 : !h

  // A tile that is also used whole, and one whose slot is filled again before its columns are used, are read whole.
  // CHECK: tile_gpu.load_tensor_memory %{{[^ ]*}} :
  // CHECK: tile_gpu.load_tensor_memory %{{[^ ]*}} :
  // CHECK-NOT: from
  scf.for %i = %zero to %n step %one : i32 {
    %h = tile_gpu.get %d consumer 0 : channel<[!d]>
    %y = tile_gpu.load_tensor_memory %h : !d -> !w
    tile_gpu.release %d consumer 0 : channel<[!d]>
    tile_gpu.print "%f", %y : !w
    %y0 = tile_gpu.extract %y[%zero, %zero] : !w -> !h
    tile_gpu.print "%f", %y0 : !h
    %j = tile_gpu.get %d consumer 0 : channel<[!d]>
    %z = tile_gpu.load_tensor_memory %j : !d -> !w
    tile_gpu.release %d consumer 0 : channel<[!d]>
    tile_gpu.put_begin %d : channel<[!d]>
    tile_gpu.put_commit %d : channel<[!d]>
    %z0 = tile_gpu.extract %z[%zero, %zero] : !w -> !h
    tile_gpu.print "%f", %z0 : !h
  }

  // Threads keep the columns of an accumulator that multiplies hand over: no release has to move.
  // CHECK: tile_gpu.slot
  // CHECK: tile_gpu.load_tensor_memory %{{[^ ]*}} from 0
  // CHECK: tile_gpu.load_tensor_memory %{{[^ ]*}} from 64
  %e = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %back = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse once shares %e : channel<[!d]>
  %s = tile_gpu.slot %e : channel<[!d]>
  %u = tile_gpu.load_tensor_memory %s : !d -> !w
  %u0 = tile_gpu.extract %u[%zero, %zero] : !w -> !h
  tile_gpu.print "%f", %u0 : !h
  %u1 = tile_gpu.extract %u[%zero, %one] : !w -> !h
  tile_gpu.print "%f", %u1 : !h

  // Unless they give them back before the columns are used.
  // CHECK: tile_gpu.load_tensor_memory %{{[^ ]*}} :
  %v = tile_gpu.load_tensor_memory %s : !d -> !w
  tile_gpu.put_begin %back : channel<[!d]>
  tile_gpu.put_commit %back : channel<[!d]>
  %v0 = tile_gpu.extract %v[%zero, %zero] : !w -> !h
  tile_gpu.print "%f", %v0 : !h

  // A branch that chooses two accumulators at once is divided for each of them.
  // CHECK: [[E:%.*]] = tile_gpu.get %{{.*}} consumer 0
  // CHECK: [[F:%.*]] = tile_gpu.get %{{.*}} consumer 0
  // CHECK: [[E0:%.*]] = scf.if %{{.*}} -> ({{.*}}) {
  // CHECK-NEXT:   tile_gpu.load_tensor_memory [[E]] from 0
  // CHECK: [[F1:%.*]] = scf.if %{{.*}} -> ({{.*}}) {
  // CHECK-NEXT:   tile_gpu.load_tensor_memory [[F]] from 64
  // CHECK: tile_gpu.print {{.*}}, [[E0]], [[F1]]
  %both_e = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %both_f = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %both_ge = tile_gpu.get %both_e consumer 0 : channel<[!d]>
  %both_gf = tile_gpu.get %both_f consumer 0 : channel<[!d]>
  %both:2 = scf.if %some -> (!w, !w) {
    %both_le = tile_gpu.load_tensor_memory %both_ge : !d -> !w
    %both_lf = tile_gpu.load_tensor_memory %both_gf : !d -> !w
    scf.yield %both_le, %both_lf : !w, !w
  } else {
    scf.yield %nothing, %nothing : !w, !w
  }
  tile_gpu.release %both_f consumer 0 : channel<[!d]>
  tile_gpu.release %both_e consumer 0 : channel<[!d]>
  %both_e0 = tile_gpu.extract %both#0[%zero, %zero] : !w -> !h
  %both_f1 = tile_gpu.extract %both#1[%zero, %one] : !w -> !h
  tile_gpu.print "%f %f", %both_e0, %both_f1 : !h, !h
}
