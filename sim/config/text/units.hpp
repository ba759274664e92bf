#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pipewright::config {

// Numbers with units as people write them: "18.5 ms", "24MiB", "40 %". kB, MB, ... are decimal and
// KiB, MiB, ... binary; a bare number is in seconds, in bytes, or just a number. The locale plays
// no part.
//
// Each throws an Error that begins with `subject` (the place and the thing, as in
// "gpt.yaml:7:12: forward_times[2]") and goes on with what was found and what `noun` ("a pass
// time") is allowed to be.

// Seconds, finite and >= 0.
double parse_time(std::string_view text, std::string_view subject, std::string_view noun);

// Likewise, of one kernel or its launch (at most 10 ms), and of a pass of kernels (1 s), so that a
// bare number which was meant in us or ms is not taken for seconds.
double parse_kernel_time(std::string_view text, std::string_view subject, std::string_view noun);
double parse_pass_time(std::string_view text, std::string_view subject, std::string_view noun);

// Bytes, at most 2^63; fractions of a larger unit round to the nearest byte.
std::uint64_t parse_size(std::string_view text, std::string_view subject, std::string_view noun);

// A GPU's memory in bytes, its FLOP/s and the bytes/s of its memory: within what GPUs have, so that
// a bare number which was meant in GiB, TFLOP/s or GB/s is not taken for bytes.
std::uint64_t parse_memory(std::string_view text, std::string_view subject, std::string_view noun);
double parse_flops(std::string_view text, std::string_view subject, std::string_view noun);
double parse_bandwidth(std::string_view text, std::string_view subject, std::string_view noun);

// Bytes per second of storage or of a network: from 1 MB/s.
double parse_storage_rate(std::string_view text, std::string_view subject, std::string_view noun);

// Watts of a GPU.
double parse_power(std::string_view text, std::string_view subject, std::string_view noun);

// A ratio from 0 to 1, written in percent.
double parse_share(std::string_view text, std::string_view subject, std::string_view noun);

// A finite number > 0 that has no unit.
double parse_positive_number(std::string_view text, std::string_view subject,
                             std::string_view noun);

}  // namespace pipewright::config
