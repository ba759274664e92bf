#include "sim/config/parallel.hpp"

#include <catch2/catch.hpp>

#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

Parallel parallel(std::string_view text) {
  const Value value = read_yaml_text(text, "t");
  return read_parallel({value, "parallel"});
}

TEST_CASE("an empty layout has one GPU per device") {
  const Parallel p = parallel("{}");
  CHECK(p.ranks_per_stage() == 1);
  CHECK(p.dp.value == 1);
  CHECK(p.ep.value == 1);
  CHECK_FALSE(p.sequence);
  CHECK(p.zero == 0);
  CHECK(p.order == std::array{Axis::tp, Axis::cp, Axis::ep, Axis::dp, Axis::pp});
}

TEST_CASE("parallel sizes have short and long names") {
  const Parallel p = parallel("{tp: 8, cp: 2, ep: 4, dp: 16, sp: true, zero: 1}");
  const Parallel q =
      parallel("{tensor: 8, context: 2, expert: 4, data: 16, sequence: true, zero: 1}");
  for (const Parallel& layout : {p, q}) {
    CHECK(layout.tp.value == 8);
    CHECK(layout.ranks_per_stage() == 16);
    CHECK(layout.ep.value == 4);
    CHECK(layout.dp.value == 16);
    CHECK(layout.sequence);
    CHECK(layout.zero == 1);
  }
  CHECK(to_string(p.ep.origin) == "t:1:20");
}

TEST_CASE("tp_by_device sets the number of devices") {
  const auto read = [](const std::string& keys) {
    return read_scenario(read_yaml_text(
        "{model: llama-3-8b, gpu: h100-sxm, microbatches: 4, parallel: {" + keys + "}}", "t"));
  };
  const Scenario scenario = read("tp_by_device: [8, 4, 4], sp: true, dp: 2");
  CHECK(scenario.devices.value == 3);
  CHECK(scenario.parallel.tp.value == 8);
  CHECK(scenario.parallel.tp_of(2) == 4);
  CHECK(scenario.parallel.gpus() == 32);
  CHECK(scenario.parallel.tp_text() == "8/4/4");
  CHECK(scenario.parallel.on(1).tp.value == 4);
  CHECK(scenario.parallel.on(1).tp_by_device.empty());
  // The scenario text that a trace stores describes the same layout.
  CHECK(read_scenario(read_yaml_text(scenario.text, "u")).parallel.gpus() == 32);
  // If tp_by_device has equal sizes, it is read as a common tp.
  CHECK(read("tp_by_device: [4, 4]").parallel.tp_by_device.empty());
  CHECK(read("tp_by_device: [4, 4]").parallel.tp.value == 4);
  CHECK(read("tp_by_device: [4, 4]").devices.value == 2);
  CHECK(read("tp_by_device: [2, 2, 2, 2, 2, 2, 2, 1, 1, 1]").parallel.tp_text() == "2*7/1*3");

  const auto fault = [&](const std::string& keys) { return error_of([&] { read(keys); }); };
  using Catch::Matchers::Contains;
  CHECK_THAT(fault("tp: 8, tp_by_device: [8, 4]"),
             Contains("t:1:") && Contains("parallel.tp_by_device is given, and so is parallel.tp "
                                          "(8); leave out one of them"));
  CHECK_THAT(fault("pp: 4, tp_by_device: [8, 4]"),
             Contains("parallel.tp_by_device has 2 sizes for 4 devices of the pipeline; allowed: "
                      "one size per device; or leave out pp"));
  CHECK_THAT(fault("tp_by_device: 8"), Contains("such as [8, 8, 4, 4]"));
  CHECK_THAT(fault("tp_by_device: []"), Contains("such as [8, 8, 4, 4]"));
  CHECK_THAT(fault("tp_by_device: [8, 0]"), Contains("tp_by_device"));
  CHECK_THAT(fault("tp_by_device: [8, 4], vocab_parallel: vocab-1"), Contains("vocab_parallel"));
  CHECK_THAT(fault("tp_by_device: [8, 4], dp: 2, order: tp-cp-ep-pp-dp"),
             Contains("pp is not last in parallel.order; allowed: tp-cp-ep-dp-pp"));
}

TEST_CASE("an order may leave out axes of size 1") {
  const Parallel p = parallel("{order: tp-pp-dp, tp: 2, dp: 4}");
  CHECK(p.order == std::array{Axis::tp, Axis::pp, Axis::dp, Axis::cp, Axis::ep});
  CHECK(parallel("order: dp-ep-tp-cp-pp").order ==
        std::array{Axis::dp, Axis::ep, Axis::tp, Axis::cp, Axis::pp});
}

TEST_CASE("the third of dp, shard and replicate follows from two of them") {
  for (const char* text :
       {"{shard: 4, replicate: 2}", "{dp: 8, shard: 4}", "{dp_replicate: 2, data: 8}"}) {
    CAPTURE(text);
    const Parallel p = parallel(text);
    CHECK(p.dp.value == 8);
    CHECK(p.shard->value == 4);
    CHECK(p.replicates() == 2);
    CHECK(p.zero == 3);
  }
  CHECK(parallel("dp_shard: 8").dp.value == 8);
  CHECK(parallel("{shard: 8, zero: 1}").zero == 1);
  // `replicate` without `shard` is plain data parallelism, unless cp > 1: ranks of cp share the
  // weights as shards.
  CHECK(parallel("replicate: 8").zero == 0);
  CHECK(parallel("{replicate: 8, cp: 2}").zero == 3);
}

TEST_CASE("weights are gathered again for backward passes, except in pipelines of PyTorch") {
  const auto reshards = [](const char* text, std::uint32_t pp) {
    Parallel p = parallel(text);
    p.pp.value = pp;
    return std::pair(p.reshards(), p.keeps_weights());
  };
  CHECK(reshards("shard: 8", 1) == std::pair(true, false));
  CHECK(reshards("shard: 8", 4) == std::pair(false, true));
  CHECK(reshards("{shard: 8, reshard_after_forward: true}", 4) == std::pair(true, false));
  CHECK(reshards("{shard: 8, reshard_after_forward: false}", 1) == std::pair(false, false));
  CHECK(reshards("{dp: 8, zero: 3}", 4) == std::pair(true, false));
}

TEST_CASE("hierarchical context parallelism has two sizes") {
  const Parallel p =
      parallel("{cp: 16, cp_comm_type: a2a+p2p, hierarchical_context_parallel_sizes: [8, 2]}");
  CHECK(p.cp_comm == ContextComm::a2a_p2p);
  CHECK(p.cp_a2a() == 8);
  CHECK(parallel("{cp: 4, cp_comm_type: a2a}").cp_a2a() == 4);
  CHECK(parallel("{cp: 4}").cp_a2a() == 1);
  CHECK(parallel("{cp_comm_type: a2a+p2p}").cp_a2a() == 1);
  CHECK(error_of([] { parallel("{cp: 16, cp_comm_type: a2a+p2p}"); }) ==
        "t:1:24: parallel.cp_comm_type a2a+p2p needs parallel.hierarchical_context_parallel_sizes; "
        "give two sizes whose product is cp, such as [8, 2]");
  CHECK_THAT(error_of([] { parallel("{cp: 16, hierarchical_context_parallel_sizes: [8, 2]}"); }),
             Catch::EndsWith("needs cp_comm_type a2a+p2p, which is p2p; leave it out"));
  CHECK_THAT(error_of([] {
               parallel("{cp_comm_type: a2a+p2p, hierarchical_context_parallel_sizes: [2, 2, 2]}");
             }),
             Catch::Contains("allowed: two sizes whose product is cp, such as [8, 2]"));
}

TEST_CASE("generalized tensor parallelism shards weights over ranks of dp") {
  const Parallel four = parallel("{tp: 2, dp: 16, gtp: 4, outer_sharding: optimizer}");
  CHECK(four.zero == 3);
  CHECK(four.shard->value == 4);
  CHECK(four.replicates() == 4);
  CHECK(four.reshards());
  CHECK(four.expert_gtp->value == 1);
  CHECK(four.shards_optimizer_over_copies());
  CHECK(four.gpus() == 32);
  CHECK(parallel("gtp: 4").dp.value == 4);
  // A degree of one is plain data parallelism, whose copies divide the optimizer state by ZeRO-1.
  const Parallel one = parallel("{dp: 16, gtp: 1}");
  CHECK(one.zero == 0);
  CHECK_FALSE(one.gtp);
  CHECK(parallel("{dp: 16, gtp: 1, outer_sharding: optimizer}").zero == 1);
  // Eight experts' copies have two shards each, which leaves copies of four.
  CHECK(parallel("{dp: 16, ep: 2, gtp: 4, expert_gtp: 2}").expert_replicates() == 4);
}

TEST_CASE("every fault of a layout has a message") {
  constexpr auto advice =
      "allowed: tp, cp, ep, dp and pp, each once, innermost axis first, such as tp-cp-ep-dp-pp";
  const auto [text, message] = GENERATE_COPY(table<std::string, std::string>({
      {"tp: 0", "t:1:5: parallel.tp is 0; allowed: a whole number from 1 to 2147483648, such as 8"},
      {"{tp: 2, tensor: 2}",
       "t:1:9: tensor is another name of tp, which is given at t:1:2; leave out one of them"},
      {"{dp: 8, shard: 3}",
       "t:1:16: parallel.shard x parallel.replicate is 3 x 1, and parallel.dp is 8; allowed: dp "
       "3, or leave it out"},
      {"{dp: 8, replicate: 3}",
       "t:1:20: parallel.replicate is 3, which does not divide parallel.dp (8); allowed: a divisor "
       "of dp"},
      {"{shard: 8, zero: 0}",
       "t:1:9: parallel.shard is 8, and parallel.zero 0 shards nothing; allowed: zero 1 to 3, or "
       "leave it out for 3"},
      {"{dp: 8, zero: 1, reshard_after_forward: false}",
       "t:1:41: parallel.reshard_after_forward needs sharded weights, and parallel.zero is 1; "
       "allowed: zero 3, or leave it out"},
      {"{shard: 8, max_unsharded_stages: 0}",
       "t:1:34: parallel.max_unsharded_stages is 0; allowed: a whole number from 1 to 2147483648, "
       "such as 3"},
      {"{dp: 8, zero: 1, max_unsharded_stages: 3}",
       "t:1:40: parallel.max_unsharded_stages is for weights that stay gathered from pass to pass, "
       "and parallel.zero is 1; allowed: zero 3, or leave it out"},
      {"{shard: 8, reshard_after_forward: true, max_unsharded_stages: 3}",
       "t:1:63: parallel.max_unsharded_stages is for weights that stay gathered from pass to pass, "
       "and parallel.reshard_after_forward is true; allowed: reshard_after_forward false, or leave "
       "it out"},
      {"dpp: 4",
       "t:1:1: unknown key 'dpp' in parallel; did you mean 'dp'? allowed: tp (or tensor), "
       "tp_by_device, cp (or context), cp_comm_type, "
       "hierarchical_context_parallel_sizes, cp_load_balance, ep (or expert), etp, dp (or data), "
       "pp (or pipeline), vocab_parallel, sp (or "
       "sequence), zero, shard (or dp_shard), replicate (or dp_replicate), reshard_after_forward, "
       "max_unsharded_stages, unshard_lookahead, outer_sharding, gtp, expert_gtp, gather_ahead, "
       "order"},
      {"{dp: 8, zero: 1, unshard_lookahead: by_rank}",
       "t:1:37: parallel.unshard_lookahead is for weights that stay gathered from pass to pass, "
       "and parallel.zero is 1; allowed: zero 3, or leave it out"},
      {"{shard: 8, unshard_lookahead: far}",
       "t:1:31: parallel.unshard_lookahead is the text 'far'; allowed: one of full, by_rank"},
      {"{dp: 8, zero: 1, outer_sharding: optimizer}",
       "t:1:34: parallel.outer_sharding is for sharded weights, and parallel.zero is 1; allowed: "
       "zero 3, or leave it out"},
      {"{dp: 8, zero: 2, gather_ahead: 1000}",
       "t:1:32: parallel.gather_ahead is for sharded weights, and parallel.zero is 2; allowed: "
       "zero 3, or leave it out"},
      {"{dp: 8, gtp: 3}",
       "t:1:14: parallel.gtp is 3, which does not divide parallel.dp (8); allowed: a divisor of "
       "dp"},
      {"{dp: 8, gtp: 4, shard: 2}",
       "t:1:24: parallel.shard is for FSDP, and parallel.gtp is 4; allowed: only one of the two "
       "keys"},
      {"{dp: 8, gtp: 4, gather_ahead: 1000}",
       "t:1:31: parallel.gather_ahead is for FSDP, and parallel.gtp is 4; allowed: only one of the "
       "two keys"},
      {"{dp: 8, gtp: 4, unshard_lookahead: by_rank}",
       "t:1:36: parallel.unshard_lookahead is for FSDP, and parallel.gtp is 4; allowed: only one "
       "of the two keys"},
      {"{dp: 8, gtp: 4, zero: 1}",
       "t:1:23: parallel.zero is 1, and parallel.gtp shards weights; allowed: zero 3, or leave it "
       "out; outer_sharding optimizer for the distributed optimizer"},
      {"{dp: 8, gtp: 4, cp: 2}",
       "t:1:21: parallel.cp is 2, and parallel.gtp is not modelled with context parallelism; "
       "allowed: cp 1"},
      {"{dp: 8, gtp: 4, order: tp-pp-dp}",
       "t:1:24: parallel.order has pp before dp, and the ranks of gtp follow those of tp; allowed: "
       "dp before pp"},
      {"zero: 4", "t:1:7: parallel.zero is 4; allowed: one of 0, 1, 2, 3"},
      {"sp: yes", "t:1:5: parallel.sp is the text 'yes'; allowed: one of false, true"},
      {"order: tp-dp-xp-pp",
       std::string("t:1:8: parallel.order is the text 'tp-dp-xp-pp': 'xp' is no axis; ") + advice},
      {"order: tp-dp-tp-pp",
       std::string("t:1:8: parallel.order is the text 'tp-dp-tp-pp': tp is there twice; ") +
           advice},
      {"order: tp-dp",
       std::string("t:1:8: parallel.order is the text 'tp-dp': pp is left out; ") + advice},
      {"{cp: 2, order: tp-dp-pp}",
       std::string("t:1:16: parallel.order is the text 'tp-dp-pp': cp is 2 and left out; ") +
           advice},
  }));
  CAPTURE(text);
  CHECK(error_of([t = text] { parallel(t); }) == message);
}

}  // namespace
}  // namespace pipewright::config::test
