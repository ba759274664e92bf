#include "sim/config/optimizer.hpp"

#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/enum_names.hpp"

namespace pipewright::config {
namespace {

constexpr std::array optimizer_table{
    Key<Optimizer>{{.name = "name",
                    .help = "optimizer; Muon updates matrices and Adam the rest",
                    .default_value = "adam"},
                   choice<&Optimizer::name, optimizer_names>},
    Key<Optimizer>{{.name = "mode",
                    .help = "Muon: distribution of matrices over replicas: whole matrices on one "
                            "rank, momentum that all ranks gather, or shards that one rank gathers",
                    .default_value = "fsdp with ZeRO-3, otherwise layer_wise"},
                   choice<&Optimizer::mode, muon_mode_names>},
    Key<Optimizer>{{.name = "layout",
                    .help = "Muon, layer_wise: buffers of padded shards, or matrices dealt to the "
                            "ranks by size without padding",
                    .default_value = "padded"},
                   choice<&Optimizer::layout, muon_layout_names>},
    Key<Optimizer>{
        {.name = "ns_steps", .help = "Muon: Newton-Schulz iterations", .default_value = "5"},
        count<&Optimizer::ns_steps, "5">},
    Key<Optimizer>{{.name = "tp_mode",
                    .help = "Muon: Newton-Schulz iterations of matrices that tp cuts",
                    .default_value = "duplicated"},
                   choice<&Optimizer::tp_mode, muon_tp_mode_names>},
    Key<Optimizer>{{.name = "ns_precision",
                    .help = "Muon: data type of Newton-Schulz products",
                    .default_value = "bf16"},
                   choice<&Optimizer::ns_precision, ns_precision_names>},
    Key<Optimizer>{{.name = "split_qkv",
                    .help = "Muon: orthogonalize queries, keys and values one by one",
                    .default_value = "true"},
                   flag<&Optimizer::split_qkv>},
    Key<Optimizer>{{.name = "exp_avg",
                    .alias = "exp_avg_dtype",
                    .help = "data type of the first moment",
                    .default_value = "fp32"},
                   choice<&Optimizer::exp_avg, moment_names>},
    Key<Optimizer>{{.name = "exp_avg_sq",
                    .alias = "exp_avg_sq_dtype",
                    .help = "data type of the second moment",
                    .default_value = "fp32"},
                   choice<&Optimizer::exp_avg_sq, moment_names>},
    Key<Optimizer>{{.name = "main_params",
                    .alias = "main_params_dtype",
                    .help = "data type of the master weights (remainders are the bits that bf16 "
                            "weights lack of fp32)",
                    .default_value = "fp32"},
                   choice<&Optimizer::main_params, main_params_names>},
    Key<Optimizer>{{.name = "main_grads",
                    .alias = "main_grads_dtype",
                    .help = "data type of accumulated gradients",
                    .default_value = "fp32"},
                   choice<&Optimizer::main_grads, main_grads_names>},
    Key<Optimizer>{{.name = "offload",
                    .help = "part of the optimizer on the host: {fraction, overlap, gradients, "
                            "weights, threads, bandwidth, memory_bandwidth}"},
                   section<&Optimizer::offload, read_optimizer_offload, optimizer_offload_keys>},
};

using Name = Optimizer::Name;

// A key that some optimizers alone have.
struct OwnedKey {
  std::string_view name;
  std::string_view alias;
  std::span<const Name> owners;
};
constexpr std::array with_newton_schulz{Name::muon};
constexpr std::array with_first_moment{Name::adam, Name::muon, Name::ademamix};
constexpr std::array with_second_moment{Name::adam, Name::muon, Name::adafactor, Name::ademamix};
constexpr std::array owned_keys{
    OwnedKey{"mode", "", with_newton_schulz},
    OwnedKey{"layout", "", with_newton_schulz},
    OwnedKey{"ns_steps", "", with_newton_schulz},
    OwnedKey{"tp_mode", "", with_newton_schulz},
    OwnedKey{"ns_precision", "", with_newton_schulz},
    OwnedKey{"split_qkv", "", with_newton_schulz},
    OwnedKey{"exp_avg", "exp_avg_dtype", with_first_moment},
    OwnedKey{"exp_avg_sq", "exp_avg_sq_dtype", with_second_moment},
};

// Checks that a section has only keys of its optimizer.
void check_owned_keys(const Field& field, Name name) {
  const auto text = [](Name of) { return base::name_of(optimizer_names, of); };
  for (const OwnedKey& key : owned_keys) {
    if (std::ranges::find(key.owners, name) != key.owners.end()) continue;
    for (const std::string_view spelling : {key.name, key.alias}) {
      const Value* const value = find(field.value, spelling);
      if (value == nullptr) continue;
      std::vector<std::string_view> owners;
      for (const Name owner : key.owners) owners.push_back(text(owner));
      throw Error(value->origin,
                  fmt::format("{}.{} is a key of {}, and {}.name is {}", field.name, spelling,
                              fmt::join(owners, ", "), field.name, text(name)),
                  fmt::format("{}.{}", field.name, spelling))
          .suggest(fmt::format("leave out {}, or set name to {}", spelling, owners.front()));
    }
  }
}

double moment_bytes(Optimizer::Moment moment) {
  switch (moment) {
    case Optimizer::Moment::fp32:
      break;
    case Optimizer::Moment::fp16:
    case Optimizer::Moment::bf16:
      return 2;
    case Optimizer::Moment::fp8:
      return 1;
  }
  return 4;
}

}  // namespace

double moments_bytes(const Optimizer& optimizer) {
  const double first = moment_bytes(optimizer.exp_avg);
  const double second = moment_bytes(optimizer.exp_avg_sq);
  switch (optimizer.name) {
    case Name::adam:
    case Name::muon:
      break;
    case Name::adafactor:
      return second;
    case Name::adam_8bit: {
      constexpr double block = 256;  // elements (bitsandbytes, torchao)
      return 2 * (1 + 4 / block);
    }
    case Name::ademamix:
      return 2 * first + second;
  }
  return first + second;
}

double matrix_moments_bytes(const Optimizer& optimizer) {
  if (optimizer.name == Optimizer::Name::muon) return moment_bytes(optimizer.exp_avg);
  if (optimizer.name == Optimizer::Name::adafactor) return 0;
  return moments_bytes(optimizer);
}

double main_bytes(const Optimizer& optimizer) {
  return optimizer.main_params == Optimizer::MainParams::fp32 ? 4 : 2;
}

double gradient_bytes(const Optimizer& optimizer) {
  return optimizer.main_grads == Optimizer::MainGrads::fp32 ? 4 : 2;
}

Optimizer::Mode mode_of(const Optimizer& optimizer, std::uint32_t zero) {
  using Mode = Optimizer::Mode;
  return optimizer.mode.value_or(zero >= 3 ? Mode::fsdp : Mode::layer_wise);
}

std::string to_string(const Optimizer& optimizer, std::uint32_t zero) {
  const std::string_view name = base::name_of(optimizer_names, optimizer.name);
  if (optimizer.name != Optimizer::Name::muon) return std::string(name);
  std::string mode;
  if (zero > 0) {
    mode = base::name_of(muon_mode_names, mode_of(optimizer, zero));
    if (mode_of(optimizer, zero) == Optimizer::Mode::layer_wise &&
        optimizer.layout == Optimizer::Layout::ping_pong)
      mode += " ping_pong";
    mode += "; ";
  }
  return fmt::format("{} ({}{} Newton-Schulz {})", name, mode, optimizer.ns_steps,
                     optimizer.ns_steps == 1 ? "step" : "steps");
}

Optimizer read_optimizer(const Field& field) {
  const Optimizer optimizer = read_map<optimizer_table>(field);
  check_owned_keys(field, optimizer.name);
  return optimizer;
}

std::vector<KeyRow> optimizer_keys() { return rows_of(optimizer_table); }

}  // namespace pipewright::config
