#include "sim/rl/loop.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>

namespace pipewright::rl {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

// Decodes a batch of responses. Each decode step adds a token to all of them.
class Engine {
 public:
  explicit Engine(const Loop& loop) : loop_(&loop) {}

  std::size_t size() const { return active_.size(); }
  bool has_room(double tokens) const {
    return active_.size() < loop_->max_sequences && (loop_->cache_tokens == 0 || active_.empty() ||
                                                     reserved_ + tokens <= loop_->cache_tokens);
  }
  double busy() const { return busy_; }
  double sequence_seconds() const { return sequence_seconds_; }
  const std::vector<EngineSpan>& spans() const { return spans_; }

  // Time at which the next response ends.
  double next_end() const { return next_end_; }

  // Starts a response at `time`, or at the end of the step that is under way then.
  void start(double time, std::uint32_t tokens, std::uint64_t prompt) {
    advance(time);
    if (active_.empty()) clock_ = std::max(clock_, time);
    const double prefill = loop_->prefill_tokens * loop_->decode.prefill_per_token;
    const double whole = loop_->prompt + tokens;
    active_.push({step_ + tokens, whole, prompt});
    context_ += loop_->prompt;
    reserved_ += whole;
    spend(prefill);
    plan();
  }

  // Runs to the end of the next response, removes all responses that end there, and returns their
  // prompts.
  std::vector<std::uint64_t> finish() {
    run(active_.top().end - step_);
    std::vector<std::uint64_t> prompts;
    while (!active_.empty() && active_.top().end == step_) {
      context_ -= active_.top().tokens;
      reserved_ -= active_.top().tokens;
      prompts.push_back(active_.top().prompt);
      active_.pop();
    }
    plan();
    return prompts;
  }

  // Waits for `length` seconds from `time` on.
  void pause(double time, double length) {
    advance(time);
    clock_ = std::max(clock_, time) + length;
    plan();
  }

 private:
  struct Response {
    std::uint64_t end = 0;  // decode step of the engine that completes it
    double tokens = 0;      // of the prompt and the complete response
    std::uint64_t prompt = 0;
    bool operator>(const Response& right) const { return end > right.end; }
  };

  double seconds(std::uint64_t steps) const {
    return loop_->decode.steps(active_.size(), context_, steps);
  }
  void plan() { next_end_ = active_.empty() ? never : clock_ + seconds(active_.top().end - step_); }
  void spend(double length) {
    if (loop_->records_engines) record(length);
    clock_ += length;
    busy_ += length;
    sequence_seconds_ += length * static_cast<double>(active_.size());
  }
  void record(double length) {
    if (!spans_.empty() && spans_.back().end == clock_ && spans_.back().responses == active_.size())
      spans_.back().end += length;
    else
      spans_.push_back({clock_, clock_ + length, active_.size()});
  }
  void run(std::uint64_t steps) {
    spend(seconds(steps));
    step_ += steps;
    context_ += static_cast<double>(steps * active_.size());
  }
  // Runs all steps that begin before `time`, none of which completes a response.
  void advance(double time) {
    if (active_.empty() || clock_ >= time) return;
    const std::uint64_t max_steps = active_.top().end - step_ - 1;
    std::uint64_t steps =
        loop_->decode.steps_within(active_.size(), context_, max_steps, time - clock_);
    if (steps < max_steps && clock_ + seconds(steps) < time) ++steps;
    run(steps);
  }

  const Loop* loop_;
  double clock_ = 0;
  double next_end_ = never;
  std::uint64_t step_ = 0;
  double context_ = 0;   // tokens of all responses and their prompts so far
  double reserved_ = 0;  // tokens of all responses and their prompts when they are complete
  double busy_ = 0;
  double sequence_seconds_ = 0;
  std::vector<EngineSpan> spans_;
  std::priority_queue<Response, std::vector<Response>, std::greater<>> active_;
};

// Runs the loop from event to event. An event is the end of a response or the end of training.
class Simulation {
 public:
  explicit Simulation(const Loop& loop) : loop_(loop), engines_(loop.engines, Engine(loop)) {}

  LoopOutcome run() {
    const std::uint32_t warm_up = loop_.lag + 1;
    fill();
    while (outcome_.steps.size() < loop_.steps) {
      const auto next = std::ranges::min_element(engines_, {}, &Engine::next_end);
      if (training_ && training_->trained <= next->next_end()) {
        end_training();
        if (outcome_.steps.size() == warm_up) at_warm_up_ = now();
        start_training();
      } else {
        now_ = std::max(now_, next->next_end());
        finish(next->finish());
        start_training();
      }
      fill();
    }
    summarize(warm_up);
    return std::move(outcome_);
  }

 private:
  struct Snapshot {
    double time = 0;
    std::vector<double> busy;  // seconds, by engine
    double sequence_seconds = 0;
  };

  std::uint64_t batches(std::size_t count) const { return std::uint64_t{loop_.batch} * count; }

  Snapshot now() const {
    Snapshot snapshot{.time = now_};
    for (const Engine& engine : engines_) {
      snapshot.busy.push_back(engine.busy());
      snapshot.sequence_seconds += engine.sequence_seconds();
    }
    return snapshot;
  }

  // Starts responses as far as the lag allows and engines have room.
  void fill() {
    const std::uint64_t limit = batches(outcome_.steps.size() + loop_.lag + 1);
    while (started_ < limit) {
      const std::uint32_t tokens = loop_.responses[started_ % loop_.responses.size()];
      const auto engine = std::ranges::min_element(engines_, {}, &Engine::size);
      if (!engine->has_room(loop_.prompt + tokens)) return;
      engine->start(now_, tokens, started_ / loop_.group);
      ++started_;
    }
  }

  void finish(const std::vector<std::uint64_t>& prompts) {
    for (const std::uint64_t prompt : prompts) {
      if (prompt >= incomplete_.size()) incomplete_.resize(prompt + 1, loop_.group);
      if (--incomplete_[prompt] == 0) finished_ += loop_.group;
    }
    while (finished_ >= batches(generated_.size() + 1)) generated_.push_back(now_);
  }

  // Starts the next step's training if its responses are complete and the trainer is free.
  void start_training() {
    const std::size_t step = outcome_.steps.size();
    if (training_ || generated_.size() <= step) return;
    const double trains = now_ + loop_.overhead;
    training_ = LoopStep{.generated = generated_[step],
                         .trains = trains,
                         .trained = trains + loop_.training,
                         .synced = trains + loop_.training + loop_.sync};
  }

  void end_training() {
    for (Engine& engine : engines_) engine.pause(training_->trained, loop_.sync);
    now_ = training_->synced;
    outcome_.steps.push_back(*training_);
    training_.reset();
  }

  void summarize(std::uint32_t warm_up) {
    const Snapshot end = now();
    const double span = end.time - at_warm_up_.time;
    const double count = static_cast<double>(loop_.steps) - warm_up;
    std::vector<double> busy = end.busy;
    for (std::size_t i = 0; i < busy.size(); ++i) busy[i] -= at_warm_up_.busy[i];
    const double sum = std::accumulate(busy.begin(), busy.end(), 0.0);
    outcome_.seconds_per_step = span / count;
    outcome_.engines_busy = sum / (span * loop_.engines);
    outcome_.least_busy = std::ranges::min(busy) / span;
    outcome_.most_busy = std::ranges::max(busy) / span;
    outcome_.trainer_busy = count * loop_.training / span;
    for (std::size_t step = warm_up; step < outcome_.steps.size(); ++step)
      outcome_.generation +=
          (outcome_.steps[step].generated - outcome_.steps[step - 1].synced) / count;
    for (const Engine& engine : engines_)
      outcome_.engine_spans.insert(outcome_.engine_spans.end(), engine.spans().begin(),
                                   engine.spans().end());
    outcome_.mean_batch = (end.sequence_seconds - at_warm_up_.sequence_seconds) / sum;
  }

  const Loop& loop_;
  std::vector<Engine> engines_;
  double now_ = 0;
  std::uint64_t started_ = 0;
  std::uint64_t finished_ = 0;  // responses to prompts all of whose responses are complete
  std::vector<std::uint32_t> incomplete_;  // number of responses that are not complete, by prompt
  std::vector<double> generated_;          // end of the last response, by step
  std::optional<LoopStep> training_;
  Snapshot at_warm_up_;
  LoopOutcome outcome_;
};

}  // namespace

LoopOutcome simulate(const Loop& loop) { return Simulation(loop).run(); }

}  // namespace pipewright::rl
