#include "validation/capabilities.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>

#include <fmt/format.h>

namespace pipewright::accuracy {
namespace {

using config::Scenario;

// Something that a scenario can describe.
struct Capability {
  std::string_view group;
  std::string_view name;
  std::string_view key;  // the scenario key, or the value of a key
  bool (*is_in)(const Request&);
};

bool has_schedule(const Scenario& scenario, std::initializer_list<std::string_view> prefixes) {
  if (scenario.devices.value == 1) return false;
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) {
    return scenario.schedules.front().name.starts_with(prefix);
  });
}

bool has_context(const Scenario& scenario, config::ContextComm method) {
  return scenario.parallel.cp.value > 1 && scenario.parallel.cp_comm == method;
}

bool is_sharded(const Scenario& scenario, std::uint32_t zero) {
  return scenario.parallel.dp.value > 1 && scenario.parallel.zero == zero;
}

const config::Model* model_of(const Scenario& scenario) {
  return scenario.model ? &scenario.model->value : nullptr;
}

bool has_layers(const Scenario& scenario, std::span<const char> symbols) {
  const config::Model* model = model_of(scenario);
  return model != nullptr &&
         std::ranges::any_of(symbols, [&](char symbol) { return model->has_layers(symbol); });
}

std::optional<config::Recompute::Granularity> recomputed(const Scenario& scenario) {
  if (!scenario.model) return std::nullopt;
  return scenario.training.recompute.granularity;
}

using enum config::Recompute::Granularity;
namespace symbols = config::layer_symbols;

constexpr std::array recurrent_layers{symbols::mamba, symbols::linear_attention, symbols::parallel,
                                      symbols::short_convolution};

const std::vector<Capability> capabilities{
    {"layout", "tensor parallelism", "`parallel.tp`",
     [](const Request& request) { return request.scenario.parallel.tp.value > 1; }},
    {"layout", "context parallelism, ring", "`parallel.cp`",
     [](const Request& request) {
       return has_context(request.scenario, config::ContextComm::p2p);
     }},
    {"layout", "context parallelism, other methods", "`parallel.cp_comm_type`",
     [](const Request& request) {
       return request.scenario.parallel.cp.value > 1 &&
              !has_context(request.scenario, config::ContextComm::p2p);
     }},
    {"layout", "expert parallelism", "`parallel.ep`",
     [](const Request& request) { return request.scenario.parallel.ep.value > 1; }},
    {"layout", "data parallelism without sharding", "`parallel.dp`",
     [](const Request& request) { return is_sharded(request.scenario, 0); }},
    {"layout", "ZeRO-1 and ZeRO-2", "`parallel.zero`",
     [](const Request& request) {
       return is_sharded(request.scenario, 1) || is_sharded(request.scenario, 2);
     }},
    {"layout", "FSDP, ZeRO-3", "`parallel.zero: 3`",
     [](const Request& request) { return is_sharded(request.scenario, 3); }},
    {"layout", "FSDP with replicas (HSDP)", "`parallel.shard`, `replicate`",
     [](const Request& request) { return request.scenario.parallel.replicates() > 1; }},
    {"layout", "uneven stages", "`partition`",
     [](const Request& request) {
       return request.scenario.devices.value > 1 &&
              request.scenario.partition.rule != config::Partition::Rule::even;
     }},
    {"layout", "vocabulary parallelism", "`parallel.vocab_parallel`",
     [](const Request& request) { return request.scenario.parallel.cuts_vocabulary(); }},
    {"layout", "GPUs of several types", "`cluster`, `placement.gpu_types`",
     [](const Request& request) { return request.has_mixed_gpus; }},
    {"schedule", "GPipe, 1F1B", "`schedule: 1f1b`",
     [](const Request& request) {
       return has_schedule(request.scenario, {"1f1b", "gpipe"}) &&
              !has_schedule(request.scenario, {"1f1b-v", "1f1b-2bw"});
     }},
    {"schedule", "interleaved 1F1B", "`schedule: interleaved-1f1b`",
     [](const Request& request) { return has_schedule(request.scenario, {"interleaved-1f1b"}); }},
    {"schedule", "zero bubble", "`schedule: zb-1p`, `zb-h1` ..",
     [](const Request& request) {
       return has_schedule(request.scenario, {"zb-h", "zb-1p", "zb-2p", "interleaved-zb"});
     }},
    {"schedule", "V-shaped schedules", "`schedule: v-half`, `zb-v` ..",
     [](const Request& request) {
       return has_schedule(request.scenario, {"v-", "zb-v", "1f1b-v", "stp"});
     }},
    {"schedule", "bidirectional schedules", "`schedule: dualpipe`, `chimera` ..",
     [](const Request& request) {
       return has_schedule(request.scenario, {"dualpipe", "chimera", "bitpipe"});
     }},
    {"schedule", "sequence slices", "`schedule: seq1f1b`",
     [](const Request& request) {
       return has_schedule(request.scenario, {"seq1f1b", "interleaved-seq"});
     }},
    {"model", "dense transformers", "`model`",
     [](const Request& request) { return request.scenario.model && !request.run.has_experts; }},
    {"model", "mixtures of experts", "`model.experts`",
     [](const Request& request) { return request.run.has_experts; }},
    {"model", "latent attention (MLA)", "`model.latent`",
     [](const Request& request) {
       return model_of(request.scenario) != nullptr &&
              model_of(request.scenario)->latent.has_value();
     }},
    {"model", "sliding windows", "`model.sliding_window`",
     [](const Request& request) {
       return model_of(request.scenario) != nullptr &&
              model_of(request.scenario)->sliding_window > 0;
     }},
    {"model", "sparse and compressed attention", "`model.indexer`, `compressed`",
     [](const Request& request) {
       return model_of(request.scenario) != nullptr &&
              (model_of(request.scenario)->indexer || model_of(request.scenario)->compressed);
     }},
    {"model", "Mamba, gated delta nets, convolutions", "`model.pattern`",
     [](const Request& request) { return has_layers(request.scenario, recurrent_layers); }},
    {"model", "multi-token prediction", "`model.mtp_layers`",
     [](const Request& request) {
       return model_of(request.scenario) != nullptr && model_of(request.scenario)->mtp_layers > 0;
     }},
    {"precision", "bf16, fp16", "`training.precision`",
     [](const Request& request) { return request.scenario.model && request.run.bits == 16; }},
    {"precision", "fp8, one scale per tensor", "`fp8`",
     [](const Request& request) { return request.run.precision == "fp8"; }},
    {"precision", "fp8, one scale per block", "`fp8-block`",
     [](const Request& request) { return request.run.precision == "fp8-block"; }},
    {"precision", "MXFP8", "`mxfp8`",
     [](const Request& request) { return request.run.precision == "mxfp8"; }},
    {"precision", "NVFP4, MXFP4", "`nvfp4`, `mxfp4`",
     [](const Request& request) { return request.run.bits == 4; }},
    {"precision", "TF32, fp32", "`tf32`, `fp32`",
     [](const Request& request) { return request.scenario.model && request.run.bits > 16; }},
    {"training", "full recomputation", "`training.recompute: full`",
     [](const Request& request) { return recomputed(request.scenario) == full; }},
    {"training", "selective recomputation", "`training.recompute`",
     [](const Request& request) {
       return recomputed(request.scenario) == selective || recomputed(request.scenario) == op;
     }},
    {"training", "CUDA graphs", "`training.cuda_graphs`",
     [](const Request& request) {
       return request.scenario.model &&
              request.scenario.training.cuda_graphs.scope != config::CudaGraphs::Scope::none;
     }},
    {"training", "overlap of tp with products", "`communication.tp_comm_overlap`",
     [](const Request& request) {
       return request.scenario.parallel.tp.value > 1 &&
              request.scenario.communication.tp_comm_overlap;
     }},
    {"training", "offloaded activations or optimizer", "`training.offload`, `optimizer.offload`",
     [](const Request& request) {
       return request.scenario.training.offload.has_value() ||
              request.scenario.training.optimizer.offload.has_value();
     }},
    {"training", "LoRA, frozen parts", "`training.lora`, `frozen`",
     [](const Request& request) { return !request.scenario.training.trains_all(); }},
    {"training", "documents of different lengths", "`training.lengths`",
     [](const Request& request) { return request.scenario.training.lengths.has_value(); }},
    {"training", "Muon", "`optimizer.name: muon`",
     [](const Request& request) {
       return request.scenario.training.optimizer.name == config::Optimizer::Name::muon;
     }},
    {"training", "Adafactor, 8-bit Adam, AdEMAMix", "`optimizer.name`",
     [](const Request& request) {
       return request.scenario.training.optimizer.name > config::Optimizer::Name::muon;
     }},
};

// Errors of the rows of one capability, in % of the measured value.
struct Errors {
  std::uint64_t rows = 0;
  double absolute = 0;
  double sum = 0;

  void add(double error) {
    ++rows;
    absolute += std::abs(error);
    sum += error;
  }
  std::string text() const {
    if (rows == 0) return "| no measured run | - ";
    const auto count = static_cast<double>(rows);
    return fmt::format("| {} | {:.1f} %, {:+.1f} % ", rows, absolute / count, sum / count);
  }
};

}  // namespace

std::uint64_t capabilities_of(const Request& request) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < capabilities.size(); ++i)
    if (capabilities[i].is_in(request)) bits |= std::uint64_t{1} << i;
  return bits;
}

std::string capability_table(const std::vector<Table>& tables) {
  std::string text =
      "| | feature | key | iterations: runs | mean error, bias | peak memory: runs | mean "
      "error, bias |\n|---|---|---|---:|---:|---:|---:|\n";
  std::string_view group;
  for (std::size_t i = 0; i < capabilities.size(); ++i) {
    Errors times;
    Errors memory;
    for (const Table& table : tables)
      for (const Row& row : table.rows) {
        if ((row.kind.capabilities >> i & 1U) == 0 || std::isnan(row.predicted)) continue;
        if (const std::optional<double> error = log_error(table, row))
          times.add(100 * std::expm1(-*error));
        else if (table.unit == "GiB")
          memory.add(row.error());
      }
    const Capability& capability = capabilities[i];
    text += fmt::format("| {} | {} | {} {}{}|\n", capability.group == group ? "" : capability.group,
                        capability.name, capability.key, times.text(), memory.text());
    group = capability.group;
  }
  return text;
}

}  // namespace pipewright::accuracy
