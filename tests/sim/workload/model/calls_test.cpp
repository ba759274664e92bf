#include "sim/workload/model/calls.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/sim/workload/model/support.hpp"

using namespace pipewright;
using namespace pipewright::test;
using schedules::PassKind;
using workload::Call;
using workload::Collective;
using workload::Group;
using workload::StageParts;

namespace {

const StageParts three_layers{.layers = {3, 3}};
const config::Communication apart{.async_tensor_model_parallel_allreduce = false,
                                  .scatter_gather = false};
const config::Communication parts_of_tp{.async_tensor_model_parallel_allreduce = false};

workload::StageTraffic traffic(const std::string& model, const std::string& training,
                               const Layout& layout, const StageParts& parts,
                               const config::Communication& communication = apart) {
  const SettingFixture fixture(library_model(model), training, layout);
  return stage_calls(fixture.setting, parts, config::find_gpu("a100-80gb"), communication);
}

// Returns how many collectives of this kind and size a pass has: those that overlap with compute if
// `hidden`, otherwise those that do not.
std::uint32_t times(const workload::StageTraffic& traffic, PassKind kind, Group group,
                    Collective collective, std::uint64_t bytes, bool hidden = false) {
  std::uint32_t sum = 0;
  for (const Call& call : traffic.inside[static_cast<std::size_t>(kind)])
    if (call.group == group && call.collective == collective && call.bytes == bytes &&
        (call.overlappable_compute > 0) == hidden)
      sum += call.times;
  return sum;
}

std::size_t kinds_of_calls(const workload::StageTraffic& traffic, PassKind kind) {
  return traffic.inside[static_cast<std::size_t>(kind)].size();
}

// Size in bytes of a tensor of hidden states: megatron-22b, and below Llama 3 8B.
constexpr std::uint64_t gpt_bytes = 2ULL * 2048 * 6144;
constexpr std::uint64_t llama_bytes = 2ULL * 8192 * 4096;

}  // namespace

TEST_CASE("a single GPU makes no calls", "[model]") {
  const auto single_gpu =
      traffic("gpt3-175b", "{}", {}, {.layers = {0, 96}, .embedding = true, .head = true});
  for (const auto& calls : single_gpu.inside) CHECK(calls.empty());
}

TEST_CASE("tensor parallelism needs two all-reduces per layer in each direction", "[model]") {
  const auto t = traffic("megatron-22b", "{}", {.tp = 8}, three_layers);
  for (const PassKind kind : {PassKind::forward, PassKind::input_grad, PassKind::backward}) {
    CHECK(times(t, kind, Group::tp, Collective::all_reduce, gpt_bytes) == 6);
    CHECK(kinds_of_calls(t, kind) == 1);
  }
  CHECK(kinds_of_calls(t, PassKind::weight_grad) == 0);
}

TEST_CASE("ranks that share a head of keys and values gather the products of attention",
          "[model]") {
  // Queries of 32 heads of 128, keys and values of 8.
  constexpr std::uint64_t whole = 2ULL * 8192 * (32 + 2 * 8) * 128;
  for (const bool sequence : {false, true}) {
    const auto shared = traffic("llama-3-8b", "{}", {.tp = 16, .sequence = sequence}, three_layers);
    CHECK(times(shared, PassKind::forward, Group::tp, Collective::all_gather, whole) == 3);
    CHECK(times(shared, PassKind::input_grad, Group::tp, Collective::reduce_scatter, whole) == 3);
    CHECK(times(shared, PassKind::weight_grad, Group::tp, Collective::reduce_scatter, whole) == 0);
    const auto divided = traffic("llama-3-8b", "{}", {.tp = 8, .sequence = sequence}, three_layers);
    CHECK(times(divided, PassKind::forward, Group::tp, Collective::all_gather, whole) == 0);
  }
}

TEST_CASE("a loss in chunks sums the results of each chunk over tp", "[model]") {
  const workload::StageParts head{.layers = {48, 0}, .head = true};
  const Layout layout{.tp = 8, .sequence = true};
  const auto whole = traffic("megatron-22b", "{}", layout, head);
  const auto chunked = traffic("megatron-22b", "{loss_chunks: 4}", layout, head);
  CHECK(times(whole, PassKind::forward, Group::tp, Collective::all_reduce, 4 * 2048) == 3);
  CHECK(times(chunked, PassKind::forward, Group::tp, Collective::all_reduce, 4 * 2048 / 4) == 12);
  CHECK(times(chunked, PassKind::forward, Group::tp, Collective::all_gather, gpt_bytes) == 1);
  CHECK(times(chunked, PassKind::input_grad, Group::tp, Collective::reduce_scatter, gpt_bytes) ==
        1);
  CHECK(kinds_of_calls(whole, PassKind::weight_grad) == 1);
  CHECK(kinds_of_calls(chunked, PassKind::weight_grad) == 0);
}

TEST_CASE("sequence parallelism replaces all-reduces by gathers and reduce-scatters", "[model]") {
  const auto t = traffic("megatron-22b", "{}", {.tp = 8, .sequence = true}, three_layers);
  CHECK(times(t, PassKind::forward, Group::tp, Collective::all_gather, gpt_bytes) == 6);
  CHECK(times(t, PassKind::forward, Group::tp, Collective::reduce_scatter, gpt_bytes) == 6);
  // The input gradient gathers the saved inputs of products again, so it has twice as many
  // all-gathers.
  CHECK(times(t, PassKind::input_grad, Group::tp, Collective::all_gather, gpt_bytes) == 12);
  CHECK(times(t, PassKind::input_grad, Group::tp, Collective::reduce_scatter, gpt_bytes) == 6);
}

TEST_CASE("a backward pass overlaps tp's collectives with products of the other gradient",
          "[model]") {
  const config::Communication async{};
  const auto whole = traffic("megatron-22b", "{}", {.tp = 8}, three_layers, async);
  CHECK(times(whole, PassKind::backward, Group::tp, Collective::all_reduce, gpt_bytes, true) == 6);
  CHECK(times(whole, PassKind::backward, Group::tp, Collective::all_reduce, gpt_bytes) == 0);
  // Collectives of I have no products of W beside which they can run, and those of the forward pass
  // overlap with nothing.
  CHECK(times(whole, PassKind::input_grad, Group::tp, Collective::all_reduce, gpt_bytes) == 6);
  CHECK(times(whole, PassKind::forward, Group::tp, Collective::all_reduce, gpt_bytes) == 6);

  const auto cut = traffic("megatron-22b", "{}", {.tp = 8, .sequence = true}, three_layers, async);
  CHECK(times(cut, PassKind::backward, Group::tp, Collective::reduce_scatter, gpt_bytes, true) ==
        6);
  CHECK(times(cut, PassKind::backward, Group::tp, Collective::all_gather, gpt_bytes, true) == 6);
  CHECK(times(cut, PassKind::backward, Group::tp, Collective::all_gather, gpt_bytes) == 6);
  CHECK(times(cut, PassKind::input_grad, Group::tp, Collective::reduce_scatter, gpt_bytes) == 6);
}

TEST_CASE("tp_comm_overlap overlaps all collectives of a layer with its products", "[model]") {
  const Layout layout{.tp = 8, .sequence = true};
  const auto t = traffic("megatron-22b", "{}", layout, three_layers, {.tp_comm_overlap = true});
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter}) {
    CHECK(times(t, PassKind::forward, Group::tp, collective, gpt_bytes, true) == 6);
    CHECK(times(t, PassKind::forward, Group::tp, collective, gpt_bytes) == 0);
    CHECK(times(t, PassKind::backward, Group::tp, collective, gpt_bytes) == 0);
  }
  CHECK(times(t, PassKind::backward, Group::tp, Collective::all_gather, gpt_bytes, true) == 12);
  // Each collective can run beside seven eighths of its own product, so all together beside seven
  // eighths of the four products.
  const SettingFixture fixture(library_model("megatron-22b"), "{}", layout);
  const auto layer = layer_on_gpu(fixture.model, workload::LayerKind::dense, fixture.setting.sizes);
  double products = 0;
  for (const workload::Linear& linear : linears_of(layer))
    products += product_seconds(fixture.setting, linear, config::find_gpu("a100-80gb")).forward;
  double overlappable_compute = 0;
  for (const Call& call : t.inside[0]) overlappable_compute += call.overlappable_compute;
  CHECK(overlappable_compute == Approx(3 * 7.0 / 8 * products));
}

TEST_CASE("in PyTorch's layout, gradients of an input of several products overlap with nothing",
          "[model]") {
  const auto t = traffic("megatron-22b", "{tensor_format: bshd}", {.tp = 8, .sequence = true},
                         three_layers, {.tp_comm_overlap = true});
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter})
    CHECK(times(t, PassKind::forward, Group::tp, collective, gpt_bytes, true) == 6);
  CHECK(times(t, PassKind::backward, Group::tp, Collective::reduce_scatter, gpt_bytes) == 6);
  // Half of the all-gathers, those of output gradients, overlap with the products that use them.
  CHECK(times(t, PassKind::backward, Group::tp, Collective::all_gather, gpt_bytes, true) == 6);
  CHECK(times(t, PassKind::backward, Group::tp, Collective::all_gather, gpt_bytes) == 6);
}

TEST_CASE("full recomputation repeats the calls of the forward pass before I", "[model]") {
  const auto t = traffic("megatron-22b", "{recompute: full}", {.tp = 8}, three_layers);
  CHECK(times(t, PassKind::forward, Group::tp, Collective::all_reduce, gpt_bytes) == 6);
  CHECK(times(t, PassKind::input_grad, Group::tp, Collective::all_reduce, gpt_bytes) == 12);
  CHECK(times(t, PassKind::backward, Group::tp, Collective::all_reduce, gpt_bytes) == 12);
}

TEST_CASE("early stopping does not repeat the sum over tp after the last product", "[stack]") {
  const auto t = traffic("megatron-22b", "{recompute: {granularity: full, early_stop: true}}",
                         {.tp = 8}, three_layers);
  CHECK(times(t, PassKind::forward, Group::tp, Collective::all_reduce, gpt_bytes) == 6);
  CHECK(times(t, PassKind::input_grad, Group::tp, Collective::all_reduce, gpt_bytes) == 6 + 3);
  CHECK(times(t, PassKind::backward, Group::tp, Collective::all_reduce, gpt_bytes) == 6 + 3);
}

TEST_CASE("the first and the last stage have calls of the vocabulary", "[model]") {
  const auto first = traffic("megatron-22b", "{}", {.tp = 8}, {.embedding = true});
  CHECK(times(first, PassKind::forward, Group::tp, Collective::all_reduce, gpt_bytes) == 1);
  CHECK(kinds_of_calls(first, PassKind::backward) == 0);
  const auto last = traffic("megatron-22b", "{}", {.tp = 8}, {.head = true});
  CHECK(times(last, PassKind::forward, Group::tp, Collective::all_reduce, 4 * 2048) == 3);
  CHECK(times(last, PassKind::input_grad, Group::tp, Collective::all_reduce, gpt_bytes) == 1);
}

TEST_CASE("ring attention overlaps its exchange with attention", "[model]") {
  const auto t = traffic("llama-3-8b", "{}", {.cp = 4}, three_layers);
  // Bytes of keys and values of the whole sequence, in 8 heads of 128 elements.
  const std::uint64_t bytes = 2ULL * 8192 * 2 * 8 * 128;
  CHECK(times(t, PassKind::forward, Group::cp, Collective::ring_exchange, bytes, true) == 3);
  CHECK(times(t, PassKind::input_grad, Group::cp, Collective::ring_exchange, bytes, true) == 6);
  const SettingFixture fixture(library_model("llama-3-8b"), "{}", {.cp = 4});
  const config::Gpu gpu = config::find_gpu("a100-80gb");
  const auto attention = attention_seconds(
      fixture.setting,
      layer_on_gpu(fixture.model, workload::LayerKind::dense, fixture.setting.sizes).attention,
      gpu);
  CHECK(t.inside[0][0].overlappable_compute == Approx(3 * attention.forward));
}

TEST_CASE("keys and values are gathered, or exchanged for heads", "[model]") {
  const std::uint64_t keys = 2ULL * 8192 * 2 * 8 * 128;  // keys and values of the whole sequence
  const auto g = traffic("llama-3-8b", "{}", {.cp = 4, .cp_comm = config::ContextComm::all_gather},
                         three_layers);
  CHECK(times(g, PassKind::forward, Group::cp, Collective::all_gather, keys) == 3);
  CHECK(times(g, PassKind::input_grad, Group::cp, Collective::all_gather, keys) == 3);
  CHECK(times(g, PassKind::input_grad, Group::cp, Collective::reduce_scatter, keys) == 3);
  // A rank has 2,048 queries in 32 heads of 128 elements and sends three quarters of its heads
  // away.
  const std::uint64_t queries = 2ULL * 2048 * 32 * 128;
  const auto a =
      traffic("llama-3-8b", "{}", {.cp = 4, .cp_comm = config::ContextComm::a2a}, three_layers);
  for (const PassKind kind : {PassKind::forward, PassKind::input_grad}) {
    CHECK(times(a, kind, Group::cp, Collective::all_to_all, queries + keys / 4) == 3);
    CHECK(times(a, kind, Group::cp, Collective::all_to_all, queries) == 3);
  }
}

TEST_CASE("heads are exchanged inside groups, and keys go around between groups", "[model]") {
  // There are two groups of two ranks. Each rank has a quarter of the queries, 2,048 in 32 heads of
  // 128 elements, and of the keys and values in 8 heads. After the exchange it has half of the
  // tokens for half of the heads, equally many bytes, which go around the two groups.
  const std::uint64_t queries = 2ULL * 2048 * 32 * 128;
  const std::uint64_t keys = 2ULL * 2048 * 2 * 8 * 128;
  const auto t =
      traffic("llama-3-8b", "{}", {.cp = 4, .cp_comm = config::ContextComm::a2a_p2p, .cp_a2a = 2},
              three_layers);
  for (const PassKind kind : {PassKind::forward, PassKind::input_grad}) {
    CHECK(times(t, kind, Group::cp_a2a, Collective::all_to_all, queries + keys) == 3);
    CHECK(times(t, kind, Group::cp_a2a, Collective::all_to_all, queries) == 3);
  }
  CHECK(times(t, PassKind::forward, Group::cp_p2p, Collective::ring_exchange, 2 * keys, true) == 3);
  CHECK(times(t, PassKind::input_grad, Group::cp_p2p, Collective::ring_exchange, 2 * keys, true) ==
        6);
  CHECK(kinds_of_calls(t, PassKind::forward) == 3);
}

TEST_CASE("experts dispatch and combine in the forward and the backward pass", "[model]") {
  const auto t = traffic("mixtral-8x7b", "{sequence: 8192}", {.ep = 4, .dp = 4}, three_layers);
  CHECK(times(t, PassKind::forward, Group::ep, Collective::all_to_all, 2 * llama_bytes) == 6);
  CHECK(times(t, PassKind::input_grad, Group::ep, Collective::all_to_all, 2 * llama_bytes) == 6);
  CHECK(kinds_of_calls(t, PassKind::weight_grad) == 0);
  // With sequence parallelism, a rank of tp has a part of the tokens, which are gathered for the
  // experts.
  const auto s = traffic("mixtral-8x7b", "{sequence: 8192}",
                         {.tp = 4, .sequence = true, .ep = 4, .dp = 4}, three_layers);
  CHECK(times(s, PassKind::forward, Group::ep, Collective::all_to_all, 2 * llama_bytes / 4) == 6);
  CHECK(times(s, PassKind::forward, Group::etp, Collective::all_gather, 2 * llama_bytes) == 3);
  CHECK(times(s, PassKind::forward, Group::etp, Collective::reduce_scatter, 2 * llama_bytes) == 3);
  CHECK(times(s, PassKind::forward, Group::tp, Collective::all_gather, llama_bytes) == 3);
}

TEST_CASE("experts that ranks of tp do not share need no gather", "[model]") {
  const auto t = traffic("mixtral-8x7b", "{sequence: 8192}",
                         {.tp = 4, .sequence = true, .ep = 8, .etp = 1, .dp = 4}, three_layers);
  CHECK(times(t, PassKind::forward, Group::ep, Collective::all_to_all, 2 * llama_bytes / 4) == 6);
  for (const auto& calls : t.inside)
    for (const auto& call : calls) CHECK(call.group != Group::etp);
  const auto s = traffic("mixtral-8x7b", "{sequence: 8192}",
                         {.tp = 4, .sequence = true, .ep = 4, .etp = 2, .dp = 4}, three_layers);
  CHECK(times(s, PassKind::input_grad, Group::etp, Collective::all_gather, 2 * llama_bytes / 2) ==
        3);
}

TEST_CASE("the dispatcher determines how tokens are sent", "[model]") {
  const auto with_experts = [](const std::string& experts) {
    return traffic("mixtral-8x7b", "{sequence: 8192, experts: " + experts + "}", {.ep = 4, .dp = 4},
                   three_layers);
  };
  const auto gathered = with_experts("{dispatcher: allgather}");
  CHECK(times(gathered, PassKind::forward, Group::ep, Collective::all_gather, 4 * llama_bytes) ==
        3);
  CHECK(times(gathered, PassKind::input_grad, Group::ep, Collective::reduce_scatter,
              4 * llama_bytes) == 3);
  // Each token is sent once, in fp8 with a scale per 128 elements on the way to the experts.
  const auto once = with_experts("{dispatcher: deepep, dispatch_precision: fp8}");
  const workload::Dispatch dispatch = workload::dispatch_of(
      {.count = 8, .top_k = 2, .top_groups = 1}, {.dispatcher = config::Dispatcher::deepep});
  REQUIRE(once[PassKind::forward].size() == 2);
  CHECK(once[PassKind::forward][0] == workload::Call{.group = Group::ep,
                                                     .collective = {Collective::dispatch, dispatch},
                                                     .bytes = llama_bytes / 2 * 132 / 128,
                                                     .times = 3});
  CHECK(once[PassKind::forward][1].bytes == llama_bytes);
  CHECK(once[PassKind::input_grad][0].bytes == llama_bytes);
  // The busiest rank gets 1.5 times as many tokens.
  const auto uneven = with_experts("{imbalance: 1.5}");
  CHECK(times(uneven, PassKind::forward, Group::ep, Collective::all_to_all, 3 * llama_bytes) == 6);
}

TEST_CASE("dispatch overlaps with the shared experts of its layer, or with nothing", "[model]") {
  const Layout layout{.ep = 8, .dp = 8};
  const StageParts three_expert_layers{.layers = {10, 3}};
  for (const char* const no_overlap : {"{}", "{experts: {overlap: true}}"})
    for (const auto& calls : traffic("deepseek-v3", no_overlap, layout, three_expert_layers).inside)
      for (const Call& call : calls) CHECK(call.overlappable_compute == 0);

  const auto t =
      traffic("deepseek-v3", "{experts: {shared_overlap: true}}", layout, three_expert_layers);
  const SettingFixture fixture(library_model("deepseek-v3"), "{}", layout);
  const auto seconds = [&](bool (*includes)(workload::Part)) {
    return workload::layer_seconds(fixture.setting, workload::LayerKind::experts,
                                   config::find_gpu("a100-80gb"), includes);
  };
  const auto first = seconds([](workload::Part part) {
    return part == workload::Part::shared_in || part == workload::Part::shared_activation;
  });
  const auto second =
      seconds([](workload::Part part) { return part == workload::Part::shared_out; });
  CHECK(first.forward > 0);
  REQUIRE(t[PassKind::forward].size() == 2);
  CHECK(t[PassKind::forward][0].overlappable_compute == Approx(3 * first.forward));
  CHECK(t[PassKind::forward][1].overlappable_compute == Approx(3 * second.forward));
  REQUIRE(t[PassKind::backward].size() == 2);
  CHECK(t[PassKind::backward][0].overlappable_compute ==
        Approx(3 * (first.input_grad + first.weight_grad)));
  CHECK(t[PassKind::input_grad][1].overlappable_compute == Approx(3 * second.input_grad));
}

TEST_CASE("dense layers of a mixture of experts dispatch no tokens", "[model]") {
  const Layout layout{.ep = 8, .dp = 8};
  const auto dense = traffic("deepseek-v3", "{}", layout, {.layers = {0, 3}});
  for (const auto& calls : dense.inside) CHECK(calls.empty());
  const auto mixed = traffic("deepseek-v3", "{}", layout, {.layers = {0, 5}});
  CHECK(times(mixed, PassKind::forward, Group::ep, Collective::all_to_all,
              2ULL * 4096 * 8 * 7168) == 4);
}

TEST_CASE("a boundary tensor that arrives in parts is gathered", "[model]") {
  const StageParts middle{.layers = {3, 1}, .receives = true, .sends = true};
  const auto t = traffic("megatron-22b", "{}", {.tp = 8}, middle, parts_of_tp);
  CHECK(times(t, PassKind::forward, Group::tp, Collective::all_gather, gpt_bytes) == 1);
  CHECK(times(t, PassKind::input_grad, Group::tp, Collective::all_gather, gpt_bytes) == 1);
  // With sequence parallelism, the tensor stays divided among the ranks of tp after it arrives.
  const auto s = traffic("megatron-22b", "{}", {.tp = 8, .sequence = true}, middle, parts_of_tp);
  CHECK(times(s, PassKind::forward, Group::tp, Collective::all_gather, gpt_bytes) == 2);
}

TEST_CASE("activations of 32 bits are twice as large on the network", "[model]") {
  const Layout tp{.tp = 4};
  const auto half = traffic("megatron-7.5b", "{}", tp, three_layers);
  const auto wide = traffic("megatron-7.5b", "{precision: tf32}", tp, three_layers);
  const auto& narrow_calls = half[PassKind::forward];
  const auto& wide_calls = wide[PassKind::forward];
  REQUIRE_FALSE(narrow_calls.empty());
  REQUIRE(wide_calls.size() == narrow_calls.size());
  for (std::size_t i = 0; i < wide_calls.size(); ++i)
    CHECK(wide_calls[i].bytes == 2 * narrow_calls[i].bytes);
}
