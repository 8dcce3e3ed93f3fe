#include "kernels/reference/ops.h"

#include <algorithm>
#include <cmath>

namespace sotto::reference {
namespace {

constexpr int kRowBlock = 48;  // rows of x that share a pass over a panel of W: both stay in the level 2 cache
constexpr int kMostPanel = 64;

}  // namespace

void product(Team& team, const Matrix& w, const float* x, int64_t ldx, int m, Then then, float* y) {
  const Loops& loop = loops();
  const int width = loop.panel;
  const int64_t panels = (w.n + width - 1) / width, blocks = (m + kRowBlock - 1) / kRowBlock;
  const int64_t grain = std::max(1, 256 / width);
  team.parallel_for(panels * blocks, grain, [&](int64_t first, int64_t last, int) {
    alignas(64) float tile[kRowBlock * kMostPanel];
    for (int64_t piece = first; piece < last; piece++) {
      const int64_t panel = piece % panels, row = piece / panels * kRowBlock;
      const int rows = static_cast<int>(std::min<int64_t>(kRowBlock, m - row));
      const int columns = static_cast<int>(std::min<int64_t>(width, w.n - panel * width));
      loop.multiply(x + row * ldx, ldx, w.panel(static_cast<int>(panel), width), width, w.bias.data() + panel * width,
                    tile, width, rows, w.k);
      if (then == Then::gelu) loop.gelu(tile, rows * width);
      for (int i = 0; i < rows; i++) {
        float* to = y + (row + i) * w.n + panel * width;
        const float* from = tile + i * width;
        if (then == Then::add) {
          for (int j = 0; j < columns; j++) to[j] += from[j];
        } else {
          std::copy_n(from, columns, to);
        }
      }
    }
  });
}

void layer_norm(Team& team, const LayerNorm& norm, const float* x, int m, int width, float* y) {
  team.parallel_for(m, 16, [&](int64_t first, int64_t last, int) {
    for (int64_t row = first; row < last; row++) {
      const float* from = x + row * width;
      float* to = y + row * width;
      double sum = 0, squares = 0;
      for (int i = 0; i < width; i++) sum += from[i];
      const double mean = sum / width;
      for (int i = 0; i < width; i++) squares += (from[i] - mean) * (from[i] - mean);
      const float scale = static_cast<float>(1 / std::sqrt(squares / width + 1e-5)), shift = static_cast<float>(mean);
      for (int i = 0; i < width; i++) to[i] = (from[i] - shift) * scale * norm.weight[i] + norm.bias[i];
    }
  });
}

int64_t key_panels_size(int heads, int positions) {
  const int panel = loops().panel;
  return int64_t{heads} * ((positions + panel - 1) / panel) * panel * kHead;
}

void pack_keys(Team& team, const float* k, int64_t ldk, int heads, int positions, float* panels) {
  const int width = loops().panel, n_panels = (positions + width - 1) / width;
  team.parallel_for(int64_t{heads} * n_panels, 8, [&](int64_t first, int64_t last, int) {
    for (int64_t piece = first; piece < last; piece++) {
      const int64_t head = piece / n_panels, position = piece % n_panels * width;
      float* to = panels + piece * kHead * width;
      const int count = static_cast<int>(std::min<int64_t>(width, positions - position));
      for (int j = 0; j < count; j++) {
        const float* from = k + (position + j) * ldk + head * kHead;
        for (int d = 0; d < kHead; d++) to[d * width + j] = from[d];
      }
      for (int d = 0; count < width && d < kHead; d++) std::fill(to + d * width + count, to + (d + 1) * width, 0.0f);
    }
  });
}

int64_t attention_scratch(int positions) {
  return int64_t{kRowBlock} * ((positions + kMostPanel - 1) / kMostPanel * kMostPanel);
}

void attention(Team& team, const float* q, int64_t ldq, int m, const float* key_panels, const float* v, int64_t ldv,
               int heads, int positions, float* scratch, const ScoresWanted* wanted, float* y) {
  const Loops& loop = loops();
  const int width = loop.panel, n_panels = (positions + width - 1) / width, ld = n_panels * width;
  const int64_t blocks = (m + kRowBlock - 1) / kRowBlock, ldy = int64_t{heads} * kHead;
  team.parallel_for(heads * blocks, 1, [&](int64_t first, int64_t last, int thread) {
    float* scores = scratch + thread * attention_scratch(positions);
    for (int64_t piece = first; piece < last; piece++) {
      const int64_t head = piece / blocks, row = piece % blocks * kRowBlock;
      const int rows = static_cast<int>(std::min<int64_t>(kRowBlock, m - row));
      for (int panel = 0; panel < n_panels; panel++) {
        loop.multiply(q + row * ldq + head * kHead, ldq, key_panels + (head * n_panels + panel) * kHead * width, width,
                      nullptr, scores + panel * width, ld, rows, kHead);
      }
      for (int h = 0; wanted && h < wanted->n_heads; h++) {
        if (wanted->heads[h] != head) continue;
        for (int i = 0; i < rows; i++) std::copy_n(scores + i * ld, wanted->n, wanted->out[h] + (row + i) * wanted->n);
      }
      for (int i = 0; i < rows; i++) loop.softmax(scores + i * ld, positions);
      for (int d = 0; d < kHead; d += width) {
        loop.multiply(scores, ld, v + head * kHead + d, ldv, nullptr, y + row * ldy + head * kHead + d, ldy, rows,
                      positions);
      }
    }
  });
}

}  // namespace sotto::reference
