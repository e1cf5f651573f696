// RUN: tilec opt %s --passes make-channels,divide-columns,order-steps --target sm_100a
// A tile that threads convert for a multiply is computed and stored in parts of 16 columns. The multiply has two parts, of which
// the first waits for the first columns alone; what else needs the tile gets it whole. The assembler must not move arithmetic over
// the signal for the first columns.

!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x64xf32, tensor, lanes=128>
!p = buffer<128x64xf16, tensor, lanes=128 packed>
#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
#column = "register= lane=(1)(2)(4)(8)(16) warp=(32)(64) shape=128"
!w = tensor<128x64xf32, #rows>
!h = tensor<128x64xf16, #rows>
!c = tensor<128xf32, #column>
tile_gpu.kernel @k(%base: i64, %rows: i32, %n: i32) target "sm_100a" warps 4 {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %no = arith.constant false
  %map = tile_gpu.make_tensor_map "f16" %base[%rows, %rows] strides [%rows] box [64, 128] swizzle 128B fill zero
  %small = tile_gpu.make_tensor_map "f16" %base[%rows, %rows] strides [%rows] box [64, 64] swizzle 128B fill zero
  %q = tile_gpu.load_tile %map[%zero, %zero] : !a
  scf.for %i = %zero to %n step %one : i32 {
    %k = tile_gpu.load_tile %small[%zero, %i] : !b
    %u = tile_gpu.undefined : !d
    %s = tile_gpu.multiply f16 %q, %k, %u accumulate %no : !a, !b -> !d
    %r = tile_gpu.read %s : !d -> !w
    // CHECK: [[S:%.*]] = tile_gpu.load_tensor_memory
    // CHECK: [[L:%.*]] = tile_gpu.extract [[S]]
    // CHECK: [[E0:%.*]] = tile_gpu.math "exp2.approx.ftz" [[L]] : !tile_128x16xf32
    // CHECK: [[N:%.*]] = arith.truncf [[E0]]
    // CHECK: tile_gpu.store_tensor_memory [[N]], [[P:%[^ ]*]] from 0 pending
    // CHECK: from 32 :
    // CHECK: tile_gpu.put_commit [[FIRST:%[^ ]*]] :
    // CHECK: tile_gpu.schedule_barrier
    // CHECK: [[L:%.*]] = tile_gpu.extract [[S]]
    // CHECK: [[E3:%.*]] = tile_gpu.math "exp2.approx.ftz" [[L]] : !tile_128x16xf32
    // CHECK: from 48 :
    // CHECK: tile_gpu.cat [[E0]]
    // CHECK: [[HALF:%.*]] = tile_gpu.cat {{.*}}, [[E3]]
    // CHECK: [[WHOLE:%.*]] = tile_gpu.cat {{.*}}, [[HALF]]
    // CHECK: tile_gpu.put_commit [[REST:%[^ ]*]] :
    %e = tile_gpu.math "exp2.approx.ftz" %r : !w -> !w
    %t = arith.truncf %e : !w to !h
    %p = tile_gpu.place %t over %s : !d : !h -> !p
    %v = tile_gpu.undefined : !d
    // CHECK: tile_gpu.get [[FIRST]]
    // CHECK: tile_gpu.tcgen05_mma f16 {{.*}} from 0 depth 48 into {{.*}} accumulate %false
    // CHECK: tile_gpu.get [[REST]]
    // CHECK: tile_gpu.tcgen05_mma f16 {{.*}} from 48 depth 16 into {{.*}} accumulate %true
    %o = tile_gpu.multiply f16 %p, %k, %v accumulate %no : !p, !b -> !d
    // CHECK: tile_gpu.reduce [[WHOLE]]
    %x = tile_gpu.reduce %e dimension 1 identities [0.000000e+00 : f32] : !w -> !c (%y: f32, %z: f32) {
      %m = arith.addf %y, %z : f32
      tile_gpu.yield %m : f32
    }
    tile_gpu.print "%f", %x : !c
    %out = tile_gpu.read %o : !d -> !w
    tile_gpu.print "%f", %out : !w
  }

  // A tile in a slot of its own: what is computed in front of the wait for the slot stays there.
  // CHECK: [[W:%.*]] = tile_gpu.math "exp2.approx.ftz" {{.*}} : !tile_128x64xf32
  // CHECK: tile_gpu.put_begin
  // CHECK: [[L:%.*]] = tile_gpu.extract [[W]]
  // CHECK: [[N:%.*]] = arith.truncf [[L]]
  // CHECK: tile_gpu.store_tensor_memory [[N]], %{{[^ ]*}} from 0 pending
  %f = arith.constant 1.0 : f32
  %g = tile_gpu.splat %f : f32 -> !w
  %l = tile_gpu.math "exp2.approx.ftz" %g : !w -> !w
  %j = arith.truncf %l : !w to !h
  %own = tile_gpu.place %j : !h -> !p
  %k1 = tile_gpu.load_tile %small[%zero, %zero] : !b
  %u1 = tile_gpu.undefined : !d
  %o1 = tile_gpu.multiply f16 %own, %k1, %u1 accumulate %no : !p, !b -> !d
  %r1 = tile_gpu.read %o1 : !d -> !w
  tile_gpu.print "%f", %r1 : !w
}
