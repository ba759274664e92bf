#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/config/keys.hpp"

// The keys of a scenario as a sweep sees them.
namespace pipewright::search {

// The table of keys.
const std::vector<config::KeyRow>& scenario_rows();

// The name that a scenario's key goes by, where "parallel.tensor" is "parallel.tp".
std::string canonical_key(std::string_view key);

// Whether a scenario has such a key, by its canonical name.
bool is_key(std::string_view canonical_key);

// Keys of which a list is one value, so that alternatives need `any_of`.
bool takes_list(std::string_view canonical_key);

// Whether only a value as a whole is open: schedule, model, gpu, cluster.
bool is_whole(std::string_view canonical_key);

// Whether a key is one of those within such a value, "model.layers".
bool is_in_whole(std::string_view canonical_key);

}  // namespace pipewright::search
