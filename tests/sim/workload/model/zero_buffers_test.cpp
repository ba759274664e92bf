#include "sim/workload/model/zero_buffers.hpp"

#include <catch2/catch.hpp>

#include "tests/sim/workload/model/support.hpp"

using namespace pipewright;
using namespace pipewright::test;
using workload::gathered_bytes;
using workload::unsharded_gradient_bytes;

namespace {

workload::ZeroGroups zero(const Layout& layout) {
  return workload::zero_groups(parallel_of(layout));
}

}  // namespace

TEST_CASE("ZeRO-3 gathers two neighbours among what a stage itself has", "[zero]") {
  // A layer of Llama 3 8B: 2 h h + 2 h h / 4 + 3 h f + 2 h parameters; the embedding has v h.
  const OwnSetting own(library_model("llama-3-8b"), "{}", {.dp = 8});
  const std::uint64_t h = 4096;
  const std::uint64_t layer = 2 * h * h + 2 * h * h / 4 + 3 * h * 14336 + 2 * h;
  const std::uint64_t embedding = 128'256 * h;
  const auto whole = zero({.dp = 8, .zero = 3});
  CHECK(gathered_bytes(own.setting, {.layers = {8, 8}}, whole) == 2 * 2 * layer);
  CHECK(gathered_bytes(own.setting, {.layers = {8, 1}}, whole) == 2 * layer);
  CHECK(gathered_bytes(own.setting, {.layers = {0, 8}, .embedding = true}, whole) ==
        2 * (embedding + layer));
  CHECK(gathered_bytes(own.setting, {.layers = {31, 1}, .head = true}, whole) ==
        2 * (layer + h + embedding));
  CHECK(gathered_bytes(own.setting, {.layers = {8, 8}}, zero({.dp = 8, .zero = 2})) == 0);
}

TEST_CASE("a head gathers the matrix that it is tied to, whoever keeps it", "[zero]") {
  const OwnSetting own(library_model("gpt3-175b"), "{}", {.tp = 8, .dp = 2});
  const auto three = zero({.dp = 2, .zero = 3});
  CHECK(gathered_bytes(own.setting, {.layers = {95, 1}, .head = true}, three) ==
        gathered_bytes(own.setting, {.layers = {95, 1}, .head = true, .embedding_copy = true},
                       three));
}

TEST_CASE("shards may be wider than what is gathered", "[zero]") {
  // FSDP2's mixed precision: fp32 shards, bf16 layers.
  const auto bytes = [](const std::string& training) {
    const OwnSetting own(library_model("llama-3-8b"), training, {.dp = 8});
    return std::pair{
        gathered_bytes(own.setting, {.layers = {8, 8}}, zero({.dp = 8, .zero = 3})),
        workload::state_of({800, 0}, own.training.bytes, zero({.dp = 8, .zero = 3})).weights};
  };
  const auto [plain, plain_shard] = bytes("{}");
  const auto [mixed, mixed_shard] = bytes("{bytes: {weights: 4}}");
  CHECK(plain == mixed);
  CHECK(mixed_shard == 2 * plain_shard);
  CHECK(bytes("{bytes: {gathered: 4}}").first == 2 * plain);
}

TEST_CASE("gradients that are reduced to shards are whole for a bucket or two", "[zero]") {
  config::Communication talk;  // 40 M parameters, 160 MB, are a bucket
  const workload::Parameters stage{100'000'000, 0};
  for (const std::uint32_t level : {2U, 3U})
    CHECK(unsharded_gradient_bytes(stage, talk, zero({.dp = 8, .zero = level})) ==
          2 * (400'000'000 / 3));
  for (const std::uint32_t level : {0U, 1U})
    CHECK(unsharded_gradient_bytes(stage, talk, zero({.dp = 8, .zero = level})) == 0);
  CHECK(unsharded_gradient_bytes(stage, talk, zero({.dp = 1, .zero = 2})) == 0);

  talk.bucket = 400'000'000;
  CHECK(unsharded_gradient_bytes(stage, talk, zero({.dp = 8, .zero = 2})) == 400'000'000);
  talk.bucket = 100'000'000;
  CHECK(unsharded_gradient_bytes(stage, talk, zero({.dp = 8, .zero = 2})) == 200'000'000);
  talk.gradient_bytes = 2;
  CHECK(unsharded_gradient_bytes(stage, talk, zero({.dp = 8, .zero = 2})) == 200'000'000);
  talk.overlap_grad_reduce = false;  // all of the stage's, when the pass ends
  talk.gradient_bytes = 4;
  CHECK(unsharded_gradient_bytes(stage, talk, zero({.dp = 8, .zero = 2})) == 400'000'000);
}

TEST_CASE("gradients of experts that nobody else has are summed where they are", "[zero]") {
  const config::Communication talk;
  const workload::Parameters stage{1000, 8000};
  CHECK(unsharded_gradient_bytes(stage, talk, zero({.ep = 8, .dp = 8, .zero = 2})) == 4 * 1000);
  CHECK(unsharded_gradient_bytes(stage, talk, zero({.ep = 4, .dp = 8, .zero = 2})) == 4 * 9000);
}
