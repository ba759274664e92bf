#include "tests/schedules/search/exact_model.hpp"

#include <algorithm>
#include <cmath>
#include <istream>
#include <numeric>
#include <ostream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace pipewright::schedules {

std::int64_t ExactModel::to_cells(double seconds, const char* name, std::uint32_t stage) const {
  constexpr double rounding = 1e-6;  // of a cell
  const double cells = seconds / unit_;
  if (std::abs(cells - std::round(cells)) > rounding)
    throw Error(
        fmt::format("{} of stage {} takes {} s, which is no multiple of {} s: an exact "
                    "solution needs whole cells",
                    name, stage, seconds, unit_));
  return std::llround(cells);
}

ExactModel::ExactModel(const Pipeline& pipeline, double unit) : pipeline_(pipeline), unit_(unit) {
  if (!(unit > 0)) throw Error(fmt::format("a cell of {} s: it must be above 0", unit));
  if (pipeline.routes.count() != 1)
    throw Error("an exact solution is for microbatches that all take one route");
  const std::uint32_t stages = pipeline.routes.stages();
  const auto after = [&](std::size_t row, std::uint32_t stage) {
    const Row& input = rows_[row];
    const bool crosses = input.device != pipeline_.routes.device(stage, 0);
    return Input{row, input.cells + (crosses ? to_cells(pipeline_.hop, "a hop", stage) : 0)};
  };

  std::vector<std::size_t> forwards, before_gradient;
  for (std::uint32_t s = 0; s < stages; ++s) {
    std::vector<Input> inputs;
    if (s > 0) inputs.push_back(after(forwards.back(), s));
    forwards.push_back(add_row(PassKind::forward, s, std::move(inputs)));
  }
  before_gradient = forwards;
  for (std::uint32_t s = 0; s < stages; ++s)
    if (!pipeline.recomputed.empty() && pipeline.recomputed[s])
      before_gradient[s] = add_row(PassKind::recompute, s, {after(forwards[s], s)});
  std::size_t gradient = 0;
  for (std::uint32_t s = stages; s-- > 0;) {
    std::vector<Input> inputs{after(before_gradient[s], s)};
    if (s + 1 < stages) inputs.push_back(after(gradient, s));
    gradient = add_row(PassKind::input_grad, s, std::move(inputs));
    add_row(PassKind::weight_grad, s, {after(gradient, s)});
  }

  for (Row& row : rows_)
    for (const Input& input : row.inputs)
      row.head = std::max(row.head, rows_[input.row].head + input.lag);
  for (std::size_t i = rows_.size(); i-- > 0;)
    for (const Input& input : rows_[i].inputs)
      rows_[input.row].tail = std::max(rows_[input.row].tail, input.lag + rows_[i].tail);
}

std::size_t ExactModel::add_row(PassKind kind, std::uint32_t stage, std::vector<Input> inputs) {
  Row row{.pass = {kind, static_cast<std::uint16_t>(stage)},
          .device = pipeline_.routes.device(stage, 0),
          .inputs = std::move(inputs)};
  const std::string name(1, letter(kind));
  row.cells = to_cells(pipeline_.times(row.pass), name.c_str(), stage);
  if (row.cells <= 0)
    throw Error(fmt::format("{} of stage {} takes no time: an exact solution needs cells above 0",
                            name, stage));
  row.tail = row.cells;
  const bool recomputes = !pipeline_.recomputed.empty() && pipeline_.recomputed[stage];
  const std::int64_t held = pipeline_.memory.held[stage];
  const std::int64_t early = pipeline_.memory.released_by_input_grad[stage];
  if (kind == (recomputes ? PassKind::recompute : PassKind::forward)) row.takes = held;
  if (kind == PassKind::input_grad) row.frees = early;
  if (kind == PassKind::weight_grad) row.frees = held - early;
  rows_.push_back(std::move(row));
  return rows_.size() - 1;
}

// Collects the terms of a constraint. Counts with fixed values become constants.
class ExactModel::Writer {
 public:
  Writer(const ExactModel& model, std::ostream& out, std::int64_t cells)
      : model_(model), out_(out), cells_(cells) {}

  std::int64_t first(const Row& row) const { return row.head; }
  std::int64_t last(const Row& row) const { return cells_ - row.tail; }

  void add(std::int64_t factor, std::size_t index, std::int64_t cell) {
    const Row& row = model_.rows_[index];
    if (factor == 0 || cell < first(row)) return;
    if (cell >= last(row))
      constant_ += factor * model_.pipeline_.microbatches;
    else
      terms_ += fmt::format(" {:+} n{}_{}", factor, index, cell);
  }
  void at_most(std::int64_t limit) {
    // A constraint without variables can still be impossible.
    if (terms_.empty() && constant_ > limit) terms_ = " zero";
    if (!terms_.empty()) out_ << terms_ << fmt::format(" <= {}\n", limit - constant_);
    terms_.clear();
    constant_ = 0;
  }

 private:
  const ExactModel& model_;
  std::ostream& out_;
  std::int64_t cells_;
  std::string terms_;
  std::int64_t constant_ = 0;
};

void ExactModel::write(std::ostream& out, std::int64_t cells) const {
  Writer writer(*this, out, cells);
  out << "Minimize\n zero\nSubject To\n";
  for (std::size_t q = 0; q < rows_.size(); ++q)
    for (std::int64_t t = 0; t < cells; ++t) {
      writer.add(1, q, t);
      writer.add(-1, q, t + 1);
      writer.at_most(0);
      for (const Input& input : rows_[q].inputs) {
        writer.add(1, q, t);
        writer.add(-1, input.row, t - input.lag);
        writer.at_most(0);
      }
    }
  for (std::uint32_t device = 0; device < pipeline_.devices; ++device) {
    std::int64_t common = 0;
    for (const Row& row : rows_)
      if (row.device == device) common = std::gcd(common, std::gcd(row.takes, row.frees));
    for (std::int64_t t = 0; t < cells; ++t) {
      const auto add = [&](auto&& factors) {
        for (std::size_t q = 0; q < rows_.size(); ++q) {
          if (rows_[q].device != device) continue;
          const auto [started, ended] = factors(rows_[q]);
          writer.add(started, q, t);
          writer.add(-ended, q, t - rows_[q].cells);
        }
      };
      add([](const Row&) { return std::pair<std::int64_t, std::int64_t>{1, 1}; });
      writer.at_most(1);
      // Bytes are too large for a solver's tolerances, so they are divided by their common divisor.
      if (common == 0) continue;
      add([&](const Row& row) { return std::pair{row.takes / common, row.frees / common}; });
      writer.at_most(pipeline_.memory.limit[device] / common);
    }
  }

  out << "Bounds\n zero = 0\n";
  std::string integers;
  for (std::size_t q = 0; q < rows_.size(); ++q) {
    const Row& row = rows_[q];
    const std::int64_t m = pipeline_.microbatches;
    for (std::int64_t t = writer.first(row); t < writer.last(row); ++t) {
      const std::int64_t max_count = (t - writer.first(row)) / row.cells + 1;
      const std::int64_t rest = (writer.last(row) - t - 1) / row.cells + 1;  // that fit after t
      out << fmt::format(" {} <= n{}_{} <= {}\n", std::max<std::int64_t>(0, m - rest), q, t,
                         std::min(m, max_count));
      integers += fmt::format(" n{}_{}\n", q, t);
    }
  }
  out << "General\n" << integers << "End\n";
}

Order ExactModel::read(std::istream& in, std::int64_t cells) const {
  std::unordered_map<std::string, std::int64_t> counts;
  std::string line, index, name;
  std::getline(in, line);
  for (double value = 0, cost = 0; in >> index >> name >> value >> cost;)
    counts[name] = std::llround(value);

  using Start = std::pair<std::int64_t, Pass>;
  std::vector<std::vector<Start>> starts(pipeline_.devices);
  for (std::size_t q = 0; q < rows_.size(); ++q) {
    const Row& row = rows_[q];
    Pass pass = row.pass;
    for (std::int64_t t = row.head; pass.microbatch < pipeline_.microbatches; ++t) {
      const auto it = counts.find(fmt::format("n{}_{}", q, t));
      std::int64_t started = it == counts.end() ? 0 : it->second;
      if (t >= cells - row.tail) started = pipeline_.microbatches;
      for (; pass.microbatch < started; ++pass.microbatch) starts[row.device].emplace_back(t, pass);
    }
  }
  Order order(pipeline_.devices);
  for (std::uint32_t device = 0; device < pipeline_.devices; ++device) {
    std::stable_sort(starts[device].begin(), starts[device].end(),
                     [](const Start& a, const Start& b) { return a.first < b.first; });
    for (const Start& start : starts[device]) order[device].push_back(start.second);
  }
  return order;
}

}  // namespace pipewright::schedules
