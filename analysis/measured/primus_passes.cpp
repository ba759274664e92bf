#include "analysis/measured/primus_passes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <istream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/measured/files/input_file.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::analysis {
namespace {

using nlohmann::json;
using trace::PassKind;

constexpr double millisecond_us = 1000;

json read_primus_json(const std::filesystem::path& file) {
  TextSource source(file);
  std::istream stream(&source);
  stream.exceptions(std::ios::badbit);
  try {
    return json::parse(stream);
  } catch (const json::exception& error) {
    throw trace::TraceError(
        fmt::format("{}: not valid JSON: {}", source.location(), printable(error.what())));
  }
}

// Returns the number in "pp_rank_3.json".
std::uint32_t rank_in_name(const std::filesystem::path& file) {
  const std::string name = file.stem().string();
  const std::size_t last_letter = name.find_last_not_of("0123456789");
  const std::string digits = name.substr(last_letter == std::string::npos ? 0 : last_letter + 1);
  std::uint32_t rank = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  if (digits.empty() || error != std::errc{})
    throw trace::TraceError(fmt::format(
        "{}: the file has passes of Primus, but its name does not end in the pipeline rank, as in "
        "pp_rank_3.json",
        printable(file.string())));
  return rank;
}

// Returns the number of chunks per device from config.json beside the file, or 1 without such a
// file.
std::uint32_t configured_chunks(const std::filesystem::path& file) {
  const std::filesystem::path config = file.parent_path() / "config.json";
  std::error_code error;
  if (!std::filesystem::exists(config, error)) return 1;
  const json content = read_primus_json(config);
  const auto size = content.find("vp_size");
  const bool is_valid = size != content.end() && size->is_number_unsigned() &&
                        size->get<std::uint64_t>() >= 1 && size->get<std::uint64_t>() < 1000;
  return is_valid ? size->get<std::uint32_t>() : 1;
}

// A kind of pass, and the name under which the file lists the passes of this kind.
struct PassSeries {
  const char* name;
  PassKind kind;
};

// Reads the passes of the file of one pipeline rank.
class PrimusReader {
 public:
  PrimusReader(std::filesystem::path file, std::uint32_t ranks)
      : file_(std::move(file)),
        rank_(rank_in_name(file_)),
        ranks_(ranks),
        content_(read_primus_json(file_)) {
    chunks_ = configured_chunks(file_);
  }

  std::map<std::uint64_t, double> lengths_us() const {
    std::map<std::uint64_t, double> lengths;
    for (const auto& [number, iteration] : content_.items())
      lengths[iteration_number(number)] =
          number_at(iteration, "total", number).get<double>() * millisecond_us;
    return lengths;
  }

  Annotations annotations(const std::map<std::uint64_t, double>& starts_us) const {
    Annotations annotations;
    annotations.file = file_;
    annotations.header.rank = rank_;
    annotations.lanes.push_back({gpu_category, std::to_string(rank_), "0"});
    for (const auto& [number, iteration] : content_.items()) {
      const std::uint64_t step = iteration_number(number);
      const double start = starts_us.at(step);
      annotations.steps.push_back({step, 0, start});
      const bool is_split = !values(iteration, "wgrad_start").empty();
      const std::array series{
          PassSeries{"fwd", PassKind::forward},
          PassSeries{"bwd", is_split ? PassKind::input_grad : PassKind::backward},
          PassSeries{"wgrad", PassKind::weight_grad}};
      for (const PassSeries& pass_series : series) add(iteration, pass_series, start, annotations);
    }
    annotations.events = annotations.passes.size();
    return annotations;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw trace::TraceError(fmt::format("{}: {}", printable(file_.string()), message));
  }
  std::uint64_t iteration_number(const std::string& text) const {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size())
      fail(fmt::format("'{}' is not the number of an iteration", printable(text)));
    return number;
  }
  const json& number_at(const json& iteration, const char* key, const std::string& number) const {
    const auto value = iteration.find(key);
    if (value == iteration.end() || !value->is_number())
      fail(fmt::format("iteration {} has no number '{}'", printable(number), key));
    return *value;
  }
  std::vector<double> values(const json& iteration, const std::string& key) const {
    const auto value = iteration.find(key);
    if (value == iteration.end()) return {};
    std::vector<double> list;
    if (!value->is_array()) fail(fmt::format("'{}' is not a list", key));
    for (const json& entry : *value) {
      if (!entry.is_number()) fail(fmt::format("'{}' has a value that is not a number", key));
      list.push_back(entry.get<double>());
    }
    return list;
  }

  // Converts the index of a chunk or microbatch; throws if it is negative or implausibly large.
  std::uint32_t checked_index(double value, const std::string& name) const {
    constexpr double limit = 1U << 20U;
    if (value < 0 || value >= limit)
      fail(
          fmt::format("a pass of '{}' has the index {}; allowed: 0 to {}", name, value, limit - 1));
    return static_cast<std::uint32_t>(value);
  }

  // Returns the chunk and microbatch of the n-th pass if the file does not give them: as many
  // microbatches as there are ranks go through a chunk before the next chunk's turn. Backward
  // passes begin with the last chunk.
  std::pair<std::uint32_t, std::uint32_t> in_order(std::size_t n, bool forward) const {
    const std::size_t group = std::size_t{ranks_} * chunks_;
    const auto step = static_cast<std::uint32_t>(n % group / ranks_);
    const std::size_t microbatch = chunks_ == 1 ? n : n / group * ranks_ + n % ranks_;
    return {forward ? step : chunks_ - 1 - step, static_cast<std::uint32_t>(microbatch)};
  }

  void add(const json& iteration, const PassSeries& series, double start,
           Annotations& annotations) const {
    const std::string name = series.name;
    const std::vector<double> starts = values(iteration, name + "_start");
    const std::vector<double> ends = values(iteration, name + "_end");
    const std::vector<double> microbatches = values(iteration, name + "_minibatch");
    const std::vector<double> chunks = values(iteration, name + "_chunk");
    if (starts.size() != ends.size())
      fail(fmt::format("'{1}' has {0} starts but {2} ends", starts.size(), name, ends.size()));
    for (std::size_t i = 0; i < starts.size(); ++i) {
      auto [chunk, microbatch] = in_order(i, series.kind == PassKind::forward);
      if (chunks.size() == starts.size()) chunk = checked_index(chunks[i], name);
      if (microbatches.size() == starts.size()) microbatch = checked_index(microbatches[i], name);
      if (!(ends[i] >= starts[i])) fail(fmt::format("a pass of '{}' ends before it starts", name));
      annotations.passes.push_back(
          {{{series.kind, chunk * ranks_ + rank_, microbatch, std::nullopt}},
           0,
           start + starts[i] * millisecond_us,
           start + ends[i] * millisecond_us,
           std::nullopt});
    }
  }

  std::filesystem::path file_;
  std::uint32_t rank_;
  std::uint32_t ranks_;
  std::uint32_t chunks_ = 1;
  json content_;
};

}  // namespace

std::vector<Annotations> read_primus_passes(const std::vector<std::filesystem::path>& files) {
  std::vector<PrimusReader> readers;
  for (const std::filesystem::path& file : files)
    readers.emplace_back(file, static_cast<std::uint32_t>(files.size()));
  std::map<std::uint64_t, double> longest;
  for (const PrimusReader& reader : readers)
    for (const auto& [step, length] : reader.lengths_us()) {
      longest[step] = std::max(longest[step], length);
    }
  std::map<std::uint64_t, double> starts;
  double start = 0;
  for (const auto& [step, length] : longest) {
    starts[step] = start;
    start += length;
  }
  std::vector<Annotations> annotations;
  for (const PrimusReader& reader : readers) annotations.push_back(reader.annotations(starts));
  return annotations;
}

}  // namespace pipewright::analysis
