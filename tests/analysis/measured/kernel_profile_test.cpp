#include "analysis/measured/kernel_profile.hpp"

#include <catch2/catch.hpp>

#include "analysis/trace/error.hpp"
#include "tests/analysis/measured/chrome_samples.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using analysis::KernelWork;

namespace {

analysis::KernelProfile read_profile(const test::ChromeText& text, int rank = -1) {
  const test::ScratchFolder folder;
  const auto file = folder / "k.json";
  test::write_bytes(file, text.text(rank));
  return analysis::read_kernel_profile(file);
}

test::ChromeText with_step() {
  test::ChromeText text;
  text.add("ProfilerStep#3", 0, 1000, "user_annotation", 1, 1);
  return text;
}

}  // namespace

TEST_CASE("the names that libraries give kernels determine their work", "[import]") {
  for (const char* const name :
       {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", "nvjet_tst_256x128_64x4_1x2",
        "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu>(Params)",
        "Cijk_Ailk_Bljk_BBS_BH_MT256x256x64", "deep_gemm::fp8_gemm_kernel"})
    CHECK(analysis::work_of(name) == KernelWork::products);
  for (const char* const name :
       {"void flash_fwd_kernel<Flash_fwd_kernel_traits<128>>",
        "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_4",
        "fmha_v2_flash_attention_bf16_64_128", "attn_fwd.kd"})
    CHECK(analysis::work_of(name) == KernelWork::attention);
  for (const char* const name : {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgs)",
                                 "void deep_ep::intranode::dispatch<8>"})
    CHECK(analysis::work_of(name) == KernelWork::communication);
  CHECK(analysis::work_of("void multi_tensor_apply_kernel<AdamFunctor>") == KernelWork::optimizer);
  for (const char* const name : {"void at::native::vectorized_elementwise_kernel<4>",
                                 "rmsnorm_fwd_tuned_kernel", "triton_poi_fused_silu_mul_1"})
    CHECK(analysis::work_of(name) == KernelWork::memory);
}

TEST_CASE("the kernels of a profile are summed by work", "[import]") {
  test::ChromeText text = with_step();
  text.add("ProfilerStep#4", 1000, 1000, "user_annotation", 1, 1);
  text.add("ProfilerStep#4", 1010, 1000, "gpu_user_annotation", 0, 7);
  text.add("a_gemm", 10, 100, "kernel").add("a_gemm", 120, 60, "kernel");
  text.add("flash_fwd", 200, 30, "kernel").add("norm", 240, 5, "kernel");
  text.add("ncclKernel", 200, 70, "kernel", 0, 20).add("norm", 240, 1000, "cpu_op");
  const analysis::KernelProfile profile = read_profile(text, 6);
  CHECK(profile.rank == 6U);
  CHECK(profile.steps == 2);
  CHECK(profile.of(KernelWork::products).kernels == 2);
  CHECK(profile.of(KernelWork::products).seconds == Approx(160e-6));
  CHECK(profile.of(KernelWork::attention).seconds == Approx(30e-6));
  CHECK(profile.of(KernelWork::memory).seconds == Approx(5e-6));
  CHECK(profile.of(KernelWork::communication).seconds == Approx(70e-6));
  CHECK(profile.of(KernelWork::optimizer).kernels == 0);
  CHECK_FALSE(profile.launch);
}

TEST_CASE("the launch time of the host is that between launches, without waits", "[import]") {
  test::ChromeText text = with_step();
  text.add("a_gemm", 10, 100, "kernel");
  // Calls of the first thread start 6, 8 and 100 us apart, the last of them after a
  // synchronization; those of the second thread start 10 us and later 8 us apart. Events are not
  // sorted by time.
  text.add("cudaLaunchKernel", 14, 3, "cuda_runtime", 1, 1);
  text.add("cudaLaunchKernel", 0, 3, "cuda_runtime", 1, 1);
  text.add("cuLaunchKernelEx", 6, 3, "cuda_driver", 1, 1);
  text.add("cudaStreamSynchronize", 20, 90, "cuda_runtime", 1, 1);
  text.add("cudaLaunchKernel", 114, 3, "cuda_runtime", 1, 1);
  text.add("cudaLaunchKernelExC", 200, 3, "cuda_runtime", 1, 2);
  text.add("cudaMemcpyAsync", 203, 3, "cuda_runtime", 1, 2);
  // This launch takes 500 us longer than others, because the queue of the GPU is full; without them
  // the next one starts 8 us later. The last, long gap stands for loading data.
  text.add("cudaLaunchKernel", 210, 503, "cuda_runtime", 1, 2);
  text.add("cudaLaunchKernel", 718, 3, "cuda_runtime", 1, 2);
  text.add("cudaLaunchKernel", 9000, 3, "cuda_runtime", 1, 2);
  CHECK(read_profile(text).launch.value() == Approx(8e-6));
}

TEST_CASE("a profile without kernels, steps or valid times is refused", "[import]") {
  CHECK_THROWS_WITH(read_profile(with_step()), Catch::Contains("k.json: no kernels found"));
  test::ChromeText no_step;
  no_step.add("a_gemm", 0, 10, "kernel");
  CHECK_THROWS_WITH(read_profile(no_step), Catch::Contains("no ProfilerStep"));
  test::ChromeText negative = with_step();
  negative.add("a_gemm", 0, -10, "kernel");
  CHECK_THROWS_WITH(read_profile(negative),
                    Catch::Contains("'dur' of the kernel 'a_gemm' is -10; expected microseconds"));
}
