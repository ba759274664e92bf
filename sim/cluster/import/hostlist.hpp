#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipewright::cluster {

// Expands a Slurm hostlist: "node[001-003,7],login" gives node001, node002, node003, node7, login.
// A word can have several brackets: "rack[1-2]-[a,b]". Throws Error for malformed lists and for
// more than a million names.
std::vector<std::string> expand_hostlist(std::string_view text);

}  // namespace pipewright::cluster
