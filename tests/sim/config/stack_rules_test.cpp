#include "sim/config/stack_rules.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace pipewright::config::test {
namespace {

struct Case {
  std::string_view rule;
  std::vector<JobSizes> refused;
  std::vector<JobSizes> accepted;
};

// Sizes of a job without parallelism that every rule accepts.
constexpr JobSizes plain{.layers = 32, .microbatches = 8};

JobSizes job(std::uint32_t pp, std::uint32_t stages_per_device, std::uint32_t microbatches = 8,
             bool is_looped = true) {
  JobSizes sizes = plain;
  sizes.pp = pp;
  sizes.stages = pp * stages_per_device;
  sizes.stages_per_device = stages_per_device;
  sizes.microbatches = microbatches;
  sizes.is_looped = is_looped;
  return sizes;
}

JobSizes with(std::uint32_t JobSizes::*size, std::uint32_t value, std::uint32_t pp = 1) {
  JobSizes sizes = plain;
  sizes.pp = pp;
  sizes.*size = value;
  return sizes;
}

JobSizes expert_ranks(std::uint32_t ep, std::uint32_t tp, std::uint32_t etp, std::uint32_t cp,
                      std::uint32_t shards) {
  JobSizes sizes = plain;
  sizes.ep = ep;
  sizes.tp = tp;
  sizes.etp = etp;
  sizes.cp = cp;
  sizes.shards = shards;
  return sizes;
}

JobSizes scheduled(std::string_view schedule, JobSizes sizes) {
  sizes.schedule = schedule;
  return sizes;
}

JobSizes with_chunks(JobSizes sizes) {
  sizes.takes_chunks = true;
  return sizes;
}

JobSizes with(bool JobSizes::*flag, std::uint32_t pp = 1, std::uint32_t stages_per_device = 1) {
  JobSizes sizes = job(pp, stages_per_device);
  sizes.*flag = true;
  return sizes;
}

JobSizes with_experts(std::uint32_t tp, bool shards_sequence) {
  JobSizes sizes = with(&JobSizes::tp, tp);
  sizes.has_experts = true;
  sizes.shards_sequence = shards_sequence;
  return sizes;
}

// Interleaved stages on 4 devices, with groups of this size.
JobSizes with_group(std::uint32_t microbatches, std::uint32_t group) {
  JobSizes sizes = job(4, 2, microbatches);
  sizes.group_size = group;
  return sizes;
}

JobSizes graphed(CudaGraphs graphs, JobSizes sizes = plain) {
  sizes.graphs = graphs;
  return sizes;
}

CudaGraphs graph_of(GraphModule module) {
  CudaGraphs graphs{.scope = CudaGraphs::Scope::modules};
  graphs.modules.set(static_cast<std::size_t>(module));
  return graphs;
}

constexpr CudaGraphs layer_graphs{.scope = CudaGraphs::Scope::layer};
constexpr CudaGraphs whole_graph{.scope = CudaGraphs::Scope::iteration};

JobSizes recomputing(Recompute::Granularity granularity, JobSizes sizes = plain) {
  sizes.recompute.granularity = granularity;
  return sizes;
}

JobSizes recomputing(RecomputeModule module, JobSizes sizes = plain) {
  sizes.recompute.granularity = Recompute::Granularity::selective;
  sizes.recompute.modules = {};
  sizes.recompute.modules.set(static_cast<std::size_t>(module));
  return sizes;
}

const std::vector<Case>& cases() {
  using enum Recompute::Granularity;
  const JobSizes with_zero_3 = with(&JobSizes::zero, 3);
  JobSizes experts_with_zero_3 = with_zero_3;
  experts_with_zero_3.has_experts = true;
  JobSizes padded = graphed(graph_of(GraphModule::moe));
  padded.pads_experts = true;
  const JobSizes overlapping = with(&JobSizes::overlaps_experts);
  JobSizes plain_overlap = with(&JobSizes::overlaps_experts, 2);
  plain_overlap.schedule = "1f1b";
  JobSizes both_early = with(&JobSizes::gathers_early);
  both_early.reduces_early = true;
  static const std::vector<Case> all{
      {"interleaving_needs_pp", {job(1, 2)}, {job(1, 1), job(2, 2), job(1, 2, 8, false)}},
      {"interleaving_needs_three_devices",
       {job(1, 2), job(2, 2)},
       {job(2, 1), job(3, 2), job(2, 2, 8, false)}},
      {"interleaving_needs_pp_microbatches",
       {job(4, 2, 3)},
       {job(4, 2, 4), job(4, 2, 5), job(4, 1, 3), job(4, 2, 3, false)}},
      {"interleaving_needs_full_last_group",
       {job(4, 2, 6), with_group(11, 5)},
       {job(4, 2, 8), job(4, 1, 6), with_group(12, 6), with_group(10, 6)}},
      {"interleaving_needs_full_rounds",
       {job(4, 2, 3), job(4, 2, 6)},
       {job(4, 2, 8), job(4, 1, 6), job(4, 2, 6, false)}},
      {"no_interleaving", {job(4, 2), job(4, 2, 8, false)}, {job(4, 1)}},
      {"equal_stages", {job(5, 1), job(4, 3)}, {job(4, 1), job(4, 8)}},
      {"no_tp", {with(&JobSizes::tp, 2)}, {with(&JobSizes::tp, 1)}},
      {"no_cp", {with(&JobSizes::cp, 2)}, {with(&JobSizes::cp, 1)}},
      {"no_pp", {job(2, 1)}, {job(1, 1)}},
      {"no_gtp", {with(&JobSizes::gtp, 2)}, {plain}},
      {"no_outer_sharding", {with(&JobSizes::shards_copies)}, {plain}},
      {"no_fp8_attention", {with(&JobSizes::scales_attention)}, {plain}},
      {"no_zero_1",
       {with(&JobSizes::zero, 1)},
       {with(&JobSizes::zero, 0), with(&JobSizes::zero, 2), with(&JobSizes::zero, 3)}},
      {"no_zero_2",
       {with(&JobSizes::zero, 2), with(&JobSizes::zero, 3)},
       {with(&JobSizes::zero, 0), with(&JobSizes::zero, 1)}},
      {"no_zero_2_with_pp",
       {with(&JobSizes::zero, 2, 2), with(&JobSizes::zero, 3, 2)},
       {with(&JobSizes::zero, 1, 2), with(&JobSizes::zero, 3)}},
      {"no_zero_3_with_pp",
       {with(&JobSizes::zero, 3, 2)},
       {with(&JobSizes::zero, 2, 2), with(&JobSizes::zero, 3)}},
      {"no_zero_3_with_experts",
       {experts_with_zero_3},
       {with_zero_3, with(&JobSizes::has_experts)}},
      {"interleaving_needs_two_chunks",
       {with_chunks(job(4, 1))},
       {with_chunks(job(4, 2)), job(4, 1)}},
      {"interleaving_needs_equal_rounds",
       {scheduled("interleaved-1f1b", job(4, 2, 9)), scheduled("interleaved-zb", job(2, 2, 9))},
       {scheduled("interleaved-1f1b", job(4, 2, 10)), scheduled("interleaved-1f1b", job(4, 2, 3)),
        scheduled("looped-bfs", job(4, 2, 9))}},
      {"1f1b_needs_pp_microbatches",
       {scheduled("1f1b", job(4, 1, 3))},
       {scheduled("1f1b", job(4, 1, 4)), scheduled("gpipe", job(4, 1, 3))}},
      {"1f1b_needs_warm_up",
       {scheduled("1f1b", job(4, 1, 2))},
       {scheduled("1f1b", job(4, 1, 3)), scheduled("gpipe", job(4, 1, 2))}},
      {"pipeline_needs_full_rounds", {job(4, 1, 6)}, {job(4, 1, 8), job(1, 1, 7)}},
      {"no_tied_embeddings_with_pp",
       {with(&JobSizes::ties_embeddings, 2)},
       {with(&JobSizes::ties_embeddings, 1), job(2, 1)}},
      {"ep_takes_shards",
       {expert_ranks(4, 1, 1, 1, 2), expert_ranks(2, 1, 1, 4, 4), expert_ranks(2, 4, 1, 1, 8),
        expert_ranks(4, 2, 2, 1, 2)},
       {expert_ranks(4, 1, 1, 1, 4), expert_ranks(4, 1, 1, 2, 4), expert_ranks(8, 4, 1, 1, 2),
        expert_ranks(4, 2, 2, 1, 4), expert_ranks(1, 4, 1, 2, 1)}},
      {"no_graphs",
       {graphed(layer_graphs), graphed(whole_graph), graphed(graph_of(GraphModule::attn))},
       {job(2, 1)}},
      {"no_graphs_with_pp",
       {graphed(layer_graphs, job(2, 1)), graphed(whole_graph, job(2, 1))},
       {graphed(layer_graphs), job(2, 1)}},
      {"no_layer_graphs_with_full_recompute",
       {graphed(layer_graphs, recomputing(full)),
        graphed(graph_of(GraphModule::attn), recomputing(full))},
       {graphed(whole_graph, recomputing(full)), graphed(layer_graphs, recomputing(selective)),
        recomputing(full)}},
      {"no_layer_graphs_with_offload",
       {graphed(layer_graphs, with(&JobSizes::offloads))},
       {graphed(whole_graph, with(&JobSizes::offloads)), graphed(layer_graphs)}},
      {"no_moe_graph_without_padding",
       {graphed(graph_of(GraphModule::moe))},
       {padded, graphed(graph_of(GraphModule::moe_router)), graphed(layer_graphs)}},
      {"no_router_graph_with_moe_recompute",
       {graphed(graph_of(GraphModule::moe_router), recomputing(RecomputeModule::moe))},
       {graphed(graph_of(GraphModule::attn), recomputing(RecomputeModule::moe)),
        graphed(graph_of(GraphModule::moe_router), recomputing(RecomputeModule::moe_act))}},
      {"no_expert_overlap_with_moe_recompute",
       {recomputing(full, overlapping), recomputing(RecomputeModule::moe, overlapping)},
       {recomputing(RecomputeModule::moe_act, overlapping), recomputing(full)}},
      {"no_expert_overlap_with_mlp_graphs",
       {graphed(graph_of(GraphModule::mlp), overlapping),
        graphed(graph_of(GraphModule::moe), overlapping)},
       {graphed(graph_of(GraphModule::attn), overlapping), graphed(graph_of(GraphModule::mlp))}},
      {"expert_overlap_needs_interleaving",
       {plain_overlap},
       {with(&JobSizes::overlaps_experts, 2, 2), with(&JobSizes::overlaps_experts, 2), overlapping,
        job(2, 1)}},
      {"experts_with_tp_need_sp",
       {with_experts(2, false)},
       {with_experts(2, true), with_experts(1, false), with(&JobSizes::tp, 2)}},
      {"no_blocking_interleaving_with_pp_2",
       {with(&JobSizes::blocks_transfers, 2, 2)},
       {with(&JobSizes::blocks_transfers, 3, 2), with(&JobSizes::blocks_transfers, 2), job(2, 2)}},
      {"gather_overlap_needs_reduce_overlap",
       {with(&JobSizes::gathers_early)},
       {both_early, with(&JobSizes::reduces_early)}},
      {"small_states_need_zero", {with(&JobSizes::copies_small_states)}, {plain}},
  };
  return all;
}

TEST_CASE("each rule of a stack refuses and accepts jobs", "[stack]") {
  REQUIRE(cases().size() == stack_rules.size());
  for (std::size_t i = 0; i < stack_rules.size(); ++i) {
    const StackRule& rule = stack_rules[i];
    CAPTURE(rule.name);
    REQUIRE(cases()[i].rule == rule.name);
    for (const JobSizes& refused : cases()[i].refused) CHECK_FALSE(rule.violation(refused).empty());
    for (const JobSizes& accepted : cases()[i].accepted) CHECK(rule.violation(accepted).empty());
    CHECK(rule.violation(plain).empty());
  }
}

TEST_CASE("a rule names the sizes that break it", "[stack]") {
  const auto violation = [](std::string_view name, const JobSizes& sizes) {
    return std::ranges::find(stack_rules, name, &StackRule::name)->violation(sizes);
  };
  CHECK(violation("interleaving_needs_pp", job(1, 2)) == "pp is 1");
  CHECK(violation("interleaving_needs_pp_microbatches", job(4, 2, 3)) ==
        "pp is 4 with 3 microbatches");
  CHECK(violation("equal_stages", job(4, 3)) == "there are 32 layers for 12 stages");
  CHECK(violation("no_zero_2_with_pp", with(&JobSizes::zero, 3, 2)) ==
        "pp is 2 with parallel.zero 3");
  CHECK(violation("no_graphs", graphed(graph_of(GraphModule::moe_router))) ==
        "training.cuda_graphs is moe_router");
  CHECK(violation("no_graphs_with_pp", graphed(layer_graphs, job(2, 1))) ==
        "pp is 2 with training.cuda_graphs layer");
}

}  // namespace
}  // namespace pipewright::config::test
