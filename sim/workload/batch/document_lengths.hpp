#pragma once

#include <cstdint>
#include <vector>

#include "sim/config/lengths.hpp"

namespace pipewright::workload {

// Lengths of documents in tokens, drawn one after the other from a configured list, histogram or
// distribution. The same seed gives the same lengths.
class DocumentLengths {
 public:
  // `longest` limits drawn lengths unless `lengths` has a limit. `lengths` must outlive the object.
  DocumentLengths(const config::Lengths& lengths, std::uint32_t longest);

  std::uint32_t next();

 private:
  const config::Lengths& lengths_;
  std::uint32_t longest_;
  double middle_ = 0;         // mean of ln(length)
  double deviation_ = 0;      // standard deviation of ln(length)
  std::vector<double> sums_;  // sums of the weights of the histogram's bars
  std::uint64_t count_ = 0;
};

}  // namespace pipewright::workload
