#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pipewright::execution {

// Sums over time, in pieces of equal length, of many accounts that grow while a run goes on whose
// length nobody knows. Pieces double their length when time runs past them, and when all accounts
// together would take too much memory; a sum is never lost.
class TimeBins {
 public:
  struct Cell {
    double bytes = 0;
    double flows = 0;   // flow seconds
    double waited = 0;  // flow seconds

    Cell& operator+=(const Cell& other) {
      bytes += other.bytes;
      flows += other.flows;
      waited += other.waited;
      return *this;
    }
  };

  // At most `bins` an account, and `cells` altogether as long as that leaves each a few.
  explicit TimeBins(std::size_t bins = 512, std::size_t cells = std::size_t{1} << 21U)
      : bins_(bins), most_cells_(cells) {}

  std::size_t open();  // an account; numbered from 0
  // Spreads `sum` evenly over [start, end], seconds from 0 on.
  void add(std::size_t account, double start, double end, const Cell& sum);

  std::size_t size() const { return accounts_.size(); }
  double width() const { return width_; }  // seconds of a piece
  // Piece by piece up to the last with something in it.
  const std::vector<Cell>& cells(std::size_t account) const { return accounts_[account]; }
  std::vector<Cell>& cells(std::size_t account) { return accounts_[account]; }

 private:
  void double_width();
  Cell& cell(std::size_t account, std::size_t bin);

  std::size_t bins_;
  std::size_t most_cells_;
  double width_ = 1e-6;
  std::vector<std::vector<Cell>> accounts_;
};

}  // namespace pipewright::execution
