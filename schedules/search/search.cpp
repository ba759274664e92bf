#include "schedules/search/search.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "schedules/blocks/grid.hpp"
#include "schedules/families/catalog.hpp"
#include "schedules/families/families.hpp"
#include "schedules/search/block_seeds.hpp"
#include "schedules/search/bound.hpp"

namespace pipewright::schedules {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

// The default effort of a search, in passes that its sweeps may process: a second or two of work,
// plus a number of sweeps over the whole schedule, so that large schedules are improved, too.
constexpr double passes_of_effort = 1.2e7;
constexpr double sweeps_of_effort = 64;

constexpr std::size_t batch = 8;
constexpr std::size_t max_blocks = 64;  // Of each shape.

Order order_of(const Schedule& schedule) {
  Order order;
  for (const Program& program : schedule.programs) order.push_back(passes_of(program));
  return order;
}

// Returns true if all backwards are whole or all are split. The search skips orders that mix them.
bool is_of_one_kind(const Order& order) {
  bool whole = false;
  bool split = false;
  for (const auto& passes : order)
    for (const Pass& pass : passes) {
      whole = whole || pass.kind == PassKind::backward;
      split = split || pass.kind == PassKind::input_grad;
    }
  return whole != split;
}

// A placement of stages with the pipeline's costs on it and the lower bounds of its orders.
struct Shape {
  Pipeline pipeline;
  double makespan_bound = 0;  // Lower bound of the makespan, in seconds.
  double span_bound = 0;

  double bound(Objective objective) const {
    return objective == Objective::span ? span_bound : makespan_bound;
  }
};

struct Candidate {
  const Shape* shape = nullptr;
  Plan plan;         // The original order.
  Plan best = plan;  // The best justified order so far.
  std::string origin;
};

// Appends a step to the description of how an order was made, unless the step is there already:
// "zb-v of the catalog, justified, local moves".
std::string with_step(const std::string& origin, const char* word) {
  return origin.find(word) == std::string::npos ? fmt::format("{}, {}", origin, word) : origin;
}

// The plan of a candidate that an improvement starts from: the order as it was added, or the best
// that earlier improvements have made of it.
enum class StartPlan : std::uint8_t { original, justified };

class Search {
 public:
  Search(const SearchRequest& request, const std::function<bool(const SearchProgress&)>& go_on)
      : request_(request),
        go_on_(go_on),
        placements_(searched_placements(request.devices)),
        effort_(request.effort * (passes_of_effort +
                                  sweeps_of_effort * 6.0 * request.devices * request.microbatches)),
        left_(effort_) {}

  SearchResult run();

 private:
  const Shape* shape_of(const Routes& routes);
  void try_catalog();
  void try_greedy();
  void try_blocks();
  void move_passes();

  std::vector<std::size_t> promising() const;
  void justify(const std::vector<std::size_t>& indices, StartPlan start, Objective objective,
               std::initializer_list<Pull> pulls);
  void add(const Shape& shape, const Order& order, std::string origin);
  void justify(Candidate& candidate, const Plan& from, Pull pull, Objective objective);
  void keep(const Shape& shape, const Plan& plan, const std::string& origin);
  double value(const Plan& plan) const {
    return request_.objective == Objective::span ? plan.span : plan.makespan;
  }
  double bound(Objective objective) const;
  // Returns the lower bound of the objective, or its best value so far if both are equal except for
  // rounding errors.
  double reached_bound() const {
    const double lowest = bound(request_.objective);
    return value(best_->plan) <= lowest * (1 + 1e-9) ? value(best_->plan) : lowest;
  }
  void spend(const Order& order, int sweeps) {
    for (const auto& passes : order) left_ -= static_cast<double>(passes.size()) * sweeps;
  }
  bool is_stopped();       // The caller has stopped the search.
  bool should_continue();  // Effort is left and the best order can still be improved.

  const SearchRequest& request_;
  const std::function<bool(const SearchProgress&)>& go_on_;
  std::vector<Routes> placements_;
  std::vector<std::unique_ptr<Shape>> shapes_;
  std::vector<Candidate> candidates_;
  std::optional<Candidate> best_;
  double effort_;  // Passes that the search may process.
  double left_;    // Passes that remain.
  bool stopped_ = false;
};

// Returns the shape of a placement; the first call makes it. Returns null if the request has no
// costs for the placement or no order fits into memory.
const Shape* Search::shape_of(const Routes& routes) {
  for (const auto& shape : shapes_)
    if (shape->pipeline.routes == routes) return shape.get();
  if (std::ranges::find(placements_, routes) == placements_.end()) return nullptr;
  std::optional<Pipeline> pipeline = request_.pipeline(routes);
  if (!pipeline || !fits(*pipeline)) return nullptr;
  pipeline->microbatches = request_.microbatches;
  shapes_.push_back(std::make_unique<Shape>(Shape{std::move(*pipeline)}));
  Shape& shape = *shapes_.back();
  shape.makespan_bound = lower_bound(shape.pipeline, Objective::makespan);
  shape.span_bound = lower_bound(shape.pipeline, Objective::span);
  return &shape;
}

double Search::bound(Objective objective) const {
  double lowest = never;
  for (const auto& shape : shapes_) lowest = std::min(lowest, shape->bound(objective));
  return lowest;
}

bool Search::is_stopped() {
  if (stopped_) return true;
  stopped_ = !go_on_({.share = std::min(1.0, 1 - left_ / effort_),
                      .best = best_ ? value(best_->plan) : never,
                      .lower_bound = bound(request_.objective)});
  return stopped_;
}

bool Search::should_continue() {
  if (left_ <= 0 || is_stopped()) return false;
  if (!best_) return true;
  constexpr double rounding = 1 + 1e-9;
  const bool proven = value(best_->plan) <= bound(request_.objective) * rounding;
  const bool is_optimal = best_->plan.makespan <= bound(Objective::makespan) * rounding &&
                          best_->plan.span <= bound(Objective::span) * rounding;
  // Once the objective is at its optimum, the search goes on for the quantity that is not the
  // objective (makespan or span), which breaks ties, until a tenth of the effort is spent.
  constexpr double share_for_ties = 0.1;
  return !is_optimal && (!proven || 1 - left_ / effort_ < share_for_ties);
}

void Search::keep(const Shape& shape, const Plan& plan, const std::string& origin) {
  if (plan.makespan == never) return;
  if (best_ && !better(plan, best_->plan, request_.objective)) return;
  best_ = {.shape = &shape, .plan = plan, .best = {}, .origin = origin};
}

// Adds an order to the candidates if it can run, without improving it yet.
void Search::add(const Shape& shape, const Order& order, std::string origin) {
  if (!is_of_one_kind(order)) return;
  Plan plan = Justifier(shape.pipeline).plan(order);
  if (plan.makespan == never) return;  // It does not run within memory.
  keep(shape, plan, origin);
  candidates_.push_back({.shape = &shape, .plan = std::move(plan), .origin = std::move(origin)});
}

void Search::justify(Candidate& candidate, const Plan& from, Pull pull, Objective objective) {
  constexpr int rounds = 3;
  Plan plan = Justifier(candidate.shape->pipeline).improve(from, pull, objective, rounds);
  spend(plan.order, 1 + rounds);
  keep(*candidate.shape, plan, with_step(candidate.origin, "justified"));
  if (better(plan, candidate.best, request_.objective)) candidate.best = std::move(plan);
}

void Search::try_catalog() {
  Parameters parameters{.devices = request_.devices, .microbatches = request_.microbatches};
  for (const Entry& entry : catalog()) {
    if (best_ && is_stopped()) return;
    const Shape* const planned = entry.plans ? shape_of(entry.placement(parameters)) : nullptr;
    parameters.device_times = planned == nullptr ? PassTimes{} : planned->pipeline.times;
    parameters.hop = planned == nullptr ? 0 : planned->pipeline.hop;
    std::optional<Schedule> schedule;
    try {
      schedule = make_schedule(entry.name, parameters);
    } catch (const Error&) {
      continue;  // The family does not support these sizes.
    }
    if (!is_searchable(*schedule)) continue;
    if (const Shape* const shape = shape_of(schedule->routes))
      add(*shape, order_of(*schedule), fmt::format("{} of the catalog", entry.name));
  }
}

// Adds the plan of the greedy zero-bubble planner for the memory in the request, while the
// schedules zb-1p and zb-2p of the catalog are planned for p or 2p microbatches.
void Search::try_greedy() {
  const Shape* const shape = shape_of(Routes::looped(request_.devices, 1));
  if (shape == nullptr) return;
  const Pipeline& pipeline = shape->pipeline;
  std::int64_t room = request_.microbatches;
  double early = 1;  // Part of the activations that I frees on every device.
  for (std::uint32_t device = 0; device < request_.devices; ++device) {
    const std::int64_t held = pipeline.memory.held[device];
    if (held == 0) continue;
    room = std::min(room, pipeline.memory.limit[device] / held);
    early = std::min(early, static_cast<double>(pipeline.memory.released_by_input_grad[device]) /
                                static_cast<double>(held));
  }
  try {
    const Schedule schedule = greedy_zero_bubble("greedy",
                                                 {.devices = request_.devices,
                                                  .microbatches = request_.microbatches,
                                                  .device_times = pipeline.times,
                                                  .hop = pipeline.hop,
                                                  .input_grad_releases = early},
                                                 static_cast<std::uint32_t>(room));
    add(*shape, order_of(schedule), "greedy zero bubble");
  } catch (const Error&) {  // The planner does not support these sizes.
  }
}

// Adds building blocks as candidates and improves them, a few at a time, alternating between the V
// shape and the looped shape.
void Search::try_blocks() {
  std::vector<std::pair<const Shape*, std::vector<BuildingBlock>>> seeds;
  for (const Routes& routes :
       {Routes::v_shape(request_.devices), Routes::looped(request_.devices, 1)})
    if (const Shape* const shape = shape_of(routes))
      seeds.emplace_back(shape, block_seeds(shape->pipeline, max_blocks));
  for (std::size_t done = 0; done < max_blocks; done += batch) {
    const std::size_t before = candidates_.size();
    for (const auto& [shape, blocks] : seeds)
      for (std::size_t i = done; i < std::min(done + batch, blocks.size()); ++i) {
        if (!should_continue()) return;
        const Order order = order_of(repeat(blocks[i], request_.microbatches));
        add(*shape, order, "block " + blocks[i].name);
        spend(order, 1);
      }
    std::vector<std::size_t> batch_of_blocks;
    for (std::size_t i = before; i < candidates_.size(); ++i) batch_of_blocks.push_back(i);
    justify(batch_of_blocks, StartPlan::original, request_.objective, {Pull::fitting, Pull::safe});
  }
}

// Returns the indices of the candidates whose best plans so far are shortest.
std::vector<std::size_t> Search::promising() const {
  std::vector<std::size_t> order(candidates_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
    return value(candidates_[a].best) < value(candidates_[b].best) * (1 - 1e-12);
  });
  order.resize(std::min(order.size(), batch));
  return order;
}

// Improves candidates by forward and backward sweeps (justify.hpp), starting from the original plan
// of each or from its best one.
void Search::justify(const std::vector<std::size_t>& indices, StartPlan start, Objective objective,
                     std::initializer_list<Pull> pulls) {
  for (const Pull pull : pulls)
    for (const std::size_t i : indices) {
      if (!should_continue()) return;
      Candidate& candidate = candidates_[i];
      justify(candidate, start == StartPlan::original ? candidate.plan : candidate.best, pull,
              objective);
    }
}

// Repeatedly moves one pass of the best order to a nearby position and improves the result by
// sweeps.
void Search::move_passes() {
  std::mt19937 random(1);  // The same request gives the same answer.
  while (should_continue()) {
    Order order = best_->plan.order;
    auto& passes = order[random() % order.size()];
    const std::size_t from = random() % passes.size();
    const std::size_t reach = 1 + random() % (3 * std::size_t{request_.devices});
    const std::size_t to = from > reach ? from - reach : 0;
    if (to == from) {
      left_ -= 1;
      continue;
    }
    const auto at = [&](std::size_t place) { return passes.begin() + static_cast<int>(place); };
    std::rotate(at(to), at(from), at(from + 1));
    const Plan moved = Justifier(best_->shape->pipeline).plan(order);
    spend(order, 1);
    if (moved.makespan == never) continue;
    Candidate candidate{.shape = best_->shape,
                        .plan = {},
                        .best = best_->plan,
                        .origin = with_step(best_->origin, "local moves")};
    constexpr std::array pulls{Pull::fitting, Pull::safe, Pull::eager};
    justify(candidate, moved, pulls[random() % pulls.size()], request_.objective);
  }
}

SearchResult Search::run() {
  const Objective tie_breaker =
      request_.objective == Objective::span ? Objective::makespan : Objective::span;
  const auto all_pulls = {Pull::fitting, Pull::safe, Pull::eager};
  try_catalog();
  try_greedy();
  justify(promising(), StartPlan::original, request_.objective, all_pulls);
  try_blocks();
  justify(promising(), StartPlan::justified, tie_breaker, all_pulls);
  justify(promising(), StartPlan::justified, request_.objective, all_pulls);
  if (best_) move_passes();
  if (!best_)
    throw Error(
        "no order of passes fits into the memory: a device must hold at least the "
        "activations of one microbatch");

  const Pipeline& pipeline = best_->shape->pipeline;
  SearchResult result{.schedule = {.name = "search",
                                   .devices = request_.devices,
                                   .chunks = pipeline.routes.stages() / request_.devices,
                                   .microbatches = request_.microbatches,
                                   .recomputed = pipeline.recomputed,
                                   .routes = pipeline.routes,
                                   .programs = {}},
                      .origin = best_->origin,
                      .makespan = best_->plan.makespan,
                      .span = best_->plan.span,
                      .lower_bound = reached_bound(),
                      .candidates = candidates_.size(),
                      .interrupted = stopped_};
  for (const auto& passes : best_->plan.order) result.schedule.programs.push_back(fold(passes));
  return result;
}

}  // namespace

std::vector<Routes> searched_placements(std::uint32_t devices) {
  return {Routes::looped(devices, 1), Routes::looped(devices, 2), Routes::v_shape(devices)};
}

double lower_bound(const SearchRequest& request) {
  double lowest = std::numeric_limits<double>::infinity();
  for (const Routes& routes : searched_placements(request.devices)) {
    std::optional<Pipeline> pipeline = request.pipeline(routes);
    if (!pipeline || !fits(*pipeline)) continue;
    pipeline->microbatches = request.microbatches;
    lowest = std::min(lowest, lower_bound(*pipeline, request.objective));
  }
  return lowest;
}

bool is_searchable(const Schedule& schedule) {
  return schedule.routes.count() == 1 && schedule.weight_versions == 1 && schedule.slices == 1 &&
         !has_fused_pairs(schedule);
}

SearchResult search(const SearchRequest& request,
                    const std::function<bool(const SearchProgress&)>& go_on) {
  return Search(request, go_on).run();
}

}  // namespace pipewright::schedules
