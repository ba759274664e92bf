#include "sim/jobs/request/differences.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <numeric>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/families/catalog.hpp"
#include "sim/base/enum_names.hpp"
#include "sim/config/settings.hpp"
#include "sim/config/stack.hpp"
#include "sim/config/stack_rules.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/flags.hpp"
#include "sim/jobs/request/stage_layers.hpp"

namespace pipewright::jobs {
namespace {

using config::Value;

// Sections that do not belong to a job, or that are compared separately.
constexpr std::array skipped{"stack",        "cluster",      "gpu",        "placement", "devices",
                             "microbatches", "global_batch", "iterations", "model",     "symmetric",
                             "engine",       "variation",    "partition"};

// Text in a normal form: numbers have one spelling, so that "0.0" becomes "0".
std::string normal(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return !text.empty() && end == text.c_str() + text.size() ? fmt::format("{}", value) : text;
}

std::string flag_text(bool flag) { return flag ? "true" : "false"; }

// Keys that no framework has a setting for, and whose defaults are of the stack.
constexpr std::array keys_of_memory{"training.fragmentation", "training.reserved"};

// Replaces the keys of the optimizer's data types by those that hold.
void add_data_types(const config::Optimizer& optimizer, std::map<std::string, std::string>& keys) {
  keys["training.optimizer.main_grads"] =
      base::name_of(config::main_grads_names, optimizer.main_grads);
  keys["training.optimizer.exp_avg"] = base::name_of(config::moment_names, optimizer.exp_avg);
  keys["training.optimizer.exp_avg_sq"] = base::name_of(config::moment_names, optimizer.exp_avg_sq);
  keys["training.optimizer.main_params"] =
      base::name_of(config::main_params_names, optimizer.main_params);
}

// Drops the bytes of gradients and of the optimizer's state if they follow from data types in both
// scenarios, and the data types if a scenario states the bytes.
void drop_bytes_or_data_types(const config::Training& a, const config::Training& b,
                              std::map<std::string, std::string>& keys) {
  const auto drop = [&](bool has_bytes, const char* bytes,
                        std::initializer_list<const char*> types) {
    if (!has_bytes) keys.erase(bytes);
    if (has_bytes)
      for (const char* const type : types) keys.erase(type);
  };
  drop(a.bytes.gradients || b.bytes.gradients, "training.bytes.gradients",
       {"training.optimizer.main_grads"});
  drop(a.bytes.optimizer || b.bytes.optimizer, "training.bytes.optimizer",
       {"training.optimizer.exp_avg", "training.optimizer.exp_avg_sq",
        "training.optimizer.main_params"});
}

// Replaces the keys of how tokens are routed by one, as it is a name or a map.
void add_routing(const config::Scenario& scenario, std::map<std::string, std::string>& keys) {
  std::erase_if(keys,
                [](const auto& key) { return key.first.starts_with("training.experts.routing"); });
  if (!scenario.model || !scenario.model->value.experts) return;
  const config::ExpertTraining& experts = scenario.training.experts;
  keys["training.experts.routing"] =
      experts.imbalance > 1
          ? fmt::format("{{imbalance: {}}}", experts.imbalance)
          : std::string(base::name_of(config::router_balance_names, experts.routing));
}

// Replaces the keys of adapters by one, and by those that have an effect.
void add_lora(const config::Scenario& scenario, std::map<std::string, std::string>& keys) {
  std::erase_if(keys, [](const auto& key) { return key.first.starts_with("training.lora"); });
  const auto& lora = scenario.training.lora;
  if (!lora) return;
  keys["training.lora"] = to_string(*lora);
  if (scenario.model && scenario.model->value.experts)
    keys["training.lora.experts"] = base::name_of(config::lora_experts_names, lora->experts);
  if (lora->dropout > 0) keys["training.lora.dropout"] = fmt::format("{:g}", lora->dropout);
}

// Replaces the keys of a schedule whose meaning depends on others.
void settle_schedule(const config::Scenario& scenario, std::map<std::string, std::string>& keys) {
  const config::ScheduleSpec& spec = scenario.schedules.front();
  const auto& fused = spec[&schedules::Parameters::fused];
  const bool is_fused = fused ? fused->value != 0 : spec.name.starts_with("dualpipe");
  keys["schedule.fused"] = flag_text(is_fused);
  // Leaving out schedule.chunks means one chunk, or those of a schedule that has no other number.
  const auto entry = std::ranges::find(schedules::catalog(), spec.name, &schedules::Entry::name);
  const bool takes_chunks =
      entry == schedules::catalog().end() || entry->takes(&schedules::Parameters::chunks);
  if (keys["schedule.chunks"] == "1" || !takes_chunks) keys.erase("schedule.chunks");
  // A single microbatch has one order on one device.
  if (scenario.devices.value == 1 && scenario.microbatches.value == 1 &&
      schedules::is_plain_on_one_device(spec.name))
    keys["schedule.name"] = "1f1b";
}

// Meaning of a number of plain_keys() that its key alone does not explain.
struct Meaning {
  std::string_view key, unit, what;
};
constexpr std::array meanings{
    Meaning{"training.bytes.weights", " bytes", "a stored weight, with its copies in 8 bits"},
    Meaning{"training.bytes.gathered", " bytes", "a weight that data parallelism gathers"},
    Meaning{"training.bytes.gradients", " bytes", "a gradient"},
    Meaning{"training.bytes.optimizer", " bytes", "main weights and moments of a weight"},
    Meaning{"training.experts.round_robin", "", "tokens choose experts in turn"},
};

// "training.bytes.optimizer is 8 bytes, and would be 6 bytes (main weights and moments of a
// weight)".
std::string difference_text(const std::string& key, const std::string& is,
                            const std::string& would_be) {
  const auto meaning = std::ranges::find(meanings, std::string_view(key), &Meaning::key);
  if (meaning == meanings.end()) return fmt::format("{} is {}, and would be {}", key, is, would_be);
  return fmt::format("{} is {}{}, and would be {}{} ({})", key, is, meaning->unit, would_be,
                     meaning->unit, meaning->what);
}

// Sets the keys of parallel sizes, of which several can express the same layout, by their meaning.
void settle_parallel(const config::Scenario& scenario, std::map<std::string, std::string>& keys) {
  for (const char* const key :
       {"parallel.pp", "parallel.pipeline", "parallel.dp", "parallel.shard", "parallel.replicate"})
    keys.erase(key);
  keys["parallel.dp"] = fmt::format("{}", scenario.parallel.dp.value);
  keys["parallel.pp"] = fmt::format("{}", scenario.devices.value);
  // Without ZeRO, all ranks have all of the state. FSDP is more than ZeRO-3: it gathers and reduces
  // layer by layer.
  keys["parallel.replicate"] =
      fmt::format("{}", scenario.parallel.zero == 0 ? scenario.parallel.dp.value
                                                    : scenario.parallel.replicates());
  if (scenario.parallel.zero == 3 && scenario.parallel.shard)
    keys["parallel.shard"] = fmt::format("{}", scenario.parallel.shard->value);
  keys["parallel.zero"] = fmt::format("{}", scenario.parallel.zero);
  keys["parallel.etp"] = fmt::format("{}", scenario.parallel.expert_tp());
}

// Erases keys that have no effect in the layout, or that repeat values of the stack.
void drop_idle_keys(const config::Scenario& scenario, std::map<std::string, std::string>& keys) {
  if (scenario.parallel.zero == 0) keys.erase("communication.overlap_param_gather");
  // A single rank shards, gathers and reduces nothing.
  if (scenario.parallel.dp.value == 1 && scenario.parallel.cp.value == 1) {
    keys.erase("communication.overlap_grad_reduce");
    keys.erase("communication.overlap_param_gather");
    keys["parallel.zero"] = "0";
  }
  if (scenario.parallel.tp.value == 1) {
    keys.erase("parallel.sp");
    keys.erase("communication.tp_comm_overlap");
  }
  // Leaving out keys of gathered weights means the values of the stack.
  const config::Parallel& parallel = scenario.parallel;
  const config::Stack& stack = scenario.training.stack;
  if (parallel.max_unsharded_stages == stack.max_unsharded_stages)
    keys.erase("parallel.max_unsharded_stages");
  if (parallel.unshard_lookahead && parallel.unshard_lookahead->by_device.empty() &&
      parallel.unshard_lookahead->rule == stack.unshard_lookahead)
    keys.erase("parallel.unshard_lookahead");
  if (parallel.gather_ahead == stack.gather_ahead) keys.erase("parallel.gather_ahead");
}

// Returns the values of a scenario by key, with one text for each meaning.
std::map<std::string, std::string> plain_keys(const config::Scenario& scenario) {
  std::map<std::string, std::string> keys;
  for (const config::Entry& entry : spelled_out(scenario).entries)
    if (std::ranges::find(skipped, entry.key) == skipped.end())
      keys.merge(config::texts_by_key(entry.value, entry.key));
  for (auto& [key, text] : keys) text = normal(text);
  settle_parallel(scenario, keys);
  keys["schedule.name"] = scenario.schedules.front().name;
  settle_schedule(scenario, keys);
  keys["global_batch"] =
      fmt::format("{}", std::uint64_t{scenario.microbatches.value} * scenario.parallel.dp.value *
                            scenario.training.microbatch_size);
  keys.erase("communication.overlap_p2p");
  if (scenario.communication.bucket)
    keys["communication.bucket"] = fmt::format("{} bytes", *scenario.communication.bucket);
  keys["p2p"] = scenario.devices.value > 1
                    ? std::string(base::name_of(schedules::p2p_names, scenario.p2p))
                    : "eager";
  std::erase_if(keys, [](const auto& key) { return key.first.starts_with("training.recompute"); });
  keys["training.recompute"] = to_string(scenario.training.recompute);
  if (scenario.training.recompute.granularity == config::Recompute::Granularity::full)
    keys["training.recompute.early_stop"] = flag_text(scenario.training.recompute.early_stop);
  std::erase_if(keys, [](const auto& key) { return key.first.starts_with("training.precision"); });
  keys["training.precision"] = to_string(precision_of(scenario.training));
  keys["training.fragmentation"] = fmt::format("{:g}", scenario.training.fragmentation);
  keys["training.reserved"] =
      fmt::format("{:g} GiB", static_cast<double>(scenario.training.reserved) / (1ULL << 30U));
  keys["training.cuda_graphs"] = to_string(scenario.training.cuda_graphs);
  keys["training.bytes.weights"] = normal(fmt::format("{}", weight_bytes(scenario.training)));
  keys["training.bytes.gathered"] = normal(fmt::format("{}", gathered_bytes(scenario.training)));
  keys["training.bytes.gradients"] = normal(fmt::format("{}", gradient_bytes(scenario.training)));
  keys["training.bytes.optimizer"] = normal(fmt::format("{}", optimizer_bytes(scenario.training)));
  add_data_types(scenario.training.optimizer, keys);
  keys.erase("training.sequence");
  add_routing(scenario, keys);
  add_lora(scenario, keys);
  drop_idle_keys(scenario, keys);
  return keys;
}

void add_attention_shape(const config::Model& model, std::map<std::string, double>& shape) {
  const bool has_attention = model.pattern.empty() ||
                             model.has_layers(config::layer_symbols::attention) ||
                             model.has_layers(config::layer_symbols::sliding) ||
                             model.has_layers(config::layer_symbols::latent);
  if (has_attention) shape["heads"] = model.heads;
  if (!has_attention) {
    // Layers without attention have no heads.
  } else if (!model.latent) {
    shape["kv_heads"] = model.kv_heads;
    shape["head_dim"] = model.head_dim;
  } else {
    shape["latent.query_rank"] = model.latent->query_rank;
    shape["latent.kv_rank"] = model.latent->kv_rank;
    shape["latent.nope_head_dim"] = model.latent->nope_head_dim;
    shape["latent.rope_head_dim"] = model.latent->rope_head_dim;
    shape["latent.value_head_dim"] = model.latent->value_head_dim;
  }
}

void add_experts_shape(const config::Model::Experts& experts,
                       std::map<std::string, double>& shape) {
  shape["experts.count"] = experts.count;
  shape["experts.top_k"] = experts.top_k;
  shape["experts.ffn"] = experts.ffn;
  shape["experts.latent"] = experts.latent;
  shape["experts.shared_ffn"] = 1.0 * experts.shared * experts.shared_ffn;
  shape["experts.groups"] = experts.groups;
  shape["experts.top_groups"] = experts.top_groups;
  if (experts.capacity_factor) shape["experts.capacity_factor"] = *experts.capacity_factor;
  shape["experts.first_dense"] = experts.first_dense;
  shape["experts.every"] = experts.every;
}

// Sizes of a model as numbers, by their keys.
std::map<std::string, double> shape_of(const config::Scenario& scenario) {
  const config::Model& model = scenario.model->value;
  std::map<std::string, double> shape{
      {"layers", model.layers},
      {"mtp_layers", model.mtp_layers},
      {"mtp_use_repeated_layer", model.mtp_use_repeated_layer ? 1 : 0},
      {"hidden", model.hidden},
      {"norm", static_cast<double>(model.norm)},
      {"post_norms", model.post_norms ? 1 : 0},
      {"biases", static_cast<double>(model.biases)},
      {"qk_layernorm", model.qk_layernorm ? 1 : 0},
      {"output_gate", model.output_gate ? 1 : 0},
      {"dropout", model.dropout},
      {"vocabulary", model.vocabulary},
      {"tied_embeddings", model.tied_embeddings ? 1 : 0},
      {"positions", model.learned_positions ? 1 : 0},
      {"sequence", scenario.training.sequence.value_or(model.sequence)},
      {"sliding_window", model.sliding_window},
      {"full_attention_every", model.full_attention_every},
      {"chunked", model.chunked ? 1 : 0},
      {"attention_sinks", model.attention_sinks ? 1 : 0},
      {"mlp", model.gated ? 1 : 0}};
  add_attention_shape(model, shape);
  if (model.experts) add_experts_shape(*model.experts, shape);
  const bool dense = !model.experts || model.experts->first_dense > 0 || model.experts->every > 1 ||
                     model.has_layers(config::layer_symbols::mlp);
  if (dense) shape["ffn"] = model.ffn;
  if (!model.ffn_by_layer.empty())
    shape["ffn_by_layer"] =
        std::accumulate(model.ffn_by_layer.begin(), model.ffn_by_layer.end(), 0.0);
  if (model.mamba) {
    shape["mamba.heads"] = model.mamba->heads;
    shape["mamba.head_dim"] = model.mamba->head_dim;
    shape["mamba.groups"] = model.mamba->groups;
    shape["mamba.state"] = model.mamba->state;
  }
  return shape;
}

std::string value_or_default(const std::map<std::string, std::string>& keys,
                             const std::string& key) {
  const auto it = keys.find(key);
  return it != keys.end() ? it->second : normal(default_of(key));
}

// True if the layers of all stages are planned, and the job that is read back has the same.
bool has_planned_layers(const LaunchInput& input, const config::Scenario& actual) {
  const std::vector<std::uint32_t>& planned = input.plan.layers;
  if (planned.empty() || !actual.model || !input.scenario.partition.mtp.empty()) return false;
  return planned == stage_layers(actual.partition, actual.model->value.layers, planned.size());
}

void compare_stages(const LaunchInput& input, const config::Scenario& actual,
                    std::vector<Difference>& differences) {
  const config::Partition& a = input.scenario.partition;
  const config::Partition& b = actual.partition;
  if (has_planned_layers(input, actual)) return;
  const bool alike = a.rule == b.rule
                         ? a.layers == b.layers && a.first == b.first && a.last == b.last &&
                               a.mtp == b.mtp && a.embedding_counts == b.embedding_counts &&
                               a.loss_counts == b.loss_counts
                         : !a.layers.empty() && a.layers == b.layers;
  const bool spelled =
      a.rule == config::Partition::Rule::even || a.rule == config::Partition::Rule::ends_less;
  const bool is_layout = b.rule == config::Partition::Rule::layout;
  if (!alike && !(spelled && is_layout))
    differences.push_back(
        {"partition", fmt::format("partition is {}, and would be {}", to_string(a), to_string(b))});
}

// Names in a set of rows, or "none".
template <std::size_t capacity>
std::string names_in(const std::bitset<capacity>& set, std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (set.test(i)) text += fmt::format("{}{}", text.empty() ? "" : ", ", names[i]);
  return text.empty() ? "none" : text;
}

// Names of the fused attention kernels in order of preference.
std::vector<std::string_view> fused_attention(const config::Stack& stack) {
  std::vector<std::string_view> names;
  for (const config::AttentionKernel kernel : stack.attention)
    if (kernel != config::AttentionKernel::unfused)
      names.push_back(base::name_of(config::attention_kernel_names, kernel));
  return names;
}

// Compares the settings of the planned stack with those of the stack's file, after what the launch
// changes in it. Early stopping and the fused loss are compared as keys of the scenario.
void compare_stacks(const config::Scenario& planned, Job job,
                    std::vector<Difference>& differences) {
  const config::Stack& stack = planned.training.stack;
  name_stack(job, stack.name);
  const Value tree = config::stack_tree({*config::find(job.tree, "stack"), "stack"});
  const config::Stack actual = config::read_stack({tree, "stack"});
  const auto compare = [&](const char* key, const std::string& is, const std::string& would_be) {
    if (is != would_be)
      differences.push_back({key, fmt::format("{} is {}, and would be {}", key, is, would_be)});
  };
  const std::vector<std::string_view> kernels = fused_attention(stack);
  const std::vector<std::string_view> actual_kernels = fused_attention(actual);
  // The launch runs the planned kernel if both lists begin with it.
  const bool is_same_kernel =
      !kernels.empty() && !actual_kernels.empty() && kernels.front() == actual_kernels.front();
  if (planned.training.flash_attention && !is_same_kernel)
    compare("stack.attention", fmt::format("{}", fmt::join(kernels, ", ")),
            fmt::format("{}", fmt::join(actual_kernels, ", ")));
  constexpr auto loss = static_cast<std::size_t>(config::Fusable::cross_entropy);
  auto actual_fused = actual.fused;
  actual_fused.set(loss, stack.fused.test(loss));
  // Fused attention has a softmax of its own.
  constexpr auto softmax = static_cast<std::size_t>(config::Fusable::softmax);
  if (planned.training.flash_attention) actual_fused.set(softmax, stack.fused.test(softmax));
  compare("stack.fused", names_in(stack.fused, config::fusable_names),
          names_in(actual_fused, config::fusable_names));
  compare("stack.rules", names_in(stack.rules, config::stack_rule_names),
          names_in(actual.rules, config::stack_rule_names));
  const auto stages = [](const config::Stack& of) {
    return of.max_unsharded_stages ? fmt::format("{}", *of.max_unsharded_stages) : "all stages";
  };
  compare("stack.max_unsharded_stages", stages(stack), stages(actual));
  compare("stack.unshard_lookahead",
          std::string(base::name_of(config::unshard_rule_names, stack.unshard_lookahead)),
          std::string(base::name_of(config::unshard_rule_names, actual.unshard_lookahead)));
  const auto ahead = [](const config::Stack& of) {
    return of.gather_ahead ? fmt::format("{}", *of.gather_ahead) : "one layer";
  };
  compare("stack.gather_ahead", ahead(stack), ahead(actual));
  compare("stack.sums_copies_once", fmt::format("{}", stack.sums_copies_once),
          fmt::format("{}", actual.sums_copies_once));
}

}  // namespace

Value spelled_out(const config::Scenario& scenario) {
  Value tree = scenario.tree;
  if (Value* const model = config::find(tree, "model");
      model != nullptr && model->kind == Value::Kind::text)
    *model = config::named_model_tree({*model, "model"});
  if (Value* const schedule = config::find(tree, "schedule");
      schedule != nullptr && schedule->kind == Value::Kind::text) {
    Value map{.origin = schedule->origin};
    map.entries.push_back({"name", schedule->origin, *schedule});
    *schedule = std::move(map);
  }
  config::use_own_names(tree);
  if (const Value* const stack = config::find(tree, "stack")) {
    tree = config::with_stack_defaults(tree, *stack);
    for (const auto& [key, flag] :
         {std::pair{"training.fused_loss", scenario.training.fused_loss},
          {"training.flash_attention", scenario.training.flash_attention}})
      config::set_value(tree, key, config::make_text(flag_text(flag), {}));
  }
  // Frameworks have the number of devices as a parallel size, pp.
  config::set_value(tree, "parallel.pp",
                    config::make_text(fmt::format("{}", scenario.devices.value), {}));
  config::set_value(tree, "parallel.dp",
                    config::make_text(fmt::format("{}", scenario.parallel.dp.value), {}));
  std::erase_if(tree.entries, [](const config::Entry& entry) { return entry.key == "devices"; });
  return tree;
}

std::vector<Difference> differences(const LaunchInput& input, Job job) {
  const config::Scenario& planned = input.scenario;
  std::vector<Difference> result;
  if (!input.on_foreign_stack) compare_stacks(planned, job, result);
  name_stack(job, input.on_foreign_stack ? input.stack : planned.training.stack.name);
  const config::Scenario actual = config::read_scenario(job.tree);
  auto wanted_keys = plain_keys(planned);
  auto actual_keys = plain_keys(actual);
  for (auto* const keys : {&wanted_keys, &actual_keys})
    drop_bytes_or_data_types(planned.training, actual.training, *keys);
  // Without the key, another software has another default.
  for (const char* const key : keys_of_memory)
    if (config::value_at(planned.tree, key) == nullptr) {
      wanted_keys.erase(key);
      actual_keys.erase(key);
    }
  std::map<std::string, std::string> union_of_keys = wanted_keys;
  union_of_keys.insert(actual_keys.begin(), actual_keys.end());
  for (const auto& [key, ignored] : union_of_keys) {
    const std::string a = value_or_default(wanted_keys, key);
    const std::string b = value_or_default(actual_keys, key);
    if (a != b)
      result.push_back(
          {key, difference_text(key, a.empty() ? "not given" : a, b.empty() ? "left out" : b)});
  }
  if (planned.model && actual.model) {
    const auto wanted_shape = shape_of(planned);
    const auto actual_shape = shape_of(actual);
    for (const auto& [key, value] : wanted_shape) {
      const auto it = actual_shape.find(key);
      if (it == actual_shape.end() || it->second != value)
        result.push_back(
            {"model." + key,
             fmt::format("model.{} is {:g}, and would be {}", key, value,
                         it == actual_shape.end() ? "left out" : fmt::format("{:g}", it->second))});
    }
    if (planned.model->value.pattern != actual.model->value.pattern)
      result.push_back({"model.pattern", "model.pattern would be another"});
  }
  compare_stages(input, actual, result);
  for (Difference& difference : placement_differences(input))
    result.push_back(std::move(difference));
  return result;
}

}  // namespace pipewright::jobs
