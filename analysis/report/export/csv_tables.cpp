#include <array>
#include <optional>
#include <tuple>

#include "analysis/report/export/exports.hpp"
#include "analysis/report/export/text_out.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/trace/tables.hpp"

namespace pipewright::analysis {
namespace {

using trace::Column;
using trace::ColumnType;

// Returns the column name with its unit. All reals of a trace are times in seconds, except for the
// bandwidth of a link.
std::string csv_column_name(const Column& column) {
  const std::string name = column.name;
  if (name == "bandwidth") return name + "_bytes_per_s";
  if (name == "memory_capacity") return name + "_bytes";
  return column.type == ColumnType::f64 ? name + "_s" : name;
}

void write_csv_value(TextOut& out, const void* row, const Column& column) {
  switch (column.type) {
    case ColumnType::u32:
      return out.print("{}", trace::value_at<std::uint32_t>(row, column));
    case ColumnType::u64:
      return out.print("{}", trace::value_at<std::uint64_t>(row, column));
    case ColumnType::f64:
      return out.print("{}", trace::value_at<double>(row, column));
    case ColumnType::text:
      return out.write(csv_field(
          *reinterpret_cast<const std::string*>(static_cast<const char*>(row) + column.offset)));
    default:
      return out.write(trace::enum_names(column.type)[trace::value_at<std::uint8_t>(row, column)]);
  }
}

template <class Row>
class CsvTable {
 public:
  void open(std::ostream* stream) {
    if (stream == nullptr) return;
    out_.emplace(*stream);
    const char* separator = "";
    for (const Column& column : trace::Table<Row>::columns) {
      out_->print("{}{}", separator, csv_column_name(column));
      separator = ",";
    }
    out_->write("\n");
  }
  void add(const Row& row) {
    if (!out_) return;
    const char* separator = "";
    for (const Column& column : trace::Table<Row>::columns) {
      out_->write(separator);
      write_csv_value(*out_, &row, column);
      separator = ",";
    }
    out_->write("\n");
  }
  void flush() {
    if (out_) out_->flush();
  }

 private:
  std::optional<TextOut> out_;
};

template <class... Rows>
using CsvTables = std::tuple<CsvTable<Rows>...>;
using TraceCsvTables =
    CsvTables<trace::DeviceRow, trace::StageRow, trace::PassCollectiveRow, trace::PassRow,
              trace::TransferRow, trace::MemoryRow, trace::CollectiveRow, trace::StepRow,
              trace::WaitRow, trace::LinkRow, trace::LinkUseRow, trace::PathRow>;

constexpr const char* run_table_name = "run";

template <class Row>
const char* csv_table_name(const CsvTable<Row>&) {
  return trace::Table<Row>::name;
}

void write_run_table(std::ostream& stream, const trace::RunInfo& run) {
  TextOut out(stream);
  out.write("attribute,value\n");
  for (const auto& field : trace::text_fields)
    out.print("{},{}\n", field.name, csv_field(run.*field.member));
  for (const auto& field : trace::count_fields) out.print("{},{}\n", field.name, run.*field.member);
  for (const auto& field : trace::real_fields) out.print("{},{}\n", field.name, run.*field.member);
  out.print("{},{}\n", trace::assumed_field, csv_field(trace::joined_keys(run.evidence)));
  out.print("{},{}\n", trace::assumed_gpu_field, csv_field(run.evidence.gpu));
  const trace::ExpectedError& error = run.evidence.expected_error;
  for (const trace::ErrorField& field : trace::error_reals)
    out.print("{},{}\n", field.attribute, error.*field.member);
  out.print("{},{}\n", trace::error_basis_field, csv_field(error.basis));
  out.print("{},{}\n", trace::error_rows_field, error.rows);
  out.flush();
}

class CsvExport final : public trace::Sink {
 public:
  using OpenStream = std::function<std::ostream*(const std::string&)>;
  explicit CsvExport(OpenStream open_stream) : open_stream_(std::move(open_stream)) {}

  void begin(const trace::RunInfo& run, const std::vector<trace::DeviceRow>& devices,
             const std::vector<trace::StageRow>& stages) override {
    if (std::ostream* stream = open_stream_(run_table_name)) write_run_table(*stream, run);
    std::apply([&](auto&... table) { (table.open(open_stream_(csv_table_name(table))), ...); },
               tables_);
    for (const trace::DeviceRow& device : devices) add(device);
    for (const trace::StageRow& stage : stages) add(stage);
  }
  void pass_collective(const trace::PassCollectiveRow& row) override { add(row); }
  void pass(const trace::PassRow& row) override { add(row); }
  void transfer(const trace::TransferRow& row) override { add(row); }
  void memory(const trace::MemoryRow& row) override { add(row); }
  void collective(const trace::CollectiveRow& row) override { add(row); }
  void step(const trace::StepRow& row) override { add(row); }
  void wait(const trace::WaitRow& row) override { add(row); }
  bool needs_links() const override { return true; }
  void link(const trace::LinkRow& row) override { add(row); }
  void link_use(const trace::LinkUseRow& row) override { add(row); }
  void path(const trace::PathRow& row) override { add(row); }
  void finish() override {
    std::apply([](auto&... table) { (table.flush(), ...); }, tables_);
  }

 private:
  template <class Row>
  void add(const Row& row) {
    std::get<CsvTable<Row>>(tables_).add(row);
  }

  OpenStream open_stream_;
  TraceCsvTables tables_;
};

}  // namespace

std::vector<std::string> csv_table_names() {
  std::vector<std::string> names{run_table_name};
  const TraceCsvTables tables;
  std::apply([&](const auto&... table) { (names.emplace_back(csv_table_name(table)), ...); },
             tables);
  return names;
}

std::unique_ptr<trace::Sink> csv_export(
    const std::function<std::ostream*(const std::string& table)>& open_stream) {
  return std::make_unique<CsvExport>(open_stream);
}

}  // namespace pipewright::analysis
