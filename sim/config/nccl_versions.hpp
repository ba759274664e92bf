#pragma once

#include <cstdint>
#include <string_view>

namespace pipewright::config {

// Minor numbers of the NCCL 2 versions whose choices are known: 2.4, the first with trees, and the
// newest one of which the source code was read.
inline constexpr std::uint32_t oldest_nccl = 4;
inline constexpr std::uint32_t newest_nccl = 30;
inline constexpr std::string_view nccl_versions =
    "a version of NCCL from 2.4 to 2.30, such as 2.27; of later versions, give the newest of these";

}  // namespace pipewright::config
