#pragma once

#include <vector>

#include "validation/accuracy.hpp"

namespace pipewright::accuracy {

// Sets what the rows predict, as predict() does, but not Row::bare. With `is_quiet`, rows that
// cannot be predicted leave no message.
void predict_only(std::vector<Table>& tables, bool is_quiet = false);

// Prints errors of GPUs as if nobody had measured them: with the numbers of their data sheets and
// all others from another generation, and with these others ideal. Rows that need what the other
// generation lacks, such as an attention kernel, are left out. `tables` are predicted already.
// Returns false if a median error is above its bar.
bool print_derived(const std::vector<Table>& tables);

}  // namespace pipewright::accuracy
