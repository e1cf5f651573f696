// expected-error: 'cuda_tile.make_token' op operation has debug info scope, but function debug info scope is undefined
%x = make_token : token loc(#cuda_tile.di_loc<loc("refused.mlir":3:1) in #cuda_tile.di_subprogram<file = <"k.py" in "/src">, line = 3, name = "kern", linkageName = "k", compileUnit = <file = <"k.py" in "/src">>>>)
// -----
// A call site lies in the scope of its caller.
// expected-error: operation has debug info scope, but function debug info scope is undefined
%x = make_token : token loc(callsite("refused.mlir":4:1 at #cuda_tile.di_loc<loc("k.py":3:1) in #cuda_tile.di_subprogram<file = <"k.py" in "/src">, line = 3, name = "kern", linkageName = "k", compileUnit = <file = <"k.py" in "/src">>>>))
// -----
// expected-error: struct is missing required parameter: line
%x = make_token : token loc(#cuda_tile.di_loc<loc("k.py":3:1) in #cuda_tile.di_lexical_block<scope = #cuda_tile.di_subprogram<file = <"k.py" in "/src">, line = 3, name = "kern", linkageName = "k", compileUnit = <file = <"k.py" in "/src">>>, file = <"k.py" in "/src">>>)
// -----
// expected-error: struct is missing required parameter: name
%x = make_token : token loc(#cuda_tile.di_loc<loc("k.py":3:1) in #cuda_tile.di_subprogram<file = <"k.py" in "/src">, line = 3>>)
// -----
// expected-error: expected a parameter name in struct
%x = make_token {x.y = #cuda_tile.di_compile_unit<>} : token
// -----
// expected-error: expected a parameter name in struct
%x = make_token {x.y = #cuda_tile.di_compile_unit<file = <"k.py" in "/src">,>} : token
// -----
// expected-error: duplicate or unknown struct parameter name: line
%x = make_token {x.y = #cuda_tile.di_compile_unit<line = 3>} : token
// -----
// expected-error: duplicate or unknown struct parameter name: file
%x = make_token {x.y = #cuda_tile.di_compile_unit<file = <"k.py" in "/src">, file = <"k.py" in "/src">>} : token
// -----
// expected-error: expected a file, but got '#cuda_tile.di_compile_unit'
%x = make_token {x.y = #cuda_tile.di_compile_unit<file = #cuda_tile.di_compile_unit<file = <"k.py" in "/src">>>} : token
// -----
// expected-error: expected a file, but got '3'
%x = make_token {x.y = #cuda_tile.di_compile_unit<file = 3>} : token
// -----
// expected-error: undefined alias: #f
%x = make_token {x.y = #cuda_tile.di_compile_unit<file = #f>} : token
// -----
// expected-error: expected a string, but got '3'
%x = make_token {x.y = #cuda_tile.di_file<3 in "/src">} : token
// -----
// expected-error: expected 'in', but got ','
%x = make_token {x.y = #cuda_tile.di_file<"k.py", "/src">} : token
// -----
// expected-error: expected a subprogram or a lexical block, but got '#cuda_tile.di_file'
%x = make_token : token loc(#cuda_tile.di_loc<loc("k.py":3:1) in #cuda_tile.di_file<"k.py" in "/src">>)
// -----
// expected-error: expected a file, line and column in a scope, but got loc(unknown)
%x = make_token : token loc(#cuda_tile.di_loc<loc(unknown) in #cuda_tile.di_file<"k.py" in "/src">>)
// -----
// expected-error: expected a line or a column, but got '-'
%x = make_token : token loc("k.py":-3:1)
// -----
// expected-error: expected a line or a column, but got '0x3'
%x = make_token : token loc("k.py":0x3:1)
// -----
// expected-error: expected a line or a column below 2147483648, but got '2147483648'
%x = make_token : token loc("k.py":1:2147483648)
// -----
// expected-error: expected location, but got 'nowhere'
%x = make_token : token loc(nowhere)
// -----
// expected-error: expected 'at', but got ')'
%x = make_token : token loc(callsite("k.py":1:2))
