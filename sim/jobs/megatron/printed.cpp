#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/shell/script.hpp"
#include "sim/jobs/shell/split.hpp"

namespace pipewright::jobs::megatron {
namespace {

// Heading above the arguments (megatron/training/arguments.py, _print_args).
constexpr std::string_view heading_words = "------ arguments ------";

// Attribute under which argparse stores a flag that has another name.
struct Attribute {
  std::string_view name;
  std::string_view flag;
  bool inverted = false;  // the attribute is true where the flag is absent
};
constexpr std::array attributes{
    Attribute{"add_bias_linear", "disable_bias_linear", true},
    Attribute{"batch_size", "micro_batch_size"},  // before 2021
    Attribute{"fp4", "fp4_format"},
    Attribute{"fp8", "fp8_format"},
    Attribute{"gradient_accumulation_fusion", "no_gradient_accumulation_fusion", true},
    Attribute{"microbatch_group_size_per_vp_stage",
              "microbatch_group_size_per_virtual_pipeline_stage"},
    Attribute{"overlap_p2p_comm", "no_overlap_p2p_communication", true},
    Attribute{"overlap_p2p_comm_warmup_flush", "overlap_p2p_communication_warmup_flush"},
    Attribute{"torch_fsdp2_reshard_after_forward", "torch_fsdp2_no_reshard_after_forward", true},
};

// Attributes that Megatron-LM derives from others, or that do not concern the training of GPT.
constexpr std::array<std::string_view, 41> derived{"add_position_embedding",
                                                   "bias_gelu_fusion",
                                                   "bias_swiglu_fusion",
                                                   "classes_fraction",
                                                   "consumed_train_samples",
                                                   "consumed_valid_samples",
                                                   "curr_iteration",
                                                   "data_parallel_size",
                                                   "data_per_class_fraction",
                                                   "dino_bottleneck_size",
                                                   "dino_freeze_last_layer",
                                                   "dino_head_hidden_size",
                                                   "dino_local_crops_number",
                                                   "dino_local_img_size",
                                                   "dino_norm_last_layer",
                                                   "dino_teacher_temp",
                                                   "dino_warmup_teacher_temp",
                                                   "dino_warmup_teacher_temp_epochs",
                                                   "dynamic_loss_scale",
                                                   "encoder_num_layers",
                                                   "encoder_seq_length",
                                                   "img_dim",
                                                   "img_h",
                                                   "img_w",
                                                   "indexer_batch_size",
                                                   "indexer_log_interval",
                                                   "iteration",
                                                   "min_scale",
                                                   "num_channels",
                                                   "num_classes",
                                                   "params_dtype",
                                                   "patch_dim",
                                                   "rank",
                                                   "report_topk_accuracies",
                                                   "scatter_gather_tensors_in_pipeline",
                                                   "swin_backbone_type",
                                                   "transformer_pipeline_model_parallel_size",
                                                   "variable_seq_lengths",
                                                   "vision_backbone_type",
                                                   "vision_pretraining_type",
                                                   "world_size"};

// Argument in a line "0:   num_layers ....... 80"; none in other lines.
struct Printed {
  std::string_view name;
  std::string_view value;
};
std::optional<Printed> printed_in(std::string_view line) {
  const std::size_t dots = line.find(" ..");
  if (dots == std::string_view::npos) return std::nullopt;
  const std::size_t end = line.find_first_not_of('.', dots + 1);
  if (end == std::string_view::npos || line[end] != ' ') return std::nullopt;
  const std::string_view before = line.substr(0, dots);
  const std::size_t space = before.find_last_of(" \t");
  std::string_view value = line.substr(end + 1);
  while (value.ends_with('\r') || value.ends_with(' ')) value.remove_suffix(1);
  return Printed{space == std::string_view::npos ? before : before.substr(space + 1), value};
}

// Words of a value, such as a and b for "['a', 'b']".
std::vector<std::string> words_in(std::string_view value) {
  std::string plain(value);
  if (!value.starts_with('[')) return {plain};
  std::ranges::replace_if(
      plain, [](char c) { return c == '[' || c == ']' || c == ',' || c == '\''; }, ' ');
  std::vector<std::string> words;
  for (const Word& word : split_words({plain, {}})) words.push_back(word.text);
  return words;
}

// Adds the flag that an argument stands for. Arguments without value, and flags that are off, are
// as absent flags.
void add_printed(const Printed& printed, const config::Origin& origin, Request& request) {
  Setting setting{.name = std::string(printed.name),
                  .written = fmt::format("{} {}", printed.name, printed.value),
                  .origin = origin};
  const auto attribute = std::ranges::find(attributes, printed.name, &Attribute::name);
  const bool inverted = attribute != attributes.end() && attribute->inverted;
  if (attribute != attributes.end()) setting.name = attribute->flag;
  if (printed.name == "world_size") {
    setting.values = {std::string(printed.value)};
    request.gpus = whole_number(setting);
    request.gpus_from = setting.written;
    request.gpus_origin = origin;
  }
  if (printed.value == "None" || printed.value.empty() ||
      printed.value == (inverted ? "True" : "False") ||
      std::ranges::find(derived, printed.name) != derived.end())
    return;
  if (printed.value != (inverted ? "False" : "True")) setting.values = words_in(printed.value);
  request.settings.push_back(std::move(setting));
}

}  // namespace

bool has_printed_arguments(std::string_view text) {
  return text.find(heading_words) != std::string_view::npos;
}

void read_printed_arguments(const Source& log, Request& request) {
  std::string_view text = log.text;
  config::Origin origin{.source = log.name, .line = 0, .column = 1};
  bool inside = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++origin.line;
    if (has_printed_arguments(line)) {
      inside = true;
      request.settings.clear();
    } else if (line.find("end of arguments") != std::string_view::npos) {
      inside = false;
    } else if (const std::optional<Printed> printed = printed_in(line); inside && printed) {
      add_printed(*printed, origin, request);
    }
  }
  if (std::ranges::find(request.settings, "deepspeed", &Setting::name) != request.settings.end())
    request.dialect = Dialect::deepspeed;
}

}  // namespace pipewright::jobs::megatron
