#include <fmt/format.h>

#include "analysis/compare/compare_json.hpp"
#include "analysis/compare/log_comparison.hpp"
#include "analysis/text_table.hpp"
#include "analysis/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr const char* unknown = "-";

std::string text_of(const std::optional<Range>& range) {
  if (!range) return unknown;
  const std::string least = format_seconds(range->least);
  const std::string most = format_seconds(range->most);
  // "max time across ranks" has no least.
  return least == most || range->least == 0 ? most : least + ".." + most;
}

std::string table_of(const std::string& head, const std::vector<std::string>& names,
                     const std::vector<const TimerComparison*>& timers) {
  std::vector<std::string> predicted, measured, errors;
  for (const TimerComparison* const timer : timers) {
    predicted.push_back(text_of(timer->predicted));
    measured.push_back(text_of(timer->measured));
    errors.push_back(timer->error ? format_change(1, 1 + *timer->error) : unknown);
  }
  TextTable table;
  table.add_names(head, names);
  table.add_numbers({"predicted"}, std::move(predicted));
  table.add_numbers({"measured"}, std::move(measured));
  table.add_numbers({"error"}, std::move(errors));
  return table.text();
}

Json timer_json(const TimerComparison& timer) {
  const auto range = [](const std::optional<Range>& one) -> Json {
    if (!one) return nullptr;
    return {{"least_s", one->least}, {"most_s", one->most}};
  };
  Json json;
  json["timer"] = timer.name;
  json["predicted"] = range(timer.predicted);
  json["measured"] = range(timer.measured);
  json["error"] = timer.error ? Json(*timer.error) : Json(nullptr);
  return json;
}

}  // namespace

std::string console_text(const LogComparison& comparison) {
  std::vector<std::string> names;
  std::vector<const TimerComparison*> timers;
  for (const TimerComparison& timer : comparison.timers) {
    names.push_back(printable(timer.name));
    timers.push_back(&timer);
  }
  std::string text =
      fmt::format("predicted  {}\nmeasured   {}, {} iterations, standard deviation {}\n\n",
                  printable(comparison.predicted_name), printable(comparison.measured_name),
                  comparison.iterations, format_seconds(comparison.deviation_s));
  text += table_of("timer", names, timers);
  names.clear();
  timers.clear();
  for (std::size_t device = 0; device < comparison.devices.size(); ++device)
    for (const TimerComparison& timer : comparison.devices[device]) {
      names.push_back(fmt::format("{}  {}", device, printable(timer.name)));
      timers.push_back(&timer);
    }
  if (!timers.empty())
    text += "\nmeans of the ranks of each device, if the pipeline is the outermost dimension:\n" +
            table_of("device", names, timers);
  if (!comparison.judgements.empty()) text += '\n' + describe(comparison.judgements);
  return text;
}

std::string json_text(const LogComparison& comparison) {
  Json json;
  json["predicted"] = comparison.predicted_name;
  json["measured"] = comparison.measured_name;
  json["iterations"] = comparison.iterations;
  json["deviation_s"] = comparison.deviation_s;
  json["timers"] = Json::array();
  for (const TimerComparison& timer : comparison.timers)
    json["timers"].push_back(timer_json(timer));
  json["devices"] = Json::array();
  for (std::size_t device = 0; device < comparison.devices.size(); ++device)
    for (const TimerComparison& timer : comparison.devices[device]) {
      json["devices"].push_back(timer_json(timer));
      json["devices"].back()["device"] = device;
    }
  json["conditions"] = judgements_json(comparison.judgements);
  return text_of(json);
}

}  // namespace pipewright::analysis
