#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/parameters.hpp"
#include "sim/search/space/open_values.hpp"

namespace pipewright::search {

// What `auto` goes by; of several models, clusters and batches all together.
struct Known {
  std::set<std::uint64_t> gpus;  // that a candidate may use
  std::set<std::uint64_t> batches;
  std::set<std::uint64_t> layers;
  std::set<std::uint64_t> experts;  // 1: a dense model
  std::set<std::uint64_t> domains;  // GPUs of an NVLink domain
};

// All that a key can be, under its canonical name. Throws config::Error at `origin` where that is
// not known.
std::vector<std::string> auto_values(const std::string& key, const Known& known,
                                     const config::Origin& origin);

// Throws config::Error for a key that knows no `auto`.
void check_auto(const std::string& key, const config::Origin& origin);

// The schedules of a sweep, with `auto` worked out: a whole catalog, or the chunks that divide the
// layers of a model. Throws config::Error.
std::vector<config::Value> schedule_values(const OpenPlace& place,
                                           const std::set<std::uint64_t>& layers);

// All that are not files.
std::vector<std::string_view> schedule_names();

// Throws config::Error for a name that the catalog does not have, and for choices, such as a number
// of chunks, that no run can have.
void check_schedule(const config::Value& schedule);

// The choices of a schedule of the catalog that are whole numbers, on one device with one
// microbatch.
schedules::Parameters parameters_of(const config::Value& schedule);

std::string schedule_name(const config::Value& schedule);   // of a file: the file's
std::string schedule_label(const config::Value& schedule);  // "interleaved-1f1b x4"

}  // namespace pipewright::search
