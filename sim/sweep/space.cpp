#include "sim/sweep/space.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sim/base/mix.hpp"
#include "sim/config/schedule_spec.hpp"
#include "sim/config/text/value.hpp"
#include "sim/sweep/auto_values.hpp"
#include "sim/sweep/domain.hpp"
#include "sim/sweep/emptiness.hpp"
#include "sim/sweep/enumerator.hpp"

namespace pipewright::search {
namespace {

using config::Value;

constexpr double max_numbered_combinations = 0x1.0p+63;

// Returns the names of the groups of candidates, one for each model on each cluster: "gpt3-175b on
// dgx-a100-96".
std::vector<std::string> group_names(const Domain& domain) {
  const auto labels = [&](std::string_view key) {
    const SweepAxis* const open = find_axis(domain.open(), key);
    const SweepAxis* const axis = open != nullptr ? open : find_axis(domain.axes.fixed, key);
    return axis == nullptr ? std::vector<std::string>{""} : axis->info.values;
  };
  std::vector<std::string> names;
  for (const std::string& cluster : labels("cluster"))
    for (const std::string& model : labels("model")) {
      if (model.empty())
        names.push_back(cluster.empty() ? "ideal network" : cluster);
      else
        names.push_back(cluster.empty() ? model : fmt::format("{} on {}", model, cluster));
    }
  return names;
}

}  // namespace

struct Space::Impl {
  // Digit of a layout's number that selects the value of one axis.
  struct Digit {
    std::uint64_t weight = 1;
    std::uint64_t size = 1;

    std::uint64_t value_in(std::uint64_t layout) const { return layout / weight % size; }
  };

  Impl(Sweep sweep_, const std::vector<ClusterFacts>& facts)
      : sweep(std::move(sweep_)), domain(sweep, facts), groups(group_names(domain)) {
    std::vector<SweepAxis>& open = domain.axes.open;
    digits.resize(open.size() - 1);
    std::uint64_t weight = 1;
    for (std::size_t i = digits.size(); i-- > 0; weight *= digits[i].size)
      digits[i] = {weight, open[i].values.size()};
    for (std::size_t i = 0; i < digits.size(); ++i) {
      if (open[i].info.key == "cluster") cluster = digits[i];
      if (open[i].info.key == "model") model = digits[i];
      constexpr std::array<std::string_view, 5> keys{"parallel.", "cluster", "placement", "gpu",
                                                     "devices"};
      moves_ranks.push_back(
          std::ranges::any_of(keys, [&](auto key) { return open[i].info.key.starts_with(key); }));
    }
    for (const SweepAxis& axis : open) axes.push_back(axis.info);
    for (const AxisValue& value : open.back().values)
      searched.push_back(config::schedule_source(schedule_name(value.shown)) ==
                         config::ScheduleSource::search);
    expanded = domain.axes.scenario;
    for (const SweepAxis& axis : domain.axes.fixed)
      if (axis.values.front().expanded)
        at_path(expanded, axis.path) = *axis.values.front().expanded;
  }

  // Returns the scenario of a layout. With `spell`, models and GPUs that are given by name are
  // replaced by the maps of their keys.
  Value with_values(bool expands, std::uint64_t layout) const {
    Value scenario = expands ? expanded : domain.axes.scenario;
    for (std::size_t i = 0; i < digits.size(); ++i) {
      const SweepAxis& axis = domain.open()[i];
      const AxisValue& value = axis.values[digits[i].value_in(layout)];
      at_path(scenario, axis.path) = expands && value.expanded ? *value.expanded : value.shown;
    }
    if (find_axis(domain.open(), "parallel.cp_comm_type") != nullptr)
      drop_unused_cp_sizes(scenario);
    return scenario;
  }

  void check_numbers() const;  // throws config::Error for more than 2^63 combinations
  Enumerator&
  partial_enumerator();  // enumerator of samples and single combinations; throws config::Error
  const SweepAxis& schedules() const { return domain.open().back(); }

  Sweep sweep;
  Domain domain;
  std::vector<analysis::SearchAxis> axes;
  std::vector<std::string> groups;
  std::vector<Digit> digits;            // by axis, without the schedules
  std::unique_ptr<Enumerator> sampler;  // made by partial_enumerator()
  std::vector<bool> searched;           // by schedule: its order is searched
  std::vector<bool> moves_ranks;        // by axis: the placement of ranks depends on it
  Digit cluster;
  Digit model;
  Value expanded;
  std::optional<std::vector<std::uint64_t>> excluded;  // combinations by rule
  bool is_complete_count = false;                      // `excluded` is of a complete enumeration
};

Space::Space(Sweep sweep, const std::vector<ClusterFacts>& facts)
    : impl_(std::make_unique<Impl>(std::move(sweep), facts)) {}
Space::~Space() = default;
Space::Space(Space&&) noexcept = default;

const Sweep& Space::sweep() const { return impl_->sweep; }
const std::vector<analysis::SearchAxis>& Space::axes() const { return impl_->axes; }
const std::vector<std::string>& Space::groups() const { return impl_->groups; }
std::uint64_t Space::schedules() const { return impl_->schedules().values.size(); }
double Space::combinations() const { return impl_->domain.combinations; }

void Space::Impl::check_numbers() const {
  if (domain.combinations >= max_numbered_combinations)
    throw config::Error(
        fmt::format("{}: {:.3g} combinations are more than the 2^63 that are supported",
                    sweep.title, domain.combinations))
        .suggest("give fewer values to an axis");
}

namespace {

Enumerator::Visit without_digits(const Space::Visit& visit) {
  return [&](std::uint64_t layout, auto&&, std::span<const std::uint32_t> schedules) {
    return visit(layout, schedules);
  };
}

}  // namespace

bool Space::for_each_layout(const Visit& visit, const std::function<bool()>& stop) const {
  impl_->check_numbers();
  Enumerator enumerator(impl_->domain);
  const bool is_complete = enumerator.run(without_digits(visit), ~std::uint64_t{0}, stop);
  if (is_complete || !impl_->is_complete_count) impl_->excluded = enumerator.excluded();
  impl_->is_complete_count = impl_->is_complete_count || is_complete;
  return is_complete;
}

bool Space::is_empty(const std::function<bool()>& stop) const {
  impl_->check_numbers();
  bool is_found = false;
  const Visit stop_at_first = [&](auto&&...) {
    is_found = true;
    return false;
  };
  return Enumerator(impl_->domain).run(without_digits(stop_at_first), ~std::uint64_t{0}, stop) &&
         !is_found;
}

bool Space::contains(std::uint64_t candidate) const {
  Enumerator& enumerator = impl_->partial_enumerator();
  return static_cast<double>(candidate) < combinations() &&
         enumerator.contains(analysis::choices(axes(), candidate));
}

std::uint64_t Space::index_of(std::span<const std::uint32_t> choices) const {
  std::uint64_t index = 0;
  for (std::size_t axis = 0; axis < choices.size(); ++axis)
    index = index * axes()[axis].values.size() + choices[axis];
  return index;
}

std::optional<std::string> Space::why_no_candidate(std::uint64_t candidate) const {
  if (contains(candidate)) return std::nullopt;
  const std::optional<std::size_t> rule =
      impl_->partial_enumerator().broken_rule(analysis::choices(axes(), candidate));
  if (!rule || impl_->domain.rules[*rule].merges_equivalents)
    return "it is merged with an equivalent candidate";
  return fmt::format("the rule `{}` excludes it", config::shown(impl_->domain.rules[*rule].text));
}

Enumerator& Space::Impl::partial_enumerator() {
  check_numbers();
  if (!sampler) sampler = std::make_unique<Enumerator>(domain);
  return *sampler;
}

void Space::sample(std::uint64_t seed, std::uint64_t max_tries, const Visit& visit) const {
  Enumerator& enumerator = impl_->partial_enumerator();
  enumerator.sample(seed);
  enumerator.run(without_digits(visit), max_tries);
}

bool Space::visit_near(std::uint64_t layout, std::size_t slot, const Visit& visit) const {
  Enumerator& enumerator = impl_->partial_enumerator();
  if (!enumerator.stay_near(layout, slot)) return false;
  enumerator.run(without_digits(visit));
  return true;
}

bool Space::is_of_shard(std::uint64_t layout) const {
  const Shard& shard = impl_->sweep.shard;
  return shard.count == 1 || base::mix(layout) % shard.count == shard.number - 1;
}

bool Space::is_searched(std::uint64_t schedule) const {
  return impl_->searched.at(static_cast<std::size_t>(schedule));
}

std::uint64_t Space::placement(std::uint64_t layout) const {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < impl_->digits.size(); ++i)
    if (impl_->moves_ranks[i])
      number += impl_->digits[i].value_in(layout) * impl_->digits[i].weight;
  return number;
}

namespace {

// Returns an upper limit of the peak FLOP/s of a recipe's types on today's GPUs relative to bf16: a
// factor of 2 for FP8, of 6 for FP4 (B300).
double largest_speedup(const Value& precision) {
  double speedup = 1;
  for (const config::Entry& module : precision.entries)
    speedup = std::max(speedup, largest_speedup(module.value));
  const std::string& type = precision.text;
  if (type.starts_with("fp8") || type == "mxfp8") return 2;
  const bool is_narrow = type.ends_with("fp4") || type == "tf32" || type == "fp32";
  return is_narrow ? 6 : speedup;
}

}  // namespace

std::function<double(const analysis::IterationWork&)> Space::floor() const {
  // Keys that affect neither the FLOP per token nor the peak FLOP/s of a GPU, so that the lower
  // bound also holds if they are axes.
  constexpr std::array<std::string_view, 15> neutral_keys{"parallel.",
                                                          "schedule",
                                                          "training.microbatch_size",
                                                          "training.recompute",
                                                          "global_batch",
                                                          "p2p",
                                                          "communication.",
                                                          "partition",
                                                          "placement",
                                                          "devices",
                                                          "microbatches",
                                                          "symmetric",
                                                          "training.cuda_graphs",
                                                          "training.experts.",
                                                          "variation."};
  for (const analysis::SearchAxis& axis : axes())
    if (std::ranges::none_of(neutral_keys, [&](auto key) { return axis.key.starts_with(key); }))
      return {};
  const config::Value* const training = config::find(impl_->domain.axes.scenario, "training");
  const config::Value* const precision =
      training == nullptr ? nullptr : config::find(*training, "precision");
  const double speedup = precision == nullptr ? 1 : largest_speedup(*precision);
  const std::vector<std::uint64_t>& allowed = impl_->domain.allowed_gpus.front();
  const double max_gpus = allowed.empty() ? 0 : static_cast<double>(std::ranges::max(allowed));
  return [speedup, max_gpus](const analysis::IterationWork& work) {
    const double gpus = static_cast<double>(work.gpus);
    const double peak = work.peak_flops * speedup * std::max(max_gpus, gpus) / gpus;
    return max_gpus > 0 && peak > 0 ? work.model_flop / peak : 0;
  };
}

std::vector<analysis::Excluded> Space::excluded() const {
  if (!impl_->excluded) for_each_layout([](auto&&...) { return true; });
  std::vector<analysis::Excluded> excluded;
  for (std::size_t i = 0; i < impl_->domain.rules.size(); ++i)
    excluded.push_back({impl_->domain.rules[i].text, impl_->excluded->at(i)});
  return excluded;
}

std::size_t Space::cluster(std::uint64_t layout) const { return impl_->cluster.value_in(layout); }

std::uint32_t Space::group(std::uint64_t layout) const {
  return static_cast<std::uint32_t>(cluster(layout) * impl_->model.size +
                                    impl_->model.value_in(layout));
}

Value Space::layout(std::uint64_t layout, std::span<const std::uint32_t> schedules) const {
  Value scenario = impl_->with_values(true, layout);
  Value list;
  list.kind = Value::Kind::list;
  for (const std::uint32_t schedule : schedules)
    list.items.push_back(impl_->schedules().values[schedule].shown);
  at_path(scenario, impl_->schedules().path) = std::move(list);
  return scenario;
}

Value Space::candidate(std::uint64_t candidate) const {
  Value scenario = impl_->with_values(false, candidate / schedules());
  at_path(scenario, impl_->schedules().path) =
      impl_->schedules().values[candidate % schedules()].shown;
  return scenario;
}

std::string Space::why_empty() const { return search::why_empty(impl_->domain); }

}  // namespace pipewright::search
