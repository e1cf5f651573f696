// RUN: tilec compile %s --emit gpu-raw --target sm_100a --hint tma=off
// A thread that holds an element holds its bytes, and all elements of its bytes: pack and unpack move nothing.

!V = tensor_view<256xi8, strides=[1]>
!T = partition_view<tile=(256), !V>
entry @k(%p: tile<ptr<i8>>, %q: tile<ptr<i8>>) {
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %p, shape = [256], strides = [1] : !V
  %w = make_tensor_view %q, shape = [256], strides = [1] : !V
  %c = make_partition_view %v : !T
  %d = make_partition_view %w : !T
  %x, %t = load_view_tko weak %c[%i] : !T, tile<i32> -> tile<256xi8>, token
  %y = unpack %x : tile<256xi8> -> tile<512xi4>
  %e = exti %y signed : tile<512xi4> -> tile<512xi16>
  %m = muli %e, %e : tile<512xi16>
  %h = trunci %m : tile<512xi16> -> tile<512xi8>
  %n = trunci %h : tile<512xi8> -> tile<512xi4>
  %z = pack %n : tile<512xi4> -> tile<256xi8>
  store_view_tko weak %z, %d[%i] : tile<256xi8>, !T, tile<i32> -> token
  return
}

// CHECK: "register=(32) lane=(1)(2)(4)(8)(16) warp=(64)(128) shape=256"
// CHECK: "register=(1)(64) lane=(2)(4)(8)(16)(32) warp=(128)(256) shape=512"
// CHECK: tile_gpu.unpack %{{.*}} dimension 0
// CHECK-NOT: convert_layout
// CHECK: tile_gpu.pack %{{.*}} dimension 0
