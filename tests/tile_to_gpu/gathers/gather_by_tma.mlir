// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// RUN: tilec compile %s --emit gpu --target sm_100a --check-prefix=ROLES
// RUN: tilec compile %s --emit ptx --target sm_100a --check-prefix=PTX
// Rows of an operand are gathered by TMA. The indices are stored once, beside their definition; the load role holds them
// for the whole loop, and fills a slot with both operands.

!X = tensor_view<1024x256xf16, strides=[256,1]>
!G = gather_scatter_view<tile=(128x64), padding_value = zero, !X, sparse_dim=0>
!TB = partition_view<tile=(64x64), !X>
!C = tensor_view<1024x64xf32, strides=[64,1]>
!TC = partition_view<tile=(128x64), !C>
!L = tensor_view<4096xi32, strides=[1]>
!I = partition_view<tile=(128), !L>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>, %r: tile<ptr<i32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %c = assume div_by<16>, %q : tile<ptr<f32>>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %four = constant <i32: 4> : tile<i32>
  %width = constant <i32: 64> : tile<i32>
  %vx = make_tensor_view %a, shape = [1024, 256], strides = [256, 1] : !X
  %vc = make_tensor_view %c, shape = [1024, 64], strides = [64, 1] : !C
  %vl = make_tensor_view %r, shape = [4096], strides = [1] : !L
  %g = make_gather_scatter_view %vx : !G
  %tb = make_partition_view %vx : !TB
  %tc = make_partition_view %vc : !TC
  %ti = make_partition_view %vl : !I
  %x, %y, %z = get_tile_block_id : tile<i32>
  %rows, %t0 = load_view_tko weak %ti[%x] : !I, tile<i32> -> tile<128xi32>, token
  %none = constant <f32: 0.0> : tile<128x64xf32>
  %sum = for %k in (%zero to %four, step %one) : tile<i32> iter_values(%acc = %none) -> (tile<128x64xf32>) {
    %column = muli %k, %width : tile<i32>
    %m, %t1 = load_view_tko weak %g[%rows, %column] : !G, tile<128xi32>, tile<i32> -> tile<128x64xf16>, token
    %n, %t2 = load_view_tko weak %tb[%k, %zero] : !TB, tile<i32> -> tile<64x64xf16>, token
    %next = mmaf %m, %n, %acc : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>
    continue %next : tile<128x64xf32>
  }
  store_view_tko weak %sum, %tc[%x, %zero] : tile<128x64xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: [[LOADED:%.*]] = tile_gpu.load_view %arg2
// CHECK: [[ROWS:%.*]] = tile_gpu.place [[LOADED]] : {{.*}} -> !shared_128xi32
// CHECK: scf.for
// CHECK: tile_gpu.gather_tile %map{{.*}}[{{.*}}] rows [[ROWS]] :
// CHECK: tile_gpu.multiply
// CHECK: scf.yield
// ROLES: make_tensor_map "f16" %arg0[{{.*}}] strides [{{.*}}] box [64, 1] swizzle 128B fill zero
// ROLES: tile_gpu.roles compute warps 4 {
// ROLES: tile_gpu.store_shared {{.*}} : !tile_128xi32
// ROLES: } load warps 1 {
// ROLES: tile_gpu.get {{.*}} : !channel_128xi32
// ROLES: scf.for
// ROLES: [[BOTH:%.*]]:2 = tile_gpu.put_begin
// ROLES: tile_gpu.tma_gather {{.*}} -> [[BOTH]]#0
// ROLES: tile_gpu.tma_load {{.*}} -> [[BOTH]]#1
// ROLES: tile_gpu.release {{.*}} : !channel_128xi32
// ROLES: } mma warps 1 {

// PTX: ld.shared.v4.b32 {[[A:%r[0-9]+]], [[B:%r[0-9]+]], [[C:%r[0-9]+]], [[D:%r[0-9]+]]}
// PTX: cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes
// PTX-NEXT: [[A]], [[B]], [[C]], [[D]]}
// PTX: ld.shared.v4.b32
