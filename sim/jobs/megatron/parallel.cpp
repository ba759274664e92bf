#include <algorithm>

#include <fmt/format.h>

#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/megatron/rules.hpp"

namespace pipewright::jobs::megatron {
namespace {

// ZeRO stage, as text, that corresponds to a sharding strategy of Megatron-FSDP.
std::string zero_of(const Setting* strategy) {
  if (strategy == nullptr || strategy->values.empty()) return "3";
  const std::string& name = strategy->values.front();
  if (name == "no_shard" || name == "0") return "0";
  if (name == "optim" || name == "1") return "1";
  if (name == "optim_grads" || name == "2") return "2";
  if (name == "optim_grads_params" || name == "3") return "3";
  throw refusal(*strategy,
                "invalid choice (choose from no_shard, optim, optim_grads, "
                "optim_grads_params)");
}

// Setting that divides the state of an optimizer like Muon among the ranks of data parallelism,
// matrix by matrix (layer_wise_optimizer.py); null if none does.
const Setting* layer_wise_optimizer(Draft& draft) {
  if (draft.on("use_layer_wise_distributed_optimizer"))
    return draft.find("use_layer_wise_distributed_optimizer");
  return draft.text("optimizer").starts_with("dist_") ? draft.find("optimizer") : nullptr;
}

// Reads how Megatron-FSDP gathers weights ahead (megatron_fsdp.py and all_gather_params of
// param_and_grad_buffer.py): half of its communication unit or, with two buffers, one layer.
// Version 2 gathers one module ahead (experimental/module.py, pre_forward).
void read_gather_ahead(Draft& draft) {
  const Setting* const version = draft.find("megatron_fsdp_version");
  const Setting* const unit = draft.find("suggested_communication_unit_size");
  const bool is_second = version != nullptr && whole_number(*version) == 2;
  const Setting* one_layer = is_second ? version : nullptr;
  for (const char* const name :
       {"fsdp_double_buffer", "megatron_fsdp_max_pool_double_buffer", "use_nccl_ub", "nccl_ub"})
    if (one_layer == nullptr && draft.on(name)) one_layer = draft.find(name);
  if (is_second && draft.on("use_distributed_optimizer") && has_argument_defaults(draft))
    throw refusal(*version,
                  "--megatron-fsdp-version 2 is not compatible with --use-distributed-optimizer");
  if (one_layer != nullptr)
    draft.set("parallel.gather_ahead", "1", *one_layer);
  else if (unit != nullptr)
    draft.set("parallel.gather_ahead",
              fmt::format("{}", std::max<std::uint64_t>(1, whole_number(*unit) / 2)), *unit);
}

// Reads whether hybrid FSDP divides the optimizer state among the copies of a shard.
void read_outer_sharding(Draft& draft, bool has_copies) {
  const Setting* const strategy = draft.find("outer_dp_sharding_strategy");
  const Setting* outer = draft.on("enable_full_sharding_in_hsdp")
                             ? draft.find("enable_full_sharding_in_hsdp")
                             : nullptr;
  if (strategy != nullptr && draft.text("outer_dp_sharding_strategy") != "no_shard" &&
      draft.text("outer_dp_sharding_strategy") != "0")
    outer = strategy;
  if (outer == nullptr) return;
  if (!has_copies) return draft.without_effect(*outer, "with one distributed optimizer instance");
  const config::Value* const zero = draft.at("parallel.zero");
  if (zero->text != "3")
    throw refusal(*outer,
                  "Optimizer fully-sharded HFSDP is only supported with "
                  "--data-parallel-sharding-strategy optim_grads_params");
  draft.set("parallel.outer_sharding", "optimizer", *outer);
}

void read_zero(Draft& draft) {
  const Setting* const strategy = draft.find("data_parallel_sharding_strategy");
  const Setting* const optimizer = draft.find("use_distributed_optimizer");
  const bool distributed = draft.on("use_distributed_optimizer");
  const Setting* const stage = draft.find("zero_stage");
  const Setting* fsdp = nullptr;
  for (const char* const name : {"use_custom_fsdp", "use_megatron_fsdp"})
    if (draft.on(name)) fsdp = draft.find(name);
  const Setting* const layer_wise = layer_wise_optimizer(draft);
  const bool fsdp2 = draft.on("use_torch_fsdp2");
  const Setting* const keeps = draft.find("torch_fsdp2_no_reshard_after_forward");
  if (stage != nullptr && draft.request().dialect == Dialect::deepspeed) {
    const std::uint64_t level = whole_number(*stage);
    if (level > 1 && draft.count_at("parallel.pp", 1) > 1)
      throw refusal(*stage, "ZeRO-2 and ZeRO-3 are incompatible with pipeline parallelism");
    draft.set("parallel.zero", fmt::format("{}", level), *stage);
    return;
  }
  if (fsdp2) {
    const Setting& setting = *draft.find("use_torch_fsdp2");
    if (draft.count_at("parallel.pp", 1) > 1)
      throw refusal(setting, "--use-torch-fsdp2 is not supported with pipeline parallelism");
    if (draft.count_at("parallel.ep", 1) > 1)
      throw refusal(setting, "--use-torch-fsdp2 is not supported with expert parallelism");
    if (distributed)
      throw refusal(setting,
                    "--use-torch-fsdp2 is not supported with MCore's distributed "
                    "optimizer");
    draft.set("parallel.zero", "3", setting);
    if (keeps != nullptr) draft.set("parallel.reshard_after_forward", "false", *keeps);
  } else if (fsdp != nullptr) {
    draft.set("parallel.zero", zero_of(strategy), strategy != nullptr ? *strategy : *fsdp);
  } else {
    if (strategy != nullptr) draft.without_effect(*strategy, "without --use-megatron-fsdp");
    if (distributed) {
      draft.set("parallel.zero", "1", *optimizer);
    } else if (layer_wise != nullptr) {
      draft.set("parallel.zero", "1", *layer_wise);
    } else if (optimizer == nullptr && !has_argument_defaults(draft)) {
      draft.set("parallel.zero", "1", "the distributed optimizer, as in its recipes");
    }
  }
  const config::Value* const zero = draft.at("parallel.zero");
  const auto copies = draft.count("num_distributed_optimizer_instances");
  if (copies && *copies > 1 && zero != nullptr)
    draft.set("parallel.replicate", fmt::format("{}", *copies),
              *draft.find("num_distributed_optimizer_instances"));
  if (fsdp != nullptr) {
    if (zero != nullptr && zero->text == "3") read_gather_ahead(draft);
    read_outer_sharding(draft, copies.value_or(1) > 1);
  }
  if (!draft.on("overlap_param_gather") || !has_argument_defaults(draft)) return;
  const Setting& gather = *draft.find("overlap_param_gather");
  if (zero == nullptr)
    throw refusal(gather,
                  "--overlap-param-gather only supported with distributed optimizer, "
                  "megatron fsdp, or dist_muon");
  if (!draft.on("overlap_grad_reduce"))
    throw refusal(gather, "Must use --overlap-param-gather with --overlap-grad-reduce");
}

// Throws config::Error unless the ranks of a stage can be divided into groups that share the
// experts (parallel_state.py, initialize_model_parallel).
void check_expert_ranks(const Draft& draft, std::uint64_t world, std::uint64_t tp,
                        std::uint64_t pp) {
  const std::uint64_t ep = draft.count_at("parallel.ep", 1);
  const std::uint64_t etp = draft.count_at("parallel.etp", tp);
  if (ep <= 1 || etp == 0 || ep > world || etp > world || world / pp % (ep * etp) == 0) return;
  throw gpus_refusal(draft.request(),
                     fmt::format("world size ({}, by {}) is not divisible by "
                                 "expert_tensor_model_pipeline_parallel size ({}, expert {} x "
                                 "expert tensor {} x pipeline {})",
                                 world, draft.request().gpus_from, ep * etp * pp, ep, etp, pp));
}

void read_replicas(Draft& draft) {
  const std::uint64_t tp = draft.count_at("parallel.tp", 1);
  const std::uint64_t pp = draft.count_at("parallel.pp", 1);
  const std::uint64_t cp = draft.count_at("parallel.cp", 1);
  constexpr std::uint64_t max_gpus = 1U << 24U;  // GPUs
  for (const std::uint64_t size_of_axis : {tp, pp, cp})
    if (size_of_axis == 0 || size_of_axis > max_gpus)
      throw refusal(draft.request(), "a parallel size must be a whole number above 0");
  const std::uint64_t size = tp * cp > max_gpus ? max_gpus : std::min(tp * pp * cp, max_gpus * 2);
  const Request& request = draft.request();
  if (!request.gpus) {
    draft.lacks("parallel.dp");
    return;
  }
  const std::uint64_t world = *request.gpus;
  if (world % size != 0 || world == 0)
    throw gpus_refusal(request,
                       fmt::format("world size ({}, by {}) is not divisible by "
                                   "total_model_size ({}, tensor {} x pipeline {} x context "
                                   "{})",
                                   world, request.gpus_from, size, tp, pp, cp));
  check_expert_ranks(draft, world, tp, pp);
  draft.set(
      "parallel.dp", fmt::format("{}", world / size),
      fmt::format("{} GPUs by {} / (tp {} x pp {} x cp {})", world, request.gpus_from, tp, pp, cp),
      request.gpus_origin);
}

}  // namespace

void read_degrees(Draft& draft) {
  if (const Setting* const heads = draft.find("ds_sequence_parallel_size");
      heads != nullptr && whole_number(*heads) > 1) {
    draft.set("parallel.cp", fmt::format("{}", whole_number(*heads)), *heads);
    draft.set("parallel.cp_comm_type", "a2a", *heads);
  }
  if (const Setting* const none = draft.find("no_pipeline_parallel"))
    draft.set("parallel.pp", "1", *none);
}

// Megatron-LM had the flag until 2022.
void read_scatter_gather(Draft& draft) {
  const Setting* const never = draft.find("no_scatter_gather_tensors_in_pipeline");
  if (never == nullptr) return;
  if (is_older(draft.request()))
    draft.set("communication.scatter_gather", "false", *never);
  else
    draft.without_effect(*never, "obsolete since 2022");
}

void read_sequence_parallel(Draft& draft) {
  const Setting* const setting = draft.find("sequence_parallel");
  const bool on = setting != nullptr && draft.on("sequence_parallel");
  const bool alone = draft.count_at("parallel.tp", 1) == 1;
  if (on && alone)
    draft.assume(
        "--sequence-parallel is off, as Megatron-LM turns it off where tensor "
        "parallelism is 1");
  else if (setting != nullptr)
    draft.set("parallel.sp", on ? "true" : "false", *setting);
  if (draft.on("tp_comm_overlap") && !on && !alone)
    throw refusal(*draft.find("tp_comm_overlap"),
                  "Tensor parallel communication/GEMM overlap can happen only when sequence "
                  "parallelism is enabled (--sequence-parallel)");
  if (alone) draft.drop("communication.tp_comm_overlap");
}

namespace {

// Returns among how many ranks each part of a weight that a tensor-parallel rank has is divided
// (resolve_tensor_parallel_weight_shards of megatron/core/model_parallel_config.py).
std::uint64_t remat_size(const Setting* shards, const Setting* size, std::uint64_t tp,
                         std::string_view tp_name) {
  if (shards == nullptr || is_off(shards->values.front()))
    return size == nullptr ? 1 : whole_number(*size);
  const std::uint64_t count = whole_number(*shards);
  if (tp == 0 || count < tp || count % tp != 0)
    throw refusal(*shards, fmt::format("the number of weight shards ({}) must be at least the {} "
                                       "({}) and divisible by it",
                                       count, tp_name, tp));
  return count / tp;
}

// Generalized tensor parallelism (docs/api-guide/core/generalized_tensor_parallel.md of
// Megatron-LM): ranks of data parallelism divide weights, and copies of these shards divide the
// optimizer state with the distributed optimizer.
void read_weight_shards(Draft& draft) {
  const std::uint64_t tp = draft.count_at("parallel.tp", 1);
  const Setting* const shards = draft.find("tensor_parallel_num_weight_shards");
  const Setting* const expert_shards = draft.find("expert_tensor_parallel_num_weight_shards");
  const Setting* const size = draft.find("gtp_weight_remat_size");
  const Setting* const expert_size = draft.find("expert_gtp_weight_remat_size");
  const std::uint64_t gtp = remat_size(shards, size, tp, "tensor-parallel size");
  const bool splits_experts = has_experts(draft);
  const std::uint64_t expert_gtp =
      !splits_experts ? 1
                      : remat_size(expert_shards, expert_size, draft.count_at("parallel.etp", tp),
                                   "expert tensor-parallel size");
  for (const Setting* const setting : {expert_shards, expert_size})
    if (!splits_experts && setting != nullptr)
      draft.without_effect(*setting, "the model has no experts");
  const Setting* const from = gtp > 1                    ? (shards != nullptr ? shards : size)
                              : expert_gtp <= 1          ? nullptr
                              : expert_shards != nullptr ? expert_shards
                                                         : expert_size;
  if (from == nullptr) return;
  for (const char* const fsdp : {"use_megatron_fsdp", "use_custom_fsdp", "use_torch_fsdp2"})
    if (draft.on(fsdp)) throw refusal(*from, "GTP shards weights without FSDP");
  const config::Value* const zero = draft.at("parallel.zero");
  const bool divides = zero != nullptr && zero->text != "0";
  if (const config::Value* const dp = draft.at("parallel.dp");
      dp != nullptr && draft.count_at("parallel.dp", 1) % gtp != 0)
    throw refusal(*from, fmt::format("the world size is not divisible by tensor x pipeline x "
                                     "context x GTP size ({})",
                                     gtp));
  draft.drop("parallel.replicate");
  draft.set("parallel.zero", "3", *from);
  draft.set("parallel.gtp", fmt::format("{}", gtp), *from);
  if (expert_gtp > 1) draft.set("parallel.expert_gtp", fmt::format("{}", expert_gtp), *from);
  if (divides)
    draft.set("parallel.outer_sharding", "optimizer",
              "the distributed optimizer, between replicas");
}

}  // namespace

void read_data_parallel(Draft& draft) {
  read_zero(draft);
  read_replicas(draft);
  read_weight_shards(draft);
}

void read_rank_order(Draft& draft) {
  if (const Setting* const order = draft.find("use_tp_pp_dp_mapping");
      order != nullptr && draft.on("use_tp_pp_dp_mapping"))
    draft.set("parallel.order", "tp-cp-ep-pp-dp", *order);
  if (const Setting* const sizes = draft.find("hierarchical_context_parallel_sizes");
      sizes != nullptr && !sizes->values.empty() && !is_off(sizes->values.front())) {
    config::Value list = config::make_list(sizes->values, sizes->origin);
    draft.set("parallel.hierarchical_context_parallel_sizes", std::move(list), sizes->written);
  }
}

}  // namespace pipewright::jobs::megatron
