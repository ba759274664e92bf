#include "analysis/trace/writer.hpp"

#include <stdexcept>
#include <utility>

#include "analysis/trace/chunk.hpp"
#include "analysis/trace/hdf5.hpp"
#include "analysis/trace/partial_file.hpp"

namespace pipewright::trace {
namespace {

void write_run_info(hid_t file, const RunInfo& run) {
  write_text(file, "format", format_name);
  write_number(file, "version", format_version);
  for (const auto& field : text_fields) write_text(file, field.name, run.*field.member);
  for (const auto& field : count_fields) write_number(file, field.name, run.*field.member);
  for (const auto& field : real_fields) write_number(file, field.name, run.*field.member);
  write_text(file, assumed_field, joined_keys(run.evidence));
  write_text(file, assumed_gpu_field, run.evidence.gpu);
  const ExpectedError& error = run.evidence.expected_error;
  for (const ErrorField& field : error_reals)
    write_number(file, field.attribute, error.*field.member);
  write_text(file, error_basis_field, error.basis);
  write_number(file, error_rows_field, static_cast<std::uint32_t>(error.rows));
  // HDF5 compresses only datasets, so this long text is a dataset with a single value.
  write_dataset(file, "cluster", text_type_of(run.cluster), 1, run.cluster.c_str());
}

// Writes a table with text columns, which is small, as a dataset of a single chunk.
template <class Row>
void write_table(hid_t file, const std::vector<Row>& rows) {
  const TextRows packed(Table<Row>::columns, rows.data(), sizeof(Row), rows.size());
  write_dataset(file, Table<Row>::name, packed.type(), rows.size(), packed.bytes().data());
}

// Buffers rows for a dataset that grows by whole chunks.
template <class Row>
class TableAppender {
 public:
  explicit TableAppender(hid_t file) : encoder_(Table<Row>::columns) {
    constexpr hsize_t no_rows = 0;
    constexpr hsize_t unlimited = H5S_UNLIMITED;
    const Handle space = checked(H5Screate_simple(1, &no_rows, &unlimited), H5Sclose);
    const Handle properties = chunk_properties(chunk_rows);
    dataset_ = checked(H5Dcreate2(file, Table<Row>::name, disk_type(Table<Row>::columns).get(),
                                  space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
                       H5Dclose);
    rows_.reserve(chunk_rows);
  }

  bool add(const Row& row) {  // Returns true if the buffer is full and must be flushed.
    rows_.push_back(row);
    return rows_.size() == chunk_rows;
  }

  void flush() {
    if (rows_.empty()) return;
    const auto chunk = encoder_.encode(rows_.data(), sizeof(Row), rows_.size());
    const hsize_t offset = written_;
    written_ += rows_.size();
    rows_.clear();
    check(H5Dset_extent(dataset_.get(), &written_));
    constexpr std::uint32_t all_filters = 0;
    check(H5Dwrite_chunk(dataset_.get(), H5P_DEFAULT, all_filters, &offset, chunk.size(),
                         chunk.data()));
  }

  void close() {
    flush();
    pipewright::trace::close(dataset_);
  }

 private:
  Handle dataset_;
  ChunkEncoder encoder_;
  std::vector<Row> rows_;
  hsize_t written_ = 0;
};

class Hdf5TraceOutput final : public TraceOutput {
 public:
  explicit Hdf5TraceOutput(const std::filesystem::path& path) : name_(path) {
    guarded([&] { file_ = create_file(name_.temporary()); });
  }
  ~Hdf5TraceOutput() override {
    const QuietHdf5 quiet;  // Closing a file that could not be written fails again.
    tables_.reset();
    file_.close();
  }
  Hdf5TraceOutput(const Hdf5TraceOutput&) = delete;
  Hdf5TraceOutput& operator=(const Hdf5TraceOutput&) = delete;

  void begin(const RunInfo& run, const std::vector<DeviceRow>& devices,
             const std::vector<StageRow>& stages) override;
  void pass_collective(const PassCollectiveRow& row) override {
    open_tables().pass_collectives.push_back(row);
  }
  void pass(const PassRow& row) override { add(&Tables::passes, row); }
  void transfer(const TransferRow& row) override { add(&Tables::transfers, row); }
  void memory(const MemoryRow& row) override { add(&Tables::memory, row); }
  void collective(const CollectiveRow& row) override { add(&Tables::collectives, row); }
  void step(const StepRow& row) override { add(&Tables::steps, row); }
  void wait(const WaitRow& row) override { add(&Tables::waits, row); }
  void link(const LinkRow& row) override { open_tables().links.push_back(row); }
  void link_use(const LinkUseRow& row) override { add(&Tables::link_use, row); }
  void path(const PathRow& row) override { add(&Tables::paths, row); }
  void finish() override;
  const std::filesystem::path& temporary() const override { return name_.temporary(); }

 private:
  template <class Action>
  void guarded(Action&& action) {
    write_guarded(name_.path(), std::forward<Action>(action));
  }

  struct Tables {
    explicit Tables(hid_t file)
        : passes(file),
          transfers(file),
          memory(file),
          collectives(file),
          steps(file),
          waits(file),
          link_use(file),
          paths(file) {}
    std::vector<PassCollectiveRow> pass_collectives;
    TableAppender<PassRow> passes;
    TableAppender<TransferRow> transfers;
    TableAppender<MemoryRow> memory;
    TableAppender<CollectiveRow> collectives;
    TableAppender<StepRow> steps;
    TableAppender<WaitRow> waits;
    std::vector<LinkRow> links;
    TableAppender<LinkUseRow> link_use;
    TableAppender<PathRow> paths;
  };

  Tables& open_tables() {
    if (!tables_) throw std::logic_error("trace writer: a row before begin() or after finish()");
    return *tables_;
  }
  template <class Row>
  void add(TableAppender<Row> Tables::*table, const Row& row) {
    TableAppender<Row>& appender = open_tables().*table;
    if (appender.add(row)) guarded([&] { appender.flush(); });
  }

  PartialFile name_;
  Handle file_;
  std::unique_ptr<Tables> tables_;  // Set from begin() to finish().
};

void Hdf5TraceOutput::begin(const RunInfo& run, const std::vector<DeviceRow>& devices,
                            const std::vector<StageRow>& stages) {
  if (tables_ || !file_.valid()) throw std::logic_error("trace writer: begin() was called twice");
  guarded([&] {
    write_run_info(file_.get(), run);
    write_table(file_.get(), devices);
    TableAppender<StageRow> table(file_.get());
    for (const StageRow& row : stages)
      if (table.add(row)) table.flush();
    table.close();
    tables_ = std::make_unique<Tables>(file_.get());
  });
}

void Hdf5TraceOutput::finish() {
  if (!tables_)
    throw std::logic_error("trace writer: finish() was called without begin(), or twice");
  guarded([&] {
    write_table(file_.get(), tables_->pass_collectives);
    tables_->passes.close();
    tables_->transfers.close();
    tables_->memory.close();
    tables_->collectives.close();
    tables_->steps.close();
    tables_->waits.close();
    write_table(file_.get(), tables_->links);
    tables_->link_use.close();
    tables_->paths.close();
    check(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL));
    tables_.reset();
    close(file_);
  });
  name_.commit();
}

}  // namespace

std::unique_ptr<TraceOutput> make_trace_output(const std::filesystem::path& path) {
  return std::make_unique<Hdf5TraceOutput>(path);
}

}  // namespace pipewright::trace
