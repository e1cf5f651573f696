// expected-error: operand #0 must be 0D tile of i1 values, but got 'tile<i32>'
if %i { }
// -----
// expected-error: has non-empty return type, must define else branch
%0 = if %c -> (tile<f32>) { yield %s : tile<f32> }
// -----
// expected-error: has return type of (tile<f32>) but then branch does not yield anything
%0 = if %c -> (tile<f32>) { } else { yield %s : tile<f32> }
// -----
// expected-error: does not return a value, but then branch yields (tile<f32>)
if %c { yield %s : tile<f32> }
// -----
// expected-error: else branch type does not match yield type, expected (tile<f32>) but got (tile<i32>)
%0 = if %c -> (tile<f32>) { yield %s : tile<f32> } else { yield %i : tile<i32> }
// -----
// expected-error: result type 0 is a tensor_view, which is not supported
%0 = if %c -> (tensor_view<64x16xf32, strides=[16,1]>) { yield %tv : tensor_view<64x16xf32, strides=[16,1]> } else { yield %tv : tensor_view<64x16xf32, strides=[16,1]> }
// -----
// expected-error: found different number of iter_values and types: 1 and 2
%0 = for %x in (%i to %i, step %i) : tile<i32> iter_values(%a = %s) -> (tile<f32>, tile<f32>) { continue %a : tile<f32> }
// -----
// expected-error: use of value '%l' expects different type than prior uses: 'tile<i32>' vs 'tile<i64>'
for %x in (%i to %l, step %i) : tile<i32> { }
// -----
// expected-error: use of value '%s' expects different type than prior uses: 'tile<i32>' vs 'tile<f32>'
%0 = for %x in (%i to %i, step %i) : tile<i32> iter_values(%a = %s) -> (tile<i32>) { continue %a : tile<i32> }
// -----
// expected-error: loop-carried value 0 is a tile view, which is not supported
%0 = for %x in (%i to %i, step %i) : tile<i32> iter_values(%a = %pv) -> (partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>) { continue %a : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>> }
// -----
// expected-error: operand types must match the parent `for` return types: (tile<f32>), but found: ()
%0 = for %x in (%i to %i, step %i) : tile<i32> iter_values(%a = %s) -> (tile<f32>) { continue }
// -----
// expected-error: operand types must match the parent `loop` iter_values: (tile<f32>), but found: (tile<i32>)
loop iter_values(%a = %s) : tile<f32> { continue %i : tile<i32> }
// -----
// expected-error: operand types must correspond to the parent loop result types: () vs (tile<f32>)
%0 = loop : tile<f32> { break }
// -----
// expected-error: can only be nested within a ancestor chain of 'cuda_tile.loop', 'cuda_tile.if' operations, but found 'cuda_tile.for'
for %x in (%i to %i, step %i) : tile<i32> { break }
// -----
// expected-error: can only be nested within a ancestor chain of 'cuda_tile.for', 'cuda_tile.loop', 'cuda_tile.if' operations, but found 'cuda_tile.entry'
continue
// -----
// expected-error: expects parent op to be one of 'cuda_tile.if, cuda_tile.reduce, cuda_tile.scan'
loop { yield }
// -----
// expected-error: can only be nested within a ancestor chain of 'cuda_tile.entry', 'cuda_tile.if', 'cuda_tile.loop' operations, but found 'cuda_tile.for'
for %x in (%i to %i, step %i) : tile<i32> { if %c { return } }
// -----
// expected-error: must not have operands in an entry, but has (tile<f32>)
return %s : tile<f32>
// -----
// expected-error: expected '}' after 'cuda_tile.break', which ends its block
loop { break assert %c, "late" : tile<i1> }
// -----
// expected-error: operand #0 must be tile of i1 values, but got 'tile<i32>'
assert %i, "no" : tile<i32>
// -----
// expected-error: expected 1 arguments for the directives of the format, but got 0
%0 = print_tko "%d%%" -> token
// -----
// expected-error: format has a directive without an end: "%"
%0 = print_tko "%" -> token
// -----
// expected-error: then branch must not have arguments
"cuda_tile.if"(%c) ({ ^bb0(%x: !cuda_tile.tile<i32>): "cuda_tile.yield"() : () -> () }, { }) {operandSegmentSizes = array<i32: 1>} : (!cuda_tile.tile<i1>) -> ()
// -----
// expected-error: expects init types and result types to be equal, but got (tile<f32>) and (tile<i32>)
%0 = "cuda_tile.for"(%i, %i, %i, %s) ({ ^bb0(%x: !cuda_tile.tile<i32>, %y: !cuda_tile.tile<f32>): "cuda_tile.continue"(%i) : (!cuda_tile.tile<i32>) -> () }) : (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<f32>) -> !cuda_tile.tile<i32>
// -----
// expected-error: expected induction variable to be same type as bounds and step: 'tile<i32>', but got 'tile<i64>'
"cuda_tile.for"(%i, %i, %i) ({ ^bb0(%x: !cuda_tile.tile<i64>): "cuda_tile.continue"() : () -> () }) : (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<i32>) -> ()
// -----
// expected-error: expected induction variable to be same type as bounds and step: 'tile<i32>', but got none
"cuda_tile.for"(%i, %i, %i) ({ "cuda_tile.continue"() : () -> () }) : (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<i32>) -> ()
// -----
// expected-error: mismatch in number of loop-carried values and defined values: 0 and 1
"cuda_tile.for"(%i, %i, %i) ({ ^bb0(%x: !cuda_tile.tile<i32>, %y: !cuda_tile.tile<i32>): "cuda_tile.continue"() : () -> () }) : (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<i32>) -> ()
// -----
// expected-error: init value 0 and region iter_value 0 have different type: 'tile<f32>' and 'tile<i32>'
"cuda_tile.loop"(%s) ({ ^bb0(%x: !cuda_tile.tile<i32>): "cuda_tile.break"() : () -> () }) : (!cuda_tile.tile<f32>) -> ()
// -----
// expected-error: 'cuda_tile.for' op region #0 ('body') must have exactly one block, but has 0
"cuda_tile.for"(%i, %i, %i) ({ }) : (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<i32>) -> ()
// -----
// expected-error: result type 0 is a tile view, which is not supported
%0 = if %c -> (partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>) { yield %pv : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>> } else { yield %pv : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>> }
// -----
// expected-error: does not return a value, but else branch yields (tile<f32>)
if %c { } else { yield %s : tile<f32> }
// -----
// expected-error: then branch type does not match yield type, expected (tile<f32>) but got (tile<i32>)
%0 = if %c -> (tile<f32>) { yield %i : tile<i32> } else { yield %s : tile<f32> }
// -----
// expected-error: loop-carried value 0 is a tensor_view, which is not supported
%0 = for %x in (%i to %i, step %i) : tile<i32> iter_values(%a = %tv) -> (tensor_view<64x16xf32, strides=[16,1]>) { continue %a : tensor_view<64x16xf32, strides=[16,1]> }
// -----
// expected-error: operand #0 must be 0D tile of i1 or i8 or i16 or i32 or i64 values, but got 'tile<f32>'
for %x in (%s to %s, step %s) : tile<f32> { }
// -----
// expected-error: operand #0 must be 0D tile of i1 or i8 or i16 or i32 or i64 values, but got 'tile<8xi32>'
for %x in (%v to %v, step %v) : tile<8xi32> { }
// -----
// expected-error: loop-carried value 0 is a tensor_view, which is not supported
loop iter_values(%a = %tv) : tensor_view<64x16xf32, strides=[16,1]> { break }
// -----
// expected-error: loop-carried value 0 is a tile view, which is not supported
loop iter_values(%a = %pv) : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>> { break }
// -----
// expected-error: result type 0 is a tensor_view, which is not supported
%0 = loop : tensor_view<64x16xf32, strides=[16,1]> { break %tv : tensor_view<64x16xf32, strides=[16,1]> }
// -----
// expected-error: result type 0 is a tile view, which is not supported
%0 = loop : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>> { break %pv : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>> }
// -----
// expected-error: can only be nested within a ancestor chain of 'cuda_tile.loop', 'cuda_tile.if' operations, but found 'cuda_tile.reduce'
loop { %0 = reduce %f dim=0 identities=[0.0 : f32] : tile<4x8xf32> -> tile<8xf32> (%x: tile<f32>, %a: tile<f32>) { break } break }
// -----
// expected-error: can only be nested within a ancestor chain of 'cuda_tile.for', 'cuda_tile.loop', 'cuda_tile.if' operations, but found 'cuda_tile.reduce'
loop { %0 = reduce %f dim=0 identities=[0.0 : f32] : tile<4x8xf32> -> tile<8xf32> (%x: tile<f32>, %a: tile<f32>) { continue } break }
// -----
// expected-error: can only be nested within a ancestor chain of 'cuda_tile.entry', 'cuda_tile.if', 'cuda_tile.loop' operations, but found 'cuda_tile.reduce'
%0 = reduce %f dim=0 identities=[0.0 : f32] : tile<4x8xf32> -> tile<8xf32> (%x: tile<f32>, %a: tile<f32>) { return }
// -----
// expected-error: can only be nested within a ancestor chain of 'cuda_tile.entry', 'cuda_tile.if', 'cuda_tile.loop' operations, but found 'cuda_tile.for'
for %x in (%i to %i, step %i) : tile<i32> { return }
// -----
// expected-error: expects parent op to be one of 'cuda_tile.if, cuda_tile.reduce, cuda_tile.scan'
for %x in (%i to %i, step %i) : tile<i32> { yield }
// -----
// expected-error: mismatch in number of loop-carried values and defined values: 1 and 0
"cuda_tile.loop"(%s) ({ "cuda_tile.break"() : () -> () }) : (!cuda_tile.tile<f32>) -> ()
// -----
// expected-error: else branch must not have arguments
"cuda_tile.if"(%c) ({ "cuda_tile.yield"() : () -> () }, { ^bb0(%x: !cuda_tile.tile<i32>): "cuda_tile.yield"() : () -> () }) : (!cuda_tile.tile<i1>) -> ()
// -----
// expected-error: region #0 ('then') must have exactly one block, but has 0
"cuda_tile.if"(%c) ({ }, { }) : (!cuda_tile.tile<i1>) -> ()
// -----
// expected-error: region #0 ('body') must have exactly one block, but has 0
"cuda_tile.loop"() ({ }) : () -> ()
// -----
// expected-error: expected 1 arguments for the directives of the format, but got 2
%0 = print_tko "%d", %i, %i : tile<i32>, tile<i32> -> token
// -----
// expected-error: format has a directive without an end: "%5"
%0 = print_tko "%5", %i : tile<i32> -> token
