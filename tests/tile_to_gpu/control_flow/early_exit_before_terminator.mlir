// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// If only the terminator follows the `if`, each branch yields its own values, without a flag.

entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
  %sum = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%s = %zero) -> (tile<i32>) {
    %small = cmpi less_than %i, %three, signed : tile<i32> -> tile<i1>
    %x = if %small -> (tile<i32>) {
      %y = addi %i, %three : tile<i32>
      yield %y : tile<i32>
    } else {
      %same = cmpi equal %s, %three, signed : tile<i32> -> tile<i1>
      if %same {
        continue %one : tile<i32>
      }
      yield %i : tile<i32>
    }
    continue %x : tile<i32>
  }
  %k = store_ptr_tko weak %p, %sum : tile<ptr<i32>>, tile<i32> -> token
  return
}

// CHECK-LABEL: scf.for %arg2
// CHECK:      [[BRANCH:%[0-9]+]] = scf.if {{.*}} -> (i32) id {{[0-9]+}} {
// CHECK:        [[VALUE:%[0-9]+]] = arith.addi
// CHECK:        scf.yield [[VALUE]] : i32
// CHECK:      } else {
// CHECK:        [[INNER:%[0-9]+]] = scf.if {{.*}} -> (i32) id {{[0-9]+}} {
// CHECK:          scf.yield %c1_i32 : i32
// CHECK:        } else {
// CHECK:          scf.yield %arg2 : i32
// CHECK:        }
// CHECK:        scf.yield [[INNER]] : i32
// CHECK:      }
// CHECK:      scf.yield [[BRANCH]] : i32
