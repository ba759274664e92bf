#include "sim/goodput/simulate.hpp"

#include <deque>
#include <exception>
#include <string>

#include "sim/goodput/simgrid/job.hpp"

namespace pipewright::goodput {

Simulated simulate(const Setting& setting, std::span<const std::uint64_t> seeds, Spans spans) {
  sg4::Engine& engine = cluster::engine();
  // SimGrid's default precision is finer than a double can resolve for times of months.
  sg4::Engine::set_config(std::string(cluster::precision_key) + ":1e-9");
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
