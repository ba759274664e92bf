#include "analysis/trace/writer.hpp"

#include <stdexcept>
#include <utility>

#include "analysis/trace/chunk.hpp"
#include "analysis/trace/hdf5.hpp"
#include "analysis/trace/partial_file.hpp"

namespace pipewright::trace {
namespace {

void write_run(hid_t file, const RunInfo& run) {
  write_text(file, "format", format_name);
  write_number(file, "version", format_version);
  for (const auto& field : text_fields) write_text(file, field.name, run.*field.member);
  for (const auto& field : count_fields) write_number(file, field.name, run.*field.member);
  for (const auto& field : real_fields) write_number(file, field.name, run.*field.member);
  write_text(file, assumed_field, joined_keys(run.assumed));
  write_text(file, assumed_gpu_field, run.assumed.gpu);
  // One value of the text's length, for only datasets are compressed.
  write_dataset(file, "cluster", text_type_of(run.cluster), 1, run.cluster.c_str());
}

// A table with texts, which is small: a dataset of one piece.
template <class Row>
void write_table(hid_t file, const std::vector<Row>& rows) {
  const TextRows packed(Table<Row>::columns, rows.data(), sizeof(Row), rows.size());
  write_dataset(file, Table<Row>::name, packed.type(), rows.size(), packed.bytes().data());
}

// Rows on their way into a dataset that grows by whole chunks.
template <class Row>
class Appender {
 public:
  explicit Appender(hid_t file) : encoder_(Table<Row>::columns) {
    constexpr hsize_t none = 0;
    constexpr hsize_t unlimited = H5S_UNLIMITED;
    const Handle space = checked(H5Screate_simple(1, &none, &unlimited), H5Sclose);
    const Handle properties = chunked(chunk_rows);
    dataset_ = checked(H5Dcreate2(file, Table<Row>::name, disk_type(Table<Row>::columns).get(),
                                  space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
                       H5Dclose);
    rows_.reserve(chunk_rows);
  }

  bool add(const Row& row) {  // whether it is time to flush
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

}  // namespace

struct TraceWriter::File {
  explicit File(std::filesystem::path path) : name(std::move(path)) {
    guarded([&] { file = create_file(name.temporary()); });
  }
  ~File() {
    const QuietHdf5 quiet;  // closing a file that could not be written fails again
    tables.reset();
    file.close();
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  template <class Action>
  void guarded(Action&& action) {
    write_guarded(name.path(), std::forward<Action>(action));
  }

  struct Tables {
    explicit Tables(hid_t file)
        : passes(file),
          transfers(file),
          memory(file),
          collectives(file),
          steps(file),
          link_use(file),
          paths(file) {}
    std::vector<PassCollectiveRow> pass_collectives;
    Appender<PassRow> passes;
    Appender<TransferRow> transfers;
    Appender<MemoryRow> memory;
    Appender<CollectiveRow> collectives;
    Appender<StepRow> steps;
    std::vector<LinkRow> links;
    Appender<LinkUseRow> link_use;
    Appender<PathRow> paths;
  };

  PartialFile name;
  Handle file;
  std::unique_ptr<Tables> tables;  // from begin() to finish()

  Tables& open_tables() {
    if (!tables) throw std::logic_error("trace writer: a row outside of begin() and finish()");
    return *tables;
  }
  template <class Row>
  void keep(std::vector<Row> Tables::*table, const Row& row) {
    (open_tables().*table).push_back(row);
  }
  template <class Row>
  void add(Appender<Row> Tables::*table, const Row& row) {
    Appender<Row>& appender = open_tables().*table;
    if (appender.add(row)) guarded([&] { appender.flush(); });
  }
};

TraceWriter::TraceWriter(std::filesystem::path path)
    : file_(std::make_unique<File>(std::move(path))) {}
TraceWriter::~TraceWriter() = default;

const std::filesystem::path& TraceWriter::temporary() const { return file_->name.temporary(); }

void TraceWriter::begin(const RunInfo& run, const std::vector<DeviceRow>& devices,
                        const std::vector<StageRow>& stages) {
  if (file_->tables || !file_->file.valid())
    throw std::logic_error("trace writer: begin() comes once");
  file_->guarded([&] {
    write_run(file_->file.get(), run);
    write_table(file_->file.get(), devices);
    Appender<StageRow> table(file_->file.get());
    for (const StageRow& row : stages)
      if (table.add(row)) table.flush();
    table.close();
    file_->tables = std::make_unique<File::Tables>(file_->file.get());
  });
}

void TraceWriter::pass(const PassRow& row) { file_->add(&File::Tables::passes, row); }
void TraceWriter::transfer(const TransferRow& row) { file_->add(&File::Tables::transfers, row); }
void TraceWriter::memory(const MemoryRow& row) { file_->add(&File::Tables::memory, row); }
void TraceWriter::collective(const CollectiveRow& row) {
  file_->add(&File::Tables::collectives, row);
}
void TraceWriter::step(const StepRow& row) { file_->add(&File::Tables::steps, row); }

void TraceWriter::pass_collective(const PassCollectiveRow& row) {
  file_->keep(&File::Tables::pass_collectives, row);
}
void TraceWriter::link(const LinkRow& row) { file_->keep(&File::Tables::links, row); }
void TraceWriter::link_use(const LinkUseRow& row) { file_->add(&File::Tables::link_use, row); }
void TraceWriter::path(const PathRow& row) { file_->add(&File::Tables::paths, row); }

void TraceWriter::finish() {
  File& file = *file_;
  if (!file.tables) throw std::logic_error("trace writer: finish() comes once, after begin()");
  file.guarded([&] {
    write_table(file.file.get(), file.tables->pass_collectives);
    file.tables->passes.close();
    file.tables->transfers.close();
    file.tables->memory.close();
    file.tables->collectives.close();
    file.tables->steps.close();
    write_table(file.file.get(), file.tables->links);
    file.tables->link_use.close();
    file.tables->paths.close();
    check(H5Fflush(file.file.get(), H5F_SCOPE_GLOBAL));
    file.tables.reset();
    close(file.file);
  });
  file.name.commit();
}

}  // namespace pipewright::trace
