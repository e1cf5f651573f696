// RUN: tilec compile %s --emit gpu-raw --target sm_100a --hint tma=off
// Elements that share bytes are loaded and stored as bytes: half the extents, strides and starts, and padding in both
// halves. A thread holds both elements of each of its bytes, and no two threads hold the same.

!V = tensor_view<?x1024xf4E2M1FN, strides=[?,1]>
!T = partition_view<tile=(32x64), padding_value = neg_zero, !V>
entry @k(%p: tile<ptr<f4E2M1FN>>, %q: tile<ptr<f4E2M1FN>>, %n: tile<i32>, %m: tile<i32>, %j: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f4E2M1FN>>
  %b = assume div_by<16>, %q : tile<ptr<f4E2M1FN>>
  %s = assume div_by<32>, %m : tile<i32>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [%n, 1024], strides = [%s, 1] : tile<i32> -> !V
  %w = make_tensor_view %b, shape = [%n, 1024], strides = [%s, 1] : tile<i32> -> !V
  %c = make_partition_view %v : !T
  %d = make_partition_view %w : !T
  %x, %t = load_view_tko weak %c[%i, %j] : !T, tile<i32> -> tile<32x64xf4E2M1FN>, token
  store_view_tko weak %x, %d[%i, %j] : tile<32x64xf4E2M1FN>, !T, tile<i32> -> token
  return
}

// CHECK: = "register=(0,1)(0,2)(0,4) lane=(0,8)(0,16)(1,0)(2,0)(4,0) warp=(8,0)(16,0) shape=32x32"
// CHECK: = "register=(0,1)(0,2)(0,4)(0,8) lane=(0,16)(0,32)(1,0)(2,0)(4,0) warp=(8,0)(16,0) shape=32x64"
// CHECK: [[LOADED:%.*]] = tile_gpu.load_view %{{.*}} vector 16 along 1 padding "0x88"
// CHECK: [[ELEMENTS:%.*]] = tile_gpu.unpack [[LOADED]] dimension 1 : !tile_32x32xi8 -> !tile_32x64xf4E2M1FN
// CHECK: [[STORED:%.*]] = tile_gpu.pack [[ELEMENTS]] dimension 1 : !tile_32x64xf4E2M1FN -> !tile_32x32xi8
// CHECK: tile_gpu.store_view [[STORED]] -> %{{.*}} vector 16 along 1
