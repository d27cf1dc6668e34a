#include "analyze/verdict/function_advice.h"

#include <string_view>

namespace sonde {
namespace {

// The first whose words are in the file, the module or the name counts. A word
// that begins with '/' is of the path of a library, others are of a function.
struct Known {
  std::string_view words[6];
  const char* advice;
  bool of_python = false;  // only in the interpreter's own files
};
constexpr char kRegularExpressions[] =
    "It matches regular expressions: compile them once outside of the loop, "
    "test for a plain word first, avoid nested repetition, or use re2.";
constexpr Known kKnown[] = {
    {{"JavaScript"},
     "With `node --perf-basic-prof` sonde can name its functions."},
    {{"compiled Java"},
     "With `java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit` sonde "
     "can name its methods."},
    {{"compiled .NET"},
     "With DOTNET_PerfMapEnabled=1 in its environment sonde can name its "
     "methods."},
    {{"/json/", "/simplejson/", "json_", "yyjson"},
     "It parses or writes JSON: orjson or msgspec do that several times "
     "faster, "
     "a binary form (Parquet, msgpack) faster still; parse once and keep the "
     "result."},
    {{"/csv.py", "/_csv", "/parsers/readers.py", "/parsers/python_parser.py"},
     "It reads text tables: pyarrow.csv or polars read them with all cores; "
     "convert the data to Parquet once."},
    {{"/xml/", "/html/", "/bs4/", "/lxml/", "/yaml/"},
     "It parses markup: use the parser in C (lxml, CSafeLoader), parse once "
     "and "
     "keep the result."},
    {{"/PIL/", "/libjpeg", "/libpng", "/libwebp", "/imageio/", "/cv2/"},
     "It decodes or changes images: decode at the size that is needed "
     "(Image.draft, libjpeg-turbo), do it in worker processes, or keep the "
     "decoded images."},
    {{"/re/", "/sre_", "/regex/", "std::__detail::_Executor", "regex_"},
     kRegularExpressions},
    {{"sre_"}, kRegularExpressions, true},
    {{"gc_collect", "move_unreachable", "subtract_refs", "update_refs",
      "visit_reachable", "visit_decref"},
     "It is Python's garbage collector: gc.freeze() after the start and a "
     "higher gc.set_threshold() let it run less often.",
     true},
    {{"/copy.py", "/copyreg.py", "deepcopy"},
     "It copies objects one by one: copy only what changes, or keep the data "
     "in "
     "arrays, whose copy is one call."},
    {{"/pickle.py", "/_pickle", "/reduction.py", "/dill/", "/cloudpickle/"},
     "It packs objects to send or keep them: send arrays through shared "
     "memory, "
     "or larger pieces less often."},
    {{"/gzip.py", "/zipfile", "/tarfile.py", "/lzma.py", "/bz2.py", "/libz.so"},
     "It packs or unpacks compressed data: zstd or lz4 are several times "
     "faster, "
     "a lower level helps at once, and several files can be done at a time."},
    {{"deflate", "inflate", "ZSTD_", "LZ4_", "BZ2_", "lzma_"},
     "It packs or unpacks compressed data: a lower level or zstd and lz4 are "
     "several times faster, and several files can be done at a time."},
    {{"/hashlib.py", "/_hashlib", "SHA1_", "SHA256_", "sha256_", "MD5_"},
     "It computes checksums: hash each piece once, in threads (hashlib lets "
     "others run), or with a faster function (blake3, xxhash) where nobody "
     "attacks."},
    {{"malloc", "_int_malloc", "_int_free", "operator new", "operator delete",
      "malloc_consolidate"},
     "It allocates memory all the time: use buffers again, reserve at once, or "
     "try another allocator (LD_PRELOAD=libjemalloc.so.2)."},
    {{"page fault"},
     "Most of that is the kernel's, which gives the program pages of memory "
     "that it touches for the first time: keep large buffers and use them "
     "again instead of allocating new ones, or let malloc keep them "
     "(MALLOC_TOP_PAD_=268435456, MALLOC_MMAP_THRESHOLD_=268435456)."},
    {{"__send", "send", "__recv", "recv"},
     "It sends or receives over the network: larger and fewer pieces, and "
     "buffers that are used again, cost less of it."},
    {{"__read", "read", "__pread", "pread", "__GI___read", "__libc_read"},
     "It reads files by system calls: read larger pieces at once, or map the "
     "file (mmap, numpy.memmap) instead of copying it."},
    {{"memcpy", "memmove", "memset", "__memmove", "__memcpy", "__memset"},
     "It copies memory: pass views instead of copies, and touch the data once, "
     "in pieces that fit the cache."},
    {{"pthread_mutex", "__lll_lock", "pthread_spin", "native_queued_spin",
      "futex", "sched_yield"},
     "It takes or waits for locks: hold them for less time, divide what they "
     "guard, or use fewer threads."},
    {{"gomp_", "GOMP_", "__kmp", "blas_thread", "mkl_", "omp_"},
     "It is a pool of threads that waits or hands out work: give it fewer "
     "threads (OMP_NUM_THREADS) or larger pieces of work."},
    {{"gemm", "dgemv", "sgemv", "cblas_", "/libopenblas", "/libmkl"},
     "It multiplies matrices in a library: larger batches, float32 instead of "
     "float64, and a BLAS built for this processor do most."},
    {{"/random.py", "/numpy/random"},
     "It draws random numbers one by one: draw an array of them at once "
     "(numpy.random.Generator)."},
    {{"/datetime.py", "/_strptime.py", "/dateutil/"},
     "It parses times one by one: give the format, use fromisoformat, or "
     "convert "
     "a whole column at once (pandas, pyarrow)."},
    {{"/logging/"},
     "It writes log lines: log less, and leave the formatting to the logger "
     "(logger.debug(\"%s\", x))."},
    {{"/pandas/", "/polars/"},
     "It works on tables: replace apply and loops over rows by operations on "
     "whole columns."},
    {{"/torch/", "/tensorflow/", "/jax/"},
     "It is the framework's own work for each operation: larger batches and "
     "fewer, larger operations (torch.compile) cost less of it."},
};

bool Matches(const FunctionFacts& f, std::string_view word) {
  if (word.empty()) return false;
  if (word[0] == '/')
    return (IsLibrary(f.file) && f.file.find(word) != std::string::npos) ||
           f.module.find(word) != std::string::npos;
  return f.name.starts_with(word) ||
         f.name.find("::" + std::string(word)) != std::string::npos;
}

const char* FindAdvice(const FunctionFacts& function) {
  for (const Known& known : kKnown)
    for (const std::string_view word : known.words)
      if (Matches(function, word) &&
          (!known.of_python ||
           function.module.find("python") != std::string::npos))
        return known.advice;
  return nullptr;
}

}  // namespace

std::string AdviceOnFunction(const FunctionFacts& function) {
  // What it calls in a library says more than its own name.
  const bool mostly_below =
      function.own_ns > function.self_ns &&
      function.own_ns - function.self_ns > function.own_ns / 2;
  if (mostly_below) {
    FunctionFacts below;
    below.name = function.below;
    below.module = function.below_module;
    if (const char* const advice = FindAdvice(below)) return advice;
  }
  if (const char* const advice = FindAdvice(function)) return advice;
  if (mostly_below)
    return "Most of that is in compiled code that it calls: call it less "
           "often, with larger pieces, or keep the result.";
  if (function.language == "python")
    return "A loop in Python costs many times one in C: let numpy or another "
           "compiled library do it, or do it once and keep the result.";
  if (function.language == "native")
    return "Do less of it, keep results that are needed again, or divide it "
           "among threads; compile with -O2 or more, for this processor.";
  return "";
}

}  // namespace sonde
