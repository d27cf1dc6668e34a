// calls SECONDS: C++ as it is: virtual calls, recursion, the standard library.
// Prints its CPU time.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

double Used() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return double(used.tv_sec) + double(used.tv_nsec) / 1e9;
}

struct Node {
  virtual ~Node() = default;
  virtual unsigned Value(unsigned seed) const = 0;
};

struct Leaf : Node {
  unsigned Value(unsigned seed) const override {
    std::vector<unsigned> all(500);
    for (unsigned& one : all) one = seed = seed * 1664525 + 1013904223;
    std::sort(all.begin(), all.end(),
              [](unsigned a, unsigned b) { return a % 1000 < b % 1000; });
    return all[seed % all.size()];
  }
};

struct Words : Node {
  unsigned Value(unsigned seed) const override {
    std::map<std::string, unsigned> count;
    for (unsigned i = 0; i < 200; ++i) {
      seed = seed * 1664525 + 1013904223;
      ++count["a word that is long, number " + std::to_string(seed % 50)];
    }
    return unsigned(count.size()) + seed;
  }
};

struct Pair : Node {
  std::unique_ptr<Node> left, right;
  unsigned Value(unsigned seed) const override {
    return left->Value(seed) + right->Value(seed + 1);
  }
};

std::unique_ptr<Node> Tree(int deep) {
  if (deep == 0) return std::make_unique<Leaf>();
  if (deep == 1) return std::make_unique<Words>();
  auto pair = std::make_unique<Pair>();
  pair->left = Tree(deep - 1);
  pair->right = Tree(deep - 2);
  return pair;
}

}  // namespace

int main(int count, char** words) {
  const double end = count > 1 ? std::atof(words[1]) : 1;
  const auto tree = Tree(8);
  unsigned sum = 0;
  while (Used() < end) sum += tree->Value(sum);
  std::printf("sum %u\ncpu %.6f\n", sum, Used());
}
