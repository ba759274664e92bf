#pragma once

#include <string>
#include <vector>

#include "sim/cluster/platform/platform.hpp"

namespace pipewright::cluster {

// What the platform file says of a host.
struct Member {
  const std::string* name = nullptr;
  Index zone = nothing;
  const std::string* gpu = nullptr;  // properties; null if it has none
  const std::string* node = nullptr;
  const std::string* nics = nullptr;
  const std::string* latency = nullptr;
};

// What that makes of it.
struct Role {
  bool is_gpu = false;
  Index node = nothing;  // of a GPU
  Index place = 0;       // of a GPU: among those of its node, in natural order of names
  // Of a GPU: the hosts that are its NICs' ports, over which its flows spread; none: it needs none.
  std::vector<Index> nics;
  double latency = 0;  // of a GPU: seconds that its NIC adds to those of links
};

// A fault of a member, for those who know where it was written.
struct MemberFault {
  Index member;
  std::string what;
};

struct Roles {
  std::vector<Role> of;     // each member
  std::vector<Index> gpus;  // in natural order of names
};

// GPUs are the members with a property `gpu`; if no member has it, all that are nobody's NIC. The
// GPUs of a zone, or of one property `node`, are a node. A property `nic` names ports, hosts again,
// through which GPUs reach other nodes: "node-0-nic-[0-3]". The GPUs of a zone with the same value
// share them out evenly in natural order, so that of 8 GPUs the first two have nic-0, or of 4 the
// first has nic-0 and nic-1 where there are 8. Throws MemberFault.
Roles assign_roles(const std::vector<Member>& members);

}  // namespace pipewright::cluster
