#pragma once

#include <string>
#include <vector>

#include "analysis/commlogs/logs/nccl_evidence.hpp"
#include "analysis/commlogs/logs/nccl_table.hpp"
#include "analysis/commlogs/measurement.hpp"

namespace pipewright::analysis {

// Turns the tables of one file into measurements, one table after the other. The operation and the
// ranks of a table follow from the lines before and after it, from its numbers, from the previous
// table, from the file name or from the user's hints.
class NcclInterpreter {
 public:
  explicit NcclInterpreter(LogFile& file) : file_(file) {}

  // Adds the measurements of the table. Returns the programs that were named before it but must
  // belong to later tables. Throws TraceError for a table that mixes several runs.
  std::vector<NamedProgram> take(const LoggedTable& table);

 private:
  const NcclTest* test_of(const LoggedTable& table, const NcclEvidence& evidence);
  const NcclTest* named_test(const LoggedTable& table, const NcclEvidence& evidence);
  const NcclTest* unnamed_test(const LoggedTable& table, const NcclEvidence& evidence);
  std::uint32_t ranks_of(const LoggedTable& table, const NcclTest& test,
                         const NcclEvidence& evidence);
  std::uint32_t nodes_of(const LoggedTable& table, std::uint32_t ranks);
  void check_sizes(const LoggedTable& table) const;
  void note_gpu(const std::string& name, int line);
  void add_rows(const LoggedTable& table, Operation operation, std::uint32_t ranks,
                std::uint32_t nodes);
  void add_measurements(const LoggedTable& table);

  LogFile& file_;
  const NcclTest* previous_ = nullptr;
  std::vector<NamedProgram> unused_programs_;
};

}  // namespace pipewright::analysis
