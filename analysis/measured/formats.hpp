#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

namespace pipewright::analysis {

// What a file holds, whatever it is called.
enum class FileKind {
  trace,            // of pipewright: HDF5
  chrome,           // JSON of trace events, maybe packed
  primus_passes,    // JSON of Primus: passes of a pipeline rank
  training_log,     // text with times of iterations
  torch_schedule,   // CSV of actions such as 0F0
  memory_snapshot,  // pickle of PyTorch's allocator
};

// One format that is read, as users are told of it.
struct InputFormat {
  FileKind kind;
  std::string_view name;   // "PyTorch's profiler (JSON, .json or .json.gz)"
  std::string_view gives;  // what is compared
};

inline constexpr std::array input_formats{
    InputFormat{FileKind::trace, "trace of pipewright (HDF5)", "everything"},
    InputFormat{FileKind::chrome, "JSON of PyTorch's profiler, or exported by pipewright",
                "passes of each rank"},
    InputFormat{FileKind::primus_passes, "pp_rank_N.json of Primus (--dump_pp_data)",
                "passes of each rank"},
    InputFormat{FileKind::training_log, "log of Megatron-LM, Megatron-DeepSpeed or Primus",
                "iterations, timers, memory of ranks, tokens/s"},
    InputFormat{FileKind::training_log, "log of DeepSpeed",
                "iterations, samples/s, timers, memory"},
    InputFormat{FileKind::training_log, "log of NeMo (train_step_timing)", "iterations"},
    InputFormat{FileKind::training_log, "log of torchtitan", "tokens/s of a GPU, memory"},
    InputFormat{FileKind::memory_snapshot, "memory snapshot of PyTorch (.pickle)",
                "peak memory of each rank, by component"},
    InputFormat{FileKind::torch_schedule, "schedule of PyTorch (CSV)", "the order of passes"},
};

// A line each: the name, and what is compared.
std::string formats_text();

// Throws trace::TraceError, which says what there is, where it is none of these.
FileKind file_kind(const std::filesystem::path& file);

}  // namespace pipewright::analysis
