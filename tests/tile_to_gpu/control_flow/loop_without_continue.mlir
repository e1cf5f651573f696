// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// A loop without `continue` becomes branches; no scf.while is built.

entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
  %result = loop iter_values(%i = %n) : tile<i32> -> tile<i32> {
    %less = cmpi less_than %i, %three, signed : tile<i32> -> tile<i1>
    if %less {
      break %one : tile<i32>
    }
    %equal = cmpi equal %i, %zero, signed : tile<i32> -> tile<i1>
    if %equal {
      return
    }
    break %i : tile<i32>
  }
  %k = store_ptr_tko weak %p, %result : tile<ptr<i32>>, tile<i32> -> token
  return
}

// CHECK-NOT:  scf.while
// CHECK:      [[DONE:%[0-9]+]]:2 = scf.if {{.*}} -> (i32, i1) id {{[0-9]+}} {
// CHECK:        scf.yield %c1_i32{{[_0-9]*}}, %true{{[_0-9]*}} : i32, i1
// CHECK:        scf.yield {{.*}}, %false{{[_0-9]*}} : i32, i1
// CHECK:        scf.yield %arg1, %true{{[_0-9]*}} : i32, i1
// CHECK:      scf.if [[DONE]]#1 id {{[0-9]+}} {
// CHECK:        tile_gpu.splat [[DONE]]#0
// CHECK:        tile_gpu.store_global
