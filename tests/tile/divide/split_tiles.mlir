// RUN: tilec opt %s --passes split-tiles,canonicalize
// Loads, operations on one tile and carried values of which only parts are used are divided into these parts.

!V = tensor_view<?x64x32xf16, strides=[2048,32,1]>
!T = partition_view<tile=(2x64x32), padding_value = zero, !V>
// Elements along the first dimension share bytes.
!F = tensor_view<64x64xf4E2M1FN, strides=[1,64]>
!G = partition_view<tile=(2x32), !F>
entry @k(%p: tile<ptr<f16>>, %n: tile<i32>, %far: tile<i64>, %halves: tile<ptr<f4E2M1FN>>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %b, %y, %z = get_tile_block_id : tile<i32>
  %v = make_tensor_view %p, shape = [%n, 64, 32], strides = [2048, 32, 1] : tile<i32> -> !V
  %t = make_partition_view %v : !T
  %h = constant <f32: 0.0> : tile<2x64x32xf32>
  // CHECK: for {{.*}} -> (tile<64x32xf32>, tile<64x32xf32>)
  // CHECK: [[W:%.*]] = make_partition_view %{{.*}} : partition_view<tile=(1x64x32), padding_value = zero
  %r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%s = %h) -> (tile<2x64x32xf32>) {
    %x, %d = load_view_tko weak %t[%b, %i, %zero] : !T, tile<i32> -> tile<2x64x32xf16>, token
    %f = ftof %x : tile<2x64x32xf16> -> tile<2x64x32xf32>
    %f0 = extract %f[%zero, %zero, %zero] : tile<2x64x32xf32> -> tile<1x64x32xf32>
    %f1 = extract %f[%one, %zero, %zero] : tile<2x64x32xf32> -> tile<1x64x32xf32>
    %s0 = extract %s[%zero, %zero, %zero] : tile<2x64x32xf32> -> tile<1x64x32xf32>
    %s1 = extract %s[%one, %zero, %zero] : tile<2x64x32xf32> -> tile<1x64x32xf32>
    %a0 = addf %s0, %f0 : tile<1x64x32xf32>
    %a1 = addf %s1, %f1 : tile<1x64x32xf32>
    %a = cat %a0, %a1 dim = 0 : tile<1x64x32xf32>, tile<1x64x32xf32> -> tile<2x64x32xf32>
    // CHECK: load_view_tko weak [[W]]
    // CHECK: load_view_tko weak [[W]]
    // CHECK-NOT: extract
    // CHECK: continue %{{.*}}, %{{.*}} : tile<64x32xf32>, tile<64x32xf32>
    continue %a : tile<2x64x32xf32>
  }
  // CHECK: cat
  print_tko "%f", %r : tile<2x64x32xf32> -> token

  // An index whose product may not fit is limited in 64 bits.
  // CHECK: [[LIMIT:%.*]] = constant <i64: 4611686018427387903>
  // CHECK: [[NEAR:%.*]] = mini %{{.*}}, [[LIMIT]] unsigned : tile<i64>
  // CHECK: muli [[NEAR]], %{{.*}} : tile<i64>
  %wide = constant <i64: 0> : tile<i64>
  %l, %e = load_view_tko weak %t[%far, %wide, %wide] : !T, tile<i64> -> tile<2x64x32xf16>, token
  %l1 = extract %l[%one, %zero, %zero] : tile<2x64x32xf16> -> tile<1x64x32xf16>
  print_tko "%f", %l1 : tile<1x64x32xf16> -> token
  // CHECK: [[EXTENDED:%.*]] = exti %{{.*}} unsigned : tile<i32> -> tile<i64>
  // CHECK: muli [[EXTENDED]], %{{.*}} : tile<i64>
  // CHECK: load_view_tko weak %{{.*}} : {{.*}}, tile<i64> -> tile<1x64x32xf16>, token
  %e0, %e1 = load_view_tko weak %t[%n, %zero, %zero] : !T, tile<i32> -> tile<2x64x32xf16>, token
  %e2 = extract %e0[%one, %zero, %zero] : tile<2x64x32xf16> -> tile<1x64x32xf16>
  print_tko "%f", %e2 : tile<1x64x32xf16> -> token

  // The other operand is a constant.
  // CHECK: load_view_tko {{.*}} -> tile<1x64x32xf16>
  // CHECK: mulf {{.*}} : tile<1x64x32xf16>
  %quarter = constant <f16: 0.25> : tile<2x64x32xf16>
  %w0, %w1 = load_view_tko weak %t[%b, %n, %zero] : !T, tile<i32> -> tile<2x64x32xf16>, token
  %w2 = mulf %w0, %quarter : tile<2x64x32xf16>
  %w3 = extract %w2[%one, %zero, %zero] : tile<2x64x32xf16> -> tile<1x64x32xf16>
  print_tko "%f", %w3 : tile<1x64x32xf16> -> token

  // Parts whose elements are not consecutive, tiles that are also used whole, ordered loads, and parts of bytes are left
  // alone.
  // CHECK: load_view_tko {{.*}} -> tile<2x64x32xf16>
  // CHECK: extract
  %m, %g = load_view_tko weak %t[%b, %zero, %zero] : !T, tile<i32> -> tile<2x64x32xf16>, token
  %m1 = extract %m[%zero, %one, %zero] : tile<2x64x32xf16> -> tile<2x32x32xf16>
  print_tko "%f", %m1 : tile<2x32x32xf16> -> token
  // CHECK: load_view_tko {{.*}} -> tile<2x64x32xf16>
  // CHECK: extract
  %o, %j = load_view_tko weak %t[%b, %one, %zero] : !T, tile<i32> -> tile<2x64x32xf16>, token
  %o1 = extract %o[%one, %zero, %zero] : tile<2x64x32xf16> -> tile<1x64x32xf16>
  print_tko "%f %f", %o1, %o : tile<1x64x32xf16>, tile<2x64x32xf16> -> token
  // CHECK: load_view_tko relaxed {{.*}} -> tile<2x64x32xf16>
  // CHECK: extract
  %q, %u = load_view_tko relaxed device %t[%b, %one, %zero] : !T, tile<i32> -> tile<2x64x32xf16>, token
  %q1 = extract %q[%one, %zero, %zero] : tile<2x64x32xf16> -> tile<1x64x32xf16>
  print_tko "%f", %q1 : tile<1x64x32xf16> -> token
  // CHECK: load_view_tko {{.*}} -> tile<2x32xf4E2M1FN>
  // CHECK: extract
  %fv = make_tensor_view %halves, shape = [64, 64], strides = [1, 64] : !F
  %ft = make_partition_view %fv : !G
  %fx, %fy = load_view_tko weak %ft[%b, %zero] : !G, tile<i32> -> tile<2x32xf4E2M1FN>, token
  %f1x = extract %fx[%one, %zero] : tile<2x32xf4E2M1FN> -> tile<1x32xf4E2M1FN>
  print_tko "%f", %f1x : tile<1x32xf4E2M1FN> -> token

  // A carried tile that is only read in another shape is carried in that shape; one that is read in both is not.
  // CHECK: for {{.*}} -> (tile<64x32xf32>)
  // CHECK: continue %{{.*}} : tile<64x32xf32>
  %c0 = constant <f32: 0.0> : tile<1x64x32xf32>
  %cx = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%c = %c0) -> (tile<1x64x32xf32>) {
    %c1 = reshape %c : tile<1x64x32xf32> -> tile<64x32xf32>
    %c2 = addf %c1, %c1 : tile<64x32xf32>
    %c3 = reshape %c2 : tile<64x32xf32> -> tile<1x64x32xf32>
    continue %c3 : tile<1x64x32xf32>
  }
  print_tko "%f", %cx : tile<1x64x32xf32> -> token
  // CHECK: for {{.*}} -> (tile<1x64x32xf32>)
  %dx = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%d0 = %c0) -> (tile<1x64x32xf32>) {
    %d1 = reshape %d0 : tile<1x64x32xf32> -> tile<64x32xf32>
    print_tko "%f", %d1 : tile<64x32xf32> -> token
    %d2 = addf %d0, %d0 : tile<1x64x32xf32>
    continue %d2 : tile<1x64x32xf32>
  }
  print_tko "%f", %dx : tile<1x64x32xf32> -> token
  // A reduction has a dimension more than its parts.
  // CHECK: [[MOST:%.*]] = reduce
  // CHECK: extract [[MOST]][{{.*}} : tile<2x64x32xi16> -> tile<1x64x32xi16>
  // CHECK: exti {{.*}} : tile<1x64x32xi16> -> tile<1x64x32xi32>
  %numbers = iota : tile<32xi16>
  %row = reshape %numbers : tile<32xi16> -> tile<1x1x1x32xi16>
  %rows = broadcast %row : tile<1x1x1x32xi16> -> tile<16x2x64x32xi16>
  %most = reduce %rows dim=0 identities=[0 : i16] : tile<16x2x64x32xi16> -> tile<2x64x32xi16>
  (%left: tile<i16>, %right: tile<i16>) {
    %larger = maxi %left, %right unsigned : tile<i16>
    yield %larger : tile<i16>
  }
  %extended = exti %most signed : tile<2x64x32xi16> -> tile<2x64x32xi32>
  %part = extract %extended[%one, %zero, %zero] : tile<2x64x32xi32> -> tile<1x64x32xi32>
  print_tko "%d", %part : tile<1x64x32xi32> -> token
  return
}
