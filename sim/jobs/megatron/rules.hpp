#pragma once

#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/settings_writer.hpp"

// Functions of the table of flags (flags.cpp), for settings that several flags or keys express
// together. Such a function handles all the flags whose rows name it.
namespace pipewright::jobs::megatron {

// Model (model.cpp).
void read_layers(Draft& draft);
void read_linear_pattern(Draft& draft);
void read_positions(Draft& draft);
void read_sequence(Draft& draft);
void read_vocabulary(Draft& draft);
void read_mlp(Draft& draft);
void read_attention(Draft& draft);
void read_latent(Draft& draft);
void read_experts(Draft& draft);
void read_mamba(Draft& draft);
void read_linear_attention(Draft& draft);
void read_mtp(Draft& draft);

// Parallel sizes (parallel.cpp).
void read_degrees(Draft& draft);
void read_scatter_gather(Draft& draft);
void read_sequence_parallel(Draft& draft);
void read_data_parallel(Draft& draft);
void read_rank_order(Draft& draft);

// Functions for schedule and partition (schedule.cpp).
void read_schedule(Draft& draft);
void read_vocabulary_parallel(Draft& draft);
void read_expert_overlap(Draft& draft);

// Training (training.cpp).
void read_batch(Draft& draft);
void read_precision(Draft& draft);
void read_module_types(Draft& draft);
void read_fp8_param_gather(Draft& draft);
void read_gradients(Draft& draft);
void read_recompute(Draft& draft);
void read_attention_backend(Draft& draft);
void read_dispatcher(Draft& draft);
void read_routing(Draft& draft);
void read_optimizer(Draft& draft);
void read_allocator(Draft& draft);

// Kernels that flags fuse (fusions.cpp).
void read_fusions(Draft& draft);
void write_fusions(SettingsWriter& writer);

// Offloading to host memory (offload.cpp).
void read_offload(Draft& draft);
void read_optimizer_offload(Draft& draft);
void write_offload(SettingsWriter& writer);

// Returns whether the job gives its model experts, or names a model of the library with experts.
bool has_experts(Draft& draft);
// Returns whether the model may have experts. The model of a recipe, which is known by its name
// alone, may have experts (cuda_graphs.cpp).
bool may_have_experts(Draft& draft);
void read_cuda_graphs(Draft& draft);

// Functions that write the flags of a scenario: of its model (write_model.cpp), of its parallel
// sizes, schedule and partition (write_layout.cpp), and of its training (write_training.cpp).
void write_model(SettingsWriter& writer);
void write_latent(SettingsWriter& writer);
void write_experts(SettingsWriter& writer);
void write_parallel(SettingsWriter& writer);
void write_schedule(SettingsWriter& writer);
void write_partition(SettingsWriter& writer);
void write_training(SettingsWriter& writer);

// Returns whether only a list of all stages can express their numbers of layers (write_layout.cpp).
bool needs_layout(const SettingsWriter& writer);
// Returns the number of layers of each stage; empty if only a plan can compute them.
std::vector<std::uint32_t> layers_of_stages(const SettingsWriter& writer);

}  // namespace pipewright::jobs::megatron
