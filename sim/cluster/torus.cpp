#include "sim/cluster/torus.hpp"

namespace pipewright::cluster {

std::optional<TorusPosition> torus_position(const Cluster& cluster, const Host* gpu) {
  return cluster.is_ideal() ? std::nullopt : cluster.network()->torus_position(gpu);
}

TorusGrid torus(const Cluster& cluster, std::uint32_t torus) {
  return cluster.network()->torus(torus);
}

}  // namespace pipewright::cluster
