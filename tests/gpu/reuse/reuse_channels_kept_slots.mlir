// RUN: tilec opt %s --passes reuse-channels --target sm_100a
// Threads read the columns of the first accumulator behind its release, when the second one is full: each has columns
// of its own, although there are too few. The third one is filled when the first has been read.

#whole = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32)(0,64)(0,128) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x256"
!w = tensor<128x256xf32, #whole>
!d = buffer<128x256xf32, tensor, lanes=128>
tile_gpu.kernel @k(%n: i32) target "sm_100a" warps 4 {
  // CHECK: [[A:%.*]] = tile_gpu.make_channel stages 1 producer mma
  // CHECK-NEXT: [[B:%.*]] = tile_gpu.make_channel stages 1 producer mma
  // CHECK-NOT: make_channel
  // CHECK: tile_gpu.put_begin [[A]]
  // CHECK: tile_gpu.put_begin [[B]]
  // CHECK: tile_gpu.put_begin [[A]]
  %a = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %b = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %c = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  tile_gpu.put_begin %a : channel<[!d]>
  tile_gpu.put_commit %a : channel<[!d]>
  %ga = tile_gpu.get %a consumer 0 : channel<[!d]>
  tile_gpu.release %a consumer 0 : channel<[!d]>
  %kept = tile_gpu.slot %a : channel<[!d]>
  tile_gpu.put_begin %b : channel<[!d]>
  tile_gpu.put_commit %b : channel<[!d]>
  %gb = tile_gpu.get %b consumer 0 : channel<[!d]>
  %y = tile_gpu.load_tensor_memory %gb : !d -> !w
  tile_gpu.release %b consumer 0 : channel<[!d]>
  tile_gpu.print "%f", %y : !w
  %x = tile_gpu.load_tensor_memory %kept : !d -> !w
  tile_gpu.print "%f", %x : !w
  tile_gpu.put_begin %c : channel<[!d]>
  tile_gpu.put_commit %c : channel<[!d]>
  %gc = tile_gpu.get %c consumer 0 : channel<[!d]>
  %z = tile_gpu.load_tensor_memory %gc : !d -> !w
  tile_gpu.release %c consumer 0 : channel<[!d]>
  tile_gpu.print "%f", %z : !w
}
