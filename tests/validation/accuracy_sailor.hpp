#pragma once

#include <string>

namespace pipewright::accuracy {

// The path of a platform file of the nodes that a plan names, "2xTitan-RTX:tp2|2xRTX-3090:tp2".
std::string mixed_cluster(const std::string& stages);

}  // namespace pipewright::accuracy
