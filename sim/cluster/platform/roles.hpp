#pragma once

#include <string>
#include <vector>

#include "sim/cluster/platform/platform.hpp"

namespace pipewright::cluster {

// A host of the platform file, with the properties that determine its role.
struct Member {
  const std::string* name = nullptr;
  Index zone = nothing;
  const std::string* gpu = nullptr;  // this and the following properties are null if absent
  const std::string* node = nullptr;
  const std::string* nics = nullptr;
  const std::string* latency = nullptr;
};

// Role of a host of the platform file: GPU, NIC port or neither.
struct Role {
  bool is_gpu = false;
  Index node = nothing;   // node of a GPU
  Index local_index = 0;  // index of a GPU within its node, in natural order of names
  // Ports of the GPU's NICs, among which its flows to other nodes are divided. Empty if the GPU
  // needs no NIC.
  std::vector<Index> nics;
  double latency = 0;  // latency of a GPU's NIC in seconds, in addition to the links
};

// Error that concerns one member; the caller adds the member's position in the platform file.
struct MemberError {
  Index member;
  Error fault;
};

struct Roles {
  std::vector<Role> by_member;  // indexed by member
  std::vector<Index> gpus;      // in natural order of names
};

// Assigns roles to members. GPUs are the members with a property `gpu`; if no member has it, all
// members that are not NICs. The GPUs of a zone, or with the same property `node`, form a node. A
// property `nic` names ports (also hosts) through which GPUs reach other nodes: "node-0-nic-[0-3]".
// The GPUs of a zone with the same value share the ports evenly in natural order: with 8 GPUs and 4
// ports, the first two GPUs use nic-0; with 4 GPUs and 8 ports, the first GPU uses nic-0 and nic-1.
// Throws MemberError.
Roles assign_roles(const std::vector<Member>& members);

}  // namespace pipewright::cluster
