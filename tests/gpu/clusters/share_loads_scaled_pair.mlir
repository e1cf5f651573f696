// RUN: tilec opt %s --passes share-loads --target sm_100a
// A block-scaled multiply of a pair: each CTA has the scale factors of its rows of lhs, and loads half of those of rhs for both. Copies
// to tensor memory are those of the pair too.

!a = buffer<128x128xf8E4M3FN, shared, contiguous=1 swizzle=128B>
!b = buffer<128x256xf8E4M3FN, shared, contiguous=0 swizzle=128B>
!d = buffer<128x256xf32, tensor, lanes=128>
!sa = buffer<128x4xf8E8M0FNU, shared, scale_factors depth=1>
!ta = buffer<128x4xf8E8M0FNU, tensor, scale_factors depth=1>
!sb = buffer<4x256xf8E8M0FNU, shared, scale_factors depth=0>
!tb = buffer<4x256xf8E8M0FNU, tensor, scale_factors depth=0>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 cluster 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %rows = arith.constant 128 : i32
  %yes = arith.constant true
  %map_a = tile_gpu.make_tensor_map "f8E4M3FN" %p[%n, %n] strides [%n] box [128, 128] swizzle 128B fill zero
  %map_b = tile_gpu.make_tensor_map "f8E4M3FN" %p[%n, %n] strides [%n] box [128, 256] swizzle 128B fill zero
  %map_sa = tile_gpu.make_tensor_map "f8E8M0FNU" %p[%n, %n, %n, %n] strides [%n, %n, %n] box [16, 32, 1, 1] swizzle none fill zero
  %map_sb = tile_gpu.make_tensor_map "f8E8M0FNU" %p[%n, %n, %n, %n] strides [%n, %n, %n] box [16, 32, 1, 2] swizzle none fill zero
  %c = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[!a, !b]>
  %ca = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[!sa, !ta]>
  %cb = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[!sb, !tb]>
  %cd = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %rank = tile_gpu.cluster_rank
  %row = arith.muli %rank, %rows : i32
  %d = tile_gpu.put_begin %cd : channel<[!d]>
  scf.for %k = %zero to %n step %one : i32 {
    %x, %y = tile_gpu.put_begin %c : channel<[!a, !b]>
    tile_gpu.tma_load %map_a[%k, %row] -> %x of %c : !a
    tile_gpu.tma_load %map_b[%k, %zero] -> %y of %c : buffer<128x256xf8E4M3FN, shared, contiguous=0 swizzle=128B>
    tile_gpu.put_commit %c : channel<[!a, !b]>
    %u, %u_copy = tile_gpu.put_begin %ca : channel<[!sa, !ta]>
    tile_gpu.tma_load %map_sa[%zero, %zero, %k, %rank] -> %u of %ca : !sa
    tile_gpu.put_commit %ca : channel<[!sa, !ta]>
    %v, %v_copy = tile_gpu.put_begin %cb : channel<[!sb, !tb]>
    tile_gpu.tma_load %map_sb[%zero, %zero, %k, %zero] -> %v of %cb : !sb
    tile_gpu.put_commit %cb : channel<[!sb, !tb]>
    %ga, %ta = tile_gpu.get %ca consumer 0 : channel<[!sa, !ta]>
    tile_gpu.tcgen05_copy_scales %ga -> %ta : !sa -> !ta
    %gb, %tb = tile_gpu.get %cb consumer 0 : channel<[!sb, !tb]>
    tile_gpu.tcgen05_copy_scales %gb -> %tb : !sb -> !tb
    %lhs, %rhs = tile_gpu.get %c consumer 0 : channel<[!a, !b]>
    tile_gpu.tcgen05_mma_scaled %lhs, %rhs scaled %ta, %tb into %d accumulate %yes : !a, !b, !ta, !tb -> !d
    tile_gpu.release %c consumer 0 : channel<[!a, !b]>
    tile_gpu.release %ca consumer 0 : channel<[!sa, !ta]>
    tile_gpu.release %cb consumer 0 : channel<[!sb, !tb]>
  }
  tile_gpu.put_commit %cd : channel<[!d]>
  %g = tile_gpu.get %cd consumer 0 : channel<[!d]>
  tile_gpu.release %cd consumer 0 : channel<[!d]>
}

// CHECK-COUNT-3: consumers [mma] reuse ring across pair
// CHECK: producer mma consumers [threads] reuse once across pair
// CHECK: tma_load {{.*}} : !shared_128x128xf8E4M3FN
// CHECK: tma_load {{.*}} : !shared_128x128xf8E4M3FN
// CHECK: tma_load %{{[^m]*}}map{{[^m]*}} -> {{.*}} : !shared_128x4xf8E8M0FNU
// CHECK: [[LAST:%[0-9a-z_]+]] = arith.constant 1 : i32
// CHECK: [[RANK:%[0-9a-z_]+]] = arith.andi %{{[0-9a-z_]+}}, [[LAST]]
// CHECK: tma_load {{.*}} multicast -> {{.*}} : !shared_4x256xf8E8M0FNU
// CHECK: tcgen05_copy_scales pair
// CHECK: tcgen05_copy_scales pair
// CHECK: tcgen05_mma_scaled pair
// CHECK: !shared_128x128xf8E4M3FN, !shared_128x128xf8E4M3FN{{.*}}, !tensor_128x4xf8E8M0FNU, !tensor_4x256xf8E8M0FNU ->
