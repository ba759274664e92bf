#include "sim/jobs/unsupported.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sim/config/text/value.hpp"

namespace pipewright::jobs {
namespace {

// A kind of configuration that is recognised, but not read.
struct Unread {
  std::string_view title;
  std::string_view extension;             // ".yaml" stands for ".yml" too; empty: a script
  std::array<std::string_view, 2> words;  // texts that all such files have
  std::string_view remedy;
};

constexpr std::string_view scenario_words =
    "write a scenario with the model, parallel sizes and batch of the job";

constexpr std::string_view torchtitan_files =
    "or give the TOML, or the JSON, of the configuration that it starts; stack: torchtitan";

constexpr std::array unread_rows{
    Unread{"MaxText", ".yaml", {"per_device_batch_size:", "base_emb_dim:"}, "stack: maxtext"},
    Unread{"MaxText", ".yaml", {"per_device_batch_size:", "ici_"}, "stack: maxtext"},
    Unread{"LLM Foundry", ".yaml", {"fsdp_config:", "max_seq_len:"}, "stack: llm-foundry"},
    Unread{"InternEvo", ".py", {"zero1", "parallel = dict("}, "stack: internevo"},
    Unread{"InternEvo", ".py", {"zero1", "parallel=dict("}, "stack: internevo"},
    Unread{"axolotl", ".yaml", {"base_model:", "sequence_len:"}, "stack: pytorch-fsdp"},
    Unread{"verl", ".yaml", {"actor_rollout_ref:", ""}, ""},
    Unread{"accelerate",
           ".yaml",
           {"distributed_type:", "num_processes:"},
           "parallel.zero: 3 for FSDP's FULL_SHARD, and zero_stage for DeepSpeed; stack: "
           "pytorch-fsdp or deepspeed"},
    Unread{"torchtitan in Python",
           ".py",
           {"Trainer.Config(", "torchtitan"},
           "or give the JSON that torchtitan writes of its configuration; stack: torchtitan"},
    // Scripts that start a program with a configuration.
    Unread{"torchtitan's train.py", "", {"torchtitan.train", ""}, torchtitan_files},
    Unread{"torchtitan's train.py", "", {"torchtitan_train.py", ""}, torchtitan_files},
    Unread{"verl", "", {"verl.trainer", ""}, ""},
    Unread{"MaxText", "", {"MaxText.train", ""}, "stack: maxtext"},
    Unread{"MaxText", "", {"maxtext.train", ""}, "stack: maxtext"},
    Unread{"MaxText", "", {"maxtext/train.py", ""}, "stack: maxtext"},
    Unread{"axolotl", "", {"axolotl train", ""}, "stack: pytorch-fsdp"},
    Unread{"axolotl", "", {"axolotl.cli.train", ""}, "stack: pytorch-fsdp"},
    Unread{"accelerate", "", {"accelerate launch", ""}, "stack: pytorch-fsdp or deepspeed"},
    Unread{"Colossal-AI", "", {"colossalai run", ""}, ""},
};

bool has_extension(const SourceText& text, std::string_view extension) {
  if (extension == ".yaml") return text.is_yaml();
  return extension.empty() ? text.may_be_shell() : text.extension() == extension;
}

}  // namespace

void check_supported(const Source& source) {
  const SourceText text(source);
  for (const Unread& row : unread_rows) {
    const bool has_words =
        std::ranges::all_of(row.words, [&](std::string_view words) { return text.has(words); });
    if (!has_words || !has_extension(text, row.extension)) continue;
    throw config::Error({.source = source.name},
                        fmt::format("a {} of {}, which is not read",
                                    row.extension.empty() ? "launch" : "configuration", row.title))
        .suggest(row.remedy.empty() ? std::string(scenario_words)
                                    : fmt::format("{} ({})", scenario_words, row.remedy));
  }
}

}  // namespace pipewright::jobs
