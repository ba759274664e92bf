#pragma once

#include <cstdint>
#include <iosfwd>
#include <vector>

#include "schedules/justify.hpp"

namespace pipewright::schedules {

// "Can the passes end within so many cells?" as a mixed-integer program: time-indexed (Pritsker,
// Watters and Wolfe 1969) in cells of one unit of time, with F, I, W and R as jobs and devices and
// their memory as resources. Microbatches are alike, so those of one stage and kind may as well run
// in their order, and it suffices to count: the variable n(q, t) is how many of the passes q, those
// of one stage and kind, have started by cell t. With d(q) the cells that one of them takes:
//   n(q, t) <= n(q, t + 1)                                       what has started stays so
//   n(q, t + d(r) + hop) <= n(r, t)                              q needs r
//   sum over q of device: n(q, t) - n(q, t - d(q)) <= 1          one pass at a time
//   sum over q of device: takes(q) n(q, t) - frees(q) n(q, t - d(q)) <= limit    memory
// and n is 0 before q can start, and m from where the last q must have started to end in time.
// Rows of one +1 and one -1 keep the relaxation integral but for the resources (Christofides,
// Alvarez-Valdes and Tamarit 1987); the order variables with big M of arXiv 2401.10241's program
// leave a far weaker one.
class ExactModel {
 public:
  // Throws Error unless all times are multiples of `unit` seconds, and those of passes not 0.
  ExactModel(const Pipeline& pipeline, double unit);

  // In CPLEX's LP format, which CBC and most solvers read.
  void write(std::ostream& out, std::int64_t cells) const;

  // The order of the passes in a solution, as CBC writes it: a line of status, then index, name,
  // value and reduced cost of each variable that is not 0.
  Order read(std::istream& in, std::int64_t cells) const;

 private:
  class Writer;
  struct Input {
    std::size_t row;
    std::int64_t lag;  // cells from its start to that of the pass that needs it
  };
  struct Row {  // the passes of one kind on one stage
    Pass pass;  // of the first microbatch
    std::uint32_t device = 0;
    std::int64_t cells = 0;  // that one of them takes
    std::int64_t head = 0;   // from the start of the first microbatch to the start of its pass
    std::int64_t tail = 0;   // from the start of the last pass to the end of its microbatch
    std::int64_t takes = 0;  // memory, at its start
    std::int64_t frees = 0;  // likewise, at its end
    std::vector<Input> inputs;
  };

  std::int64_t to_cells(double seconds, const char* what, std::uint32_t stage) const;
  std::size_t add_row(PassKind kind, std::uint32_t stage, std::vector<Input> inputs);

  const Pipeline& pipeline_;
  double unit_;            // seconds
  std::vector<Row> rows_;  // inputs first
};

}  // namespace pipewright::schedules
