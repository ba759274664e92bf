#include "sim/goodput/simulate.hpp"

#include <deque>
#include <exception>
#include <string>

#include "sim/goodput/simgrid/job.hpp"

namespace pipewright::goodput {

Simulated simulate(const Setting& setting, std::span<const std::uint64_t> seeds, Spans spans) {
  sg4::Engine& engine = cluster::engine();
  // Months have no double that is a billionth of a nanosecond apart.
  sg4::Engine::set_config(std::string(cluster::precision_key) + ":1e-9");
  const std::vector<Lines> lines = make_lines(setting, seeds.size());
  std::deque<Job> jobs;
  std::exception_ptr fault;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    Job& job = jobs.emplace_back(setting, seeds[i], lines[i], spans == Spans::yes);
    cluster::add_actor(lines[i].job, "job", [&job, &fault] {
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

void load_simulator() {}  // it is part of the program

}  // namespace pipewright::goodput
