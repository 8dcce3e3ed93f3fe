// The decoder's lists of launches from end to end against the plain network: prompts, steps of slots that join and leave,
// alignment. The window's keys and values are the plain network's, rounded.
#include "kernels/cuda/decode_step.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "cuda/decoder_data.h"
#include "cuda/device.h"
#include "kernels/cuda/shapes.h"
#include "kernels/network.h"
#include "kernels/reference/model.h"
#include "kernels/reference/ops.h"
#include "kernels/synthetic.h"

using namespace sotto;
using namespace sotto::cuda;
using namespace sotto::test;

namespace {

constexpr int kSlots = 3, kMaxSlotRows = 5;

// What a host does with the lists.
class DecoderHost {
 public:
  DecoderHost(std::shared_ptr<const Weights> weights, WeightType type)
      : weights_(std::move(weights)), dims_(weights_->dims), special_(special_tokens(dims_.vocabulary)),
        plan_{dims_, type, kSlots, kMaxSlotRows, int(weights_->alignment_heads.size())},
        blob_(decoder_weights_bytes(dims_, type)), memory_(decoder_buffers_bytes(plan_)),
        cross_k_(kSlots * window()), cross_v_(kSlots * window()), mail_(kSlots), probabilities_(kMaxStepRows),
        n_prompt_(kSlots), suppress_(kSlots) {
    std::vector<std::byte> blob(blob_.size());
    pack_decoder(*weights_, type, team_, blob.data());
    device().copy_to_device(address(blob_), blob.data(), blob.size());
    device().synchronize();
    memory_.fill(0);
    decoder_ = {plan_, decoder_weights(dims_, type, blob_.data()), decoder_buffers(plan_, memory_.data()), cross_k_.data(),
                cross_v_.data()};
  }

  WeightType type() const { return plan_.type; }
  int64_t window() const { return dims_.decoder_layers * dims_.heads * kHeadSize; }

  // encoded: [1500][width].
  void set_window(int slot, const std::vector<float>& encoded, const reference::Model& plain) {
    const int width = dims_.width;
    std::vector<uint16_t> k(window(), 0xffff), v(window(), 0xffff);
    std::vector<float> kv(int64_t{kAudioContext} * 2 * width);
    for (int layer = 0; layer < dims_.decoder_layers; layer++) {
      reference::product(team_, plain.decoder[layer].cross_kv, encoded.data(), width, kAudioContext, reference::Then::store,
                         kv.data());
      for (int t = 0; t < kAudioContext; t++) {
        for (int c = 0; c < width; c++) {
          const int64_t at = (layer * dims_.heads + c / kHead) * kHeadSize + t * kHead +
                             ((c % kHead / 8) ^ (t % 8)) * 8 + c % 8;
          k[at] = half(kv[int64_t{t} * 2 * width + c]);
          v[at] = half(kv[int64_t{t} * 2 * width + width + c]);
        }
      }
    }
    device().copy_to_device(address(cross_k_) + slot * window() * 2, k.data(), k.size() * 2);
    device().copy_to_device(address(cross_v_) + slot * window() * 2, v.data(), v.size() * 2);
    device().synchronize();
  }

  Beginning begin(int slot, const std::vector<int>& prompt, const Settings& settings) {
    auto rows = std::make_unique<SlotRows>();
    std::memset(rows.get(), 0, sizeof(SlotRows));
    uint32_t* suppress = decoder_.buffers.suppress + slot * suppress_words(dims_.vocabulary);
    if (settings.suppress) put(suppress, settings.suppress->data(), settings.suppress->size() * 4);
    rows->rules = {dims_.vocabulary, special_.eot, special_.no_timestamps, special_.first_timestamp,
                   settings.max_initial_timestamp, settings.timestamps, settings.suppress_blank,
                   settings.suppress ? suppress : nullptr};
    rows->temperature = settings.temperature;
    rows->sample_key = settings.sample_key;
    rows->n_rows = settings.rows;
    rows->max_finished = finished_wanted(settings.rows, settings.patience);
    rows->token_limit = std::min<int>(settings.token_limit, kTextContext + 1 - std::ssize(prompt));
    start_rows(*rows);
    put(decoder_.buffers.rows + slot, rows.get(), offsetof(SlotRows, token));
    const SlotState state = {int(prompt.size()), prompt.back(), 1, 0, 0};
    put(decoder_.buffers.slots + slot, &state, sizeof state);
    n_prompt_[slot] = int(prompt.size());
    const int sot = int(std::find(prompt.begin(), prompt.end(), special_.sot) - prompt.begin());
    Beginning beginning;
    feed(slot, prompt, {}, [&](int first, int n) {
      if (sot < first || sot >= first + n) return;
      beginning.no_speech_prob = probabilities({sot - first}, {-1})[0].no_speech;
    });
    return beginning;
  }

  void stop(int slot) {
    const int32_t no = 0;
    put(&decoder_.buffers.slots[slot].stepping, &no, 4);
  }

  void step(int row_class) {
    launch_all(step_launches(decoder_, {0, kSlots, row_class, kSlots}, mail_.data()));
  }
  SlotMail mail(int slot) const { return mail_.host()[slot]; }

  std::vector<Hypothesis> hypotheses(int slot) const {
    const auto rows = std::make_unique<SlotRows>();
    get(rows.get(), decoder_.buffers.rows + slot, sizeof(SlotRows));
    std::vector<Hypothesis> result;
    const auto add = [&](int n, int row, float sum, bool finished) {
      result.push_back({std::vector<int>(n), sum, finished});
      row_tokens(*rows, n, row, result.back().tokens.data());
    };
    for (int i = 0; i < rows->n_finished; i++) {
      add(rows->finished[i].n_tokens, rows->finished[i].row, rows->finished[i].sum_log_prob, rows->finished[i].reached_eot);
    }
    for (int i = 0; i < rows->n_live && std::ssize(result) < rows->n_rows; i++) {
      add(rows->n_sampled, i, rows->row[i].sum_log_prob, false);
    }
    return result;
  }

  // logits: gets those of all tokens, [n][vocabulary].
  Alignment align(int slot, const std::vector<int>& tokens, int n_frames, std::vector<float>& logits) {
    stop(slot);
    const int heads = plan_.alignment_heads, n_tokens = int(tokens.size());
    Alignment result = {heads, n_tokens, n_frames, std::vector<float>(size_t(heads) * n_tokens * n_frames),
                        std::vector<float>(n_tokens)};
    feed(slot, tokens, weights_->alignment_heads, [&](int first, int n) {
      std::vector<float> scores(size_t(heads) * kMaxStepRows * kRows);
      get(scores.data(), decoder_.buffers.scores, scores.size() * 4);
      std::vector<int32_t> rows, next;
      for (int i = 0; i < n; i++) {
        rows.push_back(i);
        next.push_back(first + i + 1 < n_tokens ? tokens[first + i + 1] : -1);
        for (int h = 0; h < heads; h++) {
          std::copy_n(scores.data() + (size_t(h) * kMaxStepRows + i) * kRows, n_frames,
                      result.qk.data() + (size_t(h) * n_tokens + first + i) * n_frames);
        }
      }
      const std::vector<RowProbabilities> found = probabilities(rows, next);
      for (int i = 0; i < n && first + i + 1 < n_tokens; i++) result.token_probs[first + i + 1] = found[i].next;
      const int padded = padded_vocabulary(dims_.vocabulary);
      std::vector<float> all(size_t(n) * padded);
      get(all.data(), decoder_.buffers.logits, all.size() * 4);
      for (int i = 0; i < n; i++) {
        logits.insert(logits.end(), all.begin() + i * padded, all.begin() + i * padded + dims_.vocabulary);
      }
    });
    return result;
  }

 private:
  uint16_t half(float value) const {
    return plan_.type == WeightType::bf16 ? from_float<bf16>(value).bits : from_float<f16>(value).bits;
  }
  static void put(void* to, const void* from, size_t bytes) {
    device().copy_to_device(reinterpret_cast<DevicePointer>(to), from, bytes);
    device().synchronize();
  }
  static void get(void* to, const void* from, size_t bytes) {
    device().copy_to_host(to, reinterpret_cast<DevicePointer>(from), bytes);
    device().synchronize();
  }
  static void launch_all(const std::vector<Launch>& launches) {
    for (const Launch& next : launches) device().launch_bytes(next.kernel.c_str(), next.shape, next.args.data());
    device().synchronize();
  }

  // A sequence in pieces; after(first, n) sees each.
  template <class After>
  void feed(int slot, const std::vector<int>& tokens, const std::vector<std::pair<int, int>>& heads, const After& after) {
    std::vector<uint8_t> nowhere(kMaxSlotRows * kTextContext);
    put(decoder_.buffers.where + slot * nowhere.size(), nowhere.data(), nowhere.size());
    constexpr int kPiece = 48;  // so that a long one takes more than one
    for (int first = 0; first < std::ssize(tokens); first += kPiece) {
      StepTable table = {};
      for (int i = first; i < std::min<int>(first + kPiece, tokens.size()); i++) {
        if (table.n_rows % kGroupRows == 0) table.group[table.n_groups++] = {slot, table.n_rows, 0};
        table.group[table.n_groups - 1].n_rows++;
        table.row[table.n_rows++] = {slot, 0, i, tokens[i]};
      }
      put(decoder_.buffers.table, &table, sizeof table);
      launch_all(prompt_launches(decoder_, row_class(table.n_rows), table.n_groups, heads));
      after(first, table.n_rows);
    }
  }

  std::vector<RowProbabilities> probabilities(const std::vector<int32_t>& rows, const std::vector<int32_t>& next) {
    put(decoder_.buffers.wanted, rows.data(), rows.size() * 4);
    put(decoder_.buffers.next, next.data(), next.size() * 4);
    launch_all(wanted_launches(decoder_, int(rows.size()), probabilities_.data()));
    return probabilities_.host();
  }

  Team team_{0};
  std::shared_ptr<const Weights> weights_;
  const Dims dims_;
  const SpecialTokens special_;
  const DecoderPlan plan_;
  DeviceArray<std::byte> blob_, memory_;
  DeviceArray<uint16_t> cross_k_, cross_v_;
  DeviceArray<SlotMail> mail_;
  DeviceArray<RowProbabilities> probabilities_;
  std::vector<int> n_prompt_;
  std::vector<TokenSet> suppress_;
  Decoder decoder_;
};

// The same weights with the decoder's matrices rounded to what int8 keeps of them, so that the plain network has them too.
std::shared_ptr<const Weights> rounded_to_int8(const std::shared_ptr<const Weights>& from) {
  struct Rounded {
    Weights weights;
    std::shared_ptr<const Weights> from;
    std::deque<std::vector<float>> storage;
  };
  const auto made = std::make_shared<Rounded>(Rounded{*from, from, {}});
  const auto round = [&](Stored& matrix) {
    const int k = int(matrix.cols);
    std::vector<float>& values = made->storage.emplace_back(read_all(matrix));
    values.resize(round_up(matrix.rows, 16) * k);
    std::vector<std::byte> tiles(tiles_bytes(16, k, WeightType::i8));
    float scale[16];
    for (int64_t row = 0; row < matrix.rows; row += 16) {
      pack_tile_row(values.data() + row * k, k, WeightType::i8, tiles.data(), scale);
    }
    matrix = {reinterpret_cast<const std::byte*>(values.data()), Encoding::f32, matrix.rows, matrix.cols};
  };
  for (DecoderBlock& block : made->weights.decoder) {
    for (Linear* linear : {&block.attn.query, &block.attn.key, &block.attn.value, &block.attn.out, &block.cross_attn.query,
                           &block.cross_attn.out, &block.fc1, &block.fc2}) {
      round(linear->weight);
    }
  }
  round(made->weights.token_embedding);
  return {made, &made->weights};
}

// The plain network and the kernels, holding the same windows.
struct Pair {
  std::shared_ptr<const Weights> weights;
  std::unique_ptr<Network> plain;
  DecoderHost driver;

  Pair(const Dims& dims, WeightType type, int windows = kSlots)
      : weights(type == WeightType::i8 ? rounded_to_int8(synthetic_weights(dims, 3)) : synthetic_weights(dims, 3)),
        plain(open_network(weights, {.slots = kSlots, .max_rows = kMaxSlotRows, .engine = "reference"})),
        driver(weights, type) {
    Team team(0);
    const reference::Model model = reference::read_model(weights, team);
    for (int slot = 0; slot < windows; slot++) {
      const std::vector<float> mel = synthetic_mel(dims.mel_bins, 10 + slot);
      const float* mels[] = {mel.data()};
      plain->encode(mels, std::vector<int>{slot});
      driver.set_window(slot, plain->encoder_output(slot), model);
    }
  }

  void begin(int slot, const std::vector<int>& prompt, const Settings& settings) {
    const Beginning want = plain->begin(std::vector<int>{slot}, std::vector<std::vector<int>>{prompt},
                                        std::vector<Settings>{settings})[0];
    const Beginning got = driver.begin(slot, prompt, settings);
    CHECK(got.no_speech_prob == doctest::Approx(want.no_speech_prob).epsilon(0.02));
  }

  void check_alignment(int slot, const std::vector<int>& tokens) {
    const double bound = driver.type() == WeightType::bf16 ? 2e-2 : 3e-3;
    std::vector<float> logits;
    const Alignment want = plain->align(slot, tokens, 777), got = driver.align(slot, tokens, 777, logits);
    CHECK(relative_error(got.qk, want.qk) < bound);
    CHECK(relative_error(logits, plain->logits(slot, tokens)) < bound);
    // Of the synthetic embedding's logits, which reach 30, an error within the bound may be a tenth of a probability. So
    // probabilities are held to these very logits: only the exponentials and their sums are f32's.
    const int vocabulary = plain->dims().vocabulary, eot = special_tokens(vocabulary).eot;
    std::vector<float> expected(tokens.size());
    for (size_t i = 1; i < tokens.size(); i++) {
      const float* row = logits.data() + (i - 1) * vocabulary;
      double sum = 0;
      for (int t = 0; t < eot; t++) sum += std::exp(double(row[t]));
      expected[i] = tokens[i] < eot ? float(std::exp(double(row[tokens[i]])) / sum) : 0;
    }
    CHECK(relative_error(got.token_probs, expected) < 2e-5);
  }

  void check_hypotheses(int slot) const {
    CAPTURE(slot);
    const std::vector<Hypothesis> want = plain->hypotheses(slot), got = driver.hypotheses(slot);
    REQUIRE(got.size() == want.size());
    for (size_t i = 0; i < want.size(); i++) {
      CHECK(got[i].tokens == want[i].tokens);
      CHECK(got[i].finished == want[i].finished);
      CHECK(got[i].sum_log_prob == doctest::Approx(want[i].sum_log_prob).epsilon(0.003));
    }
  }
};

Settings settings(int rows, int token_limit) {
  Settings result;
  result.rows = rows;
  result.token_limit = token_limit;
  return result;
}

void check_decoding(WeightType type) {
  const Dims dims = {.width = 384, .heads = 6, .encoder_layers = 1, .decoder_layers = 2, .mel_bins = 80, .vocabulary = 51864};
  const SpecialTokens special = special_tokens(dims.vocabulary);
  Pair pair(dims, type);
  std::vector<int> with_previous = {special.sot_prev};
  for (int i = 0; i < 60; i++) with_previous.push_back(1000 + 331 * i);
  with_previous.push_back(special.sot);
  pair.begin(0, {special.sot}, settings(1, 20));
  pair.begin(1, with_previous, settings(5, 20));
  for (int step = 0; step < 22; step++) {
    CAPTURE(step);
    if (step == 2) pair.begin(2, {special.sot}, settings(5, 12));
    if (step == 5) {
      pair.plain->stop(0);
      pair.driver.stop(0);
      pair.check_hypotheses(0);
    }
    if (step == 7) pair.begin(0, with_previous, settings(4, 6));
    const std::vector<Progress> want = pair.plain->step();
    pair.driver.step(16);
    for (const Progress& progress : want) {
      CAPTURE(progress.slot);
      const SlotMail mail = pair.driver.mail(progress.slot);
      REQUIRE(mail.n_rows == std::ssize(progress.rows));
      CHECK(mail.done == progress.finished);
      for (int i = 0; i < mail.n_rows; i++) {
        CHECK(mail.row[i].token == progress.rows[i].token);
        CHECK(mail.row[i].parent == progress.rows[i].parent);
        CHECK(mail.row[i].log_prob == doctest::Approx(progress.rows[i].log_prob).epsilon(0.01));
      }
    }
  }
  for (int slot = 0; slot < kSlots; slot++) pair.check_hypotheses(slot);

  with_previous.insert(with_previous.end(), {50363, 11, 500, 7000, special.eot});
  pair.check_alignment(1, with_previous);
}

}  // namespace

TEST_CASE("decoder from end to end: the plain network's tokens, greedy and beams, slots that join and leave") {
  check_decoding(WeightType::f16);
}

TEST_CASE("full: decoder from end to end: int8 weights give the tokens of a plain network that has the same") {
  check_decoding(WeightType::i8);
}

TEST_CASE("full: decoder from end to end: alignment at every width and type") {
  for (int width : widths()) {
    const Dims dims = {.width = width, .heads = width / kHead, .encoder_layers = 1, .decoder_layers = 2, .mel_bins = 80,
                       .vocabulary = width == 1280 ? 51866 : 51865};
    const SpecialTokens special = special_tokens(dims.vocabulary);
    for (WeightType type : {WeightType::f16, WeightType::bf16, WeightType::i8}) {
      CAPTURE(width);
      CAPTURE(int(type));
      Pair pair(dims, type, 1);
      pair.check_alignment(0, {special.sot, special.first_language, special.transcribe, 400, 600, 800, special.eot});
    }
  }
}
