#pragma once

#include <cstdint>
#include <iosfwd>
#include <vector>

#include "schedules/justify.hpp"

namespace pipewright::schedules {

// Mixed-integer program that decides whether all passes can end within a number of cells. It is
// indexed by time (Pritsker, Watters and Wolfe 1969) in cells of one unit; F, I, W and R are jobs,
// and devices and their memory are resources. Microbatches are identical, so passes of a stage and
// kind can run in order of microbatches, and counts suffice: n(q, t) is the number of passes q,
// those of one stage and kind, that have started by cell t. With the length d(q) of a pass in
// cells:
//   n(q, t) <= n(q, t + 1)                                       counts do not decrease
//   n(q, t + d(r) + hop) <= n(r, t)                              q needs r
//   sum over q of device: n(q, t) - n(q, t - d(q)) <= 1          one pass at a time
//   sum over q of device: takes(q) n(q, t) - frees(q) n(q, t - d(q)) <= limit    memory
// Also, n is 0 before q can start, and m from the latest start of the last q on. Rows with one +1
// and one -1 keep the relaxation integral except for the resources (Christofides, Alvarez-Valdes
// and Tamarit 1987). The order variables with big M of the program in arXiv 2401.10241 give a far
// weaker relaxation.
class ExactModel {
 public:
  // Throws Error unless all times are multiples of `unit` seconds and times of passes are positive.
  ExactModel(const Pipeline& pipeline, double unit);

  // Returns the program in CPLEX's LP format, which CBC and most solvers read.
  void write(std::ostream& out, std::int64_t cells) const;

  // Returns the order of passes in a solution of CBC: a status line, then index, name, value and
  // reduced cost of each variable that is not 0.
  Order read(std::istream& in, std::int64_t cells) const;

 private:
  class Writer;
  struct Input {
    std::size_t row;
    std::int64_t lag;  // Cells from its start to the start of the pass that needs it.
  };
  struct Row {  // The passes of one kind on one stage.
    Pass pass;  // Pass of the first microbatch.
    std::uint32_t device = 0;
    std::int64_t cells = 0;  // Length of a pass.
    std::int64_t head = 0;   // Cells from the start of the first microbatch to its pass.
    std::int64_t tail = 0;   // Cells from the start of the last pass to the end of its microbatch.
    std::int64_t takes = 0;  // Memory taken at its start.
    std::int64_t frees = 0;  // Memory freed at its end.
    std::vector<Input> inputs;
  };

  std::int64_t to_cells(double seconds, const char* name, std::uint32_t stage) const;
  std::size_t add_row(PassKind kind, std::uint32_t stage, std::vector<Input> inputs);

  const Pipeline& pipeline_;
  double unit_;            // In seconds.
  std::vector<Row> rows_;  // Inputs first.
};

}  // namespace pipewright::schedules
