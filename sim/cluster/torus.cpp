#include "sim/cluster/torus.hpp"

namespace pipewright::cluster {

std::optional<TorusPlace> torus_place(const Cluster& cluster, const Host* gpu) {
  return cluster.is_ideal() ? std::nullopt : cluster.network()->torus_place(gpu);
}

TorusGrid torus(const Cluster& cluster, std::uint32_t torus) {
  return cluster.network()->torus(torus);
}

}  // namespace pipewright::cluster
