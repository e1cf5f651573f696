// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// The indices of gathered rows are converted once, beside their definition, to the layout of the tile along the rows. Rows
// are read and written in vectors, since the dense index is a multiple of them; it counts elements.

!V = tensor_view<1024x256xf32, strides=[256,1]>
!G = gather_scatter_view<tile=(64x64), padding_value = zero, !V, sparse_dim=0>
!L = tensor_view<4096xi32, strides=[1]>
!I = partition_view<tile=(64), !L>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %r: tile<ptr<i32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %c = assume div_by<16>, %r : tile<ptr<i32>>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %four = constant <i32: 4> : tile<i32>
  %width = constant <i32: 64> : tile<i32>
  %v = make_tensor_view %a, shape = [1024, 256], strides = [256, 1] : !V
  %w = make_tensor_view %b, shape = [1024, 256], strides = [256, 1] : !V
  %l = make_tensor_view %c, shape = [4096], strides = [1] : !L
  %s = make_gather_scatter_view %v : !G
  %d = make_gather_scatter_view %w : !G
  %e = make_partition_view %l : !I
  %x, %y, %z = get_tile_block_id : tile<i32>
  %rows, %t0 = load_view_tko weak %e[%x] : !I, tile<i32> -> tile<64xi32>, token
  for %k in (%zero to %four, step %one) : tile<i32> {
    %column = muli %k, %width : tile<i32>
    %t, %t1 = load_view_tko weak %s[%rows, %column] : !G, tile<64xi32>, tile<i32> -> tile<64x64xf32>, token
    store_view_tko weak %t, %d[%rows, %column] : tile<64x64xf32>, !G, tile<64xi32>, tile<i32> -> token
    continue
  }
  return
}

// CHECK: #layout_64_1 = "register=(0)(0)(2)(4)(8) lane=(0)(0)(0)(0)(1) warp=(16)(32) shape=64"
// CHECK: [[LOADED:%.*]] = tile_gpu.load_view {{.*}} vector 4 along 0
// CHECK: [[SCATTERED:%.*]] = tile_gpu.convert_layout [[LOADED]]
// CHECK: [[GATHERED:%.*]] = tile_gpu.convert_layout [[LOADED]]
// CHECK: scf.for
// CHECK-NOT: tile_gpu.convert_layout
// CHECK: tile_gpu.load_view %arg0[%{{.*}}, [[COLUMN:%[0-9]+]]] {{.*}} indices [[GATHERED]] along 0
// CHECK-NEXT: vector 4 along 1
// CHECK: tile_gpu.store_view {{.*}} -> %arg1[%{{.*}}, [[COLUMN]]] {{.*}} indices [[SCATTERED]] along 0
// CHECK-NEXT: vector 4 along 1
