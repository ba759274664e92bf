#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/search/space/open_values.hpp"

namespace pipewright::search {

// What `auto` goes by; of several models, clusters and batches all together.
struct Known {
  std::set<std::uint64_t> gpus;  // that a candidate may use
  std::set<std::uint64_t> batches;
  std::set<std::uint64_t> layers;
  std::set<std::uint64_t> experts;  // 1: a dense model
};

// All that a key can be, under its canonical name. Throws config::Error at `origin` where that is
// not known.
std::vector<std::string> auto_values(const std::string& key, const Known& known,
                                     const config::Origin& origin);

// Throws config::Error for a key that knows no `auto`.
void check_auto(const std::string& key, const config::Origin& origin);

// In order, of all the numbers together.
std::vector<std::string> divisors(const std::set<std::uint64_t>& numbers);

}  // namespace pipewright::search
