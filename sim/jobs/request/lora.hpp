#pragma once

#include <array>

#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/flags.hpp"

// Adapters (LoRA) of a job. Each framework has other names for the same settings, which its reader
// renames to those below.
namespace pipewright::jobs {

// Sets the keys of training.lora. The setting `lora` has the kind of the adapters, and the others
// are without effect if there is none or it means no. Throws config::Error for other kinds than
// LoRA, and for products that no adapter of a scenario has.
void read_lora(Draft& draft);

inline constexpr std::array lora_flags{
    Flag{.name = "lora", .key = "training.lora", .read = read_lora},
    Flag{.name = "lora_rank", .key = "training.lora.rank", .read = read_lora},
    Flag{.name = "lora_modules", .key = "training.lora.modules", .read = read_lora},
    Flag{.name = "lora_experts", .key = "training.lora.experts", .read = read_lora},
    Flag{.name = "lora_base", .key = "training.lora.base", .read = read_lora},
    Flag{.name = "lora_dropout", .key = "training.lora.dropout", .read = read_lora},
};

// A framework's name of a setting of adapters, and its name above.
struct LoraName {
  std::string_view name, lora;
};
// Renames the settings of a request that have one of these names.
void rename_lora(std::span<const LoraName> names, Request& request);

}  // namespace pipewright::jobs
