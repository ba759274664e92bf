#include "sim/config/gpu.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "sim/config/library.hpp"
#include "sim/config/units.hpp"

namespace pipewright::config {
namespace {

constexpr Document gpu_document{"a GPU", "flops, memory, memory_bandwidth and processors",
                                "flops: 312 TFLOP/s"};

double read_flops(const Field& field) {
  constexpr std::string_view noun = "a GPU's speed";
  return parse_flops(read_text(field, "a rate such as 312 TFLOP/s"), subject(field), noun);
}

double read_bandwidth(const Field& field) {
  constexpr std::string_view noun = "what a GPU's memory moves";
  return parse_bandwidth(read_text(field, "a bandwidth such as 2039 GB/s"), subject(field), noun);
}

std::uint64_t read_memory(const Field& field) {
  constexpr std::string_view noun = "a GPU's memory";
  return parse_memory(read_text(field, "a size such as 80 GiB"), subject(field), noun);
}

// Steps of an inner dimension, which has at most so many.
double read_steps(const Field& field) {
  constexpr double most = 1e6;
  const double steps = read_positive_number(field, "a number of steps");
  if (steps > most) throw wrong(field, "a number of at most 1e6, such as 64");
  return steps;
}

double read_efficiency(const Field& field) {
  constexpr std::string_view noun = "a part from 0 to 1, such as 0.85,";
  const double part = read_positive_number(field, noun);
  if (part > 1) throw wrong(field, "a part from 0 to 1, such as 0.85");
  return part;
}

using GpuKey = Key<Gpu>;

constexpr std::array table{
    GpuKey{{.name = "name", .help = "what it is called; else the file's name"},
           [](const Field& f, Gpu& g) { g.name = read_text(f, "a name"); }},
    GpuKey{{.name = "source", .help = "where its numbers come from"},
           [](const Field& f, Gpu&) { read_text(f, "where the numbers come from"); }},
    GpuKey{{.name = "flops", .help = "dense FLOP/s in bf16, such as 312 TFLOP/s", .required = true},
           [](const Field& f, Gpu& g) { g.flops = read_flops(f); }},
    GpuKey{{.name = "memory", .help = "bytes, such as 80 GiB", .required = true},
           [](const Field& f, Gpu& g) { g.memory = read_memory(f); }},
    GpuKey{{.name = "memory_bandwidth",
            .help = "of its own memory, such as 2039 GB/s",
            .required = true},
           [](const Field& f, Gpu& g) { g.memory_bandwidth = read_bandwidth(f); }},
    GpuKey{{.name = "processors", .help = "SMs or compute units, such as 108", .required = true},
           [](const Field& f, Gpu& g) { g.processors = read_count(f, "108"); }},
    GpuKey{{.name = "matrix_efficiency", .help = "part of flops that large products reach (0.85)"},
           [](const Field& f, Gpu& g) { g.matrix_efficiency = read_efficiency(f); }},
    GpuKey{{.name = "attention_efficiency",
            .help = "part of flops in attention's products, where scores are kept (0.42)"},
           [](const Field& f, Gpu& g) { g.attention_efficiency = read_efficiency(f); }},
    GpuKey{{.name = "flash_efficiency", .help = "part of flops in fused attention (0.42)"},
           [](const Field& f, Gpu& g) { g.flash_efficiency = read_efficiency(f); }},
    GpuKey{{.name = "memory_efficiency", .help = "part of memory_bandwidth (0.75)"},
           [](const Field& f, Gpu& g) { g.memory_efficiency = read_efficiency(f); }},
    GpuKey{{.name = "tile_fill", .help = "inner steps that starting a tile costs (64)"},
           [](const Field& f, Gpu& g) { g.tile_fill = read_steps(f); }},
    GpuKey{{.name = "kernel_overhead", .help = "time of each kernel (5 us)"},
           [](const Field& f, Gpu& g) { g.kernel_overhead = read_time(f, "an overhead"); }},
    GpuKey{{.name = "pass_overhead", .help = "time of each pass (1.2 ms)"},
           [](const Field& f, Gpu& g) { g.pass_overhead = read_time(f, "an overhead"); }},
};

Gpu from_map(const Value& map, const std::string& name) {
  Gpu gpu;
  read_keys<Gpu>({map, name}, table, gpu);
  return gpu;
}

std::string stem(const std::filesystem::path& path) { return path.stem().string(); }

}  // namespace

Gpu read_gpu(const Field& field) {
  Gpu gpu = from_map(library_map(field, "gpus", gpu_document), field.name);
  if (gpu.name.empty() && field.value.kind == Value::Kind::text) gpu.name = stem(field.value.text);
  return gpu;
}

Gpu find_gpu(const std::string& name) {
  const std::filesystem::path path = library_file("gpus", name, ".yaml");
  Gpu gpu = from_map(read_yaml_file(path.string(), gpu_document), "the GPU");
  if (gpu.name.empty()) gpu.name = name;
  return gpu;
}

std::vector<KeyInfo> gpu_keys() { return key_infos(table); }

}  // namespace pipewright::config
