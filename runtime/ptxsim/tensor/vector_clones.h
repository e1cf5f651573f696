// Compiles a function once per vector width; the dynamic linker selects the version for the processor.
#pragma once

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define PTXSIM_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
#else
#define PTXSIM_VECTOR_CLONES
#endif
