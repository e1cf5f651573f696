// RUN: tilec opt %s --passes remove-dead
// Remove an unused weak load; keep an unused relaxed load.

entry @k(%p: tile<ptr<f32>>) {
  %a, %u = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
  %b, %v = load_ptr_tko relaxed device %p : tile<ptr<f32>> -> tile<f32>, token
  %c = addf %a, %a rounding<nearest_even> : tile<f32>
  return
}

// CHECK-NOT: weak
// CHECK: load_ptr_tko relaxed device
// CHECK-NOT: addf
