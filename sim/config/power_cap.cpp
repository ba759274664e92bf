#include "sim/config/power_cap.hpp"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sim/config/derived_gpu.hpp"

namespace pipewright::config {

Gpu with_power_cap(Gpu gpu, const Located<double>& cap) {
  if (!gpu.power)
    throw Error(cap.origin, fmt::format("a power cap needs the power of '{}', which its file does "
                                        "not state",
                                        gpu.name))
        .suggest("add power: {compute: 700 W, idle: 100 W} to the GPU's file");
  if (cap.value <= gpu.power->idle)
    throw Error(cap.origin,
                fmt::format("a power cap of {:.4g} W is not more than the {:.4g} W of an idle {}",
                            cap.value, gpu.power->idle, gpu.name))
        .allow(fmt::format("more than {:.4g} W", gpu.power->idle));
  if (cap.value >= gpu.power->compute) return gpu;
  const double above_idle = (cap.value - gpu.power->idle) / (gpu.power->compute - gpu.power->idle);
  const double ratio = std::pow(above_idle, 1 / power_exponent);
  const double products_clock = gpu.clock.products * ratio;
  gpu = with_products_clock(std::move(gpu), products_clock);
  gpu.clock.attention *= ratio;
  gpu.power->compute = cap.value;
  return gpu;
}

}  // namespace pipewright::config
