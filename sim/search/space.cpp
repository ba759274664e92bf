#include "sim/search/space.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "sim/config/text/value.hpp"
#include "sim/search/space/domain.hpp"
#include "sim/search/space/emptiness.hpp"
#include "sim/search/space/walk.hpp"

namespace pipewright::search {
namespace {

using config::Value;

constexpr double most_combinations = 0x1.0p+63;  // that have numbers

// "gpt3-175b on dgx-a100-96" for each model on each cluster.
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

// Where the digit of an axis is in the number of a layout.
struct Place {
  std::uint64_t weight = 1;
  std::uint64_t size = 1;
};

std::uint64_t digit(std::uint64_t layout, const Place& place) {
  return layout / place.weight % place.size;
}

}  // namespace

struct Space::Impl {
  Impl(Sweep given, const std::vector<ClusterFacts>& facts)
      : sweep(std::move(given)), domain(sweep, facts), groups(group_names(domain)) {
    std::vector<SweepAxis>& open = domain.axes.open;
    places.resize(open.size() - 1);
    std::uint64_t weight = 1;
    for (std::size_t i = places.size(); i-- > 0; weight *= places[i].size)
      places[i] = {weight, open[i].values.size()};
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (open[i].info.key == "cluster") cluster = places[i];
      if (open[i].info.key == "model") model = places[i];
    }
    for (const SweepAxis& axis : open) axes.push_back(axis.info);
    spelled = domain.axes.scenario;
    for (const SweepAxis& axis : domain.axes.fixed)
      if (axis.values.front().spelled) at_path(spelled, axis.path) = *axis.values.front().spelled;
  }

  // A scenario with the values of a layout, as people write it or spelled out.
  Value with_values(bool spell, std::uint64_t layout) const {
    Value scenario = spell ? spelled : domain.axes.scenario;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const SweepAxis& axis = domain.open()[i];
      const AxisValue& value = axis.values[digit(layout, places[i])];
      at_path(scenario, axis.path) = spell && value.spelled ? *value.spelled : value.shown;
    }
    return scenario;
  }

  const SweepAxis& schedules() const { return domain.open().back(); }

  Sweep sweep;
  Domain domain;
  std::vector<analysis::SearchAxis> axes;
  std::vector<std::string> groups;
  std::vector<Place> places;  // of all axes but the schedules
  Place cluster;
  Place model;
  Value spelled;
  std::optional<std::vector<std::uint64_t>> cut;  // by rule, in the last walk
  bool all_walked = false;                        // that walk was over all
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

void Space::for_each_layout(
    const std::function<bool(std::uint64_t, std::span<const std::uint32_t>)>& visit,
    const std::function<bool()>& stop) const {
  if (combinations() >= most_combinations)
    throw config::Error(
        fmt::format("{}: {:.3g} combinations are more than can be numbered (2^63); give fewer "
                    "values to an axis",
                    sweep().title, combinations()));
  Walk walk(impl_->domain);
  const bool all =
      walk.run([&](std::uint64_t layout, auto&&,
                   std::span<const std::uint32_t> schedules) { return visit(layout, schedules); },
               ~std::uint64_t{0}, stop);
  if (all || !impl_->all_walked) impl_->cut = walk.cut();
  impl_->all_walked = impl_->all_walked || all;
}

std::vector<analysis::Excluded> Space::excluded() const {
  if (!impl_->cut) for_each_layout([](auto&&...) { return true; });
  std::vector<analysis::Excluded> excluded;
  for (std::size_t i = 0; i < impl_->domain.rules.size(); ++i)
    excluded.push_back({impl_->domain.rules[i].text, impl_->cut->at(i)});
  return excluded;
}

std::size_t Space::cluster(std::uint64_t layout) const { return digit(layout, impl_->cluster); }

std::uint32_t Space::group(std::uint64_t layout) const {
  return static_cast<std::uint32_t>(cluster(layout) * impl_->model.size +
                                    digit(layout, impl_->model));
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
