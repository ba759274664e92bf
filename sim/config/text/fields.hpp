#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text/field.hpp"

namespace pipewright::config {

// Creates the error for a value of a wrong kind: "gpt.yaml:7:12: devices is a map; allowed:
// `allowed`".
Error wrong(const Field& field, std::string_view allowed);

// Returns the items of a list, or for any other value a list with that value alone.
std::vector<Field> items(const Field& field, std::string_view allowed);

// Reads a text that is not empty.
const std::string& read_text(const Field& field, std::string_view allowed);

// Reads a whole number from 1 to 2^31.
std::uint32_t read_count(const Field& field, std::string_view example);

// Reads one of `choices` and returns its index.
std::size_t read_choice(const Field& field, std::span<const std::string_view> choices);

bool read_flag(const Field& field);  // true or false

// Read a time in seconds or a size in bytes. `noun` names a single value in messages, "a pass
// time". read_times() accepts one value or a list.
double read_time(const Field& field, std::string_view noun);
std::vector<double> read_times(const Field& field, std::string_view noun);
std::uint64_t read_size(const Field& field, std::string_view noun);

// Read the seconds of a kernel or of a pass of kernels; see the limits in units.hpp.
double read_kernel_time(const Field& field, std::string_view noun);
double read_pass_time(const Field& field, std::string_view noun);

double read_positive_number(const Field& field, std::string_view noun);

// Reads a fraction of a whole, from 0 to 1: "5 %" or 0.05.
double read_part(const Field& field, std::string_view noun);

}  // namespace pipewright::config
