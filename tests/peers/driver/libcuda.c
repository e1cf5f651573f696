// A stand-in for libcuda, the library of the driver: prints the arguments of cuTensorMapEncodeIm2col as JSON.

#include <stdio.h>

#include "cuda.h"

#define PRINT_VALUES(name, values, count)                                                                              \
  printf("\"%s\": [", name);                                                                                           \
  for (unsigned i = 0; i < (count); ++i)                                                                               \
    printf("%s%lld", i ? ", " : "", (long long)(values)[i]);                                                           \
  printf("], ")

CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *base,
                                 const cuuint64_t *extents, const cuuint64_t *strides, const int *lower,
                                 const int *upper, cuuint32_t channels, cuuint32_t pixels,
                                 const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                                 CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                 CUtensorMapFloatOOBfill fill) {
  printf("{");
  PRINT_VALUES("extents", extents, rank);
  PRINT_VALUES("strides", strides, rank - 1);
  PRINT_VALUES("lower", lower, rank - 2);
  PRINT_VALUES("upper", upper, rank - 2);
  PRINT_VALUES("element_strides", element_strides, rank);
  printf("\"base\": %llu, \"element\": %d, \"channels\": %u, \"pixels\": %u, ", (unsigned long long)base, type,
         channels, pixels);
  printf("\"interleave\": %d, \"swizzle\": %d, \"fill\": %d}\n", interleave, swizzle, fill);
  return CUDA_SUCCESS;
}
