// Matrix products of the forms of safetensors files: affine, codebook and fp8, one of each way to store scales and
// codes.
#include <gtest/gtest.h>

#include "targets/cpu/kernels/gemm.h"
#include "targets/cpu/kernels/gemm_test_data.h"

namespace scratchy::cpu {
namespace {

#define GEMM_TEST(form, act) \
  TEST(GemmAffine, form##_times_##act##_is_exact_to_rounding_in_any_batch) { check_form<PackForm::form, Act::act>(); }

GEMM_TEST(kU4G32F16Zero, kQ16)
GEMM_TEST(kU4G128F16Zero, kF32)
GEMM_TEST(kU4G128F16Zero, kQ16)
GEMM_TEST(kU4G64BF16Zero, kQ16)
GEMM_TEST(kU8G128BF16Zero, kQ16)
GEMM_TEST(kU2G64BF16, kF32)
GEMM_TEST(kU2G64BF16, kQ16)
GEMM_TEST(kU3G64BF16, kQ16)
GEMM_TEST(kU4G32BF16, kQ16)
GEMM_TEST(kU4G64BF16, kF32)
GEMM_TEST(kU4G64BF16, kQ16)
GEMM_TEST(kU6G128BF16, kQ16)
GEMM_TEST(kU8G64BF16, kF32)
GEMM_TEST(kU8G64BF16, kQ16)
GEMM_TEST(kU3G32F32, kF32)
GEMM_TEST(kU5G64F32, kQ16)
GEMM_TEST(kU4G128F32, kQ16)
GEMM_TEST(kU1Row, kF32)
GEMM_TEST(kU1Row, kQ16)
GEMM_TEST(kU4Row, kF32)
GEMM_TEST(kU4Row, kQ16)
GEMM_TEST(kU8Row, kQ16)
GEMM_TEST(kNf4G64, kF32)
GEMM_TEST(kNvfp4, kF32)
GEMM_TEST(kNvfp4, kQ16)
GEMM_TEST(kMxfp4, kF32)
GEMM_TEST(kMxfp4, kQ16)
GEMM_TEST(kFp8Row, kF32)
GEMM_TEST(kFp8G128, kF32)

}  // namespace
}  // namespace scratchy::cpu
