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

// Parses a time in seconds, finite and >= 0.
double parse_time(std::string_view text, const Subject& subject, std::string_view noun);

// Parse the time of a kernel or its launch (at most 10 ms) and of a pass of kernels (at most 1 s),
// in seconds. The limits catch bare numbers that were meant in microseconds or milliseconds.
double parse_kernel_time(std::string_view text, const Subject& subject, std::string_view noun);
double parse_pass_time(std::string_view text, const Subject& subject, std::string_view noun);

// Parses a size in bytes, at most 2^63. Fractions of a larger unit are rounded to the nearest byte.
std::uint64_t parse_size(std::string_view text, const Subject& subject, std::string_view noun);

// Parse a GPU's memory in bytes, its FLOP/s, and the bytes/s of its memory. The limits are those of
// real GPUs and catch bare numbers that were meant in GiB, TFLOP/s or GB/s.
std::uint64_t parse_memory(std::string_view text, const Subject& subject, std::string_view noun);
double parse_flops(std::string_view text, const Subject& subject, std::string_view noun);
double parse_bandwidth(std::string_view text, const Subject& subject, std::string_view noun);

// Parses a bandwidth of storage or of a network in bytes/s, at least 1 MB/s.
double parse_storage_rate(std::string_view text, const Subject& subject, std::string_view noun);

// Parses the power of a GPU in watts.
double parse_power(std::string_view text, const Subject& subject, std::string_view noun);

// Parses a fraction that is written in percent; the result is from 0 to 1.
double parse_share(std::string_view text, const Subject& subject, std::string_view noun);

// Parses a finite number > 0 without a unit.
double parse_positive_number(std::string_view text, const Subject& subject, std::string_view noun);

}  // namespace pipewright::config
