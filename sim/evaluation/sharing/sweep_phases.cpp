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

#include "analysis/summary.hpp"
#include "sim/execution/run.hpp"
#include "sim/process/run.hpp"

namespace pipewright::evaluation {
namespace {

using execution::JointResult;
using nlohmann::json;

// How much slower than alone the slowest job may get before another runs out of iterations.
constexpr double most_slow_down = 8;

// Nothing but what links do.
class LinksAlone final : public trace::Sink {
 public:
  void begin(const trace::RunInfo&, const std::vector<trace::DeviceRow>&,
             const std::vector<trace::StageRow>&) override {}
  void pass(const trace::PassRow&) override {}
  void transfer(const trace::TransferRow&) override {}
  void memory(const trace::MemoryRow&) override {}
  bool wants_links() const override { return true; }
  void finish() override {}
};

// What a simulation comes to, and what the fullest device of one job holds.
struct Outcome {
  JointResult together;
  std::uint64_t peak = 0;
  std::uint64_t capacity = 0;
};

void look_at_memory(const analysis::Summary& summary, Outcome& outcome) {
  const auto filled = [](std::uint64_t bytes, std::uint64_t of) {
    return static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(1, of));
  };
  for (const analysis::DeviceSummary& device : summary.devices) {
    if (filled(device.peak_memory_bytes, device.memory_capacity_bytes) <=
        filled(outcome.peak, outcome.capacity))
      continue;
    outcome.peak = device.peak_memory_bytes;
    outcome.capacity = device.memory_capacity_bytes;
  }
}

std::string to_line(const Outcome& outcome) {
  const JointResult& together = outcome.together;
  json line{{"window", together.window},
            {"jobs", json::array()},
            {"links", json::array()},
            {"peak", outcome.peak},
            {"capacity", outcome.capacity}};
  for (const JointResult::Times& job : together.jobs)
    line["jobs"].push_back({{"ends", job.ends}, {"first", job.first}});
  for (const execution::SharedLink& link : together.links)
    line["links"].push_back({{"name", link.name},
                             {"class", link.link_class},
                             {"alike", link.alike},
                             {"bandwidth", link.bandwidth},
                             {"bytes", link.bytes},
                             {"waited", link.waited}});
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

Outcome read_line(const std::string& line) {
  const json value = json::parse(line);
  Outcome outcome{.together = {.jobs = {}, .window = value.at("window"), .links = {}},
                  .peak = value.at("peak"),
                  .capacity = value.at("capacity")};
  JointResult& together = outcome.together;
  for (const json& job : value.at("jobs"))
    together.jobs.push_back(
        {job.at("ends").get<std::vector<double>>(), job.at("first").get<std::size_t>()});
  for (const json& link : value.at("links"))
    together.links.push_back({.name = link.at("name"),
                              .link_class = link.at("class"),
                              .alike = link.at("alike"),
                              .bandwidth = link.at("bandwidth"),
                              .bytes = link.at("bytes").get<std::vector<double>>(),
                              .waited = link.at("waited").get<std::vector<double>>()});
  return outcome;
}

std::size_t last(const JointResult::Times& times) { return times.ends.size() - 1; }

class Sweep {
 public:
  Sweep(JointRun& run, const SweepOfPhases& sweep) : run_(run), sweep_(sweep) {}

  analysis::Sharing all();

 private:
  std::vector<Outcome> simulate(const std::vector<process::Body>& bodies);
  process::Body alone(std::size_t job, std::uint32_t enough) const;
  process::Body together(const std::vector<double>& offsets) const;
  void run_alone();
  void set_iterations();
  std::vector<double> offsets(double phase) const;
  // Alone, as many iterations as each job has had in some phase.
  void lengthen_alone(const std::vector<Outcome>& phases);
  double iteration_alone(std::size_t job) const;
  analysis::SharingPhase phase(double share, const JointResult& together) const;

  JointRun& run_;
  const SweepOfPhases& sweep_;
  std::vector<std::vector<double>> alone_;  // ends of iterations, by job
  std::vector<Outcome> memory_;             // by job
  double period_ = 0;                       // seconds of the first job's iteration
  std::size_t done_ = 0;
  std::size_t count_ = 0;
};

std::vector<Outcome> Sweep::simulate(const std::vector<process::Body>& bodies) {
  const std::vector<process::Result> results = process::run_all(
      bodies, sweep_.jobs, [&](std::size_t ended) { sweep_.look(done_ + ended, count_); });
  done_ += bodies.size();
  std::vector<Outcome> all;
  for (const process::Result& result : results) {
    if (result.failed) throw std::runtime_error(result.text);
    all.push_back(read_line(result.text));
  }
  return all;
}

process::Body Sweep::alone(std::size_t job, std::uint32_t enough) const {
  return [this, job, enough] {
    analysis::SummarySink rows;
    Outcome outcome{run_.run(std::array{job}, {0}, {&rows}, enough)};
    look_at_memory(rows.summary(), outcome);
    return to_line(outcome);
  };
}

process::Body Sweep::together(const std::vector<double>& offsets) const {
  return [this, offsets] {
    std::vector<std::size_t> all(run_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    LinksAlone rows;
    return to_line(
        {run_.run(all, offsets, std::vector<trace::Sink*>(all.size(), &rows), run_.enough())});
  };
}

void Sweep::run_alone() {
  std::vector<process::Body> bodies;
  for (std::size_t job = 0; job < run_.size(); ++job) bodies.push_back(alone(job, run_.enough()));
  for (Outcome& one : simulate(bodies)) {
    alone_.push_back(one.together.jobs.front().ends);
    memory_.push_back(std::move(one));
  }
  for (std::size_t job = 0; job < run_.size(); ++job)
    if (iteration_alone(job) <= 0)
      throw config::Error(fmt::format(
          "{}: an iteration takes no time, and nothing slows that down; give its passes times",
          run_.job(job).name));
  period_ = iteration_alone(0);
}

double Sweep::iteration_alone(std::size_t job) const {
  const std::vector<double>& ends = alone_[job];
  return (ends.back() - ends.front()) / static_cast<double>(ends.size() - 1);
}

// As many as the slowest job needs time for.
void Sweep::set_iterations() {
  double longest = 0;
  for (std::size_t job = 0; job < run_.size(); ++job)
    longest = std::max(longest, iteration_alone(job) + alone_[job].front());
  for (std::size_t job = 0; job < run_.size(); ++job)
    run_.set_iterations(
        job, static_cast<std::uint32_t>(
                 std::ceil(most_slow_down * (run_.enough() + 2) * longest / iteration_alone(job))));
}

std::vector<double> Sweep::offsets(double phase) const {
  std::vector<double> offsets;
  for (std::size_t job = 0; job < run_.size(); ++job) {
    const double turns = phase * static_cast<double>(job);
    offsets.push_back((turns - std::floor(turns)) * period_);
  }
  return offsets;
}

void Sweep::lengthen_alone(const std::vector<Outcome>& phases) {
  std::vector<process::Body> bodies;
  std::vector<std::size_t> jobs;
  for (std::size_t job = 0; job < run_.size(); ++job) {
    std::size_t most = 0;
    for (const Outcome& one : phases) most = std::max(most, last(one.together.jobs[job]));
    if (most < alone_[job].size() && !run_.job(job).job.uneven) continue;
    jobs.push_back(job);
    bodies.push_back(alone(job, static_cast<std::uint32_t>(most)));
  }
  const std::vector<Outcome> longer = simulate(bodies);
  for (std::size_t i = 0; i < jobs.size(); ++i)
    alone_[jobs[i]] = longer[i].together.jobs.front().ends;
}

analysis::SharingPhase Sweep::phase(double share, const JointResult& together) const {
  analysis::SharingPhase phase{
      .share = share, .window_s = together.window, .jobs = {}, .links = {}};
  const std::vector<double> starts = offsets(share);
  for (std::size_t job = 0; job < run_.size(); ++job) {
    const JointResult::Times& times = together.jobs[job];
    if (last(times) <= times.first)
      throw std::runtime_error(fmt::format(
          "{} ended no whole iteration while all jobs ran, for another got slower by more than {}",
          run_.job(job).name, most_slow_down));
    const std::size_t count = last(times) - times.first;
    const auto mean = [&](const std::vector<double>& ends) {
      return (ends[last(times)] - ends[times.first]) / static_cast<double>(count);
    };
    phase.jobs.push_back({.offset_s = starts[job],
                          .iteration_s = mean(times.ends),
                          .alone_s = mean(alone_[job]),
                          .iterations = count});
  }
  for (const execution::SharedLink& link : together.links) {
    analysis::ContendedLink& one = phase.links.emplace_back();
    one.name = link.name;
    one.link_class = link.link_class;
    one.alike = link.alike;
    one.bandwidth = link.bandwidth;
    for (std::size_t job = 0; job < run_.size(); ++job) {
      one.use.push_back(link.bytes[job] / (link.bandwidth * together.window));
      one.waiting_s.push_back(link.waited[job] * phase.jobs[job].iteration_s / together.window);
    }
  }
  return phase;
}

analysis::Sharing Sweep::all() {
  count_ = run_.size() + (run_.share_links() ? sweep_.phases.size() : 0);
  run_alone();
  analysis::Sharing sharing{
      .cluster = run_.cluster().name(), .placing = {}, .jobs = {}, .phases = {}};
  sharing.cluster_gpus = static_cast<std::uint32_t>(run_.cluster().gpus().size());
  sharing.share_links = run_.share_links();
  for (std::size_t job = 0; job < run_.size(); ++job) {
    const PlacedJob& one = run_.job(job);
    std::set<std::uint32_t> nodes;
    for (const cluster::Host* host : one.hardware.hosts) nodes.insert(run_.cluster().node_of(host));
    sharing.jobs.push_back({.name = one.name,
                            .job = analysis::describe(one.info),
                            .gpus = static_cast<std::uint32_t>(one.hardware.hosts.size()),
                            .nodes = static_cast<std::uint32_t>(nodes.size()),
                            .first_host = cluster::name_of(one.hardware.hosts.front()),
                            .last_host = cluster::name_of(one.hardware.hosts.back()),
                            .iteration_s = iteration_alone(job),
                            .in_passes = one.in_passes,
                            .peak_memory_bytes = memory_[job].peak,
                            .memory_capacity_bytes = memory_[job].capacity});
  }
  if (!run_.share_links()) return sharing;

  set_iterations();
  std::vector<process::Body> bodies;
  for (const double share : sweep_.phases) bodies.push_back(together(offsets(share)));
  const std::vector<Outcome> phases = simulate(bodies);
  lengthen_alone(phases);
  for (std::size_t i = 0; i < phases.size(); ++i)
    sharing.phases.push_back(phase(sweep_.phases[i], phases[i].together));
  return sharing;
}

}  // namespace

std::vector<double> even_phases(std::uint32_t count) {
  std::vector<double> phases;
  for (std::uint32_t i = 0; i < count; ++i)
    phases.push_back(static_cast<double>(i) / static_cast<double>(count));
  return phases;
}

analysis::Sharing sweep_phases(JointRun& run, const SweepOfPhases& sweep) {
  execution::get_ready(run.cluster());
  return Sweep(run, sweep).all();
}

}  // namespace pipewright::evaluation
