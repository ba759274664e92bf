#pragma once

#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/settings_writer.hpp"

// Functions of the table of settings (flags.cpp), for what several settings or keys express
// together. Such a function handles all the settings whose rows name it; values that it writes are
// TOML.
namespace pipewright::jobs::torchtitan {

// read.cpp
void read_model(Draft& draft);
void read_tensor_overlap(Draft& draft);
void read_data_parallel(Draft& draft);
void read_unshard_window(Draft& draft);
void read_schedule(Draft& draft);
void read_batch(Draft& draft);
void read_training(Draft& draft);
void read_recompute(Draft& draft);
void read_data_types(Draft& draft);
void read_compile(Draft& draft);
void read_routing(Draft& draft);

// offload.cpp
void read_cpu_offload(Draft& draft);
void write_cpu_offload(SettingsWriter& writer);

// precision.cpp
void read_quantization(Draft& draft);
void write_quantization(SettingsWriter& writer);

// write.cpp
void write_model(SettingsWriter& writer);
void write_parallel(SettingsWriter& writer);
void write_schedule(SettingsWriter& writer);
void write_training(SettingsWriter& writer);

}  // namespace pipewright::jobs::torchtitan
