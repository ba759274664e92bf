#include "modules/module.hpp"
#include "sim/goodput/simgrid/functions.hpp"

namespace pipewright {
namespace {

const goodput::GoodputFunctions& opened() {
  return modules::table<goodput::GoodputFunctions>("goodput");
}

}  // namespace

goodput::Simulated goodput::simulate(const Setting& setting, std::span<const std::uint64_t> seeds,
                                     Spans spans) {
  return opened().simulate(setting, seeds, spans);
}

void goodput::load_simulator() { opened(); }

}  // namespace pipewright
