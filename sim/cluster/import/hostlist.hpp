#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipewright::cluster {

// Slurm's hostlist expressions: "node[001-003,7],login" is node001, node002, node003, node7, login;
// "rack[1-2]-[a,b]" has brackets twice. Throws Error, which says what is wrong with it, for those
// that are malformed or of more than a million names.
std::vector<std::string> expand_hostlist(std::string_view text);

}  // namespace pipewright::cluster
