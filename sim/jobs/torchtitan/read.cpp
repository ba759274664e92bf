#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/letters.hpp"
#include "sim/config/stack.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/jobs/megatron/launch.hpp"
#include "sim/jobs/request/flags.hpp"
#include "sim/jobs/request/optimizer_name.hpp"
#include "sim/jobs/request/toml.hpp"
#include "sim/jobs/torchtitan/rules.hpp"
#include "sim/jobs/torchtitan/torchtitan.hpp"

namespace pipewright::jobs::torchtitan {
namespace {

constexpr config::Document torchtitan_config{"a configuration", "parallelism",
                                             "\"parallelism\": {}", true};

// Class of a schedule in PyTorch (torch/distributed/pipelining/schedules.py), and the schedule's
// name here.
struct TorchSchedule {
  std::string_view torch;
  std::string_view schedule;
  bool has_chunks = false;  // a rank has several stages
};
constexpr std::array torch_schedules{
    TorchSchedule{"1F1B", "1f1b"},
    TorchSchedule{"GPipe", "gpipe"},
    TorchSchedule{"Interleaved1F1B", "interleaved-1f1b", true},
    TorchSchedule{"InterleavedZeroBubble", "interleaved-zb", true},
    TorchSchedule{"LoopedBFS", "looped-bfs", true},
    TorchSchedule{"ZBVZeroBubble", "zb-v", true},
    TorchSchedule{"DualPipeV", "dualpipe-v", true},
};

// Sections and keys that tell torchtitan's TOML from that of other frameworks. The sections model
// and training are common to several.
constexpr std::array<std::string_view, 2> own_sections{"[parallelism]", "[activation_checkpoint]"};
constexpr std::array<std::string_view, 3> own_keys{"flavor", "local_batch_size",
                                                   "_parallel_degree"};

bool is_toml(const SourceText& file) { return file.extension() == ".toml"; }

std::int64_t whole(Draft& draft, std::string_view name, std::int64_t otherwise) {
  const Setting* const setting = draft.find(name);
  if (setting == nullptr || setting->values.empty() || setting->values.front().empty() ||
      setting->values.front() == "null")
    return otherwise;
  if (setting->values.front().starts_with('-')) return -1;
  return static_cast<std::int64_t>(std::min<std::uint64_t>(whole_number(*setting), 1ULL << 40U));
}

// True if the numbers of layers of the stages cannot be expressed by a rule for the scenario's
// partition, but only as a list. The first and the last stage have `first` and `last` layers fewer
// than others.
bool deals_unevenly(std::uint64_t layers, std::uint64_t stages, std::int64_t first,
                    std::int64_t last) {
  const std::uint64_t whole = layers + static_cast<std::uint64_t>(first + last);
  const bool usual = (first == 1 && last == 1) || (first == 0 && last == 0);
  return layers >= stages && first >= 0 && last >= 0 && (whole % stages != 0 || !usual) &&
         static_cast<std::int64_t>(whole / stages) > std::max(first, last);
}
// List of the numbers of layers of all stages.
config::Value layers_of_stages(std::uint64_t layers, std::uint64_t stages, std::int64_t first,
                               std::int64_t last) {
  const std::uint64_t whole = layers + static_cast<std::uint64_t>(first + last);
  std::vector<std::string> counts;
  for (std::uint64_t stage = 0; stage < stages; ++stage) {
    auto count = static_cast<std::int64_t>(whole / stages + (stage < whole % stages ? 1 : 0));
    if (stage == 0) count -= first;
    if (stage + 1 == stages) count -= last;
    counts.push_back(fmt::format("{}", count));
  }
  return config::make_list(counts, {});
}

// Throws config::Error if the number of stages does not suit the schedule
// (torchtitan/distributed/pipeline_parallel.py). `layers` includes embedding and loss, as far as
// they count as layers.
void check_stages(Draft& draft, std::uint64_t layers, std::uint64_t layers_per_stage,
                  const TorchSchedule& schedule) {
  const Setting& setting = *draft.find("parallelism.pipeline_parallel_layers_per_stage");
  const std::uint64_t pp = draft.count_at("parallel.pp", 1);
  const bool in_v = schedule.schedule == "zb-v" || schedule.schedule == "dualpipe-v";
  const auto fits = [&](std::uint64_t count) {
    return !schedule.has_chunks ? count == pp
           : in_v               ? count == 2 * pp
                                : count % pp == 0 && count > pp;
  };
  const auto stages_by = [&](std::uint64_t size) { return (layers + size - 1) / size; };
  const std::uint64_t stages = stages_by(layers_per_stage);
  if (fits(stages)) return;
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = 1; size <= layers; ++size)
    if (fits(stages_by(size))) sizes.push_back(size);
  const std::uint64_t of_rank = stages / pp;
  std::string message;
  if (stages % pp != 0)
    message = fmt::format(
        "Number of virtual stages ({}) must be divisible by pipeline parallel size ({})", stages,
        pp);
  else if (in_v && of_rank > 1)
    message = fmt::format("v schedules assume 2 stages per rank, got {}", of_rank);
  else
    message = fmt::format("{} per rank, but got {} stages per rank",
                          schedule.has_chunks ? "Multi-stage schedule requires at least 2 stages"
                                              : "Single stage schedule requires exactly 1 stage",
                          of_rank);
  throw refusal(setting, fmt::format("{}: {} layers, with embedding and output, / {} are {} stages",
                                     message, layers, layers_per_stage, stages))
      .allow(sizes.empty() ? "another pipeline parallel size"
                           : fmt::format("{}", fmt::join(sizes, ", ")));
}

// Numbers of layers of the stages that start at the points "layers.4", "layers.8".
config::Value layers_between(const Setting& points, std::uint64_t layers) {
  std::vector<std::string> counts;
  std::uint64_t before = 0;
  for (const std::string& point : points.values) {
    Setting place = points;
    place.values = {point.substr(point.rfind('.') + 1)};
    const std::uint64_t layer = whole_number(place);
    if (layer < before || layer > layers)
      throw refusal(points,
                    fmt::format("{} is no layer after the one before ({} layers)", point, layers));
    counts.push_back(fmt::format("{}", layer - before));
    before = layer;
  }
  counts.push_back(fmt::format("{}", layers - before));
  return config::make_list(counts, points.origin);
}

// Number of layers of each part of the model in a list of the parts' modules, as texts.
std::vector<std::string> listed_layers(const Setting* modules) {
  std::vector<std::string> layers;
  if (modules == nullptr) return layers;
  for (const std::string& part : modules->values) {
    std::uint32_t count = 0;
    for (std::size_t at = part.find("layers."); at != std::string::npos;
         at = part.find("layers.", at + 1))
      ++count;
    layers.push_back(fmt::format("{}", count));
  }
  return layers;
}

// Returns whether a setting chooses bfloat16. Other types than float32 are not understood.
bool is_bfloat16(Draft& draft, std::string_view name) {
  const Setting* const setting = draft.find(name);
  if (setting == nullptr) return false;
  const std::string type = draft.text(name);
  if (type != "bfloat16" && type != "float32")
    draft.not_understood(*setting, "only float32 and bfloat16 are read");
  return type == "bfloat16";
}

// Returns whether one kernel updates all state of the optimizer, as by default.
bool fuses_optimizer(Draft& draft) {
  const Setting* const implementation = draft.find("optimizer.implementation");
  if (implementation == nullptr) return true;
  const std::string name = draft.text(implementation->name);
  const bool is_split = name == "foreach" || name == "for-loop";
  if (name == "fused_opt_states_bf16")
    draft.set("training.bytes.optimizer", "4", *implementation);  // two moments of Adam
  else if (!is_split && name != "fused")
    draft.not_understood(*implementation,
                         "only fused, fused_opt_states_bf16, foreach and for-loop are read");
  return !is_split;
}

// Groups that a stack of the library fuses, without the optimizer.
config::Value fused_without_optimizer(const std::string& stack) {
  const config::Value tree = config::stack_tree({config::make_text(stack, {}), "stack"});
  config::Value fused = *config::find(tree, "fused");
  std::erase_if(fused.items, [](const config::Value& group) { return group.text == "optimizer"; });
  return fused;
}

// Returns the schedule that a job names, or 1F1B. Throws an Error if PyTorch has no schedule of
// this name.
const TorchSchedule& named_schedule(const Setting* name) {
  const std::string torch_name = name != nullptr ? name->values.front() : "1F1B";
  const auto* const row = std::ranges::find_if(torch_schedules, [&](const TorchSchedule& entry) {
    return base::lowercase(entry.torch) == base::lowercase(torch_name);
  });
  if (row != torch_schedules.end()) return *row;
  std::vector<std::string_view> names;
  for (const TorchSchedule& entry : torch_schedules) names.push_back(entry.torch);
  throw refusal(*name, fmt::format("Unknown schedule type {}; PyTorch has {}",
                                   config::in_quotes(torch_name), fmt::join(names, ", ")));
}

}  // namespace

void read_data_parallel(Draft& draft) {
  const auto at = [&](std::string_view key) {
    return static_cast<std::int64_t>(draft.count_at(key, 1));
  };
  const std::int64_t fixed = std::min<std::int64_t>(at("parallel.tp"), 1 << 20) *
                             std::min<std::int64_t>(at("parallel.cp"), 1 << 20) *
                             std::min<std::int64_t>(at("parallel.pp"), 1 << 20);
  const std::int64_t replicate = std::clamp<std::int64_t>(
      whole(draft, "parallelism.data_parallel_replicate_degree", 1), 1, 1 << 24);
  std::int64_t shard = whole(draft, "parallelism.data_parallel_shard_degree", -1);
  const Setting* const shard_setting = draft.find("parallelism.data_parallel_shard_degree");
  const Request& request = draft.request();
  if (request.gpus) {
    const auto world = static_cast<std::int64_t>(*request.gpus);
    if (fixed <= 0 || fixed > (std::int64_t{1} << 40) || world % (fixed * replicate) != 0 ||
        (shard > 0 && shard * replicate * fixed != world))
      throw gpus_refusal(
          request,
          fmt::format("Invalid parallel dims: dp_replicate({}) * dp_shard({}) * cp({}) * tp({}) * "
                      "pp({}) != WORLD_SIZE({})",
                      replicate, shard, at("parallel.cp"), at("parallel.tp"), at("parallel.pp"),
                      world));
    shard = world / (fixed * replicate);
  }
  if (shard < 0) {
    draft.lacks("parallel.dp");
    draft.set("parallel.zero", "3", "FSDP over all GPUs");
    return;
  }
  const std::string comment = shard_setting != nullptr
                                  ? shard_setting->written
                                  : "parallelism.data_parallel_shard_degree = -1";
  draft.set("parallel.shard", fmt::format("{}", shard),
            request.gpus ? fmt::format("{} of {} GPUs", comment, *request.gpus) : comment,
            shard_setting != nullptr ? shard_setting->origin : config::Origin{});
  draft.set("parallel.replicate", fmt::format("{}", replicate),
            "parallelism.data_parallel_replicate_degree");
  const std::string reshard = draft.text("parallelism.fsdp_reshard_after_forward", "default");
  const Setting* const policy = draft.find("parallelism.fsdp_reshard_after_forward");
  if (policy != nullptr && reshard != "default" && shard * at("parallel.cp") > 1)
    draft.set("parallel.reshard_after_forward", reshard == "always" ? "true" : "false", *policy);
}

// Reads which stages of a pipeline FSDP gathers at a time (torchtitan/config/configs.py,
// ParallelismConfig, and _build_pipeline_schedule of torchtitan/distributed/pipeline_parallel.py).
// A job that has one of the two settings is of a version whose defaults are all stages of a rank,
// and "auto"; PyTorch's own defaults, which other versions use, belong to the stack.
void read_unshard_window(Draft& draft) {
  const Setting* const stages = draft.find("parallelism.pp_max_unsharded_active_stages");
  const Setting* const ahead = draft.find("parallelism.pp_num_unshard_lookahead_factor");
  if (stages == nullptr && ahead == nullptr) return;
  const bool keeps = draft.text("parallelism.fsdp_reshard_after_forward", "default") != "always";
  if (draft.count_at("parallel.pp", 1) == 1 || !keeps ||
      draft.count_at("parallel.shard", 1) * draft.count_at("parallel.cp", 1) == 1) {
    for (const Setting* const setting : {stages, ahead})
      if (setting != nullptr)
        draft.without_effect(*setting, "without a pipeline whose stages FSDP keeps gathered");
    return;
  }
  constexpr const char* key = "parallel.max_unsharded_stages";
  if (stages != nullptr && !is_off(stages->values.front()) && stages->values.front() != "None")
    draft.set(key, fmt::format("{}", whole_number(*stages)), *stages);
  else
    draft.set(key, fmt::format("{}", draft.count_at("schedule.chunks", 2)),
              "all stages of a rank, torchtitan's default beside the lookahead");
  constexpr const char* lookahead = "parallel.unshard_lookahead";
  if (ahead == nullptr)
    draft.set(lookahead, "by_rank", "auto, torchtitan's default beside the number of stages");
  else if (ahead->values.size() == 1 &&
           (ahead->values.front() == "auto" || ahead->values.front() == "full"))
    draft.set(lookahead, ahead->values.front() == "auto" ? "by_rank" : "full", *ahead);
  else
    draft.set(lookahead, config::make_list(ahead->values, ahead->origin), ahead->written);
}

void read_schedule(Draft& draft) {
  const std::uint64_t pp = draft.count_at("parallel.pp", 1);
  const Setting* const name = draft.find("parallelism.pipeline_parallel_schedule");
  const Setting* const csv = draft.find("parallelism.pipeline_parallel_schedule_csv");
  const std::int64_t layers_per_stage =
      whole(draft, "parallelism.pipeline_parallel_layers_per_stage", 0);
  const std::int64_t first =
      whole(draft, "parallelism.pipeline_parallel_first_stage_less_layers", 1);
  const std::int64_t last = whole(draft, "parallelism.pipeline_parallel_last_stage_less_layers", 1);
  const Setting* const points = draft.find("parallelism.pipeline_parallel_split_points");
  if (pp <= 1) return;
  const std::uint64_t layers = draft.count_at("model.layers", draft.library_count("layers"));
  std::uint64_t chunks = 1;
  std::uint64_t stages = 0;  // 0: the schedule's file has the number
  const Setting* const modules = draft.find("parallelism.module_fqns_per_model_part");
  const std::vector<std::string> listed = listed_layers(modules);
  if (csv != nullptr && !csv->values.empty() && !is_off(csv->values.front())) {
    config::Value path = config::make_text(csv->values.front(), csv->origin);
    draft.set("schedule", std::move(path), csv->written);
  } else {
    const TorchSchedule& row = named_schedule(name);
    const std::string schedule(row.schedule);
    if (name != nullptr)
      draft.set("schedule.name", schedule, *name);
    else
      draft.set("schedule.name", schedule, "without parallelism.pipeline_parallel_schedule");
    const bool is_split = points != nullptr && !points->values.empty();
    if (layers_per_stage > 0 && layers > 0 && !is_split && listed.empty())
      check_stages(draft, layers + static_cast<std::uint64_t>(first + last),
                   static_cast<std::uint64_t>(layers_per_stage), row);
    if (is_split) {
      draft.set("partition", layers_between(*points, layers), *points);
      if (row.has_chunks)
        draft.set("schedule.chunks", fmt::format("{}", (points->values.size() + 1) / pp), *points);
      return;
    }
    if (row.has_chunks) {
      chunks = listed.empty() ? 2 : std::max<std::uint64_t>(listed.size() / pp, 1);
      if (listed.empty() && layers_per_stage > 0 && layers > 0)
        chunks = std::max<std::uint64_t>((layers + static_cast<std::uint64_t>(first + last) +
                                          static_cast<std::uint64_t>(layers_per_stage) * pp - 1) /
                                             (static_cast<std::uint64_t>(layers_per_stage) * pp),
                                         1);
      const bool in_v = schedule == "zb-v" || schedule == "dualpipe-v";
      if (!in_v)
        draft.set("schedule.chunks", fmt::format("{}", chunks),
                  layers_per_stage > 0 ? "parallelism.pipeline_parallel_layers_per_stage"
                                       : "two stages per rank, torchtitan's default");
    }
    stages = pp * chunks;
  }
  if (!listed.empty()) {
    if (listed.size() % pp != 0)
      throw refusal(*modules, fmt::format("the number of model parts ({}) must be divisible by the "
                                          "pipeline parallel size ({})",
                                          listed.size(), pp));
    draft.set("partition", config::make_list(listed, modules->origin),
              fmt::format("{} (line {})", modules->name, modules->origin.line));
  } else if (stages > 0 && deals_unevenly(layers, stages, first, last)) {
    draft.set("partition", layers_of_stages(layers, stages, first, last),
              "layers as torchtitan distributes them, with the remainder on the first stages");
  } else if (first == 1 && last == 1) {
    draft.set("partition", "ends_less", "the first and the last stage have a layer less");
  } else if (first != 0 || last != 0) {
    if (const Setting* const less =
            draft.find("parallelism.pipeline_parallel_first_stage_less_layers"))
      draft.not_understood(*less, "only 1 and 1, or 0 and 0, are read");
  }
}

void read_batch(Draft& draft) {
  const std::uint64_t sequence = draft.count_at("training.sequence", 0);
  const std::uint64_t pp = draft.count_at("parallel.pp", 1);
  const std::uint64_t dp =
      draft.count_at("parallel.shard", 1) * draft.count_at("parallel.replicate", 1);
  std::int64_t local = whole(draft, "training.local_batch_size", 8);
  std::int64_t global = whole(draft, "training.global_batch_size", -1);
  const Setting* from = draft.find("training.local_batch_size");
  const Setting* const tokens = draft.find("training.num_tokens_per_microbatch_per_dp_rank");
  const std::int64_t step = whole(draft, "training.num_tokens_per_train_step", -1);
  const std::int64_t parts = whole(draft, "parallelism.num_pp_microbatches", 1);
  std::int64_t micro = whole(draft, "parallelism.pipeline_parallel_microbatch_size", 1);
  if (tokens != nullptr && sequence > 0) {
    local = std::max<std::int64_t>(
        whole(draft, tokens->name, 0) / static_cast<std::int64_t>(sequence), 1);
    if (step > 0) global = step / static_cast<std::int64_t>(sequence);
    micro = std::max<std::int64_t>(local / std::max<std::int64_t>(parts, 1), 1);
    from = tokens;
  }
  const std::string comment = from != nullptr ? from->written : "training.local_batch_size = 8";
  const config::Origin origin = from != nullptr ? from->origin : config::Origin{};
  if (local < 1 || micro < 1) throw refusal(draft.request(), "a batch has at least one sample");
  if (pp > 1 && local % micro != 0)
    throw refusal(
        draft.request(),
        fmt::format("Batch size {} must be divisible by microbatch size {}", local, micro));
  if (const auto unit = static_cast<std::uint64_t>(local) * dp;
      global > 0 && draft.at("parallel.shard") != nullptr &&
      static_cast<std::uint64_t>(global) % unit != 0)
    throw refusal(draft.request(),
                  fmt::format("global batch size must be multiple of local batch size times "
                              "data-parallel degree ({} % ({} * {}) != 0)",
                              global, local, dp));
  draft.set("training.microbatch_size", fmt::format("{}", pp > 1 ? micro : local),
            pp > 1 ? "parallelism.pipeline_parallel_microbatch_size" : comment, origin);
  if (global <= 0) {
    if (draft.at("parallel.shard") == nullptr) return draft.lacks("global_batch");
    draft.set("global_batch", fmt::format("{}", static_cast<std::uint64_t>(local) * dp),
              fmt::format("{} x {} replicas", comment, dp), origin);
  } else {
    const Setting* const total = draft.find("training.global_batch_size");
    draft.set("global_batch", fmt::format("{}", global),
              total != nullptr ? total->written : "training.num_tokens_per_train_step",
              total != nullptr ? total->origin : origin);
  }
}

// Reads the converter that adds adapters to all products of layers (torchtitan/components/lora.py).
void read_converter(const Setting& converters, Draft& draft) {
  const Setting* const rank = draft.find("lora.rank");
  draft.set("training.lora.rank", rank != nullptr ? fmt::format("{}", whole_number(*rank)) : "8",
            rank != nullptr ? *rank : converters);
  draft.set("training.lora.modules",
            config::make_list(
                {"q_proj", "k_proj", "v_proj", "linear_proj", "gate_proj", "up_proj", "linear_fc2"},
                converters.origin),
            converters);
}

void read_training(Draft& draft) {
  const Setting* const converters = draft.find("model.converters");
  if (converters != nullptr)
    for (const std::string& converter : converters->values)
      if (converter.find("lora") != std::string::npos) read_converter(*converters, draft);
  if (draft.count_at("parallel.tp", 1) > 1) {
    const Setting* const off = draft.find("parallelism.enable_sequence_parallel");
    draft.set("parallel.sp", off == nullptr || draft.on(off->name) ? "true" : "false",
              off != nullptr ? off->written : "torchtitan's default");
  }
  if (const Setting* const optimizer = draft.find("optimizer.name"))
    read_optimizer_name(draft, *optimizer);
}

void read_recompute(Draft& draft) {
  const std::string mode = draft.text("activation_checkpoint.mode", "selective");
  const Setting* const checkpoint = draft.find("activation_checkpoint.mode");
  const std::string option = draft.text("activation_checkpoint.selective_ac_option", "2");
  const Setting* const early_stop = draft.find("activation_checkpoint.early_stop");
  const std::string comment = checkpoint != nullptr ? checkpoint->written : "by default";
  const bool whole_layers = mode == "full" || (mode == "selective" && option != "op");
  if (whole_layers) {
    draft.set("training.recompute.granularity", "full", comment);
    if (mode == "selective")
      draft.set("training.recompute.every", option,
                fmt::format("activation_checkpoint.selective_ac_option = {}", option));
  } else if (mode == "selective") {
    draft.set("training.recompute.granularity", "op", comment);
  } else if (mode != "none" && checkpoint != nullptr) {
    draft.not_understood(*checkpoint, "only none, selective and full are read");
  }
  if (early_stop == nullptr) return;
  const bool stops = draft.on("activation_checkpoint.early_stop");
  if (whole_layers)
    draft.set("training.recompute.early_stop", stops ? "true" : "false", *early_stop);
  else if (stops && mode != "none")
    draft.not_understood(*early_stop, "it is read only if whole layers are recomputed");
  else
    draft.without_effect(*early_stop, "no layer is recomputed, or to the end");
}

// Reads the data types of state, weights and reductions (torchtitan/config/configs.py).
void read_data_types(Draft& draft) {
  if (is_bfloat16(draft, "training.dtype")) {
    const Setting& type = *draft.find("training.dtype");
    draft.set("training.bytes.weights", "2", type);
    draft.set("training.bytes.gradients", "2", type);
    draft.set("training.bytes.optimizer", "4", type);  // two moments of Adam
  }
  const Setting* const weights = draft.find("training.mixed_precision_param");
  if (weights != nullptr && draft.text(weights->name) != "bfloat16")
    draft.not_understood(
        *weights, "only bfloat16 is read; training.precision: tf32 (or fp32) predicts float32");
  if (!is_bfloat16(draft, "training.mixed_precision_reduce")) return;
  const Setting& reduce = *draft.find("training.mixed_precision_reduce");
  // Only FSDP reduces in this type.
  if (draft.count_at("parallel.shard", 2) > 1)
    draft.set("communication.gradient_bytes", "2", reduce);
  else
    draft.without_effect(reduce, "without FSDP");
}

// Reads whether torch.compile compiles the model, which decides the stack, and the loss. The stack
// fuses the optimizer unless the job chooses another implementation.
void read_compile(Draft& draft) {
  const bool is_on = draft.on("compile.enable");
  const Setting* const enable = draft.find("compile.enable");
  const Setting* const components = draft.find("compile.components");
  const auto compiles = [&](std::string_view component) {
    return is_on && (components == nullptr ||
                     std::ranges::find(components->values, component) != components->values.end());
  };
  const std::string stack = compiles("model") ? "torchtitan" : "torchtitan-eager";
  const bool is_whole = fuses_optimizer(draft);
  const char* const key = is_whole ? "stack" : "stack.like";
  if (is_on && components != nullptr)
    draft.set(key, stack, *components);
  else if (enable != nullptr)
    draft.set(key, stack, *enable);
  else
    draft.set(key, stack, "without compile.enable");
  if (!is_whole)
    draft.set("stack.fused", fused_without_optimizer(stack),
              *draft.find("optimizer.implementation"));
  const bool loss = compiles("loss");
  draft.set_default("training.fused_loss", loss ? "true" : "false",
                    loss ? "the loss is compiled" : "the loss is not compiled");
}

void read_tensor_overlap(Draft& draft) {
  if (draft.count_at("parallel.tp", 1) > 1) return;
  if (config::Value* const section = config::find(draft.tree(), "communication"))
    std::erase_if(section->entries,
                  [](const config::Entry& entry) { return entry.key == "tp_comm_overlap"; });
}

void read_routing(Draft& draft) {
  for (const char* const name :
       {"debug.moe_force_load_balance", "training.debug_moe_force_load_balance"})
    if (const Setting* const force = draft.find(name)) {
      if (!draft.on(name)) {
        draft.without_effect(*force, "routing is natural without it");
        continue;
      }
      draft.set("training.experts.routing", "forced", *force);
      // _debug_force_load_balance_routing of torchtitan/models/moe/moe.py.
      draft.set("training.experts.round_robin", "true", *force);
    }
}

std::string torch_schedule(std::string_view name) {
  const auto it = std::ranges::find(torch_schedules, name, &TorchSchedule::schedule);
  return it == torch_schedules.end() ? "" : std::string(it->torch);
}

bool recognise(const SourceText& file) {
  if (file.is_json())
    return file.has("parallel_degree\"") ||
           (file.has("\"parallelism\"") && file.has("\"training\""));
  const auto has = [&](std::string_view words) { return file.has(words); };
  return std::ranges::any_of(own_sections, has) ||
         (is_toml(file) && std::ranges::any_of(own_keys, has));
}

Job read_job(const JobInput& input) {
  std::vector<Source> scripts;
  std::vector<Setting> settings;
  for (const Source& source : input.sources) {
    const SourceText text(source);
    if (!recognise(text) && !is_toml(text)) {
      scripts.push_back(source);
      continue;
    }
    for (Setting& setting : settings_of(source)) settings.push_back(std::move(setting));
  }
  rename_older(settings);
  Request request = empty_request(input);
  if (!scripts.empty()) {
    Request launched = read_launch(run_scripts(scripts, input.words), scripts.back().name);
    launched.name = request.name;
    launched.single = false;
    request = std::move(launched);
  }
  request.settings = std::move(settings);
  apply_gpus(input.words, request);
  return read(std::move(request));
}

std::vector<Setting> settings_of(const Source& source) {
  const std::size_t first = source.text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || source.text[first] != '{') return read_toml(source);
  std::vector<Setting> settings;
  flatten(config::read_yaml_text(source.text, source.name, torchtitan_config), "{} = {}", "",
          settings);
  return settings;
}

Job read(Request request) {
  Draft draft(std::move(request));
  read_flags(flags(), draft, draft.count("parallelism.context_parallel_degree").value_or(1) > 1);
  draft.sort_rest(known_settings(), names_of(flags()));
  return draft.take();
}

}  // namespace pipewright::jobs::torchtitan
