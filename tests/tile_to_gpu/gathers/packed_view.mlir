// RUN: tilec opt %s --passes tile-to-gpu --target sm_100a
// RUN: tilec opt %s --passes tile-to-gpu --target sm_90a
// Packed views that no pass expanded before are expanded here, to accesses of bytes.

!T = tensor_view<48xi8, strides=[1]>
!V = tilex.packed_view<tile=(64), bits=6, !T>
entry @k(%p: tile<ptr<i8>>, %i: tile<i32>) {
  %t = make_tensor_view %p, shape = [48], strides = [1] : !T
  %v = tilex.make_packed_view %t : !V
  %x, %k = tilex.load_packed_tko weak %v[%i] : !V, tile<i32> -> tile<64xi8>, token
  %s = tilex.store_packed_tko weak %x, %v[%i] token = %k : tile<64xi8>, !V, tile<i32> -> token
}

// CHECK-COUNT-2: tile_gpu.load_global
// CHECK-COUNT-3: tile_gpu.store_global
