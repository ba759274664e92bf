#include "sim/workload/compute/kernels.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "sim/workload/compute/assumed.hpp"
#include "tests/sim/workload/model/support.hpp"

using namespace pipewright;
using namespace pipewright::test;
using workload::Kernel;
using workload::Part;

namespace {

// Eight experts of 64 x 96, of which each token visits two; 1,024 tokens.
const std::string mixture =
    "{name: m, layers: 1, hidden: 64, heads: 1, ffn: 96, mlp: swiglu, vocabulary: 100, "
    "sequence: 1024, experts: {count: 8, top_k: 2, ffn: 96}}";

std::vector<Kernel> forward_of(std::uint32_t ep) {
  const OwnSetting own(model_of(mixture), "{}", {.ep = ep, .dp = ep});
  return layer_kernels(own.setting, workload::LayerKind::experts).forward;
}

Kernel found(const std::vector<Kernel>& kernels, Part part, std::string_view name) {
  const auto is_it = [&](const Kernel& kernel) {
    return kernel.part == part && kernel.name == name;
  };
  REQUIRE(std::ranges::count_if(kernels, is_it) == 1);
  return *std::ranges::find_if(kernels, is_it);
}

}  // namespace

TEST_CASE("a GPU's experts are one grouped product, a single one is a product", "[model]") {
  const std::vector<Kernel> kernels = forward_of(2);
  // As many tokens come as go: 2 x 1,024 visits on 4 experts.
  const Kernel in = found(kernels, Part::expert_in, "grouped");
  CHECK(in.work == Kernel::Work::grouped);
  CHECK(in.count == 4);
  CHECK(in.rows == 512);
  CHECK(in.columns == 2 * 96);
  CHECK(in.inner == 64);
  CHECK(found(kernels, Part::expert_out, "grouped").flops == 2.0 * 4 * 512 * 96 * 64);
  // Sorted, activated, put back: what is read and written in 16 bits.
  CHECK(found(kernels, Part::permute, "permute").bytes == 4.0 * (2048 + 2048) * 64);
  CHECK(found(kernels, Part::expert_activation, "activation").bytes == 6.0 * 2048 * 96);
  CHECK(found(kernels, Part::unpermute, "unpermute").bytes == 4.0 * (2048 + 2048) * 64);
  const Kernel alone = found(forward_of(8), Part::expert_in, "product");
  CHECK(alone.work == Kernel::Work::product);
  CHECK(alone.rows == 2048);
}

TEST_CASE("grouped products rest on numbers of theirs, or on those of single ones", "[model]") {
  const Kernel in = found(forward_of(2), Part::expert_in, "grouped");
  const Kernel router = found(forward_of(2), Part::router, "product");
  config::Gpu gpu = config::find_gpu("h100-sxm");
  gpu.memory_bandwidth = 1e30;
  gpu.assumed = {"products.bf16.wave", "products.bf16.grouped"};
  using Keys = std::vector<std::string>;
  CHECK(assumed_for(in, gpu) == Keys{"products.bf16.grouped"});
  CHECK(assumed_for(router, gpu) == Keys{"products.bf16.wave"});
  gpu.products.bf16->grouped.reset();
  CHECK(assumed_for(in, gpu) == gpu.assumed);
  gpu.assumed = {"products.bf16"};
  CHECK(assumed_for(in, gpu) == gpu.assumed);
  CHECK(assumed_for(router, gpu) == gpu.assumed);
}
