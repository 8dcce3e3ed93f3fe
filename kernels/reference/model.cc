#include "kernels/reference/model.h"

#include <sys/mman.h>

#include <algorithm>
#include <initializer_list>
#include <span>
#include <utility>

#include "models/error.h"

namespace sotto::reference {
namespace {

// q and k are each scaled by 64^-1/4 in the reference; 1/8 on q alone is the same, and exact in binary.
constexpr float kScoreScale = 0.125f;

int panels_of(int n) { return (n + loops().panel - 1) / loops().panel; }

// One of the matrices that are stacked into a Matrix.
struct Part {
  const Linear& linear;
  float scale = 1;
};

// Writes rows [first, first + count) of a part, which start at `column` of the stack, into the panels. A row of `taps`
// values a channel ([channel][tap]) becomes [tap][channel].
void pack_rows(const Part& part, int64_t first, int64_t count, int64_t column, int taps, Matrix& into) {
  const int panel = loops().panel;
  const int64_t channels = into.k / taps;
  std::vector<float> rows(count * into.k);
  read_rows(part.linear.weight, first, count, rows.data());
  for (int64_t i = 0; i < count; i++) {
    const int64_t n = column + first + i;
    float* to = into.panels.data() + n / panel * panel * into.k + n % panel;
    for (int64_t c = 0; c < channels; c++) {
      for (int64_t t = 0; t < taps; t++) to[(t * channels + c) * panel] = rows[i * into.k + c * taps + t] * part.scale;
    }
  }
}

Matrix pack(Team& team, std::initializer_list<Part> parts, int taps = 1) {
  const int panel = loops().panel;
  Matrix matrix;
  matrix.k = static_cast<int>(parts.begin()->linear.weight.cols);
  for (const Part& part : parts) matrix.n += static_cast<int>(part.linear.weight.rows);
  const int64_t padded = int64_t{panels_of(matrix.n)} * panel;
  matrix.panels = Floats(padded * matrix.k);
  matrix.bias = Floats(padded);
  std::fill_n(matrix.bias.data(), padded, 0.0f);
  std::fill_n(matrix.panels.data() + (padded - panel) * matrix.k, int64_t{panel} * matrix.k, 0.0f);
  int64_t column = 0;
  for (const Part& part : parts) {
    CHECK_INVARIANT(part.linear.weight.cols == matrix.k);
    team.parallel_for(part.linear.weight.rows, 64, [&](int64_t first, int64_t last, int) {
      for (; first < last; first += 64) {
        pack_rows(part, first, std::min<int64_t>(64, last - first), column, taps, matrix);
      }
    });
    if (part.linear.bias) {
      CHECK_INVARIANT(part.linear.bias.size() == part.linear.weight.rows);
      const std::vector<float> bias = read_all(part.linear.bias);
      for (size_t i = 0; i < bias.size(); i++) matrix.bias.data()[column + i] = bias[i] * part.scale;
    }
    column += part.linear.weight.rows;
  }
  return matrix;
}

LayerNorm read_norm(const Norm& norm) { return {read_all(norm.weight), read_all(norm.bias)}; }

EncoderLayer read_layer(Team& team, const EncoderBlock& from) {
  EncoderLayer layer;
  layer.attn_ln = read_norm(from.attn_ln);
  layer.qkv = pack(team, {{from.attn.query, kScoreScale}, {from.attn.key}, {from.attn.value}});
  layer.out = pack(team, {{from.attn.out}});
  layer.mlp_ln = read_norm(from.mlp_ln);
  layer.fc1 = pack(team, {{from.fc1}});
  layer.fc2 = pack(team, {{from.fc2}});
  return layer;
}

DecoderLayer read_layer(Team& team, const DecoderBlock& from) {
  DecoderLayer layer;
  layer.attn_ln = read_norm(from.attn_ln);
  layer.qkv = pack(team, {{from.attn.query, kScoreScale}, {from.attn.key}, {from.attn.value}});
  layer.out = pack(team, {{from.attn.out}});
  layer.cross_attn_ln = read_norm(from.cross_attn_ln);
  layer.cross_q = pack(team, {{from.cross_attn.query, kScoreScale}});
  layer.cross_kv = pack(team, {{from.cross_attn.key}, {from.cross_attn.value}});
  layer.cross_out = pack(team, {{from.cross_attn.out}});
  layer.mlp_ln = read_norm(from.mlp_ln);
  layer.fc1 = pack(team, {{from.fc1}});
  layer.fc2 = pack(team, {{from.fc2}});
  return layer;
}

}  // namespace

Floats::Floats(int64_t n) {
  constexpr size_t kHugePage = size_t{2} << 20;  // streams of weights run faster with few pages
  const size_t bytes = static_cast<size_t>(n) * sizeof(float), alignment = bytes >= 2 * kHugePage ? kHugePage : 64;
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  data_.reset(static_cast<float*>(std::aligned_alloc(alignment, rounded)));
  if (!data_) throw Error("out of memory: use a smaller model, or fewer windows and beams at once");
  if (alignment == kHugePage) madvise(data_.get(), rounded, MADV_HUGEPAGE);
}

Model read_model(std::shared_ptr<const Weights> weights, Team& team) {
  const Weights& from = *weights;
  Model model;
  model.dims = from.dims;
  model.conv1 = pack(team, {{from.conv1}}, 3);
  model.conv2 = pack(team, {{from.conv2}}, 3);
  model.encoder_positions = read_all(from.encoder_positions);
  for (const EncoderBlock& block : from.encoder) model.encoder.push_back(read_layer(team, block));
  model.encoder_ln = read_norm(from.encoder_ln);
  model.vocabulary = pack(team, {{Linear{from.token_embedding, {}}}});
  model.decoder_positions = read_all(from.decoder_positions);
  for (const DecoderBlock& block : from.decoder) model.decoder.push_back(read_layer(team, block));
  model.decoder_ln = read_norm(from.decoder_ln);
  model.weights = std::move(weights);
  return model;
}

}  // namespace sotto::reference
