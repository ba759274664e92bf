#include "analysis/measured/compare/condition.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/text_table.hpp"

namespace pipewright::analysis {
namespace {

struct Unit {
  std::string_view symbol;
  double factor;
};
constexpr std::array times{Unit{"s", 1}, Unit{"ms", 1e-3}, Unit{"us", 1e-6}, Unit{"ns", 1e-9}};
constexpr std::array sizes{Unit{"B", 1},        Unit{"kB", 1e3},     Unit{"MB", 1e6},
                           Unit{"GB", 1e9},     Unit{"TB", 1e12},    Unit{"KiB", 0x1p10},
                           Unit{"MiB", 0x1p20}, Unit{"GiB", 0x1p30}, Unit{"TiB", 0x1p40}};
constexpr std::array flop_rates{Unit{"FLOP/s", 1}, Unit{"GFLOP/s", 1e9}, Unit{"TFLOP/s", 1e12},
                                Unit{"PFLOP/s", 1e15}};
constexpr std::array samples{Unit{"samples/s", 1}, Unit{"/s", 1}};
constexpr std::array tokens{Unit{"tokens/s", 1}, Unit{"/s", 1}};
constexpr std::array points{Unit{"pp", 0.01}};

std::span<const Unit> units_of(MetricKind quantity) {
  switch (quantity) {
    case MetricKind::seconds:
      return times;
    case MetricKind::bytes:
      return sizes;
    case MetricKind::ratio:
      return points;
    case MetricKind::samples_per_s:
      return samples;
    case MetricKind::tokens_per_s:
      return tokens;
    case MetricKind::flops:
      return flop_rates;
    case MetricKind::count:
      break;
  }
  return {};
}

constexpr std::array<std::pair<std::string_view, Relation>, 4> comparisons{
    {{">=", Relation::more_or_equal},
     {"<=", Relation::less_or_equal},
     {">", Relation::more},
     {"<", Relation::less}}};

class ConditionReader {
 public:
  ConditionReader(const std::string& text, const Metrics& metrics)
      : text_(text), metrics_(metrics) {}

  Condition read() {
    Condition condition{.text = text_};
    const Metric& metric = read_metric();
    condition.metric = metric.name;
    condition.comparison = read_comparison();
    skip_blanks();
    const char sign = at_ < text_.size() ? text_[at_] : '\0';
    const bool is_difference = sign == '+' || sign == '-';
    if (is_difference) ++at_;
    condition.operand = is_difference ? Operand::difference : Operand::value;
    const double number = read_number() * (sign == '-' ? -1 : 1);
    condition.bound = number * read_unit(metric, condition.operand);
    return condition;
  }

 private:
  // Throws a ConditionError that shows the condition with a ^ below the character `at`.
  [[noreturn]] void fail(std::size_t at, const std::string& what) const {
    const std::string before = printable(text_.substr(0, at));
    throw ConditionError(fmt::format("--fail-if: {}\n  {}{}\n  {:>{}}", what, before,
                                     printable(text_.substr(at)), '^', before.size() + 1));
  }
  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  const Metric& read_metric() {
    skip_blanks();
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] != '<' && text_[at_] != '>' && text_[at_] != '=') ++at_;
    std::string name = text_.substr(start, at_ - start);
    name.erase(name.find_last_not_of(" \t") + 1);
    if (const Metric* const metric = find_metric(metrics_, name)) return *metric;
    std::vector<std::string> names;
    for (const Metric& metric : metrics_) names.push_back(printable(metric.name));
    const std::string nearest = nearest_name(metrics_, name);
    fail(start,
         fmt::format("unknown metric '{}'; {}allowed: {}", printable(name),
                     nearest.empty() ? "" : fmt::format("did you mean '{}'? ", printable(nearest)),
                     fmt::join(names, ", ")));
  }

  Relation read_comparison() {
    for (const auto& [word, comparison] : comparisons)
      if (text_.compare(at_, word.size(), word) == 0) {
        at_ += word.size();
        return comparison;
      }
    fail(at_, "after a metric, allowed: >, <, >= or <=, as in makespan>+1%");
  }

  double read_number() {
    double value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc{} || !std::isfinite(value))
      fail(at_,
           "expected a number: a change such as +1% or -2%, a difference such as +10ms, or a value "
           "such as 20s");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  // Reads the unit of the number. Returns the factor that converts it to seconds, bytes or ratios.
  double read_unit(const Metric& metric, Operand& operand) {
    skip_blanks();
    std::string unit = text_.substr(at_);
    unit.erase(unit.find_last_not_of(" \t") + 1);
    if (unit == "%" && (operand == Operand::difference || metric.quantity == MetricKind::ratio)) {
      if (operand == Operand::difference) operand = Operand::change;
      return 0.01;
    }
    const std::span<const Unit> units = units_of(metric.quantity);
    if (unit.empty()) return 1;
    for (const Unit& candidate : units)
      if (candidate.symbol == unit) return candidate.factor;
    std::vector<std::string_view> allowed;
    for (const Unit& candidate : units) allowed.push_back(candidate.symbol);
    allowed.emplace_back("% after a sign");
    fail(at_, fmt::format("'{}' is no unit of {}; allowed: {}", printable(unit), metric.name,
                          fmt::join(allowed, ", ")));
  }

  const std::string& text_;
  const Metrics& metrics_;
  std::size_t at_ = 0;
};

// Returns the condition's metric of one run. Throws ConditionError if the value is unknown.
double metric_value(const Condition& condition, const NamedMetrics& run) {
  const Metric* const metric = find_metric(run.metrics, condition.metric);
  if (metric != nullptr && metric->value) return *metric->value;
  throw ConditionError(fmt::format("--fail-if '{}': {} is unknown for {}",
                                   printable(condition.text), printable(condition.metric),
                                   printable(run.name)));
}

Judgement judge_run(const Condition& condition, const NamedMetrics& base, const NamedMetrics& run) {
  Judgement judgement{.condition = condition, .base_name = base.name, .name = run.name};
  judgement.quantity = find_metric(base.metrics, condition.metric)->quantity;
  judgement.value = metric_value(condition, run);
  // A condition on an absolute value compares with no other run.
  judgement.base =
      condition.operand == Operand::value ? judgement.value : metric_value(condition, base);
  judgement.holds = holds(condition, judgement.base, judgement.value);
  return judgement;
}

std::string difference_text(const Judgement& judgement) {
  return judgement.condition.operand == Operand::change
             ? format_change(judgement.base, judgement.value)
             : format_difference(judgement.quantity, judgement.base, judgement.value);
}

std::string describe_error(const Judgement& judgement) {
  std::string measured = "measured " + format_value(judgement.quantity, judgement.base);
  if (judgement.condition.operand == Operand::value) return measured;
  const double error = difference(judgement.base, judgement.value);
  const std::string relation = error == 0
                                   ? "the same as"
                                   : fmt::format("{} {}", difference_text(judgement).substr(1),
                                                 error > 0 ? "above" : "below");
  return fmt::format("predicted {} is {} {}", format_value(judgement.quantity, judgement.value),
                     relation, measured);
}

std::string describe_run(const Judgement& judgement) {
  std::string text = fmt::format("{} has {}", printable(judgement.name),
                                 format_value(judgement.quantity, judgement.value));
  if (judgement.condition.operand != Operand::value)
    text +=
        fmt::format(", {} {} ({})", printable(judgement.base_name),
                    format_value(judgement.quantity, judgement.base), difference_text(judgement));
  return text;
}

}  // namespace

Condition read_condition(const std::string& text, const Metrics& metrics) {
  return ConditionReader(text, metrics).read();
}

bool holds(const Condition& condition, double base, double value) {
  const double operand = condition.operand == Operand::value        ? value
                         : condition.operand == Operand::difference ? difference(base, value)
                                                                    : relative_change(base, value);
  switch (condition.comparison) {
    case Relation::more:
      return operand > condition.bound;
    case Relation::less:
      return operand < condition.bound;
    case Relation::more_or_equal:
      return operand >= condition.bound;
    case Relation::less_or_equal:
      return operand <= condition.bound;
  }
  return false;
}

std::vector<Judgement> judge(std::span<const Condition> conditions, const NamedMetrics& base,
                             std::span<const NamedMetrics> runs) {
  std::vector<Judgement> judgements;
  for (const NamedMetrics& run : runs)
    for (const Condition& condition : conditions)
      judgements.push_back(judge_run(condition, base, run));
  return judgements;
}

std::vector<Judgement> judge_error(std::span<const Condition> conditions,
                                   const NamedMetrics& predicted, const NamedMetrics& measured) {
  std::vector<Judgement> judgements;
  for (const Condition& condition : conditions) {
    const bool is_value = condition.operand == Operand::value;
    judgements.push_back(judge_run(condition, measured, is_value ? measured : predicted));
    judgements.back().of_error = true;
  }
  return judgements;
}

bool any_holds(std::span<const Judgement> judgements) {
  return std::ranges::any_of(judgements, &Judgement::holds);
}

std::string describe(std::span<const Judgement> judgements) {
  std::string text;
  for (const Judgement& judgement : judgements)
    text += fmt::format("{} {}: {}\n", printable(judgement.condition.text),
                        judgement.holds ? "holds" : "does not hold",
                        judgement.of_error ? describe_error(judgement) : describe_run(judgement));
  return text;
}

Json judgements_json(std::span<const Judgement> judgements) {
  const ReportColumns<Judgement> columns{
      {"condition", [](const Judgement& judgement) { return judgement.condition.text; }},
      {"metric", [](const Judgement& judgement) { return judgement.condition.metric; }},
      {"file", &Judgement::name},
      {"value", &Judgement::value},
      {"baseline",
       [](const Judgement& judgement) {
         return judgement.condition.operand == Operand::value ? Json() : Json(judgement.base);
       }},
      {"holds", &Judgement::holds}};
  return json_rows(columns, judgements);
}

}  // namespace pipewright::analysis
