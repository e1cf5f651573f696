// RUN: tilec compile %s --emit gpu-raw --target sm_100a --hint tma=off
// A tile larger than scratch memory gets a layout whose registers select the part: its conversion exchanges it in parts.

!V = tensor_view<1024x1024xf32, strides=[1024,1]>
!T = partition_view<tile=(128x128), !V>
!C = partition_view<tile=(128x64), !V>
entry @k(%p: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %i = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %v = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !V
  %s = make_partition_view %v : !T
  %c = make_partition_view %v : !C
  %x, %t = load_view_tko weak %s[%i, %i] : !T, tile<i32> -> tile<128x128xf32>, token
  %e = extract %x[%i, %one] : tile<128x128xf32> -> tile<128x64xf32>
  store_view_tko weak %e, %c[%i, %i] token = %t : tile<128x64xf32>, !C, tile<i32> -> token
  return
}

// CHECK: [[X:%.*]] = tile_gpu.load_view
// CHECK: [[C:%.*]] = tile_gpu.convert_layout [[X]]
// CHECK: tile_gpu.extract [[C]]
