// RUN: tilec opt %s --passes prune-tokens
// Accesses through im2col views order others as all accesses do: the token of the store implies that of the load, so the join is
// the token of the store, and the load of the matrix stays ordered after the store. A new token is removed.

!T = tensor_view<2x16x8xf32, strides=[128,8,1]>
!V = tilex.im2col_view<tile=(8x8), window=[3], dilation=[1], stride=[1], lower=[1], upper=[1], !T>
!M = tensor_view<32x8xf32, strides=[8,1]>
!W = partition_view<tile=(8x8), !M>
entry @k(%p: tile<ptr<f32>>) {
  %zero = constant <i32: 0> : tile<i32>
  %t = make_tensor_view %p, shape = [2, 16, 8], strides = [128, 8, 1] : !T
  %v = tilex.make_im2col_view %t : !V
  %m = make_tensor_view %p, shape = [32, 8], strides = [8, 1] : !M
  %w = make_partition_view %m : !W
  %new = make_token : token
  %x, %loaded = tilex.load_im2col_tko weak %v[%zero, %zero] offset [%zero] token = %new : !V, tile<i32> -> tile<8x8xf32>, token
  %stored = tilex.store_im2col_tko weak %x, %v[%zero, %zero] offset [%zero] token = %loaded : tile<8x8xf32>, !V, tile<i32> -> token
  %both = join_tokens %loaded, %stored : token
  %y, %read = load_view_tko weak %w[%zero, %zero] token = %both : !W, tile<i32> -> tile<8x8xf32>, token
  print_tko "%f", %y : tile<8x8xf32> -> token
}

// CHECK-NOT: make_token
// CHECK: , [[LOADED:%.*]] = tilex.load_im2col_tko weak %{{.*}}[%{{.*}}] offset [%{{.*}}] :
// CHECK: [[STORED:%.*]] = tilex.store_im2col_tko weak {{.*}} token = [[LOADED]] :
// CHECK-NOT: join_tokens
// CHECK: load_view_tko weak {{.*}} token = [[STORED]] :
