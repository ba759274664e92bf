#pragma once

#include <cstdint>
#include <string_view>

#include "sim/config/text/field.hpp"

namespace pipewright::config {

// Numbers with units as people write them: "18.5 ms", "24MiB", "40 %". kB, MB, ... are decimal and
// KiB, MiB, ... binary. A bare number is in seconds, in bytes, or just a number. The locale plays
// no part.
//
// Each function throws an Error about `subject` that says what was found and what is allowed;
// `noun` names the quantity there, "a pass time".

// Seconds, finite and >= 0.
double parse_time(std::string_view text, const Subject& subject, std::string_view noun);

// Seconds of a kernel or its launch (at most 10 ms) and of a pass of kernels (at most 1 s). The
// limits catch bare numbers that were meant in microseconds or milliseconds.
double parse_kernel_time(std::string_view text, const Subject& subject, std::string_view noun);
double parse_pass_time(std::string_view text, const Subject& subject, std::string_view noun);

// Bytes, at most 2^63. Fractions of a larger unit are rounded to the nearest byte.
std::uint64_t parse_size(std::string_view text, const Subject& subject, std::string_view noun);

// Memory of a GPU in bytes, its FLOP/s, and the bytes/s of its memory. The limits are those of real
// GPUs and catch bare numbers that were meant in GiB, TFLOP/s or GB/s.
std::uint64_t parse_memory(std::string_view text, const Subject& subject, std::string_view noun);
double parse_flops(std::string_view text, const Subject& subject, std::string_view noun);
double parse_bandwidth(std::string_view text, const Subject& subject, std::string_view noun);

// Bytes per second of storage or of a network, at least 1 MB/s.
double parse_storage_rate(std::string_view text, const Subject& subject, std::string_view noun);

// Power of a GPU in watts.
double parse_power(std::string_view text, const Subject& subject, std::string_view noun);

// A ratio from 0 to 1, written in percent.
double parse_share(std::string_view text, const Subject& subject, std::string_view noun);

// A finite number > 0 without a unit.
double parse_positive_number(std::string_view text, const Subject& subject, std::string_view noun);

}  // namespace pipewright::config
