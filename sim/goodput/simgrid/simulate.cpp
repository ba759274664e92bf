#include "sim/goodput/simulate.hpp"

#include <deque>
#include <exception>

#include <fmt/format.h>

#include "sim/goodput/simgrid/job.hpp"

namespace pipewright::goodput {

Simulated simulate(const Setting& setting, std::span<const std::uint64_t> seeds, Spans spans) {
  sg4::Engine& engine = cluster::engine();
  // Doubles that represent months cannot resolve SimGrid's default precision.
  sg4::Engine::set_config(fmt::format("{}:1e-9", cluster::precision_key));
  const std::vector<JobNetwork> networks = make_job_networks(setting, seeds.size());
  std::deque<Job> jobs;
  std::exception_ptr fault;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    Job& job = jobs.emplace_back(setting, seeds[i], networks[i], spans == Spans::yes);
    cluster::add_actor(networks[i].job, "job", [&job, &fault] {
      try {
        job.run();
      } catch (const std::exception&) {
        fault = std::current_exception();
        sg4::Actor::kill_all();
      }
    });
  }
  engine.run();
  if (fault) std::rethrow_exception(fault);
  Simulated simulated;
  for (const Job& job : jobs) {
    simulated.outcomes.push_back(job.outcome());
    simulated.spans.push_back(job.spans());
  }
  return simulated;
}

void load_simulator() {}  // It is linked into the program.

}  // namespace pipewright::goodput
