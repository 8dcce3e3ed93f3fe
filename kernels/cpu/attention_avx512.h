// Attention of bytes with weights as words; included inside the namespace of AVX-512 with VNNI (see generic.h).
//
// Scores leave the product as f32 and are kept as 16-bit integers, steps of 1 / 512 in the exponent of 2 below what their
// row had as its largest: 32 of them at once become powers of 2 there, in fixed point (2^15 is 1, off by 0.2 %), and bytes.
// A block of keys has bytes relative to its own largest score, so that weights far below the row's largest keep their bits
// where many of them sum up.
// Roofline: for 16 scores 16 cycles of products, and 13 operations on the same two ports, where f32 takes 21.

constexpr float kSteps = 512;  // of a score, an exponent of 2

static inline vi pack_words(vi a, vi b) { return _mm512_packs_epi32(a, b); }  // 4 of each in turns, as store_u8 wants them
static inline vi load_words(const int16_t* x) { return _mm512_load_si512(x); }
static inline vi dot_words(vi sum, vi a, vi b) {
  asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  return sum;
}
static inline int largest_word(vi x) {
  const __m256i half = _mm256_max_epi16(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
  const __m128i quarter = _mm_max_epi16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  const __m128i turned = _mm_xor_si128(quarter, _mm_set1_epi16(0x7fff));  // the largest is the least unsigned one
  return int16_t(_mm_cvtsi128_si32(_mm_minpos_epu16(turned)) ^ 0x7fff);
}

// 2^(-x / 512) of words, none below 0.
static inline vi exp2_of_words(vi x) {
  const vi f = _mm512_and_si512(_mm512_slli_epi16(x, 6), _mm512_set1_epi16(0x7fff));
  vi p = _mm512_add_epi16(_mm512_mulhrs_epi16(f, _mm512_set1_epi16(5525)), _mm512_set1_epi16(-21824));
  p = _mm512_add_epi16(_mm512_mulhrs_epi16(f, p), _mm512_set1_epi16(32711));
  return _mm512_srlv_epi16(p, _mm512_srli_epi16(x, 9));
}

struct WordRows {  // what the rows of a tile have come to
  vf out[kTileRows][kVectors], total[kTileRows];
  float peak[kLanes], top[kLanes];  // scores are relative to peak; the largest of all: in steps
};

// Scores of a block of keys, as words relative to the rows' peaks, in the order of pack_words; the largest of each row.
static inline void word_scores(const vf (*sums)[kVectors], int rows, int keys, int16_t (*words)[kKeysRounded], int done) {
  for (int r = 0; r < rows; ++r) {
    vi x[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      x[v] = round_i32(sums[r][v]);
      if (keys < kPanel) {
        const int left = keys - v * kLanes;
        const __mmask16 there = left >= kLanes ? 0xffff : left > 0 ? (1 << left) - 1 : 0;
        x[v] = _mm512_mask_mov_epi32(splat_i32(-32768), there, x[v]);
      }
    }
    for (int v = 0; v < kVectors; v += 2) _mm512_store_si512(words[r] + done + v * kLanes, pack_words(x[v], x[v + 1]));
  }
}

// The largest word of each row. False if a row's scores are further from its peak than words hold: it has moved then.
static inline bool find_largest(int rows, int count, bool first, const int16_t (*words)[kKeysRounded], float* peak,
                                float* largest) {
  bool fits = true;
  for (int r = 0; r < rows; ++r) {
    vi most = load_words(words[r]);
    for (int i = 2 * kLanes; i < count; i += 2 * kLanes) most = _mm512_max_epi16(most, load_words(words[r] + i));
    const int word = largest_word(most);
    largest[r] = float(word);
    if (word < 32767 && (word > -32768 || !first)) continue;
    peak[r] += largest[r];
    fits = false;
  }
  return fits;
}

// Values' scales relative to their largest, which is returned, as factors that make bytes of weights. Of count keys
// `there` are.
static inline float value_factors(const float* scale, int there, int count, int16_t* factors) {
  float known[kKeysRounded];
  if (there < count) {
    for (int i = 0; i < count; ++i) known[i] = i < there ? scale[i] : 0;
    scale = known;
  }
  vf most = load_f32(scale);
  for (int i = kLanes; i < count; i += kLanes) most = max(most, load_f32(scale + i));
  const float peak = largest_of(most);
  const vf to_bytes = splat(255 / peak);
  for (int i = 0; i < count; i += 2 * kLanes)
    _mm512_store_si512(factors + i, pack_words(round_i32(load_f32(scale + i) * to_bytes),
                                               round_i32(load_f32(scale + i + kLanes) * to_bytes)));
  return peak;
}

// A row's scores as bytes of weights times values' scales; returns the sums of the weights, 2^15 being 1.
static inline vi weigh_words(const int16_t* words, int count, int largest, const int16_t* of_value, uint8_t* bytes) {
  const vi most = _mm512_set1_epi16(int16_t(largest));
  const vi order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  vi total = splat_i32(0);
  for (int i = 0; i < count; i += 4 * kLanes) {
    vi halves[2];
    for (int j = 0; j < 2; ++j) {
      const int at = i + j * 2 * kLanes;
      const vi weights = exp2_of_words(_mm512_subs_epi16(most, load_words(words + at)));
      total = dot_words(total, weights, _mm512_set1_epi16(1));
      halves[j] = _mm512_mulhrs_epi16(weights, load_words(of_value + at));
    }
    _mm512_store_si512(bytes + i, _mm512_permutexvar_epi32(order, _mm512_packus_epi16(halves[0], halves[1])));
  }
  return total;
}

static void attention_of_bytes(const HeadAttention& h) {
  constexpr int kTiles = kAttentionRows / kTileRows;
  alignas(64) uint8_t q[kAttentionRows][kHead64];
  alignas(64) int16_t words[kTileRows][kKeysRounded], of_value[kKeysRounded];
  alignas(64) uint8_t rounded[kTileRows][kKeysRounded];
  alignas(64) float largest[kLanes] = {}, shrink[kLanes], factor[kLanes], scale[kLanes], ones[kPanel];
  float q_scale[kAttentionRows];
  int32_t zeros[kPanel];
  WordRows tiles[kTiles];
  vf sums[kTileRows][kVectors];
  for (int i = 0; i < kPanel; ++i) ones[i] = 1, zeros[i] = 0;
  for (int r = 0; r < h.rows; ++r)
    q_scale[r] = to_factor(OfI8{}, h.q + r * h.q_stride, kHead64, reinterpret_cast<char*>(q[r]), kLog2e / 8 * kSteps);
  for (int row = 0; row < h.rows; row += kTileRows) {
    WordRows& tile = tiles[row / kTileRows];
    for (int i = 0; i < kLanes; ++i) tile.peak[i] = 0, tile.top[i] = -1e30f;
    for (int r = 0; r < kTileRows; ++r) {
      tile.total[r] = splat(0);
      for (vf& out : tile.out[r]) out = splat(0);
    }
  }
  const int all_keys = padded_keys(h.n_keys);
  const char *keys = static_cast<const char*>(h.k), *values = static_cast<const char*>(h.v);
  const auto* key_scale = reinterpret_cast<const float*>(keys + int64_t(all_keys) * kHead64);
  const auto* key_start = reinterpret_cast<const int32_t*>(key_scale + all_keys);
  const auto* value_scale = reinterpret_cast<const float*>(values + int64_t(all_keys) * kHead64);
  for (int key = 0; key < h.n_keys; key += kKeysRounded) {
    const int left = h.n_keys - key, count = left > kPanel ? kKeysRounded : kPanel;
    const float value_peak = value_factors(value_scale + key, left, count, of_value);
    const bool last = left <= kKeysRounded;
    const char* next_keys = last ? static_cast<const char*>(h.next_k) : keys + int64_t(key + count) * kHead64;
    const char* next_values = last ? static_cast<const char*>(h.next_v) : values + int64_t(key + count) * kPanel;
    for (int row = 0; row < h.rows; row += kTileRows) {
      const int rows = h.rows - row < kTileRows ? h.rows - row : kTileRows;
      WordRows& tile = tiles[row / kTileRows];
      bool fits = false;
      for (int tries = 0; !fits && tries < 64; ++tries) {  // one, but for a first peak; scores that are no numbers end it
        for (int done = 0; done < count; done += kPanel) {
          const int first = key + done;
          for (int r = 0; r < rows; ++r)
            for (int v = 0; v < kVectors; ++v) sums[r][v] = splat(-tile.peak[r]);
          any_tile<OfI8>(rows, reinterpret_cast<char*>(q[row]), kHead64, keys + int64_t(first) * kHead64, kHead64 / 4,
                         {q_scale + row, 1, key_scale + first, key_start + first}, next_keys, sums);
          next_keys += kHead64 / 4 / kAheadSteps * 64;
          word_scores(sums, rows, left - done, words, done);
        }
        fits = find_largest(rows, count, key == 0, words, tile.peak, largest);
      }
      const vf top = load_f32(tile.top), block_top = load_f32(tile.peak) + load_f32(largest), new_top = max(top, block_top);
      store_f32(tile.top, new_top);
      store_f32(tile.peak, new_top);
      store_f32(shrink, exp2_negative((top - new_top) * splat(1 / kSteps)));
      const vf of_block = exp2_negative((block_top - new_top) * splat(1 / kSteps));
      store_f32(factor, of_block * splat(1.0f / 32768));
      store_f32(scale, of_block * splat(value_peak / 255));
      for (int r = 0; r < rows; ++r) {
        const vi total = weigh_words(words[r], count, int(largest[r]), of_value, rounded[r]);
        const vf smaller = splat(shrink[r]);
        tile.total[r] = fma(from_i32(total), splat(factor[r]), tile.total[r] * smaller);
        for (int v = 0; v < kVectors; ++v) tile.out[r][v] = tile.out[r][v] * smaller;
      }
      any_tile<OfI8>(rows, reinterpret_cast<char*>(rounded[0]), kKeysRounded, values + int64_t(key) * kPanel, count / 4,
                     {scale, 1, ones, zeros}, next_values, tile.out);
      next_values += count / 4 / kAheadSteps * 64;
    }
  }
  for (int r = 0; r < h.rows; ++r) {
    const WordRows& tile = tiles[r / kTileRows];
    const int at = r % kTileRows;
    const vf whole = splat(1 / sum_of(tile.total[at]));
    for (int v = 0; v < kVectors; ++v) store_f32(h.out + r * h.out_stride + v * kLanes, tile.out[at][v] * whole);
  }
}
