#include "sim/evaluation/sharing/sweep_phases.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/report/summary.hpp"
#include "sim/execution/run.hpp"
#include "sim/process/run.hpp"

namespace pipewright::evaluation {
namespace {

using execution::JointResult;
using nlohmann::json;

// Slowdown factor of the slowest job up to which the other jobs have enough iterations to keep
// running beside it.
constexpr double max_slowdown = 8;

// Sink that makes the engine record the traffic of links, but drops all trace rows.
class LinkOnlySink final : public trace::Sink {
 public:
  void begin(const trace::RunInfo&, const std::vector<trace::DeviceRow>&,
             const std::vector<trace::StageRow>&) override {}
  void pass(const trace::PassRow&) override {}
  void transfer(const trace::TransferRow&) override {}
  void memory(const trace::MemoryRow&) override {}
  bool needs_links() const override { return true; }
  void finish() override {}
};

// Result of one simulation. For a single job it includes the memory of the device that is closest
// to its capacity.
struct SweepOutcome {
  JointResult joint;
  std::uint64_t peak = 0;
  std::uint64_t capacity = 0;
};

void record_memory(const analysis::Summary& summary, SweepOutcome& outcome) {
  const auto fill = [](std::uint64_t bytes, std::uint64_t capacity) {
    return static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(1, capacity));
  };
  for (const analysis::DeviceSummary& device : summary.devices) {
    if (fill(device.peak_memory_bytes, device.memory_capacity_bytes) <=
        fill(outcome.peak, outcome.capacity))
      continue;
    outcome.peak = device.peak_memory_bytes;
    outcome.capacity = device.memory_capacity_bytes;
  }
}

std::string to_line(const SweepOutcome& outcome) {
  const JointResult& joint = outcome.joint;
  json line{{"window", joint.window},
            {"jobs", json::array()},
            {"links", json::array()},
            {"peak", outcome.peak},
            {"capacity", outcome.capacity}};
  for (const JointResult::Times& job : joint.jobs)
    line["jobs"].push_back({{"ends", job.ends}, {"first", job.first}});
  for (const execution::SharedLink& link : joint.links)
    line["links"].push_back({{"name", link.name},
                             {"class", link.link_class},
                             {"alike", link.alike},
                             {"bandwidth", link.bandwidth},
                             {"bytes", link.bytes},
                             {"waited", link.waited}});
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

SweepOutcome read_line(const std::string& line) {
  const json value = json::parse(line);
  SweepOutcome outcome{.joint = {.jobs = {}, .window = value.at("window"), .links = {}},
                       .peak = value.at("peak"),
                       .capacity = value.at("capacity")};
  JointResult& joint = outcome.joint;
  for (const json& job : value.at("jobs"))
    joint.jobs.push_back(
        {job.at("ends").get<std::vector<double>>(), job.at("first").get<std::size_t>()});
  for (const json& link : value.at("links"))
    joint.links.push_back({.name = link.at("name"),
                           .link_class = link.at("class"),
                           .alike = link.at("alike"),
                           .bandwidth = link.at("bandwidth"),
                           .bytes = link.at("bytes").get<std::vector<double>>(),
                           .waited = link.at("waited").get<std::vector<double>>()});
  return outcome;
}

std::size_t last_iteration(const JointResult::Times& times) { return times.ends.size() - 1; }

class PhaseSweep {
 public:
  PhaseSweep(JointRun& run, const PhaseSweepOptions& sweep) : run_(run), sweep_(sweep) {}

  analysis::Sharing run();

 private:
  std::vector<SweepOutcome> simulate(const std::vector<process::Body>& bodies);
  process::Body alone(std::size_t job, std::uint32_t iterations) const;
  process::Body run_together(const std::vector<double>& offsets) const;
  void run_alone();
  void set_iterations();
  std::vector<double> offsets(double phase) const;
  // Simulates jobs alone again where a phase ran more of their iterations than the first run alone.
  void lengthen_alone(const std::vector<SweepOutcome>& phases);
  double iteration_alone(std::size_t job) const;
  analysis::SharingPhase phase(double share, const JointResult& joint) const;

  JointRun& run_;
  const PhaseSweepOptions& sweep_;
  std::vector<std::vector<double>> alone_;  // ends of iterations, by job
  std::vector<SweepOutcome> memory_;        // by job
  double period_ = 0;                       // seconds of the first job's iteration
  std::size_t done_ = 0;
  std::size_t count_ = 0;
};

std::vector<SweepOutcome> PhaseSweep::simulate(const std::vector<process::Body>& bodies) {
  const std::vector<process::Result> results = process::run_all(
      bodies, sweep_.jobs, [&](std::size_t ended) { sweep_.on_progress(done_ + ended, count_); });
  done_ += bodies.size();
  std::vector<SweepOutcome> outcomes;
  for (const process::Result& result : results) {
    if (result.failed) throw std::runtime_error(result.text);
    outcomes.push_back(read_line(result.text));
  }
  return outcomes;
}

process::Body PhaseSweep::alone(std::size_t job, std::uint32_t iterations) const {
  return [this, job, iterations] {
    analysis::SummarySink rows;
    SweepOutcome outcome{run_.run(std::array{job}, {0}, {&rows}, iterations)};
    record_memory(rows.summary(), outcome);
    return to_line(outcome);
  };
}

process::Body PhaseSweep::run_together(const std::vector<double>& offsets) const {
  return [this, offsets] {
    std::vector<std::size_t> numbers(run_.size());
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    LinkOnlySink rows;
    return to_line({run_.run(numbers, offsets, std::vector<trace::Sink*>(numbers.size(), &rows),
                             run_.min_iterations())});
  };
}

void PhaseSweep::run_alone() {
  std::vector<process::Body> bodies;
  for (std::size_t job = 0; job < run_.size(); ++job)
    bodies.push_back(alone(job, run_.min_iterations()));
  for (SweepOutcome& outcome : simulate(bodies)) {
    alone_.push_back(outcome.joint.jobs.front().ends);
    memory_.push_back(std::move(outcome));
  }
  for (std::size_t job = 0; job < run_.size(); ++job)
    if (iteration_alone(job) <= 0)
      throw config::Error(
          fmt::format("{}: an iteration takes no time, so that nothing can slow it down",
                      run_.job(job).name))
          .suggest("give its passes durations");
  period_ = iteration_alone(0);
}

double PhaseSweep::iteration_alone(std::size_t job) const {
  const std::vector<double>& ends = alone_[job];
  return (ends.back() - ends.front()) / static_cast<double>(ends.size() - 1);
}

// Sets the number of iterations of each job so that it keeps running until the slowest job is done.
void PhaseSweep::set_iterations() {
  double longest = 0;
  for (std::size_t job = 0; job < run_.size(); ++job)
    longest = std::max(longest, iteration_alone(job) + alone_[job].front());
  for (std::size_t job = 0; job < run_.size(); ++job)
    run_.set_iterations(
        job, static_cast<std::uint32_t>(std::ceil(max_slowdown * (run_.min_iterations() + 2) *
                                                  longest / iteration_alone(job))));
}

std::vector<double> PhaseSweep::offsets(double phase) const {
  std::vector<double> offsets;
  for (std::size_t job = 0; job < run_.size(); ++job) {
    const double phase_sum = phase * static_cast<double>(job);
    offsets.push_back((phase_sum - std::floor(phase_sum)) * period_);
  }
  return offsets;
}

void PhaseSweep::lengthen_alone(const std::vector<SweepOutcome>& phases) {
  std::vector<process::Body> bodies;
  std::vector<std::size_t> jobs;
  for (std::size_t job = 0; job < run_.size(); ++job) {
    std::size_t longest = 0;
    for (const SweepOutcome& outcome : phases)
      longest = std::max(longest, last_iteration(outcome.joint.jobs[job]));
    if (longest < alone_[job].size() && !run_.job(job).job.uneven) continue;
    jobs.push_back(job);
    bodies.push_back(alone(job, static_cast<std::uint32_t>(longest)));
  }
  const std::vector<SweepOutcome> longer = simulate(bodies);
  for (std::size_t i = 0; i < jobs.size(); ++i) alone_[jobs[i]] = longer[i].joint.jobs.front().ends;
}

analysis::SharingPhase PhaseSweep::phase(double share, const JointResult& joint) const {
  analysis::SharingPhase phase{.share = share, .window_s = joint.window, .jobs = {}, .links = {}};
  const std::vector<double> starts = offsets(share);
  for (std::size_t job = 0; job < run_.size(); ++job) {
    const JointResult::Times& times = joint.jobs[job];
    if (last_iteration(times) <= times.first)
      throw std::runtime_error(
          fmt::format("{} finished no iteration while all jobs ran, because another job slowed "
                      "down by a factor of more than {}",
                      run_.job(job).name, max_slowdown));
    const std::size_t count = last_iteration(times) - times.first;
    const auto mean = [&](const std::vector<double>& ends) {
      return (ends[last_iteration(times)] - ends[times.first]) / static_cast<double>(count);
    };
    phase.jobs.push_back({.offset_s = starts[job],
                          .iteration_s = mean(times.ends),
                          .alone_s = mean(alone_[job]),
                          .iterations = count});
  }
  for (const execution::SharedLink& link : joint.links) {
    analysis::ContendedLink& contended = phase.links.emplace_back();
    contended.name = link.name;
    contended.link_class = link.link_class;
    contended.alike = link.alike;
    contended.bandwidth = link.bandwidth;
    for (std::size_t job = 0; job < run_.size(); ++job) {
      contended.use.push_back(link.bytes[job] / (link.bandwidth * joint.window));
      contended.waiting_s.push_back(link.waited[job] * phase.jobs[job].iteration_s / joint.window);
    }
  }
  return phase;
}

analysis::Sharing PhaseSweep::run() {
  count_ = run_.size() + (run_.share_links() ? sweep_.phases.size() : 0);
  run_alone();
  analysis::Sharing sharing{
      .cluster = run_.cluster().name(), .placing = {}, .jobs = {}, .phases = {}};
  sharing.cluster_gpus = static_cast<std::uint32_t>(run_.cluster().gpus().size());
  sharing.share_links = run_.share_links();
  for (std::size_t job = 0; job < run_.size(); ++job) {
    const PlacedJob& job_run = run_.job(job);
    std::set<std::uint32_t> nodes;
    for (const cluster::Host* host : job_run.hardware.hosts)
      nodes.insert(run_.cluster().node_of(host));
    sharing.jobs.push_back({.name = job_run.name,
                            .job = analysis::describe(job_run.info),
                            .gpus = static_cast<std::uint32_t>(job_run.hardware.hosts.size()),
                            .nodes = static_cast<std::uint32_t>(nodes.size()),
                            .first_host = cluster::name_of(job_run.hardware.hosts.front()),
                            .last_host = cluster::name_of(job_run.hardware.hosts.back()),
                            .iteration_s = iteration_alone(job),
                            .in_passes = job_run.in_passes,
                            .peak_memory_bytes = memory_[job].peak,
                            .memory_capacity_bytes = memory_[job].capacity});
  }
  if (!run_.share_links()) return sharing;

  set_iterations();
  std::vector<process::Body> bodies;
  for (const double share : sweep_.phases) bodies.push_back(run_together(offsets(share)));
  const std::vector<SweepOutcome> phases = simulate(bodies);
  lengthen_alone(phases);
  for (std::size_t i = 0; i < phases.size(); ++i)
    sharing.phases.push_back(phase(sweep_.phases[i], phases[i].joint));
  return sharing;
}

}  // namespace

std::vector<double> even_phases(std::uint32_t count) {
  std::vector<double> phases;
  for (std::uint32_t i = 0; i < count; ++i)
    phases.push_back(static_cast<double>(i) / static_cast<double>(count));
  return phases;
}

analysis::Sharing sweep_phases(JointRun& run, const PhaseSweepOptions& sweep) {
  execution::get_ready(run.cluster());
  return PhaseSweep(run, sweep).run();
}

}  // namespace pipewright::evaluation
