// RUN: tilec opt %s --passes simplify,canonicalize
// Products of f32 that are rounded to 16 bits have 16 bits, if their factors do and the products are exact in f32.
// So do choices between such floats, and comparisons of floats that are converted for comparisons alone.

entry @k(%q: tile<i8>, %z: tile<i8>, %w: tile<i16>, %s: tile<f16>, %b: tile<bf16>, %f: tile<f32>) {
  %q32 = itof %q unsigned : tile<i8> -> tile<f32>
  %z32 = itof %z unsigned : tile<i8> -> tile<f32>
  %s32 = ftof %s : tile<f16> -> tile<f32>
  %b32 = ftof %b : tile<bf16> -> tile<f32>
  %w32 = itof %w signed : tile<i16> -> tile<f32>
  %d = subf %q32, %z32 : tile<f32>

  // CHECK: [[Q:%.*]] = itof %{{.*}} unsigned : tile<i8> -> tile<f16>
  // CHECK: [[Z:%.*]] = itof %{{.*}} unsigned : tile<i8> -> tile<f16>
  // CHECK: [[D:%.*]] = subf [[Q]], [[Z]]  : tile<f16>
  // CHECK: mulf [[D]], %{{.*}}  : tile<f16>
  %m0 = mulf %d, %s32 : tile<f32>
  %r0 = ftof %m0 : tile<f32> -> tile<f16>
  print_tko "%f", %r0 : tile<f16> -> token
  // CHECK: mulf %{{.*}}  : tile<bf16>
  %m1 = mulf %b32, %d : tile<f32>
  %r1 = ftof %m1 : tile<f32> -> tile<bf16>
  print_tko "%f", %r1 : tile<bf16> -> token
  // CHECK: mulf %{{.*}}  : tile<f16>
  %m2 = mulf %s32, %s32 : tile<f32>
  %r2 = ftof %m2 : tile<f32> -> tile<f16>
  print_tko "%f", %r2 : tile<f16> -> token
  // Factors that are repeated.
  // CHECK: mulf %{{.*}}  : tile<4xf16>
  %d1 = reshape %d : tile<f32> -> tile<1xf32>
  %d4 = broadcast %d1 : tile<1xf32> -> tile<4xf32>
  %s1 = reshape %s32 : tile<f32> -> tile<1xf32>
  %s4 = broadcast %s1 : tile<1xf32> -> tile<4xf32>
  %mm = mulf %d4, %s4 : tile<4xf32>
  %rm = ftof %mm : tile<4xf32> -> tile<4xf16>
  print_tko "%f", %rm : tile<4xf16> -> token
  // Integers alone.
  // CHECK: itof %{{.*}} : tile<i8> -> tile<bf16>
  %r3 = ftof %q32 : tile<f32> -> tile<bf16>
  print_tko "%f", %r3 : tile<bf16> -> token

  // A product of bf16 may be subnormal in f32.
  // CHECK: mulf %{{.*}}  : tile<f32>
  %m4 = mulf %b32, %b32 : tile<f32>
  %r4 = ftof %m4 : tile<f32> -> tile<bf16>
  print_tko "%f", %r4 : tile<bf16> -> token
  // Integers that f16 does not have, floats of other types, and the range of f16 that bf16 lacks.
  // CHECK: mulf %{{.*}}  : tile<f32>
  %m5 = mulf %w32, %s32 : tile<f32>
  %r5 = ftof %m5 : tile<f32> -> tile<f16>
  print_tko "%f", %r5 : tile<f16> -> token
  // CHECK: mulf %{{.*}}  : tile<f32>
  %m6 = mulf %d, %f : tile<f32>
  %r6 = ftof %m6 : tile<f32> -> tile<f16>
  print_tko "%f", %r6 : tile<f16> -> token
  // CHECK: mulf %{{.*}}  : tile<f32>
  %m7 = mulf %d, %b32 : tile<f32>
  %r7 = ftof %m7 : tile<f32> -> tile<f16>
  print_tko "%f", %r7 : tile<f16> -> token
  // CHECK: mulf %{{.*}}  flush_to_zero : tile<f32>
  %m8 = mulf %d, %s32 flush_to_zero : tile<f32>
  %r8 = ftof %m8 : tile<f32> -> tile<f16>
  print_tko "%f", %r8 : tile<f16> -> token
  // A product that is read as f32 too.
  // CHECK: mulf %{{.*}}  : tile<f32>
  %m9 = mulf %d, %s32 : tile<f32>
  %r9 = ftof %m9 : tile<f32> -> tile<f16>
  print_tko "%f %f", %r9, %m9 : tile<f16>, tile<f32> -> token
  return
}

entry @choices(%x: tile<f16>, %y: tile<f16>, %b: tile<bf16>, %f: tile<f32>, %m: tile<i1>) {
  %x32 = ftof %x : tile<f16> -> tile<f32>
  %y32 = ftof %y : tile<f16> -> tile<f32>
  %b32 = ftof %b : tile<bf16> -> tile<f32>
  %zero = constant <f32: 0.0> : tile<f32>
  %tenth = constant <f32: 0.1> : tile<f32>

  // CHECK-LABEL: @choices
  // CHECK: [[C:%.*]] = cmpf greater_than ordered %{{.*}} : tile<f16> -> tile<i1>
  // CHECK: select [[C]], %{{.*}} : tile<i1>, tile<f16>
  %h32 = ftof %y : tile<f16> -> tile<f32>
  %c = cmpf greater_than ordered %h32, %zero : tile<f32> -> tile<i1>
  %s0 = select %c, %x32, %zero : tile<i1>, tile<f32>
  %r0 = ftof %s0 : tile<f32> -> tile<f16>
  print_tko "%f", %r0 : tile<f16> -> token
  // A choice of a choice, and a product of one.
  // CHECK: [[S:%.*]] = select %{{.*}} : tile<i1>, tile<f16>
  // CHECK: [[M:%.*]] = maxf [[S]], %{{.*}} : tile<f16>
  // CHECK: mulf [[M]], %{{.*}} : tile<f16>
  %s1 = select %m, %x32, %zero : tile<i1>, tile<f32>
  %m1 = maxf %s1, %y32 : tile<f32>
  %p1 = mulf %m1, %y32 : tile<f32>
  %r1 = ftof %p1 : tile<f32> -> tile<f16>
  print_tko "%f", %r1 : tile<f16> -> token
  // CHECK: minf %{{.*}} : tile<bf16>
  %m2 = minf %b32, %zero : tile<f32>
  %r2 = ftof %m2 : tile<f32> -> tile<bf16>
  print_tko "%f", %r2 : tile<bf16> -> token

  // A constant that f16 does not have, another type, and a choice that is read as f32 too.
  // CHECK: select %{{.*}} : tile<i1>, tile<f32>
  %s3 = select %m, %x32, %tenth : tile<i1>, tile<f32>
  %r3 = ftof %s3 : tile<f32> -> tile<f16>
  print_tko "%f", %r3 : tile<f16> -> token
  // CHECK: select %{{.*}} : tile<i1>, tile<f32>
  %s4 = select %m, %b32, %zero : tile<i1>, tile<f32>
  %r4 = ftof %s4 : tile<f32> -> tile<f16>
  print_tko "%f", %r4 : tile<f16> -> token
  // CHECK: select %{{.*}} : tile<i1>, tile<f32>
  %s5 = select %m, %x32, %y32 : tile<i1>, tile<f32>
  %r5 = ftof %s5 : tile<f32> -> tile<f16>
  print_tko "%f %f", %r5, %s5 : tile<f16>, tile<f32> -> token
  // CHECK: cmpf less_than ordered %{{.*}} : tile<f32> -> tile<i1>
  // CHECK: cmpf less_than ordered %{{.*}} : tile<f32> -> tile<i1>
  // CHECK: cmpf less_than ordered %{{.*}} : tile<f32> -> tile<i1>
  %c6 = cmpf less_than ordered %b32, %x32 : tile<f32> -> tile<i1>
  %c7 = cmpf less_than ordered %h32, %tenth : tile<f32> -> tile<i1>
  %c8 = cmpf less_than ordered %h32, %f : tile<f32> -> tile<i1>
  print_tko "%i %i %i", %c6, %c7, %c8 : tile<i1>, tile<i1>, tile<i1> -> token
  return
}
