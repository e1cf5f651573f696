// RUN: tilec opt %s --passes prune-tokens
// Remove tokens of make_token, which have no dependencies, and repeated operands of join_tokens.

entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %t = make_token : token
  %a, %u = load_ptr_tko weak %p token=%t : tile<ptr<f32>> -> tile<f32>, token
  %j = join_tokens %t, %u, %u : token
  %s = store_ptr_tko weak %q, %a token=%j : tile<ptr<f32>>, tile<f32> -> token
  return
}

// CHECK-NOT: make_token
// CHECK: , [[T:%.*]] = load_ptr_tko weak
// CHECK-NOT: join_tokens
// CHECK: store_ptr_tko weak {{.*}} token=[[T]]
