// What the profiler of OpenPAI leaves behind: log_result.csv, log.txt and five
// pictures. docs/compat/pai.md says where the numbers differ, and why.

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "analyze/facts/judgeable.h"
#include "base/fd.h"
#include "export/exporter.h"
#include "export/output.h"
#include "export/pai/gd_library.h"
#include "export/pai/log.h"
#include "export/pai/png.h"
#include "export/pai/table.h"
#include "export/pai/votes.h"

namespace sonde {
namespace {

constexpr size_t kColumns = 8, kColumnsOfGpu = 4;

// Makes directories and files. Files get their names together in Commit(), when
// all of them are complete: until then what was there before is there, and what
// was made is taken back if it never comes to that.
class Made {
 public:
  explicit Made(const ExportOptions& options)
      : options_(options), partial_options_(options) {
    partial_options_.force = true;  // these names are ours
  }
  ~Made() {
    for (const std::string& path : files_) ::unlink(PartialName(path).c_str());
    for (const std::string& path : moved_) ::unlink(path.c_str());
    for (auto at = directories_.rbegin(); at != directories_.rend(); ++at)
      ::rmdir(at->c_str());
  }
  Made(const Made&) = delete;

  Status Directory(const std::string& path) {
    if (::mkdir(path.c_str(), 0700) == 0)
      directories_.push_back(path);
    else if (errno != EEXIST)
      return ErrnoError(path, errno);
    return Ok();
  }

  Status File(const std::string& path, std::string_view text) {
    TRY_OK(CheckReplace(path, options_.force));
    TRY(auto out, Output::Create(PartialName(path), partial_options_));
    out->Text(text);
    bytes_ += out->bytes();
    TRY_OK(out->Commit());
    files_.push_back(path);
    return Ok();
  }

  uint64_t bytes() const { return bytes_; }

  Status Commit() {
    for (const std::string& path : files_) {
      TRY_OK(MoveInPlace(PartialName(path), path, options_.force));
      // What replaced another cannot be taken back.
      if (!options_.force) moved_.push_back(path);
    }
    files_.clear();
    moved_.clear();
    directories_.clear();
    return Ok();
  }

 private:
  const ExportOptions& options_;
  ExportOptions partial_options_;
  std::vector<std::string> files_;  // those that have a partial name yet
  std::vector<std::string> moved_, directories_;
  uint64_t bytes_ = 0;
};

// Lines of what is known somewhere.
void Add(std::vector<PngLine>& lines, const RegularSeries& series,
         std::string name, bool right = false) {
  if (series.KnownCount() > 0)
    lines.push_back({&series, std::move(name), right});
}

Status WritePictures(const PaiTable& table, const std::string& directory,
                     Made& made) {
  // In percent of each GPU's memory.
  std::vector<RegularSeries> memory;
  for (const PaiTable::Gpu& gpu : table.gpus) {
    RegularSeries& share = memory.emplace_back(gpu.mem_used_gib);
    for (size_t i = 0; i < share.size(); ++i) {
      share.known[i] = share.known[i] && gpu.mem_total_gib.known[i] &&
                       gpu.mem_total_gib.values[i] > 0;
      if (share.known[i]) share.values[i] *= 100 / gpu.mem_total_gib.values[i];
    }
  }
  std::vector<PngLine> of_memory, of_busy, of_both, of_disk, of_network;
  Add(of_both, table.cpu_pct, "cpu");
  for (size_t i = 0; i < table.gpus.size(); ++i) {
    Add(of_memory, memory[i], fmt::format("gpu_mem_used_{}", i));
    Add(of_busy, table.gpus[i].busy_pct, fmt::format("gpu_used_{}", i));
    Add(of_both, table.gpus[i].busy_pct,
        table.gpus.size() == 1 ? "gpu" : fmt::format("gpu {}", i), true);
  }
  Add(of_disk, table.read_kib_s, "Disk read");
  Add(of_disk, table.write_kib_s, "Disk write");
  Add(of_network, table.receive_kib_s, "Network Inbound");
  Add(of_network, table.transmit_kib_s, "Network Outbound");
  const struct {
    const char* name;
    PngText text;
    const std::vector<PngLine>& lines;
  } pictures[] = {{"GPU_MEM_Utilization",
                   {"GPU Memory Utilization", "GPU memory utilization(%)", ""},
                   of_memory},
                  {"GPU_UTI_Utilization",
                   {"GPU Utilization", "GPU utilization(%)", ""},
                   of_busy},
                  {"CPU_GPU_Utilization",
                   {"CPU & GPU Utilization", "CPU utilization(%)",
                    table.gpus.empty() ? "" : "GPU utilization(%)"},
                   of_both},
                  {"Disk_Utilization",
                   {"Disk Utilization", "Disk Utilization(KBps)", ""},
                   of_disk},
                  {"Network_Utilization",
                   {"Network Usage", "Network Utilization(KBps)", ""},
                   of_network}};
  for (const auto& picture : pictures) {
    TRY(const std::string png, DrawPng(picture.text, picture.lines));
    TRY_OK(made.File(fmt::format("{}/{}.png", directory, picture.name), png));
  }
  return Ok();
}

}  // namespace

Result<ExportSummary> ExportPai(const Store& store,
                                const ExportOptions& options) {
  if (options.output == "-")
    return Error{Error::Kind::kUsage,
                 "pai: several files do not fit one output",
                 "name a directory with -o"};
  TRY_OK(CheckDirectory(options.output, options.force, "pai"));
  TRY_OK(CheckJudgeable(store));
  // The caller's store outlives the facts.
  const Facts facts =
      FactsOf(std::shared_ptr<const Store>(std::shared_ptr<void>(), &store));
  const PaiTable table = PaiTableOf(facts);
  const auto gd = GdLibrary::Load();
  Made made(options);
  TRY_OK(made.Directory(options.output));
  std::string csv = PaiHeader(table.gpus.size());
  for (size_t i = 0; i < table.grid.size(); ++i) csv += PaiLine(table, i);
  TRY_OK(made.File(options.output + "/log_result.csv", csv));
  TRY_OK(made.File(options.output + "/log.txt",
                   PaiLog(table, PaiVotesOf(facts, table))));
  if (gd.ok()) {
    TRY_OK(made.Directory(options.output + "/img"));
    TRY_OK(WritePictures(table, options.output + "/img", made));
  }
  TRY_OK(made.Commit());
  ExportSummary summary;
  if (!gd.ok())
    summary.missing = fmt::format("no picture was drawn: {} ({})",
                                  gd.error().what, gd.error().hint);
  summary.counter_values =
      table.grid.size() * (kColumns + kColumnsOfGpu * table.gpus.size());
  summary.bytes = made.bytes();
  return summary;
}

}  // namespace sonde
