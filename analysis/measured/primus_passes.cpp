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

json read_json(const std::filesystem::path& file) {
  TextSource source(file);
  std::istream stream(&source);
  stream.exceptions(std::ios::badbit);
  try {
    return json::parse(stream);
  } catch (const json::exception& error) {
    throw trace::TraceError(
        fmt::format("{}: is no whole JSON: {}", source.place(), printable(error.what())));
  }
}

// The number in "pp_rank_3.json".
std::uint32_t rank_of(const std::filesystem::path& file) {
  const std::string name = file.stem().string();
  const std::size_t at = name.find_last_not_of("0123456789");
  const std::string digits = name.substr(at == std::string::npos ? 0 : at + 1);
  std::uint32_t rank = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  if (digits.empty() || error != std::errc{})
    throw trace::TraceError(fmt::format(
        "{}: has passes of Primus, and its name does not end in the pipeline rank, as in "
        "pp_rank_3.json",
        printable(file.string())));
  return rank;
}

// How many chunks a device has, of config.json beside the file; 1 without it.
std::uint32_t chunks_beside(const std::filesystem::path& file) {
  const std::filesystem::path config = file.parent_path() / "config.json";
  std::error_code error;
  if (!std::filesystem::exists(config, error)) return 1;
  const json content = read_json(config);
  const auto found = content.find("vp_size");
  const bool fits = found != content.end() && found->is_number_unsigned() &&
                    found->get<std::uint64_t>() >= 1 && found->get<std::uint64_t>() < 1000;
  return fits ? found->get<std::uint32_t>() : 1;
}

// What the passes of one kind are called in the file.
struct Series {
  const char* name;
  PassKind kind;
};

// One rank's file.
class Reader {
 public:
  Reader(std::filesystem::path file, std::uint32_t ranks)
      : file_(std::move(file)), rank_(rank_of(file_)), ranks_(ranks), content_(read_json(file_)) {
    chunks_ = chunks_beside(file_);
  }

  std::map<std::uint64_t, double> lengths_us() const {
    std::map<std::uint64_t, double> lengths;
    for (const auto& [number, iteration] : content_.items())
      lengths[iteration_number(number)] =
          at(iteration, "total", number).get<double>() * millisecond_us;
    return lengths;
  }

  Annotations annotations(const std::map<std::uint64_t, double>& starts_us) const {
    Annotations found;
    found.file = file_;
    found.header.rank = rank_;
    found.lanes.push_back({gpu_category, std::to_string(rank_), "0"});
    for (const auto& [number, iteration] : content_.items()) {
      const std::uint64_t step = iteration_number(number);
      const double start = starts_us.at(step);
      found.steps.push_back({step, 0, start});
      const bool halves = !values(iteration, "wgrad_start").empty();
      const std::array series{Series{"fwd", PassKind::forward},
                              Series{"bwd", halves ? PassKind::input_grad : PassKind::backward},
                              Series{"wgrad", PassKind::weight_grad}};
      for (const Series& one : series) add(iteration, one, start, found);
    }
    found.events = found.passes.size();
    return found;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw trace::TraceError(fmt::format("{}: {}", printable(file_.string()), what));
  }
  std::uint64_t iteration_number(const std::string& text) const {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size())
      fail(fmt::format("'{}' is no number of an iteration", printable(text)));
    return number;
  }
  const json& at(const json& iteration, const char* key, const std::string& number) const {
    const auto found = iteration.find(key);
    if (found == iteration.end() || !found->is_number())
      fail(fmt::format("iteration {} has no number '{}'", printable(number), key));
    return *found;
  }
  std::vector<double> values(const json& iteration, const std::string& key) const {
    const auto found = iteration.find(key);
    if (found == iteration.end()) return {};
    std::vector<double> list;
    if (!found->is_array()) fail(fmt::format("'{}' is no list", key));
    for (const json& one : *found) {
      if (!one.is_number()) fail(fmt::format("'{}' has what is no number", key));
      list.push_back(one.get<double>());
    }
    return list;
  }

  // A number of a chunk or microbatch.
  std::uint32_t count(double value, const std::string& name) const {
    constexpr double most = 1U << 20U;
    if (value < 0 || value >= most) fail(fmt::format("a pass of '{}' is of {}", name, value));
    return static_cast<std::uint32_t>(value);
  }

  // The chunk and microbatch of the n-th pass where the file does not say: so many microbatches as
  // there are ranks go through a chunk before the next chunk's turn, backwards from the last one.
  std::pair<std::uint32_t, std::uint32_t> in_order(std::size_t n, bool forward) const {
    const std::size_t group = std::size_t{ranks_} * chunks_;
    const auto turn = static_cast<std::uint32_t>(n % group / ranks_);
    const std::size_t microbatch = chunks_ == 1 ? n : n / group * ranks_ + n % ranks_;
    return {forward ? turn : chunks_ - 1 - turn, static_cast<std::uint32_t>(microbatch)};
  }

  void add(const json& iteration, const Series& series, double start, Annotations& found) const {
    const std::string name = series.name;
    const std::vector<double> starts = values(iteration, name + "_start");
    const std::vector<double> ends = values(iteration, name + "_end");
    const std::vector<double> microbatches = values(iteration, name + "_minibatch");
    const std::vector<double> chunks = values(iteration, name + "_chunk");
    if (starts.size() != ends.size())
      fail(fmt::format("{} of '{}' start and {} end", starts.size(), name, ends.size()));
    for (std::size_t i = 0; i < starts.size(); ++i) {
      auto [chunk, microbatch] = in_order(i, series.kind == PassKind::forward);
      if (chunks.size() == starts.size()) chunk = count(chunks[i], name);
      if (microbatches.size() == starts.size()) microbatch = count(microbatches[i], name);
      if (!(ends[i] >= starts[i])) fail(fmt::format("a pass of '{}' ends before it starts", name));
      found.passes.push_back({{{series.kind, chunk * ranks_ + rank_, microbatch, std::nullopt}},
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
  std::vector<Reader> readers;
  for (const std::filesystem::path& file : files)
    readers.emplace_back(file, static_cast<std::uint32_t>(files.size()));
  std::map<std::uint64_t, double> longest;
  for (const Reader& reader : readers)
    for (const auto& [step, length] : reader.lengths_us()) {
      longest[step] = std::max(longest[step], length);
    }
  std::map<std::uint64_t, double> starts;
  double now = 0;
  for (const auto& [step, length] : longest) {
    starts[step] = now;
    now += length;
  }
  std::vector<Annotations> found;
  for (const Reader& reader : readers) found.push_back(reader.annotations(starts));
  return found;
}

}  // namespace pipewright::analysis
