// From hidden states to rows: logits, scans and the end of a step, against kernels/decode.h on the host with the same
// logits. The model is a toy without layers: a row's logits are those of the embedding of its last token and position.
#include "kernels/cuda/logits.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "cuda/decoder_data.h"
#include "cuda/device.h"
#include "kernels/cuda/decoder_weights.h"
#include "kernels/cuda/embed.h"

using namespace sotto;
using namespace sotto::cuda;
using namespace sotto::test;

namespace {

// A small vocabulary with the places of the big ones; the tile with the first timestamp has text as well.
constexpr int kVocabulary = 1000, kEot = 600, kNoTimestamps = 640, kFirstTimestamp = 650, kPadded = 1024;
constexpr int kMaxSlotRows = 5;

class ToyModel {
 public:
  ToyModel(int width, WeightType type, int slots)
      : width(width), type(type), slots(slots), tiles_(tiles_bytes(kPadded, width, type)), scale_(kPadded), bias_(kPadded),
        gain_sum_(kPadded), gain_(width), positions_(kTextContext * width), x_(kMaxStepRows * width),
        moments_(kMaxStepRows * width / kMomentValues), operand_(kMaxStepRows * width), table(1), states(slots), rows(slots),
        suppress(slots * kVocabulary / 31), where(slots * kMaxSlotRows * kTextContext), mail(slots),
        masses_(kMaxStepRows * lists().n), picks_(kMaxStepRows * (kMaxSlotRows + 1) * lists().n) {
    std::vector<float> w = normal(kPadded * width, 1, 2.5f / std::sqrt(float(width))), scales(kPadded);
    std::vector<float> gain_sums(kPadded), bias(kPadded), gain = normal(width, 2, 0.2f, 1);
    std::vector<uint8_t> packed(tiles_.size());
    for (int tile = 0; tile < kPadded / 16; tile++) {
      pack_tile_row(w.data() + tile * 16 * width, width, type, packed.data() + tiles_bytes(16, width, type) * tile,
                    scales.data() + tile * 16);
    }
    for (int o = 0; o < kPadded; o++) {
      for (int i = 0; i < width; i++) gain_sums[o] += gain[i] * w[o * width + i];
      if (o == kEot) bias[o] = 4;
      if (o >= kFirstTimestamp) bias[o] = 1.5f;
      if (o >= kVocabulary) bias[o] = 100;  // padding: never looked at
    }
    put(tiles_, packed);
    put(scale_, scales);
    put(bias_, bias);
    put(gain_sum_, gain_sums);
    put(gain_, gain);
    put(positions_, normal(kTextContext * width, 3, 0.1f));
    where.fill(0);
    operand_.fill(0);
  }

  static constexpr LogitLists lists() { return logit_lists(kVocabulary, kFirstTimestamp); }
  template <class T>
  static void put(const DeviceArray<T>& to, const std::vector<T>& from) {
    device().copy_to_device(address(to), from.data(), from.size() * sizeof(T));
    device().synchronize();
  }

  ProductInput input(int row_blocks) const {
    return {table.data(), tiles_.data(), type == WeightType::i8 ? scale_.data() : nullptr, bias_.data(), operand_.data(),
            row_blocks};
  }
  NormInput norm() const { return {moments_.data(), gain_sum_.data()}; }

  void embed_step(int row_class) const {
    launch(embed_kernel(true, type, width).c_str(), embed_shape(row_class),
           EmbedArgs{table.data(), states.data(), rows.data(), 0, slots, tiles_.data(),
                     type == WeightType::i8 ? scale_.data() : nullptr, positions_.data(), gain_.data(), x_.data(),
                     operand_.data(), moments_.data()});
  }
  void scan(int row_class) const {
    const int of_block = block_rows(row_class);
    launch(logits_kernel(type, width, row_class).c_str(), logits_shape(kVocabulary, of_block, row_class / of_block),
           LogitsArgs{input(row_class / of_block), norm(), rows.data(), scans()});
  }
  std::vector<float> raw_logits() const {
    const DeviceArray<float> logits(kMaxStepRows * kPadded);
    launch(raw_logits_kernel(type, width).c_str(), logits_shape(kVocabulary, kRawRows, 2),
           RawLogitsArgs{input(2), norm(), logits.data(), kPadded});
    return logits.host();
  }
  void choose() const {
    launch(kChooseKernel, choose_shape(slots, lists().n),
           ChooseArgs{states.data(), rows.data(), where.data(), kMaxSlotRows, 0, scans(), nullptr, mail.data()});
  }
  LogitScans scans() const { return {masses_.data(), picks_.data(), kMaxSlotRows + 1, lists()}; }

  const int width;
  const WeightType type;
  const int slots;

 private:
  DeviceArray<uint8_t> tiles_;
  DeviceArray<float> scale_, bias_, gain_sum_, gain_, positions_, x_;
  DeviceArray<Moments> moments_;
  DeviceArray<uint16_t> operand_;

 public:
  DeviceArray<StepTable> table;
  DeviceArray<SlotState> states;
  DeviceArray<SlotRows> rows;
  DeviceArray<uint32_t> suppress;  // [slots][words]
  DeviceArray<uint8_t> where;
  DeviceArray<SlotMail> mail;

 private:
  DeviceArray<Mass> masses_;
  DeviceArray<Pick> picks_;
};

// What the host knows of a slot, by kernels/decode.h alone.
struct HostSlot {
  SlotRows rows;
  std::vector<uint32_t> suppress;
  std::vector<uint8_t> where, before;
  SlotState state;
  SlotMail mail;
};

struct Wish {
  int n_rows;
  float patience, temperature;
  bool timestamps;
  int n_prompt, token_limit;
};

std::unique_ptr<HostSlot> start(const ToyModel& model, int index, const Wish& wish) {
  auto slot = std::make_unique<HostSlot>();
  std::memset(&slot->rows, 0, sizeof slot->rows);
  slot->suppress.resize(kVocabulary / 31);
  for (int i = 0; i < 40; i++) slot->suppress[(index * 7 + i * 13) % kVocabulary / 32] |= 1u << i % 32;
  slot->rows.rules = {kVocabulary, kEot, kNoTimestamps, kFirstTimestamp, 50, wish.timestamps, true, slot->suppress.data()};
  slot->rows.temperature = wish.temperature;
  slot->rows.sample_key = 1234 + index;
  slot->rows.n_rows = wish.n_rows;
  slot->rows.max_finished = finished_wanted(wish.n_rows, wish.patience);
  slot->rows.token_limit = wish.token_limit;
  start_rows(slot->rows);
  slot->where.resize(kMaxSlotRows * kTextContext + 1);
  slot->before.resize(kMaxSlotRows * kTextContext + 1);
  slot->state = {wish.n_prompt, 17 + index, 1, 0, 0};
  // The same on the device.
  const size_t words = slot->suppress.size();
  device().copy_to_device(address(model.suppress) + index * words * 4, slot->suppress.data(), words * 4);
  auto copy = std::make_unique<SlotRows>(slot->rows);
  copy->rules.suppress = model.suppress.data() + index * words;
  device().copy_to_device(address(model.rows) + index * sizeof(SlotRows), copy.get(), sizeof(SlotRows));
  device().copy_to_device(address(model.states) + index * sizeof(SlotState), &slot->state, sizeof(SlotState));
  device().synchronize();
  return slot;
}

// One step on the host. logits: of the slot's rows, [n_live][kPadded].
void step(HostSlot& slot, const float* logits) {
  SlotRows& rows = slot.rows;
  const int limit = choices_wanted(rows), n_before = rows.n_sampled;
  std::vector<Choices> choices(rows.n_live);
  for (int i = 0; i < rows.n_live; i++) {
    Scan all;
    clear_scan(all);
    for (int first = 0; first < kVocabulary; first += kLogitTile) {
      Scan part;
      clear_scan(part);
      scan_part(rows.rules, allowed_next(rows.rules, rows.row[i]), ranking_of(rows, i), logits + i * kPadded, first,
                std::min(first + kLogitTile, kVocabulary), limit, part);
      merge_scans(all, part, limit);
    }
    choose(rows.rules, all, limit, choices[i]);
  }
  std::vector<SlotMail::Row> ended;
  for (int i = 0; limit == 1 && i < rows.n_live; i++) {
    if (choices[i].n == 0 || choices[i].choice[0].token != kEot) continue;
    ended.push_back({kEot, n_before == 0 ? 0 : i, choices[i].choice[0].log_prob});
  }
  UpdateSpace space;
  update_rows(rows, choices.data(), space);
  slot.mail = {++slot.state.n_updates, 0, rows.done, -1, {}};
  if (rows.n_sampled > n_before) {
    for (int i = 0; i < rows.n_live; i++) {
      slot.mail.row[slot.mail.n_rows++] = {rows.token[n_before][i], rows.parent[n_before][i], rows.log_prob[i]};
    }
    if (slot.state.n_prompt + n_before < kTextContext) {
      std::swap(slot.where, slot.before);
      follow_parents(rows, slot.before.data(), slot.where.data(), slot.state.n_prompt + n_before);
    }
  }
  for (const SlotMail::Row& row : ended) slot.mail.row[slot.mail.n_rows++] = row;
  slot.state.stepping = !rows.done;
}

constexpr double kNear = 2e-5;  // log-probs of f32 sums over tokens in another order differ by less

void compare(const HostSlot& slot, const ToyModel& model, int index) {
  CAPTURE(index);
  const auto got = std::make_unique<SlotRows>();
  device().copy_to_host(got.get(), address(model.rows) + index * sizeof(SlotRows), sizeof(SlotRows));
  device().synchronize();
  const SlotRows& want = slot.rows;
  REQUIRE(got->n_sampled == want.n_sampled);
  REQUIRE(got->n_live == want.n_live);
  REQUIRE(got->n_finished == want.n_finished);
  CHECK(got->done == want.done);
  for (int i = 0; i < want.n_live; i++) {
    CHECK(got->row[i].last_timestamp == want.row[i].last_timestamp);
    CHECK(got->row[i].last_is_timestamp == want.row[i].last_is_timestamp);
    CHECK(got->row[i].before_is_timestamp == want.row[i].before_is_timestamp);
    CHECK(got->row[i].sample == want.row[i].sample);
    CHECK(std::abs(got->row[i].sum_log_prob - want.row[i].sum_log_prob) < kNear * (want.n_sampled + 1));
  }
  for (int i = 0; i < want.n_finished; i++) {
    CHECK(got->finished[i].n_tokens == want.finished[i].n_tokens);
    CHECK(got->finished[i].row == want.finished[i].row);
    CHECK(std::abs(got->finished[i].sum_log_prob - want.finished[i].sum_log_prob) < kNear * (want.n_sampled + 1));
  }
  CHECK(std::memcmp(got->token, want.token, sizeof want.token) == 0);
  CHECK(std::memcmp(got->parent, want.parent, sizeof want.parent) == 0);

  const SlotState state = model.states.host()[index];
  CHECK(state.stepping == slot.state.stepping);
  const SlotMail mail = model.mail.host()[index];
  CHECK(mail.sequence == slot.mail.sequence);
  CHECK(mail.done == slot.mail.done);
  CHECK(mail.most_attended == -1);
  REQUIRE(mail.n_rows == slot.mail.n_rows);
  for (int i = 0; i < mail.n_rows; i++) {
    CHECK(mail.row[i].token == slot.mail.row[i].token);
    CHECK(mail.row[i].parent == slot.mail.row[i].parent);
    CHECK(std::abs(mail.row[i].log_prob - slot.mail.row[i].log_prob) < kNear);
  }
  const std::vector<uint8_t> where = model.where.host();
  const int n_positions = slot.state.n_prompt + want.n_sampled;
  bool same = true;
  for (int i = 0; i < want.n_live; i++) {
    for (int t = 0; t < std::min(n_positions, kTextContext); t++) {
      same &= where[(index * kMaxSlotRows + i) * kTextContext + t] == slot.where[i * kTextContext + t];
    }
  }
  CHECK(same);
}

// Steps until all slots are done; slot i joins at step i. Returns the steps.
int run(const ToyModel& model, const std::vector<Wish>& wishes, int row_class) {
  model.where.fill(0);
  model.states.fill(0);
  std::vector<std::unique_ptr<HostSlot>> slots(wishes.size());
  int n = 0;
  for (bool going = true; going; n++) {
    if (n < std::ssize(wishes)) slots[n] = start(model, n, wishes[n]);
    model.embed_step(row_class);
    const std::vector<float> logits = model.raw_logits();
    model.scan(row_class);
    model.choose();
    int row = 0;
    going = n < std::ssize(wishes);
    for (size_t i = 0; i < slots.size(); i++) {
      if (!slots[i]) continue;
      if (slots[i]->state.stepping) {
        const int live = slots[i]->rows.n_live;
        step(*slots[i], logits.data() + row * kPadded);
        row += live;
        compare(*slots[i], model, int(i));
      }
      going |= slots[i]->state.stepping != 0;
    }
  }
  return n;
}

const std::vector<Wish> kWishes = {
    {5, 1, 0, true, 4, 20},      {1, 1, 0, true, 4, 9},     {5, 1, 0.8f, true, 3, 12},
    {3, 2, 0, false, 430, 19},  {1, 1, 0.4f, false, 1, 6},
};

}  // namespace

TEST_CASE("the end of a step: beams, samples and rules as on the host, under every schedule") {
  const ToyModel model(384, WeightType::f16, 2);
  for_each_schedule([&] { CHECK(run(model, {{4, 1, 0, true, 4, 4}, {3, 1, 1.0f, true, 2, 3}}, 8) >= 3); });
}

TEST_CASE("the end of a step: slots that join and leave, every type") {
  for (WeightType type : {WeightType::f16, WeightType::bf16, WeightType::i8}) {
    const ToyModel model(384, type, int(kWishes.size()));
    CHECK(run(model, kWishes, 16) > 8);
  }
  if (!has_width(512)) return;
  const ToyModel wide(512, WeightType::f16, int(kWishes.size()));
  CHECK(run(wide, kWishes, 64) > 8);
}

TEST_CASE("full: the end of a step at every width, type and class of rows") {
  const std::vector<Wish> few = {kWishes[0], kWishes[1]};
  for (int width : widths()) {
    for (WeightType type : {WeightType::f16, WeightType::bf16, WeightType::i8}) {
      CAPTURE(width);
      CAPTURE(int(type));
      const ToyModel model(width, type, int(kWishes.size()));
      for (int row_class : kRowClasses) CHECK(run(model, row_class == 8 ? few : kWishes, row_class) > 8);
    }
  }
}

TEST_CASE("raw logits: probabilities of the start and of a token, for chosen rows") {
  constexpr int kRowsWanted = 3, kWidth = 128, kFirstLanguage = 700, kLanguages = 99;
  const std::vector<int32_t> wanted = {5, 0, 3}, next = {42, -1, kEot + 3};
  const Halves operand = halves(normal(8 * kWidth, 1, 1), WeightType::f16);
  std::vector<Moments> moments;
  for (int i = 0; i < 8 * kWidth / kMomentValues; i++) moments.push_back({float(i), 1});
  const std::vector<float> logits = normal(kRowsWanted * kPadded, 2, 3);
  const DeviceArray<int32_t> device_wanted(wanted), device_next(next);
  const DeviceArray<uint16_t> from(operand.bits);
  const DeviceArray<Moments> device_moments(moments);
  const DeviceArray<float> device_logits(logits);
  for_each_schedule([&] {
    const DeviceArray<StepTable> table(1);
    const DeviceArray<uint16_t> to(kRowsWanted * kWidth);
    const DeviceArray<Moments> to_moments(kRowsWanted * kWidth / kMomentValues);
    launch(kGatherKernel, gather_shape(kRowsWanted),
           GatherArgs{device_wanted.data(), kWidth, from.data(), device_moments.data(), table.data(), to.data(),
                      to_moments.data()});
    CHECK(table.host()[0].n_rows == kRowsWanted);
    const std::vector<uint16_t> rows = to.host();
    const std::vector<Moments> parts = to_moments.host();
    for (int i = 0; i < kRowsWanted; i++) {
      CHECK(std::equal(rows.begin() + i * kWidth, rows.begin() + (i + 1) * kWidth, operand.bits.begin() + wanted[i] * kWidth));
      CHECK(parts[i * kWidth / kMomentValues].mean == float(wanted[i] * kWidth / kMomentValues));
    }
    const DeviceArray<RowProbabilities> out(kRowsWanted);
    launch(kProbabilityKernel, probability_shape(kRowsWanted),
           ProbabilityArgs{device_logits.data(), kPadded, kVocabulary, kEot, 639, kFirstLanguage, kLanguages,
                           device_next.data(), out.data()});
    const std::vector<RowProbabilities> got = out.host();
    for (int i = 0; i < kRowsWanted; i++) {
      const float* of = logits.data() + i * kPadded;
      const auto sum = [&](int first, int last) {
        double all = 0;
        for (int t = first; t < last; t++) all += std::exp(double(of[t]));
        return all;
      };
      CHECK(got[i].no_speech == doctest::Approx(std::exp(of[639]) / sum(0, kVocabulary)).epsilon(1e-5));
      CHECK(got[i].next == doctest::Approx(i == 0 ? std::exp(of[42]) / sum(0, kEot) : 0).epsilon(1e-5));
      const double languages = std::log(sum(kFirstLanguage, kFirstLanguage + kLanguages));
      for (int l = 0; l < kLanguages; l++) {
        CHECK(got[i].language_log_probs[l] == doctest::Approx(of[kFirstLanguage + l] - languages).epsilon(1e-4));
      }
    }
  });
}
