// expected-error: expects dim to be in [0, 2), but got 2
%0 = reduce %f dim=2 identities=[0.0 : f32] : tile<4x8xf32> -> tile<4xf32> (%x: tile<f32>, %a: tile<f32>) { yield %x : tile<f32> }
// -----
// expected-error: expects result #0 to be 'tile<8xf32>', but got 'tile<4xf32>'
%0 = reduce %f dim=0 identities=[0.0 : f32] : tile<4x8xf32> -> tile<4xf32> (%x: tile<f32>, %a: tile<f32>) { yield %x : tile<f32> }
// -----
// expected-error: expects identity #0 to be of type f32, but got i32
%0 = reduce %f dim=0 identities=[0 : i32] : tile<4x8xf32> -> tile<8xf32> (%x: tile<f32>, %a: tile<f32>) { yield %x : tile<f32> }
// -----
// expected-error: expects as many results and identities as operands, but got 1 operands, 1 results and 2 identities
%0 = reduce %f dim=0 identities=[0.0 : f32, 0.0 : f32] : tile<4x8xf32> -> tile<8xf32> (%x: tile<f32>, %a: tile<f32>) { yield %x : tile<f32> }
// -----
// expected-error: expects operands of one shape, but got (tile<4x8xf32>, tile<8xi32>)
%0:2 = reduce %f, %v dim=0 identities=[0.0 : f32, 0 : i32] : tile<4x8xf32>, tile<8xi32> -> tile<8xf32>, tile<i32> (%x: tile<f32>, %a: tile<f32>, %y: tile<i32>, %b: tile<i32>) { yield %x, %y : tile<f32>, tile<i32> }
// -----
// expected-error: expects region arguments (tile<f32>, tile<f32>), but got (tile<f32>, tile<f16>)
%0 = reduce %f dim=0 identities=[0.0 : f32] : tile<4x8xf32> -> tile<8xf32> (%x: tile<f32>, %a: tile<f16>) { yield %x : tile<f32> }
// -----
// expected-error: expects the region to yield (tile<f32>), but got (tile<f32>, tile<f32>)
%0 = reduce %f dim=0 identities=[0.0 : f32] : tile<4x8xf32> -> tile<8xf32> (%x: tile<f32>, %a: tile<f32>) { yield %x, %a : tile<f32>, tile<f32> }
// -----
// expected-error: only memory-effect-free operations are allowed inside, but found 'cuda_tile.print_tko'
%0 = reduce %f dim=0 identities=[0.0 : f32] : tile<4x8xf32> -> tile<8xf32> (%x: tile<f32>, %a: tile<f32>) { %q = print_tko "%f", %x : tile<f32> -> token yield %x : tile<f32> }
// -----
// expected-error: only memory-effect-free operations are allowed inside, but found 'cuda_tile.loop'
%0 = reduce %f dim=0 identities=[0.0 : f32] : tile<4x8xf32> -> tile<8xf32> (%x: tile<f32>, %a: tile<f32>) { loop { break } yield %x : tile<f32> }
// -----
// expected-error: only memory-effect-free operations are allowed inside, but found 'cuda_tile.assume'
%0 = scan %n dim=0 reverse=true identities=[0 : i32] : tile<4x8xi32> -> tile<4x8xi32> (%x: tile<i32>, %a: tile<i32>) { %b = assume div_by<2>, %a : tile<i32> yield %x : tile<i32> }
// -----
// expected-error: expects result #0 to be 'tile<4x8xf32>', but got 'tile<8xf32>'
%0 = scan %f dim=0 reverse=false identities=[0.0 : f32] : tile<4x8xf32> -> tile<8xf32> (%x: tile<f32>, %a: tile<f32>) { yield %x : tile<f32> }
// -----
// expected-error: expects identity #0 to be an integer or a float, but got "zero"
%0 = reduce %f dim=0 identities=["zero"] : tile<4x8xf32> -> tile<8xf32> (%x: tile<f32>, %a: tile<f32>) { yield %x : tile<f32> }
// -----
// expected-error: expects at least one operand
"cuda_tile.reduce"() ({ "cuda_tile.yield"() : () -> () }) {dim = 0 : i32, identities = []} : () -> ()
// -----
// expected-error: expects dim to be in [0, 2), but got -1
%0 = reduce %f dim=-1 identities=[0.0 : f32] : tile<4x8xf32> -> tile<4xf32> (%x: tile<f32>, %a: tile<f32>) { yield %x : tile<f32> }
// -----
// expected-error: expects dim to be in [0, 0), but got 0
%0 = reduce %s dim=0 identities=[0.0 : f32] : tile<f32> -> tile<f32> (%x: tile<f32>, %a: tile<f32>) { yield %x : tile<f32> }
// -----
// expected-error: expects region arguments (tile<f32>, tile<f32>), but got (tile<8xf32>, tile<8xf32>)
%0 = reduce %f dim=0 identities=[0.0 : f32] : tile<4x8xf32> -> tile<8xf32> (%x: tile<8xf32>, %a: tile<8xf32>) { yield %x : tile<8xf32> }
// -----
// expected-error: expects region arguments (tile<f32>, tile<f32>), but got (tile<f32>)
%0 = reduce %f dim=0 identities=[0.0 : f32] : tile<4x8xf32> -> tile<8xf32> (%x: tile<f32>) { yield %x : tile<f32> }
// -----
// expected-error: expects the region to yield (tile<f32>), but got (tile<i32>)
%0 = reduce %f dim=0 identities=[0.0 : f32] : tile<4x8xf32> -> tile<8xf32> (%x: tile<f32>, %a: tile<f32>) { yield %i : tile<i32> }
// -----
// expected-error: only memory-effect-free operations are allowed inside, but found 'cuda_tile.for'
%0 = reduce %f dim=0 identities=[0.0 : f32] : tile<4x8xf32> -> tile<8xf32> (%x: tile<f32>, %a: tile<f32>) { for %j in (%i to %i, step %i) : tile<i32> { } yield %x : tile<f32> }
// -----
// expected-error: only memory-effect-free operations are allowed inside, but found 'cuda_tile.load_ptr_tko'
%0 = reduce %f dim=0 identities=[0.0 : f32] : tile<4x8xf32> -> tile<8xf32> (%x: tile<f32>, %a: tile<f32>) { %b, %d = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token yield %b : tile<f32> }
// -----
// expected-error: can only be nested within a ancestor chain of 'cuda_tile.entry', 'cuda_tile.if', 'cuda_tile.loop' operations, but found 'cuda_tile.reduce'
%0 = reduce %f dim=0 identities=[0.0 : f32] : tile<4x8xf32> -> tile<8xf32> (%x: tile<f32>, %a: tile<f32>) { if %c { return } yield %x : tile<f32> }
// -----
// expected-error: expects dim to be in [0, 2), but got 2
%0 = scan %f dim=2 reverse=false identities=[0.0 : f32] : tile<4x8xf32> -> tile<4x8xf32> (%x: tile<f32>, %a: tile<f32>) { yield %x : tile<f32> }
// -----
// expected-error: expects identity #0 to be of type f32, but got i32
%0 = scan %f dim=0 reverse=false identities=[0 : i32] : tile<4x8xf32> -> tile<4x8xf32> (%x: tile<f32>, %a: tile<f32>) { yield %x : tile<f32> }
// -----
// expected-error: expects as many results and identities as operands, but got 1 operands, 1 results and 0 identities
%0 = scan %f dim=0 reverse=false identities=[] : tile<4x8xf32> -> tile<4x8xf32> (%x: tile<f32>, %a: tile<f32>) { yield %x : tile<f32> }
// -----
// expected-error: expects operands of one shape, but got (tile<4x8xf32>, tile<8xi32>)
%0:2 = scan %f, %v dim=0 reverse=true identities=[0.0 : f32, 0 : i32] : tile<4x8xf32>, tile<8xi32> -> tile<4x8xf32>, tile<8xi32> (%x: tile<f32>, %a: tile<f32>, %y: tile<i32>, %b: tile<i32>) { yield %x, %y : tile<f32>, tile<i32> }
// -----
// expected-error: expects region arguments (tile<f32>, tile<f32>), but got (tile<f32>, tile<f16>)
%0 = scan %f dim=0 reverse=false identities=[0.0 : f32] : tile<4x8xf32> -> tile<4x8xf32> (%x: tile<f32>, %a: tile<f16>) { yield %x : tile<f32> }
// -----
// expected-error: expects the region to yield (tile<f32>), but got ()
%0 = scan %f dim=0 reverse=false identities=[0.0 : f32] : tile<4x8xf32> -> tile<4x8xf32> (%x: tile<f32>, %a: tile<f32>) { yield }
// -----
// expected-error: only memory-effect-free operations are allowed inside, but found 'cuda_tile.print_tko'
%0 = scan %f dim=0 reverse=false identities=[0.0 : f32] : tile<4x8xf32> -> tile<4x8xf32> (%x: tile<f32>, %a: tile<f32>) { %q = print_tko "%f", %x : tile<f32> -> token yield %x : tile<f32> }
// -----
// expected-error: expects at least one operand
"cuda_tile.scan"() ({ "cuda_tile.yield"() : () -> () }) {dim = 0 : i32, reverse = false, identities = []} : () -> ()
