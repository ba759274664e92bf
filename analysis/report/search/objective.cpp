#include "analysis/report/search/objective.hpp"

#include <array>
#include <cctype>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

bool reaches_floor(const Objective& objective, const IterationWork& work, double time_s) {
  const double amount = objective.floor_in_samples ? work.samples : work.tokens;
  return amount >= objective.floor * time_s;
}

double seconds_to_train(const Objective& objective, const IterationWork& work, double time_s) {
  return work.tokens > 0 ? objective.tokens * (time_s / work.tokens) : infinite;
}

// Returns the unit of work to which seconds_per_unit() refers.
const char* unit_of(const IterationWork& work) {
  if (work.tokens > 0) return "tokens";
  return work.samples > 0 ? "samples" : "iterations";
}

std::string duration(double s) {
  if (s >= 2 * seconds_per_day) return fmt::format("{:.4g} days", s / seconds_per_day);
  if (s >= 2 * seconds_per_hour) return fmt::format("{:.4g} h", s / seconds_per_hour);
  return format_seconds(s);
}

std::string money(const std::string& currency, double amount) {
  const std::string number = amount < 1000 ? fmt::format("{:.2f}", amount) : format_scaled(amount);
  const bool is_word =
      !currency.empty() && std::isalnum(static_cast<unsigned char>(currency.back()));
  return is_word ? fmt::format("{} {}", number, currency) : currency + number;
}

double share_of_peak(double flop, const IterationWork& work, double time_s) {
  return flop > 0 && work.peak_flops > 0 && time_s > 0 ? flop / (time_s * work.peak_flops) : 0;
}

}  // namespace

double seconds_per_unit(const IterationWork& work, double time_s) {
  if (work.tokens > 0) return time_s / work.tokens;
  return work.samples > 0 ? time_s / work.samples : time_s;
}

double cost(const Objective& objective, const IterationWork& work, double time_s,
            std::uint64_t peak_bytes) {
  switch (objective.kind) {
    case Objective::Kind::throughput:
      return seconds_per_unit(work, time_s);
    case Objective::Kind::mfu:
      return work.model_flop > 0 && work.peak_flops > 0
                 ? time_s * (work.peak_flops / work.model_flop)
                 : infinite;
    case Objective::Kind::time_to_train:
      return seconds_to_train(objective, work, time_s);
    case Objective::Kind::price:
      if (work.tokens <= 0) return infinite;
      if (objective.deadline_s > 0 &&
          seconds_to_train(objective, work, time_s) > objective.deadline_s)
        return infinite;
      return seconds_to_train(objective, work, time_s) / seconds_per_hour *
             static_cast<double>(work.gpus) * objective.price_per_gpu_hour;
    case Objective::Kind::memory:
      return reaches_floor(objective, work, time_s) ? static_cast<double>(peak_bytes) : infinite;
    case Objective::Kind::tokens_a_day:
      return work.lost_part < 1
                 ? seconds_per_unit(work, time_s) / (1 - work.lost_part) / seconds_per_day
                 : infinite;
  }
  throw std::logic_error("an objective of an unknown kind");
}

std::string name_of(const Objective& objective) {
  switch (objective.kind) {
    case Objective::Kind::throughput:
      return "throughput";
    case Objective::Kind::mfu:
      return "MFU";
    case Objective::Kind::time_to_train:
      return fmt::format("time to train {} tokens", format_scaled(objective.tokens));
    case Objective::Kind::price:
      return fmt::format("price of {} tokens at {} a GPU-hour", format_scaled(objective.tokens),
                         money(objective.currency, objective.price_per_gpu_hour));
    case Objective::Kind::memory:
      if (objective.floor == 0) return "memory";
      return fmt::format(
          "memory with at least {}",
          format_rate(objective.floor, objective.floor_in_samples ? "samples" : "tokens"));
    case Objective::Kind::tokens_a_day:
      return fmt::format("tokens a day of a goodput run, {} seeds", objective.seeds);
  }
  throw std::logic_error("an objective of an unknown kind");
}

std::string cost_text(const Objective& objective, const IterationWork& work, double cost) {
  if (!std::isfinite(cost))
    return objective.kind == Objective::Kind::memory ? "below the floor" : "unknown";
  switch (objective.kind) {
    case Objective::Kind::throughput:
      return format_rate(1 / cost, unit_of(work));
    case Objective::Kind::mfu:
      return format_percent(1 / cost);
    case Objective::Kind::time_to_train:
      return duration(cost);
    case Objective::Kind::price:
      return money(objective.currency, cost);
    case Objective::Kind::memory:
      return format_bytes(static_cast<std::uint64_t>(cost));
    case Objective::Kind::tokens_a_day:
      return fmt::format("{} {} a day", format_scaled(1 / cost), unit_of(work));
  }
  throw std::logic_error("an objective of an unknown kind");
}

double throughput(const IterationWork& work, double time_s) {
  const double amount = work.tokens > 0 ? work.tokens : work.samples;
  return amount > 0 && time_s > 0 ? amount / time_s : 0;
}

double work_per_day(const IterationWork& work, double time_s) {
  return throughput(work, time_s) * seconds_per_day * (1 - work.lost_part);
}

double mfu(const IterationWork& work, double time_s) {
  return share_of_peak(work.model_flop, work, time_s);
}

double mfu_full_attention(const IterationWork& work, double time_s) {
  return share_of_peak(work.full_attention_flop, work, time_s);
}

}  // namespace pipewright::analysis
