#include "sim/config/gpu.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "sim/config/keys.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/units.hpp"

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

template <auto member>
constexpr auto efficiency =
    within<member, "a part from 0 to 1, such as 0.85,", "a part from 0 to 1, such as 0.85", 0, 1>;

constexpr std::array table{
    Key<Gpu>{{.name = "name", .help = "what it is called; else the file's name"},
             text<&Gpu::name, "a name">},
    Key<Gpu>{{.name = "source", .help = "where its numbers come from"},
             {[](const Field& f, Gpu&) { read_text(f, "where the numbers come from"); }}},
    Key<Gpu>{
        {.name = "flops", .help = "dense FLOP/s in bf16, such as 312 TFLOP/s", .required = true},
        into<&Gpu::flops, read_flops>({ValueType::rate})},
    Key<Gpu>{{.name = "memory", .help = "bytes, such as 80 GiB", .required = true},
             into<&Gpu::memory, read_memory>({ValueType::size})},
    Key<Gpu>{{.name = "memory_bandwidth",
              .help = "of its own memory, such as 2039 GB/s",
              .required = true},
             into<&Gpu::memory_bandwidth, read_bandwidth>({ValueType::rate})},
    Key<Gpu>{{.name = "processors", .help = "SMs or compute units, such as 108", .required = true},
             count<&Gpu::processors, "108">},
    Key<Gpu>{{.name = "matrix_efficiency",
              .help = "part of flops that large products reach",
              .default_value = "0.85"},
             efficiency<&Gpu::matrix_efficiency>},
    Key<Gpu>{{.name = "attention_efficiency",
              .help = "part of flops in attention's products, where scores are kept",
              .default_value = "0.42"},
             efficiency<&Gpu::attention_efficiency>},
    Key<Gpu>{{.name = "flash_efficiency",
              .help = "part of flops in fused attention",
              .default_value = "0.42"},
             efficiency<&Gpu::flash_efficiency>},
    Key<Gpu>{
        {.name = "memory_efficiency", .help = "part of memory_bandwidth", .default_value = "0.75"},
        efficiency<&Gpu::memory_efficiency>},
    Key<Gpu>{{.name = "tile_fill",
              .help = "inner steps that starting a tile costs",
              .default_value = "64"},
             within<&Gpu::tile_fill, "a number of steps", "a number of at most 1e6, such as 64", 0,
                    1'000'000>},
    Key<Gpu>{{.name = "kernel_overhead", .help = "time of each kernel", .default_value = "5 us"},
             time<&Gpu::kernel_overhead, "an overhead">},
    Key<Gpu>{{.name = "pass_overhead", .help = "time of each pass", .default_value = "1.2 ms"},
             time<&Gpu::pass_overhead, "an overhead">},
};

}  // namespace

Gpu read_gpu(const Field& field) {
  Gpu gpu = read_map<table>({library_map(field, "gpus", gpu_document), field.name});
  if (gpu.name.empty() && field.value.kind == Value::Kind::text)
    gpu.name = std::filesystem::path(field.value.text).stem().string();
  return gpu;
}

Gpu find_gpu(const std::string& name) {
  const std::filesystem::path path = library_file("gpus", name, ".yaml");
  Gpu gpu = read_map<table>({read_yaml_file(path.string(), gpu_document), "the GPU"});
  if (gpu.name.empty()) gpu.name = name;
  return gpu;
}

std::vector<KeyRow> gpu_keys() { return rows_of(table); }

}  // namespace pipewright::config
