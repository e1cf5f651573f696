// RUN: tilec opt %s --passes share-loads --target sm_100a
// 64 rows per CTA: the accumulator of the pair has the second half of its columns in the upper lanes. Threads that used
// it in the register layout of those lanes need no conversion; the others get one.

!a = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x128xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<64x128xf32, tensor, lanes=64>
#fragments = "register=(0,1)(8,0)(0,8)(0,16)(0,32)(0,64) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0) shape=64x128"
#halves = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(0,64) shape=64x128"
!fragments = tensor<64x128xf32, #fragments>
!halves = tensor<64x128xf32, #halves>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 cluster 2 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %rows = arith.constant 64 : i32
  %yes = arith.constant true
  %map_a = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %map_b = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %ca = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[!a]>
  %cb = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[!b]>
  %cd = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %rank = tile_gpu.cluster_rank
  %row = arith.muli %rank, %rows : i32
  %d = tile_gpu.put_begin %cd : channel<[!d]>
  scf.for %k = %zero to %n step %one : i32 {
    %sa = tile_gpu.put_begin %ca : channel<[!a]>
    tile_gpu.tma_load %map_a[%k, %row] -> %sa of %ca : !a
    tile_gpu.put_commit %ca : channel<[!a]>
    %sb = tile_gpu.put_begin %cb : channel<[!b]>
    tile_gpu.tma_load %map_b[%zero, %k] -> %sb of %cb : !b
    tile_gpu.put_commit %cb : channel<[!b]>
    %ga = tile_gpu.get %ca consumer 0 : channel<[!a]>
    %gb = tile_gpu.get %cb consumer 0 : channel<[!b]>
    tile_gpu.tcgen05_mma f16 %ga, %gb into %d accumulate %yes : !a, !b -> !d
    tile_gpu.release %ca consumer 0 : channel<[!a]>
    tile_gpu.release %cb consumer 0 : channel<[!b]>
  }
  tile_gpu.put_commit %cd : channel<[!d]>
  %g = tile_gpu.get %cd consumer 0 : channel<[!d]>
  %x = tile_gpu.load_tensor_memory %g : !d -> !fragments
  tile_gpu.release %cd consumer 0 : channel<[!d]>
  %y = tile_gpu.convert_layout %x : !fragments -> !halves
  tile_gpu.store_view %y -> %p[%zero, %zero] extents [%n, %n] strides [%n, %one] vector 1 : !halves
  tile_gpu.store_view %x -> %p[%zero, %zero] extents [%n, %n] strides [%n, %one] vector 1 : !fragments
}


// CHECK: !tensor_64x128xf32 = buffer<64x128xf32, tensor, lanes=128 halves>
// CHECK: #layout_64x128 = {{.*}} warp=(32,0)(0,64)
// CHECK: !tile_64x128xf32 = tensor<64x128xf32, #layout_64x128>
// CHECK: producer mma consumers [threads] reuse once across pair : !channel_64x128xf32
// CHECK: tcgen05_mma f16 pair {{.*}} : !shared_64x64xf16, !shared_64x64xf16 ->
// CHECK-NEXT: !tensor_64x128xf32
// CHECK: [[X:%[0-9a-z_]+]] = tile_gpu.load_tensor_memory {{.*}} -> !tile_64x128xf32{{$}}
// CHECK: tile_gpu.store_view [[X]] ->
// CHECK: [[Y:%[0-9a-z_]+]] = tile_gpu.convert_layout [[X]] : !tile_64x128xf32 -> !tile_64x128xf32_1
// CHECK: tile_gpu.store_view [[Y]] ->
