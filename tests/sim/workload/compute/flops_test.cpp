#include "sim/workload/compute/flops.hpp"

#include <catch2/catch.hpp>

#include "tests/sim/workload/model/support.hpp"

using namespace pipewright;
using namespace pipewright::test;
using workload::AttentionPairs;

TEST_CASE("with full attention, a GPT's FLOPs follow the formula of Narayanan et al.", "[model]") {
  // The formula 96 B s l h^2 (1 + s/(6h) + V/(16 l h)) counts the forward pass of layers four times
  // and that of the output matrix three times, since it includes recomputation (arXiv 2104.04473,
  // equation 3).
  for (const char* const name : {"megatron-3.6b", "megatron-145.6b", "megatron-529.6b"}) {
    const config::Model m = library_model(name);
    const double b = 8;
    const double s = m.sequence;
    const double l = m.layers;
    const double h = m.hidden;
    const double formula = 96 * b * s * l * h * h * (1 + s / (6 * h) + m.vocabulary / (16 * l * h));
    const double forward = workload::forward_flops(m, b, s, AttentionPairs::full);
    CHECK(4 * forward - workload::head_flops(m, b, s) == Approx(formula));
  }
}

TEST_CASE("a sliding window limits the pairs that count", "[model]") {
  workload::Attention attention{.window = 128, .windowed_share = 1};
  const auto pairs = [&](double sequence) {
    return workload::attention_pairs(attention, sequence, AttentionPairs::causal);
  };
  // Query i attends to min(i, 128) keys. That is 128 s, minus a triangle for the first queries,
  // which have fewer keys.
  CHECK(pairs(1000) == 128.0 * 1000 - 128 * 128 / 2);
  CHECK(workload::attention_keys(attention, 1000) == 128);
  CHECK(pairs(100) == 5e3);
  attention.windowed_share = 0.5;  // like the mean layer of GPT-OSS
  CHECK(pairs(1000) == (5e5 + 128.0 * 1000 - 128 * 128 / 2) / 2);
  CHECK(workload::attention_keys(attention, 1000) == 564);
}

TEST_CASE("the last of several ranks in order sees the most keys", "[model]") {
  workload::Attention attention;
  const auto pairs = [&](AttentionPairs kind, std::uint32_t ranks) {
    return workload::last_rank_pairs(attention, 1000, kind, ranks);
  };
  // Causal attention on the last of four ranks of cp has 1/4 x 7/8 of all pairs of queries and
  // keys, the mean rank 1/4 x 1/2.
  CHECK(pairs(AttentionPairs::causal, 4) == Approx(1e6 * 7 / 8));
  CHECK(pairs(AttentionPairs::causal, 1) == 5e5);
  CHECK(pairs(AttentionPairs::full, 4) == 1e6);
  // If the window is shorter than a rank's part of the sequence, all queries of the last rank
  // attend to equally many keys.
  attention = {.window = 100, .windowed_share = 1};
  CHECK(pairs(AttentionPairs::causal, 4) == Approx(1e5));
  // A longer window begins within the last part: queries from 750 to 900 see 825 keys on average,
  // and those from 900 on see 900.
  attention.window = 900;
  CHECK(pairs(AttentionPairs::causal, 4) == Approx(4 * (150 * 825 + 100 * 900)));
}

TEST_CASE("causal attention counts half of the scores", "[model]") {
  CHECK(workload::attention_pairs(1000, AttentionPairs::full) == 1e6);
  CHECK(workload::attention_pairs(1000, AttentionPairs::causal) == 5e5);
  // Scores of Llama 3 405B: 126 layers of 128 heads of 128 elements, with 2 x 2 FLOP per element
  // and pair of query and key.
  const config::Model m = library_model("llama-3-405b");
  for (const double s : {8192.0, 131072.0}) {
    const double scores = 126.0 * 4 * 128 * 128 * s * s;
    CHECK(workload::score_flops(m, 2, s, AttentionPairs::full) == Approx(2 * scores));
    CHECK(workload::score_flops(m, 2, s) == Approx(scores));
    CHECK(workload::forward_flops(m, 2, s, AttentionPairs::full) -
              workload::forward_flops(m, 2, s) ==
          Approx(scores));
  }
  config::Training training;
  CHECK(workload::pairs_of(training) == AttentionPairs::causal);
  training.causal = false;
  CHECK(workload::pairs_of(training) == AttentionPairs::full);
}

TEST_CASE("FLOP per token are 6 N plus those of attention", "[model]") {
  const config::Model m = library_model("llama-3-70b");
  const double matrices = static_cast<double>(workload::parameter_count(m)) -
                          1.0 * m.vocabulary * m.hidden;  // a lookup is no product
  const double tokens = m.sequence;
  CHECK(3 * (workload::forward_flops(m, 1, tokens) - workload::score_flops(m, 1, tokens)) ==
        Approx(6 * matrices * tokens).epsilon(1e-4));
}

TEST_CASE("FLOPs count the experts that a token visits", "[model]") {
  // DeepSeek-V3 has 37 billion active parameters per token (arXiv 2412.19437), with the output
  // matrix and without the embedding.
  const config::Model v3 = library_model("deepseek-v3");
  const double s = v3.sequence;
  const double active =
      (workload::forward_flops(v3, 1, s) - workload::score_flops(v3, 1, s)) / (2 * s);
  CHECK(active == Approx(37e9).epsilon(0.02));
  // Mixtral has 12.9 billion active parameters per token, which arXiv 2401.04088 rounds to 13.
  const config::Model mixtral = library_model("mixtral-8x7b");
  const double t = mixtral.sequence;
  const double visited =
      (workload::forward_flops(mixtral, 1, t) - workload::score_flops(mixtral, 1, t)) / (2 * t);
  CHECK(visited == Approx(12.9e9).epsilon(0.02));
}

TEST_CASE("a router's products are not counted", "[model]") {
  // An expert has 3 x 4,096 x 14,336 parameters, of which a token visits 2; attention has 4,096 x
  // (4,096 + 2 x 1,024) and 4,096 x 4,096.
  const config::Model m = library_model("mixtral-8x7b");
  const double matrices = 2.0 * 3 * 4096 * 14336 + 4096.0 * (4096 + 2 * 1024) + 4096.0 * 4096;
  const double scores = 4.0 * 32 * 128 / 2;  // per pair of a token and an earlier token
  CHECK(workload::layer_flops(m, workload::LayerKind::experts, 1, 1024) ==
        Approx(1024 * (2 * matrices + 1024 * scores)));
}

TEST_CASE("a busier expert costs time but adds no model FLOPs", "[model]") {
  config::Model m = library_model("mixtral-8x7b");
  const double even = workload::forward_flops(m, 1, 1024);
  m.experts->capacity_factor = 1.5;
  CHECK(workload::forward_flops(m, 1, 1024) == even);
  const SettingFixture busy(m, "{}", {});
  CHECK(
      layer_on_gpu(m, workload::LayerKind::experts, busy.setting.sizes).expert_linears[0].tokens ==
      Approx(1.5 * 2 * m.sequence / 8));
}
