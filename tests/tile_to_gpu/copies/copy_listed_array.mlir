// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks=all
// RUN: tilec compile %s --emit gpu-raw --target sm_90a --remarks=all
// The arrays of a list have a map each, which the launcher makes of the words of the table: the number of the array is a coordinate.

!D = tensor_view<?x?xf32, strides=[?,1]>
!T = partition_view<tile=(64x64), !D>
entry @k(%list: tile<ptr<i64>>, %count: tile<i32>, %n: tile<i32>) {
  %words = constant <i64: 5> : tile<i64>
  %one = constant <i64: 1> : tile<i64>
  %two = constant <i64: 2> : tile<i64>
  %three = constant <i64: 3> : tile<i64>
  %i = constant <i32: 0> : tile<i32>
  %number = exti %n signed : tile<i32> -> tile<i64>
  %first = muli %number, %words : tile<i64>
  %at0 = offset %list, %first : tile<ptr<i64>>, tile<i64> -> tile<ptr<i64>>
  %word0, %t0 = load_ptr_tko weak %at0 : tile<ptr<i64>> -> tile<i64>, token
  %address = int_to_ptr %word0 : tile<i64> -> tile<ptr<f32>>
  %base = assume div_by<16>, %address : tile<ptr<f32>>
  %second = addi %first, %one : tile<i64>
  %at1 = offset %list, %second : tile<ptr<i64>>, tile<i64> -> tile<ptr<i64>>
  %word1, %t1 = load_ptr_tko weak %at1 : tile<ptr<i64>> -> tile<i64>, token
  %rows = trunci %word1 : tile<i64> -> tile<i32>
  %m = assume bounded<0, ?>, %rows : tile<i32>
  %third = addi %first, %two : tile<i64>
  %at2 = offset %list, %third : tile<ptr<i64>>, tile<i64> -> tile<ptr<i64>>
  %word2, %t2 = load_ptr_tko weak %at2 : tile<ptr<i64>> -> tile<i64>, token
  %columns = trunci %word2 : tile<i64> -> tile<i32>
  %bounded = assume bounded<0, ?>, %columns : tile<i32>
  %k = assume div_by<4>, %bounded : tile<i32>
  %fourth = addi %first, %three : tile<i64>
  %at3 = offset %list, %fourth : tile<ptr<i64>>, tile<i64> -> tile<ptr<i64>>
  %word3, %t3 = load_ptr_tko weak %at3 : tile<ptr<i64>> -> tile<i64>, token
  %stride = trunci %word3 : tile<i64> -> tile<i32>
  %positive = assume bounded<0, ?>, %stride : tile<i32>
  %s = assume div_by<4>, %positive : tile<i32>
  %v = make_tensor_view %base, shape = [%m, %k], strides = [%s, 1] : tile<i32> -> !D
  %view = make_partition_view %v : !T
  %x, %y, %z = get_tile_block_id : tile<i32>
  %tile, %t4 = load_view_tko weak %view[%x, %i] : !T, tile<i32> -> tile<64x64xf32>, token
  %turned = permute %tile [1, 0] : tile<64x64xf32> -> tile<64x64xf32>
  store_view_tko weak %turned, %view[%y, %i] token=%t4 : tile<64x64xf32>, !T, tile<i32> -> token
  return
} {tilec.signature = "{\22arguments\22: [{\22name\22: \22xs\22, \22kind\22: \22list\22, \22element\22: {\22name\22: \22xs[?]\22, \22kind\22: \22array\22, \22element\22: \22f32\22, \22rank\22: 2, \22shape\22: [null, null], \22strides\22: [null, 1], \22alignment\22: 16, \22divisibility\22: {\22shape\22: [1, 4], \22strides\22: [4, 1]}}}, {\22name\22: \22n\22, \22kind\22: \22scalar\22, \22element\22: \22i32\22}]}"}

// CHECK: [[ROWS:%.*]] = tile_gpu.list_word %arg0 word 1 of 5 : i64
// CHECK: [[COLUMNS:%.*]] = tile_gpu.list_word %arg0 word 2 of 5 : i64
// CHECK: [[STRIDE:%.*]] = tile_gpu.list_word %arg0 word 3 of 5 : i64
// CHECK: [[ADDRESS:%.*]] = tile_gpu.list_word %arg0 word 0 of 5 : i64
// CHECK: [[MAP:%.*]] = tile_gpu.make_tensor_map "f32" [[ADDRESS]]{{\[}}[[COLUMNS]], [[ROWS]]] strides {{\[}}[[STRIDE]]]
// CHECK: [[WIDE:%.*]] = arith.extsi %arg2 : i32 to i64
// CHECK: tile_gpu.load_global {{.*}} constant
// CHECK: [[NUMBER:%.*]] = arith.trunci [[WIDE]] : i64 to i32
// CHECK: tile_gpu.store_tile %{{.*}} -> [[MAP]][%{{.*}}, %{{.*}}, [[NUMBER]]]
// CHECK-NOT: remark: the store does not use TMA
