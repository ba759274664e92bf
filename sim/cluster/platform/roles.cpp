#include "sim/cluster/platform/roles.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "sim/cluster/platform/names.hpp"
#include "sim/config/text/units.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::cluster {
namespace {

std::vector<Index> natural_order(const std::vector<Member>& members) {
  std::vector<Index> order(members.size());
  for (Index i = 0; i < order.size(); ++i) order[i] = i;
  const auto less = [&](Index a, Index b) {
    return natural_less(*members[a].name, *members[b].name);
  };
  if (!std::is_sorted(order.begin(), order.end(), less))
    std::sort(order.begin(), order.end(), less);
  return order;
}

using ByName = std::unordered_map<std::string_view, Index>;

// Distributes NICs, in natural order of names, among the GPUs of one zone that have the same
// property `nic`.
void distribute_nics(const std::vector<Member>& members, const std::vector<Index>& gpus,
                     const ByName& by_name, std::vector<Role>& roles) {
  const Member& first = members[gpus.front()];
  const auto names = expand_names(*first.nics);
  if (!names || names->empty())
    throw MemberError{gpus.front(),
                      fmt::format("nic '{}' must name hosts, such as \"node-0-nic-0\" "
                                  "or \"node-0-nic-[0-3]\"",
                                  *first.nics)};
  if (gpus.size() % names->size() != 0 && names->size() % gpus.size() != 0)
    throw MemberError{
        gpus.front(),
        Error(fmt::format("{} GPUs cannot share {} NICs evenly (nic '{}')", gpus.size(),
                          names->size(), *first.nics))
            .suggest("use one NIC per GPU, one NIC for 2, 4, .. GPUs, or 2, 4, .. NICs per GPU")};
  const std::size_t nics_per_gpu = std::max<std::size_t>(names->size() / gpus.size(), 1);
  for (std::size_t i = 0; i < gpus.size() * nics_per_gpu; ++i) {
    const Index gpu = gpus[i / nics_per_gpu];
    const std::string& name = (*names)[i * names->size() / (gpus.size() * nics_per_gpu)];
    const auto nic = by_name.find(name);
    if (nic == by_name.end())
      throw MemberError{gpu, fmt::format("nic '{}' is not a host of this platform", name)};
    roles[gpu].nics.push_back(nic->second);
    const std::string* const latency = members[nic->second].latency;
    if (latency == nullptr) continue;
    try {
      roles[gpu].latency = std::max(
          roles[gpu].latency, config::parse_time(*latency, "property latency", "a NIC's latency"));
    } catch (const config::Error& error) {
      throw MemberError{nic->second, Error(error)};
    }
  }
}

}  // namespace

Roles assign_roles(const std::vector<Member>& members) {
  Roles roles{.by_member = std::vector<Role>(members.size()), .gpus = {}};
  const std::vector<Index> order = natural_order(members);
  ByName by_name;
  bool any_gpu = false;
  bool any_nics = false;
  for (const Member& member : members) {
    any_gpu = any_gpu || member.gpu != nullptr;
    any_nics = any_nics || member.nics != nullptr;
  }
  if (any_nics) {
    by_name.reserve(members.size());
    for (Index i = 0; i < members.size(); ++i) by_name.emplace(*members[i].name, i);
    std::map<std::pair<Index, std::string_view>, std::vector<Index>> groups;
    for (const Index i : order)
      if (members[i].nics != nullptr) groups[{members[i].zone, *members[i].nics}].push_back(i);
    for (const auto& [key, gpus] : groups) distribute_nics(members, gpus, by_name, roles.by_member);
  }

  std::vector<bool> is_nic(members.size());
  for (const Role& role : roles.by_member)
    for (const Index nic : role.nics) is_nic[nic] = true;
  std::map<std::tuple<bool, Index, std::string_view>, Index> nodes;
  std::vector<Index> gpus_of_node;
  for (const Index i : order) {
    Role& role = roles.by_member[i];
    role.is_gpu = any_gpu ? members[i].gpu != nullptr : !is_nic[i];
    if (!role.is_gpu) continue;
    roles.gpus.push_back(i);
    const auto node = members[i].node != nullptr
                          ? std::tuple{true, nothing, std::string_view(*members[i].node)}
                          : std::tuple{false, members[i].zone, std::string_view()};
    role.node = nodes.try_emplace(node, static_cast<Index>(nodes.size())).first->second;
    gpus_of_node.resize(nodes.size());
    role.local_index = gpus_of_node[role.node]++;
  }
  return roles;
}

}  // namespace pipewright::cluster
