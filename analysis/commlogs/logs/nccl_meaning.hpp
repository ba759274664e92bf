#pragma once

#include <string>
#include <vector>

#include "analysis/commlogs/logs/nccl_evidence.hpp"
#include "analysis/commlogs/logs/nccl_table.hpp"
#include "analysis/commlogs/measurement.hpp"

namespace pipewright::analysis {

// Makes measurements of the tables of one file, one after the other: what each is of is said before
// it, behind it, by its numbers, by the table before, by the file's name or by the user.
class NcclMeaning {
 public:
  explicit NcclMeaning(LogFile& file) : file_(file) {}

  // Returns the programs that were named but must be those of tables to come. Throws TraceError for
  // tables that are a mixture of several.
  std::vector<NamedProgram> take(const LoggedTable& table);

 private:
  const NcclTest* test_of(const LoggedTable& table, const NcclEvidence& evidence);
  const NcclTest* named_test(const LoggedTable& table, const NcclEvidence& evidence);
  const NcclTest* unnamed_test(const LoggedTable& table, const NcclEvidence& evidence);
  std::uint32_t ranks_of(const LoggedTable& table, const NcclTest& test,
                         const NcclEvidence& evidence);
  std::uint32_t nodes_of(const LoggedTable& table, std::uint32_t ranks);
  void check_sizes(const LoggedTable& table) const;
  void add_rows(const LoggedTable& table, Operation operation, std::uint32_t ranks,
                std::uint32_t nodes);
  void take_useful(const LoggedTable& table);

  LogFile& file_;
  const NcclTest* previous_ = nullptr;
  std::vector<NamedProgram> later_;
};

}  // namespace pipewright::analysis
