// RUN: tilec opt %s --passes prune-tokens
// Nothing writes the table of a list, so that a load of a word needs no token: what follows the load follows the store before it.

entry @k(%list: tile<ptr<i64>>, %count: tile<i32>, %p: tile<ptr<i64>>, %v: tile<i64>) {
  %three = constant <i64: 3> : tile<i64>
  %first = muli %v, %three : tile<i64>
  %at = offset %list, %first : tile<ptr<i64>>, tile<i64> -> tile<ptr<i64>>
  %beside = offset %p, %first : tile<ptr<i64>>, tile<i64> -> tile<ptr<i64>>
  %s = store_ptr_tko weak %p, %v : tile<ptr<i64>>, tile<i64> -> token
  %a, %t = load_ptr_tko weak %at token=%s : tile<ptr<i64>> -> tile<i64>, token
  %b, %u = load_ptr_tko weak %beside token=%t : tile<ptr<i64>> -> tile<i64>, token
  %c = addi %a, %b : tile<i64>
  %w = store_ptr_tko weak %p, %c token=%u : tile<ptr<i64>>, tile<i64> -> token
  return
} {tilec.signature = "{\22arguments\22: [{\22name\22: \22xs\22, \22kind\22: \22list\22, \22element\22: {\22name\22: \22xs[?]\22, \22kind\22: \22array\22, \22element\22: \22f32\22, \22rank\22: 1, \22shape\22: [null], \22strides\22: [1], \22alignment\22: 16, \22divisibility\22: {\22shape\22: [1], \22strides\22: [1]}}}]}"}

// CHECK: [[STORED:%.*]] = store_ptr_tko
// CHECK: load_ptr_tko weak %{{[^ ]*}} : tile<ptr<i64>>
// CHECK: load_ptr_tko weak %{{[^ ]*}} token=[[STORED]]
