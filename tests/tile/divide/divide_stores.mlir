// RUN: tilec opt %s --passes divide-stores,simplify,cse,remove-dead
// Stores of large tiles that are computed elementwise from matrix products are divided into slices of columns.

!A = partition_view<tile=(128x64), padding_value = zero, tensor_view<?x64xf16, strides=[64,1]>>
!C = partition_view<tile=(128x256), tensor_view<?x512xf16, strides=[512,1]>>
!T = partition_view<tile=(256x128), tensor_view<512x?xf32, strides=[?,1]>>
!B = partition_view<tile=(256), padding_value = zero, tensor_view<512xf32, strides=[1]>>
!S = partition_view<tile=(128x64), tensor_view<?x512xf16, strides=[512,1]>>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>, %n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %x, %y, %z = get_tile_block_id : tile<i32>
  %av = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf16, strides=[64,1]>
  %a = make_partition_view %av : !A
  %cv = make_tensor_view %p, shape = [%n, 512], strides = [512, 1] : tile<i32> -> tensor_view<?x512xf16, strides=[512,1]>
  %c = make_partition_view %cv : !C
  %bv = make_tensor_view %q, shape = [512], strides = [1] : tensor_view<512xf32, strides=[1]>
  %b = make_partition_view %bv : !B
  %l, %lt = load_view_tko weak %a[%x, %zero] : !A, tile<i32> -> tile<128x64xf16>, token
  %right = constant <f16: 1.0> : tile<64x256xf16>
  %init = constant <f32: 0.0> : tile<128x256xf32>
  // CHECK: [[SUM:%.*]] = for
  %sum = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%s = %init) -> (tile<128x256xf32>) {
    %m = mmaf %l, %right, %s : tile<128x64xf16>, tile<64x256xf16>, tile<128x256xf32>
    continue %m : tile<128x256xf32>
  }
  // The bias, an iota and constants are needed in slices too; the tokens of the stores are joined.
  // CHECK: [[W:%.*]] = make_partition_view %{{.*}} : partition_view<tile=(128x64), tensor_view
  // CHECK: [[S0:%.*]] = extract [[SUM]][%{{.*}}, %{{.*}}] : tile<128x256xf32> -> tile<128x64xf32>
  // CHECK: load_view_tko {{.*}} -> tile<64xf32>, token
  // CHECK: [[B0:%.*]] = broadcast %{{.*}} : tile<1x64xf32> -> tile<128x64xf32>
  // CHECK: addf [[S0]], [[B0]]
  // CHECK: iota : tile<64xi32>
  // CHECK: [[T0:%.*]] = store_view_tko weak %{{.*}}, [[W]]{{.*}} : tile<128x64xf16>
  // CHECK: [[S1:%.*]] = extract [[SUM]]{{.*}} -> tile<128x64xf32>
  // CHECK: constant <i32: 64> : tile<64xi32>
  // CHECK: [[T1:%.*]] = store_view_tko weak %{{.*}}, [[W]]
  // CHECK: [[T2:%.*]] = store_view_tko weak %{{.*}}, [[W]]
  // CHECK: [[T3:%.*]] = store_view_tko weak %{{.*}}, [[W]]
  // CHECK: [[T:%.*]] = join_tokens [[T0]], [[T1]], [[T2]], [[T3]]
  // CHECK: print_tko {{.*}} token=[[T]]
  %bias, %bt = load_view_tko weak %b[%y] : !B, tile<i32> -> tile<256xf32>, token
  %row = reshape %bias : tile<256xf32> -> tile<1x256xf32>
  %rows = broadcast %row : tile<1x256xf32> -> tile<128x256xf32>
  %biased = addf %sum, %rows : tile<128x256xf32>
  %numbers = iota : tile<256xi32>
  %nf = itof %numbers unsigned : tile<256xi32> -> tile<256xf32>
  %nr = reshape %nf : tile<256xf32> -> tile<1x256xf32>
  %ns = broadcast %nr : tile<1x256xf32> -> tile<128x256xf32>
  %two = constant <f32: 2.0> : tile<128x256xf32>
  %v = mulf %biased, %ns : tile<128x256xf32>
  %w = mulf %v, %two : tile<128x256xf32>
  %h = ftof %w : tile<128x256xf32> -> tile<128x256xf16>
  %t = store_view_tko weak %h, %c[%x, %y] : tile<128x256xf16>, !C, tile<i32> -> token
  %u = print_tko "after" token = %t -> token

  // A transposed tile is divided along its rows, the columns of the product. A value that is also used whole is
  // extracted from the whole.
  // CHECK: [[D:%.*]] = addf [[SUM]], {{.*}} : tile<128x256xf32>
  // CHECK: [[D0:%.*]] = extract [[D]]{{.*}} -> tile<128x32xf32>
  // CHECK: [[P0:%.*]] = permute [[D0]] [1, 0] : tile<128x32xf32> -> tile<32x128xf32>
  // CHECK: store_view_tko weak [[P0]], {{.*}} : tile<32x128xf32>
  // CHECK: print_tko "%f", [[D]] : tile<128x256xf32>
  %tv = make_tensor_view %q, shape = [512, %n], strides = [%n, 1] : tile<i32> -> tensor_view<512x?xf32, strides=[?,1]>
  %tw = make_partition_view %tv : !T
  %doubled = addf %sum, %sum : tile<128x256xf32>
  %turned = permute %doubled [1, 0] : tile<128x256xf32> -> tile<256x128xf32>
  %o = store_view_tko weak %turned, %tw[%y, %x] : tile<256x128xf32>, !T, tile<i32> -> token
  %e = print_tko "%f", %doubled : tile<128x256xf32> -> token

  // The result of a loop that ends by a break is a product too, also where the break passes on what the loop carries.
  // CHECK: [[LAST:%.*]] = loop
  // CHECK: extract [[LAST]]{{.*}} -> tile<128x64xf32>
  // CHECK: store_view_tko weak {{.*}} : tile<128x64xf16>
  %last = loop iter_values(%carried = %init) : tile<128x256xf32> -> tile<128x256xf32> {
    %end = cmpi less_than %n, %one, signed : tile<i32> -> tile<i1>
    if %end {
      break %carried : tile<128x256xf32>
    }
    %more = mmaf %l, %right, %carried : tile<128x64xf16>, tile<64x256xf16>, tile<128x256xf32>
    continue %more : tile<128x256xf32>
  }
  %lh = ftof %last : tile<128x256xf32> -> tile<128x256xf16>
  %ls = store_view_tko weak %lh, %c[%x, %x] : tile<128x256xf16>, !C, tile<i32> -> token

  // A tile that the store alone waits for and overwrites is loaded by slices, each before its own store.
  // CHECK: load_view_tko weak [[I:%.*]][{{.*}}] token = [[T]] {{.*}} -> tile<128x64xf16>, token
  // CHECK: [[J0:%.*]] = join_tokens [[T]], %{{.*}} : token
  // CHECK: [[V0:%.*]] = store_view_tko weak {{.*}} token = [[J0]] : tile<128x64xf16>
  // CHECK: load_view_tko weak {{.*}} token = [[T]] {{.*}} -> tile<128x64xf16>, token
  // CHECK: [[J1:%.*]] = join_tokens [[T]], %{{.*}} : token
  // CHECK: [[V1:%.*]] = store_view_tko weak {{.*}} token = [[J1]] : tile<128x64xf16>
  // CHECK: join_tokens [[V0]], [[V1]],
  %old, %ot = load_view_tko weak %c[%x, %y] token = %t : !C, tile<i32> -> tile<128x256xf16>, token
  %old32 = ftof %old : tile<128x256xf16> -> tile<128x256xf32>
  %new32 = addf %sum, %old32 : tile<128x256xf32>
  %new = ftof %new32 : tile<128x256xf32> -> tile<128x256xf16>
  %oj = join_tokens %t, %ot : token
  %nt = store_view_tko weak %new, %c[%x, %y] token = %oj : tile<128x256xf16>, !C, tile<i32> -> token
  %pu = print_tko "updated" token = %nt -> token

  // A tile of another index may overlap the columns that an earlier slice stores; the whole tile is loaded first.
  // CHECK: load_view_tko weak {{.*}} -> tile<128x256xf16>, token
  // CHECK: store_view_tko weak {{.*}} : tile<128x256xf16>
  %near, %et = load_view_tko weak %c[%y, %x] token = %nt : !C, tile<i32> -> tile<128x256xf16>, token
  %near32 = ftof %near : tile<128x256xf16> -> tile<128x256xf32>
  %moved32 = addf %sum, %near32 : tile<128x256xf32>
  %moved = ftof %moved32 : tile<128x256xf32> -> tile<128x256xf16>
  %mt = store_view_tko weak %moved, %c[%x, %y] token = %et : tile<128x256xf16>, !C, tile<i32> -> token

  // Small tiles, ordered stores, and tiles that are not made of products are stored whole.
  // CHECK: store_view_tko relaxed {{.*}} : tile<128x256xf16>
  // CHECK-NOT: extract
  // CHECK: store_view_tko weak {{.*}} : tile<128x256xf16>
  // CHECK-NOT: extract
  // CHECK: store_view_tko weak {{.*}} : tile<128x64xf16>
  %half = ftof %sum : tile<128x256xf32> -> tile<128x256xf16>
  %r = store_view_tko relaxed device %half, %c[%y, %x] : tile<128x256xf16>, !C, tile<i32> -> token
  %d, %dt = load_view_tko weak %c[%y, %x] : !C, tile<i32> -> tile<128x256xf16>, token
  %f = store_view_tko weak %d, %c[%x, %y] : tile<128x256xf16>, !C, tile<i32> -> token
  %sv = make_partition_view %cv : !S
  %small = constant <f32: 0.0> : tile<128x64xf32>
  %sr = constant <f16: 1.0> : tile<64x64xf16>
  %sm = mmaf %l, %sr, %small : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>
  %sh = ftof %sm : tile<128x64xf32> -> tile<128x64xf16>
  %st = store_view_tko weak %sh, %sv[%x, %y] : tile<128x64xf16>, !S, tile<i32> -> token
  return
}
