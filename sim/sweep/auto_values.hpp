#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/parameters.hpp"
#include "sim/sweep/open_values.hpp"

namespace pipewright::search {

// Facts about the models, clusters and batches of a sweep from which the values of `auto` follow.
struct AutoFacts {
  std::set<std::uint64_t> gpus;  // allowed numbers of GPUs
  std::set<std::uint64_t> batches;
  std::set<std::uint64_t> layers;
  std::set<std::uint64_t> experts;  // 1: a dense model
  std::set<std::uint64_t> domains;  // GPUs of an NVLink domain
};

// Returns all values that `auto` stands for under a key, given by its canonical name. Throws
// config::Error at `origin` if the facts that this takes are missing.
std::vector<std::string> auto_values(const std::string& key, const AutoFacts& facts,
                                     const config::Origin& origin);

// Throws config::Error if `auto` is not allowed as the value of this key.
void check_auto(const std::string& key, const config::Origin& origin);

// Returns the alternatives for the schedule of a sweep. As a schedule, `auto` stands for the whole
// catalog; as a number of chunks, for the numbers that divide the layers of a model. Throws
// config::Error.
std::vector<config::Value> schedule_values(const OpenKey& open_key,
                                           const std::set<std::uint64_t>& layers);

// Returns the names of all schedules except those that are read from files.
std::vector<std::string_view> schedule_names();

// Throws config::Error for a schedule with an unknown name, or with a setting that is invalid in
// every run, such as 0 chunks.
void check_schedule(const config::Value& schedule);

// Returns the parameters of a catalog schedule on one device with one microbatch, with those of its
// settings in the sweep that are whole numbers.
schedules::Parameters parameters_of(const config::Value& schedule);

std::string schedule_name(const config::Value& schedule);   // for a file, the name of the file
std::string schedule_label(const config::Value& schedule);  // "interleaved-1f1b x4"

}  // namespace pipewright::search
