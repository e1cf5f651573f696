cuda_tile.module @kernels {
  entry @integers(%arg0: tile<i32>) {
    %0 = iota : tile<4xi32>
    %1 = absi %0 : tile<4xi32>
    %2 = addi %0, %0 overflow<no_signed_wrap> : tile<4xi32>
    %3 = addi %0, %2 : tile<4xi32>
    %4 = subi %0, %3 overflow<no_unsigned_wrap> : tile<4xi32>
    %5 = muli %0, %4 overflow<no_wrap> : tile<4xi32>
    %6 = mulhii %0, %5 : tile<4xi32>
    %7 = negi %6 overflow<no_signed_wrap> : tile<4xi32>
    %8 = divi %0, %7 signed rounding<negative_inf> : tile<4xi32>
    %9 = divi %0, %8 unsigned : tile<4xi32>
    %10 = remi %0, %9 signed : tile<4xi32>
    %11 = maxi %0, %10 unsigned : tile<4xi32>
    %12 = mini %0, %11 signed : tile<4xi32>
    %13 = cmpi less_than %0, %12, signed : tile<4xi32> -> tile<4xi1>
    %14 = shli %0, %12 overflow<no_signed_wrap> : tile<4xi32>
    %15 = shri %0, %14 unsigned : tile<4xi32>
    %16 = andi %0, %15 : tile<4xi32>
    %17 = ori %0, %16 : tile<4xi32>
    %18 = xori %0, %17 : tile<4xi32>
    %19 = absi %18 {my.fact = 1 : i32} : tile<4xi32>
    return
  }
}
