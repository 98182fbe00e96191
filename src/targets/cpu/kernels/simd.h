// The platform header of the matrix kernels: 16-lane vectors under one set of names.
//
//   F32x16   16 floats, one per output of a panel
//   I32x16   16 integers
//   B8x64    64 bytes = 16 lanes of 4 bytes: 4 codes, or 2 bf16, of each output
//
// The same kernels compile over AVX-512 with VNNI (one register a vector), AVX2 with FMA and F16C (two registers) and
// plain scalar code (arrays), chosen by the predefined macros of the compiler and by nothing else. Every operation
// gives the same bits in all three, but for dot2_bf16 (its rounding is the instruction's); the tests hold them to it.
// AVX-512 without VNNI takes the AVX2 code.
//
// The integer dot product is the one place where the instruction sets differ in kind. Each keeps 32 activation codes of 16
// bits (-16256 .. 16256) as its instruction reads them, and makes of unpacked weights what it multiplies:
//
//   store_codes(first, second, out)           out = 32 codes            DotCodes
//   dot_weights<bits>(codes)                  64 codes of weights       DotWeights<bits>
//   dot_codes<bits, first, count, panels>(w, x, start, dot)
//                                             dot[p] = start + sum over vectors j in [first, first + count) and their 4
//                                             columns c of w[p][j] * x[4 j + c]
//
// w of `bits` bits, at most 8, unsigned; exact in 32 bits. Panels are done together so that each 4 columns of x are spread over a
// vector once.
#pragma once

// Pieces of an inner loop: the compiler must not make calls of them.
#define SCRATCHY_INLINE inline __attribute__((always_inline))

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VNNI__)
#include "targets/cpu/kernels/simd_avx512.h"
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "targets/cpu/kernels/simd_avx2.h"
#else
#include "targets/cpu/kernels/simd_scalar.h"
#endif
