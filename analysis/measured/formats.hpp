#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

namespace pipewright::analysis {

// Format of an input file, recognized by its content, whatever its name.
enum class FileKind {
  trace,            // HDF5 of pipewright.
  chrome,           // JSON with trace events, packed or not.
  primus_passes,    // JSON of Primus with the passes of a pipeline rank.
  training_log,     // Text with times of iterations.
  torch_schedule,   // CSV with actions such as 0F0.
  memory_snapshot,  // Pickle of PyTorch's allocator.
};

// Describes an input format to users.
struct InputFormat {
  FileKind kind;
  std::string_view name;     // "PyTorch's profiler (JSON, .json or .json.gz)"
  std::string_view content;  // Part of a run that can be compared.
};

inline constexpr std::array input_formats{
    InputFormat{FileKind::trace, "trace of pipewright (HDF5)", "everything"},
    InputFormat{FileKind::chrome, "JSON of PyTorch's profiler, or exported by pipewright",
                "passes of each rank"},
    InputFormat{FileKind::primus_passes, "pp_rank_N.json of Primus (--dump_pp_data)",
                "passes of each rank"},
    InputFormat{FileKind::training_log, "log of Megatron-LM, Megatron-DeepSpeed or Primus",
                "iterations, timers, memory of ranks, tokens/s"},
    InputFormat{FileKind::training_log, "log of Megatron-Bridge or GPT-NeoX",
                "iterations, FLOP/s, samples/s"},
    InputFormat{FileKind::training_log, "log of DeepSpeed",
                "iterations, samples/s, timers, memory"},
    InputFormat{FileKind::training_log, "log of NeMo (train_step_timing), also by DLLogger",
                "iterations"},
    InputFormat{FileKind::training_log, "log of torchtitan", "tokens/s of a GPU, memory"},
    InputFormat{FileKind::training_log, "log of nanotron or MaxText",
                "iterations, tokens/s of a GPU, FLOP/s"},
    InputFormat{FileKind::training_log, "log of InternLM or InternEvo",
                "tokens/s of a GPU, FLOP/s"},
    InputFormat{FileKind::training_log, "log of ms-swift (train_speed)", "iterations"},
    InputFormat{FileKind::training_log, "output of Hugging Face's Trainer, progress bars",
                "iterations"},
    InputFormat{FileKind::training_log, "trainer_state.json of Hugging Face's Trainer",
                "samples/s, mean of all iterations"},
    InputFormat{FileKind::memory_snapshot, "memory snapshot of PyTorch (.pickle)",
                "peak memory of each rank, by component"},
    InputFormat{FileKind::torch_schedule, "schedule of PyTorch (CSV)", "the order of passes"},
};

// Lists the readable formats, one per line, each with the figures of a run that it lets users
// compare.
std::string formats_text();

// Throws trace::TraceError with the list of formats if the file has none of them.
FileKind file_kind(const std::filesystem::path& file);

}  // namespace pipewright::analysis
