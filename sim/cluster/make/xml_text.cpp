#include "sim/cluster/make/xml_text.hpp"

namespace pipewright::cluster {

std::string bandwidth_text(double bytes_per_second) {
  return fmt::format("{:.10g}GBps", bytes_per_second / 1e9);
}

std::string latency_text(double seconds) { return fmt::format("{:.10g}us", seconds * 1e6); }

}  // namespace pipewright::cluster
