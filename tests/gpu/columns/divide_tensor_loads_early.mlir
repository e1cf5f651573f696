// RUN: tilec opt %s --passes divide-columns --target sm_100a
// Eight warps: columns of the whole tile are those of other warps. A slot that is filled again before its columns are
// used is read in their layout, where the whole tile was read.
#whole_of_eight = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0)(0,64) shape=128x128"
#parts_of_eight = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,64) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0)(0,32) shape=128x128"
#part_of_eight = "register=(0,1)(0,2)(0,4)(0,8)(0,16) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0)(0,32) shape=128x64"
!d = buffer<128x128xf32, tensor, lanes=128>
!w8 = tensor<128x128xf32, #whole_of_eight>
!c8 = tensor<128x128xf32, #parts_of_eight>
!h8 = tensor<128x64xf32, #part_of_eight>
tile_gpu.kernel @k(%n: i32) target "sm_100a" warps 8 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %d = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse ring : channel<[!d]>
  // CHECK: [[G:%.*]] = tile_gpu.get [[D:%.*]] consumer 0
  // CHECK-DAG: [[A:%.*]] = tile_gpu.load_tensor_memory [[G]] from 0
  // CHECK-DAG: [[B:%.*]] = tile_gpu.load_tensor_memory [[G]] from 64
  // CHECK: tile_gpu.release [[D]]
  // CHECK: tile_gpu.put_begin
  // CHECK-NOT: convert_layout
  // CHECK: tile_gpu.print "%f %f", [[A]], [[B]]
  scf.for %i = %zero to %n step %one : i32 {
    %g = tile_gpu.get %d consumer 0 : channel<[!d]>
    %x = tile_gpu.load_tensor_memory %g : !d -> !w8
    tile_gpu.release %d consumer 0 : channel<[!d]>
    tile_gpu.put_begin %d : channel<[!d]>
    tile_gpu.put_commit %d : channel<[!d]>
    %c = tile_gpu.convert_layout %x : !w8 -> !c8
    %x0 = tile_gpu.extract %c[%zero, %zero] : !c8 -> !h8
    %x1 = tile_gpu.extract %c[%zero, %one] : !c8 -> !h8
    tile_gpu.print "%f %f", %x0, %x1 : !h8, !h8
  }
}
