#include "sim/config/optimizer.hpp"

namespace pipewright::config {
namespace {

constexpr std::array optimizer_table{
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
  return moment_bytes(optimizer.exp_avg) + moment_bytes(optimizer.exp_avg_sq);
}

double state_bytes(const Optimizer& optimizer) {
  const double main_params = optimizer.main_params == Optimizer::MainParams::fp32 ? 4 : 2;
  return main_params + moments_bytes(optimizer);
}

double gradient_bytes(const Optimizer& optimizer) {
  return optimizer.main_grads == Optimizer::MainGrads::fp32 ? 4 : 2;
}

Optimizer read_optimizer(const Field& field) { return read_map<optimizer_table>(field); }

std::vector<KeyRow> optimizer_keys() { return rows_of(optimizer_table); }

}  // namespace pipewright::config
