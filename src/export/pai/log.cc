#include "export/pai/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace sonde {
namespace {

constexpr char kRule[] =
    "===================================================================\n";
constexpr size_t kBar = 100;
constexpr size_t kMaxSeen = 20;  // windows named one by one

// Never with an exponent: the origin wrote none, and its readers look for
// digits before the unit.
std::string Plain(double value) {
  std::string out = fmt::format("{:.6f}", value);
  out.erase(out.find_last_not_of('0') + 1);
  if (out.ends_with('.')) out.pop_back();
  return out;
}

class Log {
 public:
  Log(const PaiTable& table, const PaiVotes& votes)
      : table_(table), votes_(votes) {}

  std::string Write() {
    Progress();
    Advice();
    out_ += "For the CPU, here is the analyze result:\n";
    Usage("CPU", table_.cpu_pct);
    out_ += kRule;
    Volumes("Disk", "Disk read", table_.read_kib_s, "Disk write",
            table_.write_kib_s, "read", "write");
    Volumes("Network", "Network Inbound", table_.receive_kib_s,
            "Network Outbound", table_.transmit_kib_s, "Inbound", "Outbound");
    Gpus();
    Seen();
    return std::move(out_);
  }

 private:
  template <typename... T>
  void Put(fmt::format_string<T...> format, T&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(args)...);
  }

  void Progress() {
    const auto length =
        static_cast<double>(Elapsed(table_.grid.begin_ns, table_.grid.end_ns));
    for (size_t i = 1; i <= votes_.total; ++i) {
      const double share = static_cast<double>(i) *
                           static_cast<double>(votes_.window_ns) / length;
      if (share < 1) out_ += PaiProgress(share);
    }
    out_ += PaiProgress(1);
  }

  void Advice() {
    out_ += kRule;
    Put("We have finished the analyzing {} times and the result is as follow.\n"
        "According to the voting, the weight of each advice is as follow:\n",
        votes_.total);
    for (size_t i = 0; i < kPaiPhenomena; ++i)
      Put("There is  {}  sample showing that ' {} '\n", votes_.Word(i),
          PaiText(i));
    out_ += kRule;
  }

  void Usage(const char* what, const RegularSeries& series) {
    std::vector<double> known = series.KnownValues();
    if (known.empty()) {
      Put("The {} Utilization was not collected\n", what);
      return;
    }
    std::sort(known.begin(), known.end());
    const auto count = static_cast<double>(known.size());
    double sum = 0, squares = 0;
    for (const double v : known) sum += v;
    const double mean = sum / count;
    for (const double v : known) squares += (v - mean) * (v - mean);
    const auto at = [&](double share) {
      return known[static_cast<size_t>(share * count)];
    };
    Put("The max value of the {0} Utilization is {1}%\n"
        "The min value of the {0} Utilization is {2}%\n"
        "The average value of the {0} Utilization is {3}%\n"
        "The standard deviation of the {0} Utilization is {4}%\n"
        "Less than 50% value is more than {5}%\n"
        "Less than 20% value is more than {6}%\n",
        what, Plain(known.back()), Plain(known.front()), Plain(mean),
        Plain(std::sqrt(squares / count)), Plain(at(0.5)), Plain(at(0.8)));
  }

  void Rates(const char* what, const RegularSeries& series) {
    const std::vector<double> known = series.KnownValues();
    if (known.empty()) {
      Put("The {} was not collected\n", what);
      return;
    }
    double most = 0, least = 0;
    for (const double v : known) {
      most = std::max(most, v);
      if (v > 0 && (least == 0 || v < least)) least = v;
    }
    Put("The max value of the {0} is {1}KBps\n"
        "The min value of the {0} (without zero) is {2}KBps\n",
        what, Plain(most), Plain(least));
  }

  // Rates times the time that each of them held. That nothing was collected is
  // said of the rates.
  void Volume(const char* what, const char* word, const RegularSeries& series) {
    if (series.KnownCount() == 0) return;
    double sum = 0;
    for (size_t i = 0; i < series.size(); ++i) {
      const int64_t end =
          std::min(series.grid.TimeOf(i + 1), series.grid.end_ns);
      if (series.known[i])
        sum += series.values[i] *
               static_cast<double>(Elapsed(series.grid.TimeOf(i), end)) / 1e9;
    }
    Put("The total {} volume of the {} is {}KB\n", word, what, Plain(sum));
  }

  void Volumes(const char* what, const char* first_name,
               const RegularSeries& first, const char* second_name,
               const RegularSeries& second, const char* first_word,
               const char* second_word) {
    Put("For the {}, here is the analyze result:\n", what);
    Rates(first_name, first);
    Rates(second_name, second);
    Volume(what, first_word, first);
    Volume(what, second_word, second);
    out_ += kRule;
  }

  void Gpus() {
    Put("For the GPU, here is the analyze result:\n"
        "The total number of the GPU cards is {}\n",
        table_.gpus.size());
    if (table_.gpus.empty()) return;
    Put("{}For the GPU memory:\n", kRule);
    for (size_t i = 0; i < table_.gpus.size(); ++i) {
      if (const MaybeNumber& peak = table_.gpus[i].mem_peak_pct)
        Put("The memory Utilization of Card Index  {} is {:.4f}%\n", i, *peak);
      else
        Put("The memory Utilization of Card Index  {} was not collected\n", i);
    }
    for (size_t i = 0; i < table_.gpus.size(); ++i) {
      if (i == 0)
        Put("{}For the GPU utilization, we choose the master card to calculate "
            "the result.\n",
            kRule);
      else
        Put("{}For the GPU utilization of Card Index  {}:\n", kRule, i);
      Usage("GPU", table_.gpus[i].busy_pct);
    }
  }

  void Seen() {
    out_ += kRule;
    out_ += "When each was seen, in seconds, and what helps:\n";
    const double length = static_cast<double>(votes_.window_ns) / 1e9;
    for (size_t i = 0; i < kPaiPhenomena; ++i) {
      const std::vector<size_t>& seen = votes_.windows[i];
      if (seen.empty()) continue;
      Put("' {} ' {} of {}:", PaiText(i), seen.size(), votes_.total);
      for (size_t k = 0; k < std::min(seen.size(), kMaxSeen); ++k)
        Put(" {}-{}", Plain(static_cast<double>(seen[k]) * length),
            Plain(static_cast<double>(seen[k] + 1) * length));
      if (seen.size() > kMaxSeen) Put(" and {} more", seen.size() - kMaxSeen);
      Put("\n  {}\n", PaiRemedy(i));
    }
  }

  const PaiTable& table_;
  const PaiVotes& votes_;
  std::string out_;
};

}  // namespace

std::string PaiProgress(double share) {
  share = std::clamp(share, 0.0, 1.0);
  // The head stands on the last character that is done; at the start on the
  // first.
  const auto done = static_cast<size_t>(share * kBar + 1e-9);
  const size_t head = done > 0 ? done - 1 : 0;
  std::string bar(kBar, '=');
  std::fill_n(bar.begin(), head, '-');
  bar[head] = '>';
  return fmt::format("[{}]{:.2f}% has been finished\n", bar, share * 100);
}

std::string PaiLog(const PaiTable& table, const PaiVotes& votes) {
  return Log(table, votes).Write();
}

}  // namespace sonde
