#include "src/cli/bench_kernels.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/limits.h"
#include "kernels/cpu/operand.h"
#include "kernels/cpu/packed_model.h"

namespace sotto {
namespace {

using namespace cpu;
using nlohmann::json;

constexpr const char* kTypeNames[] = {"f32", "f16", "bf16", "int8"};

std::vector<float> random_values(int64_t n, unsigned seed, float size) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, size);
  std::vector<float> values(n);
  for (float& value : values) value = normal(generator);
  return values;
}

double best_seconds(int rounds, const std::function<void()>& work) {
  double best = 1e9;
  for (int i = 0; i < 10 * rounds; i++) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

struct Row {
  std::string kernel;
  double seconds, ops, limit;  // limit: operations a second
  double error;                // against double, relative to the result's size
};

// The product of a feed-forward layer's width, and its error with that of rounding the operands to the type.
Row product_row(const Kernels& kernels, Type type, int rows, int n, int k, double limit, int rounds) {
  const std::vector<float> x = random_values(int64_t(rows) * k, 1, 1), w = random_values(int64_t(n) * k, 2, 0.05f);
  PackedLinear linear = {};
  linear.type = type;
  linear.n = n;
  linear.k = k;
  const Buffer<char> memory(packed_bytes(linear, kernels.panel));
  char* at = memory.data();
  place_linear(linear, kernels.panel, at);
  pack_linear(w.data(), nullptr, linear, kernels.panel, false);
  const OperandBuffer buffer(rows, k);
  kernels.operand[int(type)](buffer.rows(type, {const_cast<float*>(x.data()), k}, 0, rows, k), Range::symmetric);
  std::vector<float> c(int64_t(rows) * n);
  const Product product = product_of(linear, buffer.operand(type, k), rows, Epilogue::store, {c.data(), n}, kernels.panel);
  const double seconds = best_seconds(rounds, [&] { kernels.product[int(type)](product); });
  double error = 0, size = 0;
  for (int j = 0; j < n; j += 7) {
    double sum = 0;
    for (int i = 0; i < k; i++) sum += double(x[i]) * w[int64_t(j) * k + i];
    error += (c[j] - sum) * (c[j] - sum);
    size += sum * sum;
  }
  const std::string name = std::string("product ") + kTypeNames[int(type)] + " " + std::to_string(rows) + " x " +
                           std::to_string(n) + " x " + std::to_string(k);
  return {name, seconds, 2.0 * rows * n * k, limit, std::sqrt(error / size)};
}

Row attention_row(const Kernels& kernels, Type type, int rows, const Limits& limits, int rounds) {
  const int keys = kAudioContext, padded = padded_keys(keys);
  const std::vector<float> q = random_values(rows * kHead, 3, 3), k = random_values(keys * kHead, 4, 1),
                           v = random_values(keys * kHead, 5, 1);
  const Buffer<char> packed_k(int64_t(padded) * kHead * 4), packed_v(int64_t(padded) * kHead * 4);
  kernels.pack_keys[int(type)]({k.data(), kHead, 0, keys, padded, packed_k.data()});
  kernels.pack_values[int(type)]({v.data(), kHead, 0, keys, padded, packed_v.data()});
  std::vector<float> out(rows * kHead);
  const HeadAttention head = {q.data(), kHead, rows, packed_k.data(), packed_v.data(), keys, out.data(), kHead};
  const double seconds = best_seconds(rounds, [&] { kernels.attention[int(type)](head); });
  std::vector<double> weight(keys), expected(kHead);
  double total = 0, error = 0, size = 0;
  for (int t = 0; t < keys; t++) {
    double score = 0;
    for (int d = 0; d < kHead; d++) score += double(q[d]) * k[t * kHead + d] / 8;
    total += weight[t] = std::exp(score);
  }
  for (int t = 0; t < keys; t++)
    for (int d = 0; d < kHead; d++) expected[d] += weight[t] / total * v[t * kHead + d];
  for (int d = 0; d < kHead; d++) {
    error += (out[d] - expected[d]) * (out[d] - expected[d]);
    size += expected[d] * expected[d];
  }
  const std::string name = std::string("attention ") + kTypeNames[int(type)] + " " + std::to_string(rows) + " rows";
  return {name, seconds, 4.0 * rows * keys * kHead, limits.multiply[int(type)], std::sqrt(error / size)};
}

}  // namespace

void bench_kernels(const Kernels& kernels, int rounds, bool as_json) {
  Team team(1);
  const Limits limits = measure_limits(kernels, team);
  std::vector<Row> rows;
  for (const Type type : {Type::f32, Type::f16, Type::bf16, Type::i8}) {
    if (!kernels.product[int(type)]) continue;
    const double limit = limits.multiply[int(type)];
    for (const int count : {144, 5, 1}) {
      rows.push_back(product_row(kernels, type, count, 512, 512, limit, rounds));
      rows.push_back(product_row(kernels, type, count, 2048, 512, limit, rounds));
      rows.push_back(product_row(kernels, type, count, 512, 2048, limit, rounds));
    }
    for (const int count : {144, 5, 1}) rows.push_back(attention_row(kernels, type, count, limits, rounds));
  }
  json report = json::array();
  if (!as_json) std::printf("%s kernels, one thread\n%-36s %9s %9s %7s %10s\n", kernels.name, "kernel", "us", "Gop/s",
                            "share", "error");
  for (const Row& row : rows) {
    const double rate = row.ops / row.seconds;
    report.push_back({{"kernel", row.kernel}, {"us", row.seconds * 1e6}, {"gop_s", rate / 1e9},
                      {"share", rate / row.limit}, {"error", row.error}});
    if (!as_json) std::printf("%-36s %9.1f %9.0f %6.0f%% %10.1e\n", row.kernel.c_str(), row.seconds * 1e6, rate / 1e9,
                              100 * rate / row.limit, row.error);
  }
  if (as_json) std::printf("%s\n", report.dump(2).c_str());
}

}  // namespace sotto
