// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// A loop that contains a return yields a flag, which guards the operations after the loop.

entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
  %last = loop iter_values(%i = %zero) : tile<i32> -> tile<i32> {
    %end = cmpi equal %i, %n, signed : tile<i32> -> tile<i1>
    if %end {
      break %three : tile<i32>
    }
    %early = cmpi equal %i, %three, signed : tile<i32> -> tile<i1>
    if %early {
      return
    }
    %next = addi %i, %one : tile<i32>
    continue %next : tile<i32>
  }
  %k = store_ptr_tko weak %p, %last : tile<ptr<i32>>, tile<i32> -> token
  return
}

// CHECK:      [[LOOP:%[0-9]+]]:4 = scf.while (%arg2 = %true, {{.*}}, %arg5 = %true{{[_0-9]*}}) : (i1, i32, i32, i1)
// CHECK:      } do (%arg6: i1, %arg7: i32, %arg8: i32, %arg9: i1) {
// CHECK:        scf.yield %false, %arg7, %c3_i32, %arg9 : i1, i32, i32, i1
// CHECK:        [[LEFT:%false[_0-9]*]] = arith.constant false
// CHECK:        [[INCOMPLETE:%false[_0-9]*]] = arith.constant false
// CHECK:        scf.yield [[LEFT]], %arg7, %arg8, [[INCOMPLETE]] : i1, i32, i32, i1
// CHECK:        [[NEXT:%[0-9]+]] = arith.addi
// CHECK:        scf.yield %true{{[_0-9]*}}, [[NEXT]], %arg8, %arg9 : i1, i32, i32, i1
// CHECK:      scf.if [[LOOP]]#3 id {{[0-9]+}} {
// CHECK:        tile_gpu.splat [[LOOP]]#2
// CHECK:        tile_gpu.store_global
// CHECK:      } else {
// CHECK-NEXT: }
// CHECK-NOT:  tile_gpu.store_global
