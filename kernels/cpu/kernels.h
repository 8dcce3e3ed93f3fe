// What an instruction set brings to the engine: one table of functions, filled by one file for each set. The code of all
// of them is the same (generic_*.h), compiled once for each with that set's vector type.
//
// Packed operands. A product C[rows][n] = A[rows][k] B[k][n] reads B in panels of `panel` columns:
//   [n / panel][k / per_group][panel][4 bytes]
// where 4 bytes are one group of a column: 1 f32, 2 bf16 or 4 int8 values that follow each other in k (f16: 2 bytes, one
// value). Keys are packed the same way (n: keys, k: the head's 64 values), values of a head too (n: 64, k: keys). Int8 keys
// and values are followed by the scale of each key [keys], int8 keys then by where their sums start [keys].
// Each sum runs through k in order, whatever the number of rows: a row's result doesn't depend on its company.
#pragma once

#include <cstdint>

namespace sotto::cpu {

enum class Type : uint8_t {
  f32,   // A and B f32
  f16,   // A f32, B f16: half the bytes, the same values where the weights were f16 to begin with
  bf16,  // A and B bf16, sums in f32
  i8,    // A u8, B int8, sums in int32: each kScaled values of a row of A, and of a column of B, have a scale of their own
};
constexpr int kScaled = 128;
constexpr int scales_of(int k) { return (k + kScaled - 1) / kScaled; }
constexpr int kTypes = 4;

constexpr int values_per_group(Type type) { return type == Type::bf16 ? 2 : type == Type::i8 ? 4 : 1; }
constexpr int group_bytes(Type type) { return type == Type::f16 ? 2 : 4; }  // of one column of B
constexpr int operand_bytes(Type type) { return type == Type::bf16 ? 2 : type == Type::i8 ? 1 : 4; }  // of a value of A

enum class Epilogue : uint8_t {
  store,  // c = sum + bias
  add,    // c += sum + bias
  gelu,   // c = gelu(sum + bias), with the error function
};

struct Product {
  const void* a = nullptr;        // [rows][k], rows a_stride bytes apart (they may overlap: a convolution)
  int64_t a_stride = 0;
  const float* a_scale = nullptr;  // i8: [rows][scales_of(k)], rows a_scale_stride floats apart
  int64_t a_scale_stride = 0;
  int rows = 0;
  const void* b = nullptr;        // packed panels; the first is panel 0 of the matrix
  int groups = 0;                 // k / per_group
  int64_t b_panel_bytes = 0;      // from one panel to the next
  int first_panel = 0, last_panel = 0;
  const float* bias = nullptr;    // [n], or null
  const float* b_scale = nullptr;   // i8: [scales_of(k)][n padded to panels]
  const int32_t* b_start = nullptr;  // i8: the same, where sums start: undoes the offset of A
  int64_t b_stride = 0;             // i8: n padded to panels
  bool goes_on = false;           // sums start from what c holds
  Epilogue epilogue = Epilogue::store;
  float* c = nullptr;             // [rows][n], rows c_stride floats apart
  int64_t c_stride = 0;
};

// How a row of f32 becomes an operand. i8, symmetric: (u - 128) * scale; after a GELU: u * scale - kGeluFloor.
enum class Range : uint8_t { symmetric, gelu };
constexpr float kGeluFloor = 0.17f;  // gelu(x) > -0.17 everywhere
constexpr int kOffset = 128;

struct Rows {
  const float* x = nullptr;  // [rows][width], rows x_stride floats apart
  int64_t x_stride = 0;
  int rows = 0;
  int width = 0;
  void* out = nullptr;       // [rows][width] of the operand type, rows out_stride bytes apart
  int64_t out_stride = 0;
  float* scale = nullptr;    // i8: [rows][scales_of(width)]
};

// Attention of one head: out[rows][64] = softmax(q kT / 8) v.
constexpr int kKeyBlock = 128;       // keys are packed for a multiple of so many
constexpr int kAttentionRows = 144;  // at most, in one call
constexpr int padded_keys(int n) { return (n + kKeyBlock - 1) / kKeyBlock * kKeyBlock; }

// Bytes of one head's packed keys or values.
constexpr int64_t keys_bytes(Type type, int n) {
  const int64_t keys = padded_keys(n);
  return keys * 64 * group_bytes(type) / values_per_group(type) + (type == Type::i8 ? keys * 8 : 0);
}
constexpr int64_t values_bytes(Type type, int n) {
  const int64_t keys = padded_keys(n);
  return keys * 64 * group_bytes(type) / values_per_group(type) + (type == Type::i8 ? keys * 4 : 0);
}

struct HeadAttention {
  const float* q = nullptr;  // [rows][64], rows q_stride floats apart
  int64_t q_stride = 0;
  int rows = 0;
  const void* k = nullptr;   // packed keys, padded_keys(n_keys) of them
  const void* v = nullptr;   // packed values, of padded_keys(n_keys) keys; those past n_keys are finite
  int n_keys = 0;
  float* out = nullptr;      // [rows][64], rows out_stride floats apart
  int64_t out_stride = 0;
  const void* next_k = nullptr;  // what is read after this: fetched ahead; any address will do
  const void* next_v = nullptr;
};

// Writes rows [first, first + rows) of one head's k or v, f32 rows x_stride floats apart, into packed panels.
struct PackHead {
  const float* x = nullptr;
  int64_t x_stride = 0;
  int first = 0, rows = 0;
  int n_keys = 0;            // of the whole panel set, padded
  void* out = nullptr;
};

// Attention of one decoder row and head over its own past: position t lies in row table[t] of the K/V store.
struct PastAttention {
  const float* q = nullptr;        // [64]
  const void* k = nullptr;         // [row][448][64] of f32 or f16
  const void* v = nullptr;
  const uint8_t* table = nullptr;  // [n]
  int n = 0;
  float* out = nullptr;            // [64]
};

// Of n logits, masked ones at -infinity: the largest, the sum of exp(logit - max), and how many places were listed.
struct LogitScan {
  float max, sum;
  int n_places;
};

constexpr int kScanLanes = 64;

constexpr int kMultiplyFloats = 512;

struct Kernels {
  const char* name;
  int panel;             // columns of a panel
  bool native_bf16;      // product and attention of bf16 exist
  bool native_i8;        // there is one instruction for four products of bytes
  Type half_storage;     // what K/V is kept in below f32 precision: f16, or f32 where there is no conversion
  void (*product[kTypes])(const Product&);
  void (*norm[kTypes])(const Rows&, const float* weight, const float* bias);  // LayerNorm, then the operand
  void (*operand[kTypes])(const Rows&, Range range);  // f32 and f16: copies
  // i8: the rows, and as other rows what rounding takes from them, in finer steps. A product of `rest` goes on with the sums
  // of the first; of Range::gelu, it takes no part of the bias.
  void (*operand_and_rest)(const Rows&, const Rows& rest, Range range);
  void (*attention[kTypes])(const HeadAttention&);  // by the type of k and v; of int8, weights are rounded to bytes, too
  void (*pack_keys[kTypes])(const PackHead&);
  void (*pack_values[kTypes])(const PackHead&);
  void (*past_attention[kTypes])(const PastAttention&);     // by the type of k and v: f32, or f16
  void (*store_past[kTypes])(const float* x, void* out);    // 64 values of a key or value in that type
  // Lists in order the places of some logits that the `wanted` (to kScanLanes) largest are surely among; mostly few more
  // than those. places: room for n.
  LogitScan (*scan)(const float* logits, int n, int wanted, int32_t* places);
  // For measuring a machine's limits: `steps` rounds of multiply-adds that never leave the registers, with values of x
  // [kMultiplyFloats], and how many operations a round is; a sum over n values (a multiple of 128), each read once.
  float (*multiply[kTypes])(int64_t steps, const float* x);
  int multiply_ops[kTypes];
  float (*read)(const float* x, int64_t n);
};

}  // namespace sotto::cpu
