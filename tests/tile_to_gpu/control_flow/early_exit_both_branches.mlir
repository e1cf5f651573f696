// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// Both branches of an `if` may continue: they yield a flag, which guards a single copy of the rest of the block.

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
    %t = muli %s, %x : tile<i32>
    continue %t : tile<i32>
  }
  %k = store_ptr_tko weak %p, %sum : tile<ptr<i32>>, tile<i32> -> token
  return
}

// CHECK-LABEL: scf.for
// CHECK:      [[BRANCH:%[0-9]+]]:3 = scf.if {{.*}} -> (i1, i32, i32) id {{[0-9]+}} {
// CHECK:        [[VALUE:%[0-9]+]] = arith.addi
// CHECK:        scf.yield %true, [[VALUE]], %c0_i32{{[_0-9]*}} : i1, i32, i32
// CHECK:      } else {
// CHECK:        [[INNER:%[0-9]+]]:3 = scf.if {{.*}} -> (i1, i32, i32) id {{[0-9]+}} {
// CHECK:          scf.yield %false{{[_0-9]*}}, %c0_i32{{[_0-9]*}}, %c1_i32 : i1, i32, i32
// CHECK:        } else {
// CHECK:          scf.yield %true{{[_0-9]*}}, {{%[a-z0-9]+}}, %c0_i32{{[_0-9]*}} : i1, i32, i32
// CHECK:        }
// CHECK:        scf.yield [[INNER]]#0, [[INNER]]#1, [[INNER]]#2 : i1, i32, i32
// CHECK:      }
// CHECK:      [[NEXT:%[0-9]+]] = scf.if [[BRANCH]]#0 -> (i32) id {{[0-9]+}} {
// CHECK:        [[PRODUCT:%[0-9]+]] = arith.muli {{.*}}, [[BRANCH]]#1 : i32
// CHECK:        scf.yield [[PRODUCT]] : i32
// CHECK:      } else {
// CHECK:        scf.yield [[BRANCH]]#2 : i32
// CHECK:      }
// CHECK:      scf.yield [[NEXT]] : i32
// CHECK-NOT:  arith.muli
