// The operations that encoder and decoder are made of. Each writes its last-named result; x and y are row-major f32.
#pragma once

#include <cstdint>

#include "kernels/reference/model.h"
#include "kernels/team.h"

namespace sotto::reference {

enum class Then { store, gelu, add };  // what becomes of a product: y = p, y = gelu(p), y = y + p

// y [m][n] = x [m][k] W^T + b. ldx: floats from one row of x to the next (less than k where rows overlap).
void product(Team& team, const Matrix& w, const float* x, int64_t ldx, int m, Then then, float* y);

// y = (x - mean) / sqrt(variance + 1e-5) * weight + bias of each row; x, y: [m][width].
void layer_norm(Team& team, const LayerNorm& norm, const float* x, int m, int width, float* y);

// Keys as panels, so that scores are products: [head][position / panel][64][panel], zeros past the last position.
int64_t key_panels_size(int heads, int positions);
void pack_keys(Team& team, const float* k, int64_t ldk, int heads, int positions, float* panels);

// Where to put scores before the softmax: of one head, [m][n] for each of some heads.
struct ScoresWanted {
  const int* heads;  // of this layer
  int n_heads;
  int n;             // positions
  float* const* out; // [n_heads] pointers to [m][n]
};

// y [m][heads * 64] = softmax(q k^T) v, each head apart, over all positions. q carries the scale. v: [positions] rows
// of ldv floats. scratch: [threads][attention_scratch(positions)]; never holds all of m x positions.
int64_t attention_scratch(int positions);
void attention(Team& team, const float* q, int64_t ldq, int m, const float* key_panels, const float* v, int64_t ldv,
               int heads, int positions, float* scratch, const ScoresWanted* wanted, float* y);

}  // namespace sotto::reference
