#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/config/partition.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/megatron/rules.hpp"
#include "sim/jobs/shell/words.hpp"

namespace pipewright::jobs::megatron {
namespace {

// Number of stages of a layout such as Et*3|(t*4|)*2tL.
std::uint64_t stages_of(const Setting& layout) {
  const config::Value value = config::make_text(layout.values.front(), layout.origin);
  return config::read_partition({value, flag_of(layout.name)}).layers.size();
}

// Number of layers that are distributed over the stages, as arguments.py counts it; 0 if the job
// does not know its model.
std::uint64_t counted_layers(Draft& draft) {
  std::uint64_t layers = draft.count_at("model.layers", draft.library_count("layers"));
  if (layers == 0) return 0;
  if (draft.on("account_for_embedding_in_pipeline_split")) ++layers;
  if (draft.on("account_for_loss_in_pipeline_split")) ++layers;
  return layers;
}

void check_exclusive(Draft& draft) {
  const Setting* first = nullptr;
  for (const char* const name :
       {"num_layers_per_virtual_pipeline_stage", "num_virtual_stages_per_pipeline_rank",
        "pipeline_model_parallel_layout"}) {
    const Setting* const setting = draft.find(name);
    if (setting == nullptr || setting->values.empty() || is_off(setting->values.front())) continue;
    if (first != nullptr)
      throw refusal(*setting,
                    fmt::format("No more than one of the following arguments can be set at the "
                                "same time: --num-layers-per-virtual-pipeline-stage, "
                                "--num-virtual-stages-per-pipeline-rank, "
                                "--pipeline-model-parallel-layout; {} is given at {}",
                                flag_of(first->name), config::to_string(first->origin)));
    first = setting;
  }
}

// Throws config::Error if a layout stands beside other settings that give layers to stages
// (transformer_config.py).
void check_layout_alone(Draft& draft, const Setting& layout) {
  for (const char* const name :
       {"decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers",
        "account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split"}) {
    if (!draft.on(name)) continue;
    const Setting& other = *draft.find(name);
    throw refusal(layout, fmt::format("pipeline_model_parallel_layout cannot be set with other "
                                      "pipeline layout arguments; {} is given at {}",
                                      readable(other.written), config::to_string(other.origin)));
  }
}

// Chunks per device; 1 without interleaving. Sets `from` to the setting that gives the number.
std::uint64_t read_chunks(Draft& draft, std::uint64_t pp, const Setting*& from) {
  check_exclusive(draft);
  const Setting* const layout = draft.find("pipeline_model_parallel_layout");
  if (layout != nullptr && !layout->values.empty() && !is_off(layout->values.front())) {
    from = layout;
    check_layout_alone(draft, *layout);
    const std::uint64_t stages = stages_of(*layout);
    if (stages % pp != 0)
      throw refusal(*layout, fmt::format("The length of pipeline_model_parallel_layout must be "
                                         "divisible by pipeline_model_parallel_size (num_stages="
                                         "{}, pipeline_model_parallel_size={})",
                                         stages, pp));
    return stages / pp;
  }
  if (const auto chunks = draft.count("num_virtual_stages_per_pipeline_rank")) {
    from = draft.find("num_virtual_stages_per_pipeline_rank");
    return *chunks;
  }
  if (const auto chunks = draft.count("virtual_pipeline_model_parallel_size")) {
    from = draft.find("virtual_pipeline_model_parallel_size");
    return *chunks;
  }
  const std::uint64_t layers = counted_layers(draft);
  if (const auto layers_per_chunk = draft.count("num_layers_per_virtual_pipeline_stage")) {
    from = draft.find("num_layers_per_virtual_pipeline_stage");
    if (layers == 0 || *layers_per_chunk == 0) return 1;
    if (draft.at("partition.first") != nullptr || draft.at("partition.last") != nullptr)
      throw refusal(*from,
                    "please use --num-virtual-stages-per-pipeline-rank to specify virtual pipeline "
                    "parallel degree when enable uneven pipeline parallelism");
    if (layers % pp != 0)
      throw refusal(*from, fmt::format("number of layers of the model must be divisible pipeline "
                                       "model parallel size ({} layers, {} devices)",
                                       layers, pp));
    if (layers / pp % *layers_per_chunk != 0)
      throw refusal(*from,
                    fmt::format("number of layers per pipeline stage must be divisible number of "
                                "layers per virtual pipeline stage ({} and {})",
                                layers / pp, *layers_per_chunk));
    return layers / pp / *layers_per_chunk;
  }
  if (const config::Value* const stages = draft.at("partition");
      stages != nullptr && stages->kind == config::Value::Kind::list) {
    if (stages->items.size() % pp != 0)
      throw config::Error(
          stages->origin,
          fmt::format("The number of hybrid pipeline segments described by --hybrid-layer-pattern "
                      "must be evenly divisible by --pipeline-model-parallel-size. Got {} segments "
                      "and {} pipeline parallel size",
                      stages->items.size(), pp));
    return std::max<std::uint64_t>(stages->items.size() / pp, 1);
  }
  return 1;
}

// Name of the zero-bubble schedule (arXiv 2401.10241 and 2405.15362) that flags of forks of
// Megatron-LM request; empty if none does. Sets `from` to the flag.
std::string zero_bubble(Draft& draft, const Setting*& from) {
  const auto asks = [&](std::string_view name) {
    if (!draft.on(name)) return false;
    from = draft.find(name);
    return true;
  };
  const std::string memory = draft.text("zero_bubble_v_schedule_mem_setup", "zb");
  const std::string pending = draft.text("zero_bubble_max_pending_backward", "auto");
  if (asks("enable_1f1b_v")) return "1f1b-v";
  if (asks("zero_bubble_v_schedule")) {
    if (memory == "half") return "v-half";
    if (memory == "min") return "v-min";
    return "v-zb";
  }
  if (!asks("enable_zero_bubble")) return "";
  const auto devices = draft.count_at("parallel.pp", 1);
  if (pending == "1p" || pending == fmt::format("{}", devices)) return "zb-1p";
  return "zb-2p";
}

// States that layers go to stages evenly where a recipe, which is known by its name alone, must
// have a layout of its own, since its layers do not divide into equal stages.
void assume_even_stages(Draft& draft, std::uint64_t stages) {
  const std::uint64_t layers = counted_layers(draft);
  if (has_argument_defaults(draft) || draft.at("model.layers") != nullptr || layers % stages == 0 ||
      draft.at("partition") != nullptr)
    return;
  draft.assume(
      fmt::format("{} layers go to {} stages as evenly as possible; the recipe has a layout "
                  "of its own, which model.pipeline_model_parallel_layout sets",
                  layers, stages));
}

// A single stage has all layers, whatever else counts as one (transformer_block.py,
// get_num_layers_to_build).
void read_single_stage(Draft& draft) {
  for (const char* const name :
       {"account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split"})
    if (const Setting* const setting = draft.find(name); setting != nullptr)
      draft.without_effect(*setting, "one stage has all layers");
  draft.drop("partition.account_for_embedding");
  draft.drop("partition.account_for_loss");
}

void read_transfers(Draft& draft, std::uint64_t pp, bool overlaps) {
  const Setting* const never = draft.find("no_overlap_p2p_communication");
  const bool off = never != nullptr && draft.on("no_overlap_p2p_communication");
  if (pp == 1) return;
  if (!overlaps)
    draft.set("communication.overlap_p2p", "false",
              "1F1B without interleaving does not overlap transfers");
  else if (off)
    draft.set("communication.overlap_p2p", "false", *never);
}

// Interleaved stages overlap transfers in the steady state, and in warm-up and cool-down only on
// request (megatron/core/pipeline_parallel/schedules.py,
// forward_backward_pipelining_with_interleaving).
void read_warmup_transfers(Draft& draft, bool interleaved) {
  constexpr std::string_view name = "overlap_p2p_communication_warmup_flush";
  const Setting* const overlap = draft.find(name);
  const bool overlaps_steady = interleaved && !draft.on("no_overlap_p2p_communication");
  if (overlap != nullptr && draft.on(name)) {
    if (!overlaps_steady)
      throw refusal(*overlap,
                    "Pipeline parallel communication overlapping in warmup and flush is only "
                    "compatible with overlap_p2p_comm but not batch_p2p_comm")
          .suggest(interleaved ? "leave out one of the two flags"
                               : "set the virtual pipeline size too, or leave the flag out");
    draft.set("p2p", "eager", *overlap);
  } else if (overlaps_steady && overlap != nullptr) {
    draft.set("p2p", "steady", *overlap);
  } else if (overlaps_steady) {
    draft.set("p2p", "steady", "warm-up and cool-down do not overlap transfers");
  }
}

}  // namespace

void read_schedule(Draft& draft) {
  const std::uint64_t pp = std::max<std::uint64_t>(draft.count_at("parallel.pp", 1), 1);
  const Setting* from = nullptr;
  const std::uint64_t chunks = read_chunks(draft, pp, from);
  const Setting* const layout = draft.find("pipeline_model_parallel_layout");
  draft.find("virtual_pipeline_model_parallel_size");
  if (pp == 1 && chunks <= 1) read_single_stage(draft);
  if (layout != nullptr && from == layout) {
    draft.set("partition", layout->values.front(), *layout);
    const config::Value value = config::make_text(layout->values.front(), layout->origin);
    std::uint32_t modules = 0;
    for (const std::uint32_t count : config::read_partition({value, "the layout"}).mtp)
      modules += count;
    if (modules > 0 && draft.at("model.mtp_layers") == nullptr)
      draft.set("model.mtp_layers", fmt::format("{}", modules), *layout);
  }
  const Setting* forks = nullptr;
  const std::string zero = zero_bubble(draft, forks);
  // A fork of Megatron-LM has more schedules than the stack.
  if (forks != nullptr && pp > 1)
    draft.set("stack.schedules", config::make_list({}, forks->origin), *forks);
  const Setting* const group = draft.find("microbatch_group_size_per_virtual_pipeline_stage");
  const bool never = draft.on("no_overlap_p2p_communication");
  const bool interleaved = chunks > 1 && zero.empty();
  if (!zero.empty()) {
    draft.set("schedule.name", zero, *forks);
  } else if (interleaved) {
    constexpr std::string_view too_short =
        "When interleaved schedule is used, pipeline-model-parallel size should be greater than 1";
    if (pp == 1)
      throw from != nullptr ? refusal(*from, too_short) : refusal(draft.request(), too_short);
    if (never && pp < 3)
      throw refusal(*draft.find("no_overlap_p2p_communication"),
                    "When interleaved schedule is used and p2p communication overlap is disabled, "
                    "pipeline-model-parallel size should be greater than 2 to avoid having "
                    "multiple p2p sends and recvs between same 2 ranks per communication batch");
    draft.set("schedule.name", "interleaved-1f1b",
              fmt::format("{} chunks of {}", chunks, from ? from->written : "the pattern"));
    if (from != nullptr)
      draft.set("schedule.chunks", fmt::format("{}", chunks), *from);
    else
      draft.set("schedule.chunks", fmt::format("{}", chunks), "stages of the pattern");
    if (group != nullptr && !group->values.empty() && !is_off(group->values.front()))
      draft.set("schedule.group_size", fmt::format("{}", whole_number(*group)), *group);
  }
  assume_even_stages(draft, pp * std::max<std::uint64_t>(chunks, 1));
  read_transfers(draft, pp, interleaved || !zero.empty());
  read_warmup_transfers(draft, interleaved);
}

// Flags of sail-sg/VocabularyParallelism and of branch v-half-vocab of
// sail-sg/zero-bubble-pipeline-parallelism (their arguments.py).
void read_vocabulary_parallel(Draft& draft) {
  const Setting* const vocabulary = draft.find("enable_vocab_parallel");
  const Setting* const interlaced = draft.find("use_interlaced_schedule");
  const Setting* const unfused = draft.find("disable_backward_fusion");
  if (vocabulary == nullptr || !draft.on("enable_vocab_parallel")) {
    for (const Setting* const setting : {interlaced, unfused})
      if (setting != nullptr) draft.without_effect(*setting, "the vocabulary is not split");
  } else if (interlaced != nullptr && draft.on("use_interlaced_schedule")) {
    draft.set("parallel.vocab_parallel", "interlaced", *interlaced);
    if (draft.count_at("parallel.pp", 1) == 1) return;
    draft.set("schedule.name", "interlaced", *interlaced);
    draft.set("stack.schedules", config::make_list({}, interlaced->origin), *interlaced);
  } else if (unfused != nullptr && draft.on("disable_backward_fusion")) {
    draft.set("parallel.vocab_parallel", "vocab-1", *unfused);
  } else {
    draft.set("parallel.vocab_parallel", "vocab-2", *vocabulary);
  }
}

void read_expert_overlap(Draft& draft) {
  // Expert dispatch overlaps with compute of another microbatch: forward and backward passes run in
  // pairs.
  if (const Setting* const overlap = draft.find("overlap_moe_expert_parallel_comm");
      overlap != nullptr && draft.on("overlap_moe_expert_parallel_comm") && has_experts(draft)) {
    draft.set("training.experts.overlap", "true", *overlap);
    if (draft.at("schedule.name") == nullptr)
      draft.set("schedule.name", "1f1b", "the schedule without interleaving");
    const std::uint64_t pp = draft.count_at("parallel.pp", 1);
    if (pp > 1 && draft.at("schedule.name")->text == "1f1b")
      throw refusal(*overlap,
                    fmt::format("forward and backward passes in pairs need several chunks per "
                                "device with pipeline parallel size {}",
                                pp))
          .suggest("set the virtual pipeline size too, or leave the overlap out");
    draft.set("schedule.fused", "true", *overlap);
    if (const Setting* const delay = draft.find("delay_wgrad_compute");
        delay != nullptr && draft.on("delay_wgrad_compute"))
      draft.set("training.experts.delay_wgrad", "true", *delay);
  } else if (const Setting* const delay = draft.find("delay_wgrad_compute")) {
    draft.without_effect(*delay, "without --overlap-moe-expert-parallel-comm");
  }
}

}  // namespace pipewright::jobs::megatron
