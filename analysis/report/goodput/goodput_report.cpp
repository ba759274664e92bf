#include "analysis/report/goodput/goodput_report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analysis/report/evidence.hpp"
#include "analysis/report/report_table.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/trace/evidence_json.hpp"

namespace pipewright::analysis {
namespace {

// A quantity that each seed gives, with the format in which its mean and band are printed.
struct Figure {
  std::string key;
  std::string name;
  std::function<double(const GoodputOutcome&)> of;
  std::function<std::string(double)> write;
  // Change with the time of an iteration, at the same effective training time.
  enum class Change : std::uint8_t { none, proportional, inverse };
  Change change = Change::none;

  // Returns the value if an iteration takes `error` longer than predicted.
  double with_error(double value, double error) const {
    if (change == Change::none) return value;
    return change == Change::proportional ? value * (1 + error) : value / (1 + error);
  }
};

std::string percent_text(double ratio) { return fmt::format("{:.2f} %", 100 * ratio); }

std::vector<Figure> figures(const GoodputReport& report) {
  const auto number = [](int decimals) {
    return [decimals](double value) { return fmt::format("{:.{}f}", value, decimals); };
  };
  std::vector<Figure> rows{{"effective_training_time_ratio", "effective training time",
                            &GoodputOutcome::ratio, percent_text}};
  if (report.tokens_per_iteration) {
    rows.push_back(
        {"tokens_per_day", "tokens a day",
         [&](const GoodputOutcome& outcome) { return *report.tokens_a_day(outcome.ratio()); },
         format_scaled, Figure::Change::inverse});
    if (!report.target_tokens)
      rows.push_back({"tokens", "tokens in total",
                      [&](const GoodputOutcome& outcome) {
                        return *report.tokens_a_day(outcome.ratio()) * outcome.seconds() /
                               seconds_per_day;
                      },
                      format_scaled, Figure::Change::inverse});
  }
  if (report.target_tokens)
    rows.push_back(
        {"days", "days to " + format_scaled(*report.target_tokens) + " tokens",
         [](const GoodputOutcome& outcome) { return outcome.seconds() / seconds_per_day; },
         number(2), Figure::Change::proportional});
  rows.push_back(
      {"interruptions", "interruptions",
       [](const GoodputOutcome& outcome) { return static_cast<double>(outcome.interruptions); },
       number(1)});
  rows.push_back(
      {"hours_lost", "hours of training lost",
       [](const GoodputOutcome& outcome) { return outcome[GoodputPart::lost] / seconds_per_hour; },
       number(1)});
  const double gpus =
      report.gpus * (1.0 + static_cast<double>(report.spares.value_or(0)) / report.nodes);
  const auto gpu_hours = [gpus](const GoodputOutcome& outcome) {
    return outcome.seconds() / seconds_per_hour * gpus;
  };
  const Figure::Change change =
      report.target_tokens ? Figure::Change::proportional : Figure::Change::none;
  rows.push_back({"gpu_hours", "GPU-hours", gpu_hours, format_scaled, change});
  if (report.price_per_gpu_hour)
    rows.push_back({"price", fmt::format("price ({})", report.currency),
                    [gpu_hours, price = *report.price_per_gpu_hour](const GoodputOutcome& outcome) {
                      return gpu_hours(outcome) * price;
                    },
                    format_scaled, change});
  return rows;
}

GoodputBand band(const GoodputReport& report, const Figure& figure) {
  std::vector<double> values;
  for (const GoodputOutcome& outcome : report.outcomes) values.push_back(figure.of(outcome));
  return band_of(values);
}

double mean_part(const GoodputReport& report, GoodputPart part) {
  double sum = 0;
  for (const GoodputOutcome& outcome : report.outcomes) sum += outcome[part];
  return sum / static_cast<double>(report.outcomes.size());
}

double mean_seconds(const GoodputReport& report) {
  double sum = 0;
  for (const GoodputOutcome& outcome : report.outcomes) sum += outcome.seconds();
  return sum / static_cast<double>(report.outcomes.size());
}

std::string gain_text(const GoodputGain& gain) {
  return fmt::format("{:+.2f} +- {:.2f}", 100 * gain.mean, 100 * gain.half_width);
}

Json variant_json(const GoodputReport& report, const GoodputVariant& variant) {
  if (variant.ratios.empty())
    return {{"name", variant.name},
            {"interval_s", variant.interval_s},
            {"effective_training_time_ratio", nullptr},
            {"seeds", 0}};
  const GoodputBand ratio = band_of(variant.ratios);
  const GoodputGain gain = gain_of(variant, report.outcomes);
  Json json{{"name", variant.name},
            {"interval_s", variant.interval_s},
            {"effective_training_time_ratio", ratio.mean},
            {"gain", gain.mean},
            {"gain_half_width", gain.half_width},
            {"seeds", variant.ratios.size()}};
  if (const auto tokens = report.tokens_a_day(gain.mean)) json["tokens_per_day_gain"] = *tokens;
  return json;
}

void add_variants(TextTable& table, const GoodputReport& report,
                  const std::vector<GoodputVariant>& variants) {
  std::vector<std::string> ratios;
  std::vector<std::string> gains;
  std::vector<std::string> tokens;
  for (const GoodputVariant& variant : variants) {
    if (variant.ratios.empty()) {
      ratios.emplace_back("does not end");
      gains.emplace_back("-");
      if (report.tokens_per_iteration) tokens.emplace_back("-");
      continue;
    }
    const GoodputGain gain = gain_of(variant, report.outcomes);
    ratios.push_back(percent_text(band_of(variant.ratios).mean));
    gains.push_back(gain_text(gain));
    if (const auto more = report.tokens_a_day(gain.mean))
      // A difference below 1e-9 is a rounding error and is shown as 0.
      tokens.push_back(std::abs(gain.mean) < 1e-9
                           ? "0"
                           : (*more < 0 ? "-" : "+") + format_scaled(std::abs(*more)));
  }
  table.add_numbers({"effective", "time"}, ratios);
  table.add_numbers({"gain +- 90 %", "% points"}, gains);
  if (!tokens.empty()) table.add_numbers({"tokens", "a day"}, tokens);
}

// Explains why the chosen interval is longer than Daly's.
std::string interval_reason(const GoodputReport& report) {
  if (report.interval_is_given || report.interval_s <= report.daly_s) return "";
  if (report.interval_s == report.iteration_s)
    return fmt::format("; the interval is one iteration, {}", format_seconds(report.iteration_s));
  if (report.interval_s == report.write_s)
    return fmt::format("; the interval is the time to write a checkpoint, {}",
                       format_long_time(report.write_s));
  return "";
}

}  // namespace

std::string format_long_time(double seconds) {
  if (seconds < 120) return format_seconds(seconds);
  if (seconds < 2 * seconds_per_hour) return fmt::format("{:.1f} min", seconds / 60);
  if (seconds < 2 * seconds_per_day) return fmt::format("{:.1f} h", seconds / seconds_per_hour);
  return fmt::format("{:.1f} d", seconds / seconds_per_day);
}

std::string goodput_subject(const GoodputReport& report) {
  std::string text = fmt::format(
      "{}\n{} on {}, {} per iteration, {}\n", report.subject, counted(report.gpus, "GPU"),
      counted(report.nodes, "node") +
          (report.racks > 0 ? " in " + counted(report.racks, "rack") : std::string()),
      format_seconds(report.iteration_s),
      report.mean_between_s ? "an interruption every " + format_long_time(*report.mean_between_s)
                            : std::string("no failures"));
  const std::string bytes = format_bytes(static_cast<std::uint64_t>(report.checkpoint_bytes));
  const std::string stall = format_seconds(report.stall_s);
  if (report.peer_interval_s)
    text += fmt::format(
        "checkpoints of {} ({}): to peers every {}, to the storage every {}; each stops "
        "training for {}\n",
        bytes, report.mode, format_long_time(*report.peer_interval_s),
        format_long_time(report.interval_s), stall);
  else
    text += fmt::format("checkpoints of {} every {} ({}); each stops training for {}\n", bytes,
                        format_long_time(report.interval_s), report.mode, stall);
  return text;
}

TextTable goodput_bands(const GoodputReport& report) {
  std::vector<std::string> names;
  std::vector<std::string> means;
  std::vector<std::string> bands;
  std::vector<std::string> errors;
  const trace::ExpectedError& error = report.expected_error;
  for (const Figure& figure : figures(report)) {
    const GoodputBand values = band(report, figure);
    names.push_back(figure.name);
    means.push_back(figure.write(values.mean));
    bands.push_back(fmt::format("{} .. {}", figure.write(values.low), figure.write(values.high)));
    const double low = figure.with_error(values.mean, error.low);
    const double high = figure.with_error(values.mean, error.high);
    errors.push_back(figure.change == Figure::Change::none
                         ? ""
                         : fmt::format("{} .. {}", figure.write(std::min(low, high)),
                                       figure.write(std::max(low, high))));
  }
  TextTable table;
  table.add_names("", names);
  table.add_numbers({"mean"}, means);
  table.add_numbers({"90 % of seeds"}, bands);
  if (error.rows > 0) table.add_numbers({"mean with the", "expected error"}, errors);
  return table;
}

TextTable goodput_parts_table(const GoodputReport& report) {
  std::vector<std::string> names;
  std::vector<std::string> shares;
  std::vector<std::string> minutes;
  const double whole = mean_seconds(report);
  for (std::size_t i = 0; i < goodput_parts; ++i) {
    const double seconds = mean_part(report, static_cast<GoodputPart>(i));
    if (seconds < 1e-6 * whole) continue;
    names.emplace_back(goodput_part_names.at(i));
    shares.push_back(percent_text(seconds / whole));
    minutes.push_back(fmt::format("{:.1f}", seconds / whole * seconds_per_day / 60));
  }
  TextTable table;
  table.add_names("", names);
  table.add_numbers({"share"}, shares);
  table.add_numbers({"minutes", "a day"}, minutes);
  return table;
}

TextTable goodput_intervals(const GoodputReport& report) {
  const std::size_t best = best_interval(report);
  std::vector<std::string> names;
  std::vector<std::string> remarks;
  for (std::size_t i = 0; i < report.intervals.size(); ++i) {
    const GoodputVariant& variant = report.intervals[i];
    names.push_back(format_long_time(variant.interval_s));
    std::string remark = i == best ? "best" : "";
    if (variant.interval_s == report.interval_s) {
      if (report.interval_is_given)
        remark += remark.empty() ? "requested" : ", requested";
      else if (remark.empty())
        remark = "simulated";
    }
    remarks.push_back(std::move(remark));
  }
  TextTable table;
  table.add_numbers({"interval"}, names);
  add_variants(table, report, report.intervals);
  table.add_names("", remarks);
  return table;
}

TextTable goodput_worth(const GoodputReport& report) {
  std::vector<std::string> names;
  for (const GoodputVariant& variant : report.worth) names.push_back(variant.name);
  TextTable table;
  table.add_names("with", names);
  add_variants(table, report, report.worth);
  return table;
}

std::string goodput_intervals_heading(const GoodputReport& report) {
  return report.peer_interval_s ? "How often to checkpoint to the storage"
                                : "How often to checkpoint";
}

std::string goodput_formulas(const GoodputReport& report) {
  if (!report.mean_between_s) return "";
  const std::string young = format_long_time(report.young_s);
  const std::string daly = format_long_time(report.daly_s);
  const std::string effective = fmt::format(
      "{} effective training time ({} to first order),\n"
      "for single failures, unlimited spares and no stragglers.\n",
      percent_text(report.exact_ratio), percent_text(report.first_order_ratio));
  if (!report.peer_interval_s)
    return fmt::format("Young's interval {}, Daly's {}{}. Daly's model predicts {}", young, daly,
                       interval_reason(report), effective);
  return fmt::format(
      "Young's interval to the storage {}, Daly's {}, as if training waited for each write.\n"
      "With copies to peers every {}, Daly's model predicts {}",
      young, daly, format_long_time(*report.peer_interval_s), effective);
}

std::string goodput_error(const GoodputReport& report) {
  const std::string error = expected_error_text(report.expected_error);
  return error.empty() ? "" : error + " of an iteration, at the same effective training time";
}

std::vector<std::string> goodput_notes(const GoodputReport& report) {
  std::vector<std::string> notes = report.notes;
  notes.insert(notes.end(), report.iteration_notes.begin(), report.iteration_notes.end());
  return notes;
}

std::string goodput_answer(const GoodputReport& report) {
  const Figure ratio = figures(report).front();
  const GoodputBand values = band(report, ratio);
  std::string text =
      fmt::format("effective training time {} ({} .. {} in 90 % of seeds)",
                  ratio.write(values.mean), ratio.write(values.low), ratio.write(values.high));
  if (report.target_tokens)
    text = fmt::format("{:.2f} days to {} tokens; {}", mean_seconds(report) / seconds_per_day,
                       format_scaled(*report.target_tokens), text);
  if (!report.intervals.empty()) {
    const auto [shortest, longest] = best_interval_range(report);
    const std::string interval =
        shortest == longest ? format_long_time(shortest)
                            : fmt::format("{} to {} (no significant difference)",
                                          format_long_time(shortest), format_long_time(longest));
    text += fmt::format(
        "; best {} {}",
        report.peer_interval_s ? "interval of checkpoints to the storage" : "checkpoint interval",
        interval);
  }
  return text;
}

std::string goodput_text(const GoodputReport& report) {
  std::string text = goodput_answer(report) + "\n\n" + goodput_subject(report);
  text += fmt::format("\n{} of {}:\n\n", counted(report.outcomes.size(), "seed"),
                      report.target_tokens ? format_scaled(*report.target_tokens) + " tokens"
                                           : format_long_time(report.outcomes.front().seconds()));
  text += goodput_bands(report).text();
  if (const std::string error = goodput_error(report); !error.empty()) text += "\n" + error + "\n";
  text += "\nWhere the time goes:\n\n" + goodput_parts_table(report).text();
  if (!report.intervals.empty())
    text += fmt::format("\n{}, {}:\n\n", goodput_intervals_heading(report),
                        counted(report.intervals.front().ratios.size(), "seed")) +
            goodput_intervals(report).text();
  if (const std::string formulas = goodput_formulas(report); !formulas.empty())
    text += "\n" + formulas;
  const auto count = [](const GoodputVariant& variant) { return variant.ratios.size(); };
  if (!report.worth.empty())
    text += fmt::format("\nWhat a change is worth, {}:\n\n",
                        counted(std::ranges::max(report.worth, {}, count).ratios.size(), "seed")) +
            goodput_worth(report).text();
  return text;
}

std::string goodput_json(const GoodputReport& report) {
  Json json{{"title", report.title},
            {"what", report.subject},
            {"gpus", report.gpus},
            {"nodes", report.nodes},
            {"racks", report.racks},
            {"spares", report.spares},
            {"iteration_s", report.iteration_s},
            {"tokens_per_iteration", report.tokens_per_iteration},
            {"target_tokens", report.target_tokens},
            {"checkpoint",
             {{"mode", report.mode},
              {"bytes", report.checkpoint_bytes},
              {"stall_s", report.stall_s},
              {"interval_s", report.interval_s}}},
            {"mean_between_interruptions_s", report.mean_between_s},
            {"seeds", report.outcomes.size()}};
  if (report.peer_interval_s) json["checkpoint"]["peer_interval_s"] = *report.peer_interval_s;
  for (const Figure& figure : figures(report)) {
    const GoodputBand values = band(report, figure);
    json[figure.key] = {{"mean", values.mean}, {"p05", values.low}, {"p95", values.high}};
    if (figure.change == Figure::Change::none || report.expected_error.rows == 0) continue;
    const double low = figure.with_error(values.mean, report.expected_error.low);
    const double high = figure.with_error(values.mean, report.expected_error.high);
    json[figure.key]["with_error_low"] = std::min(low, high);
    json[figure.key]["with_error_high"] = std::max(low, high);
  }
  json["expected_error"] = trace::expected_error_json(report.expected_error);
  for (std::size_t i = 0; i < goodput_parts; ++i)
    json["seconds"][std::string(goodput_part_names.at(i))] =
        mean_part(report, static_cast<GoodputPart>(i));
  if (report.mean_between_s)
    json["formulas"] = {{"young_interval_s", report.young_s},
                        {"daly_interval_s", report.daly_s},
                        {"exact_ratio", report.exact_ratio},
                        {"first_order_ratio", report.first_order_ratio}};
  for (const GoodputVariant& variant : report.intervals)
    json["intervals"].push_back(variant_json(report, variant));
  if (!report.intervals.empty())
    json["best_interval_s"] = report.intervals[best_interval(report)].interval_s;
  for (const GoodputVariant& variant : report.worth)
    json["worth"].push_back(variant_json(report, variant));
  json["notes"] = goodput_notes(report);
  return json_document(json);
}

std::string goodput_csv(const GoodputReport& report) {
  ReportColumns<GoodputOutcome> columns{{"seed", &GoodputOutcome::seed}};
  for (const Figure& figure : figures(report)) columns.emplace_back(figure.key, figure.of);
  for (std::size_t i = 0; i < goodput_parts; ++i)
    columns.emplace_back(std::string(goodput_part_names.at(i)) + "_s",
                         [i](const GoodputOutcome& outcome) { return Json(outcome.parts.at(i)); });
  columns.emplace_back("corruptions", &GoodputOutcome::corruptions);
  columns.emplace_back("stragglers", &GoodputOutcome::stragglers);
  columns.emplace_back("checkpoints", &GoodputOutcome::checkpoints);
  return csv_text(columns, report.outcomes);
}

}  // namespace pipewright::analysis
