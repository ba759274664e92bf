#include "sim/execution/collectives/simulate_alone.hpp"

#include "sim/cluster/engine.hpp"
#include "sim/execution/collectives/fold.hpp"

namespace pipewright::execution {

std::vector<double> simulate_alone(cluster::Cluster& cluster, const Places& places,
                                   std::span<const std::vector<Phase>> plans) {
  const Folded folded = fold(cluster, places, plans);
  const double begin = cluster::sg4::Engine::get_clock();
  std::vector<double> seconds_of_course(folded.courses.size());
  auto next = seconds_of_course.begin();
  for (const auto& course : folded.courses) {
    double& seconds = *next++;
    if (!course->steps.empty())
      start(course, [&seconds, begin] { seconds = cluster::sg4::Engine::get_clock() - begin; });
  }
  cluster::engine().run();

  std::vector<double> seconds;
  for (const std::uint32_t course : folded.course_of) seconds.push_back(seconds_of_course[course]);
  return seconds;
}

}  // namespace pipewright::execution
