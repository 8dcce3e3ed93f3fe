#include "kernels/reference/reference.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kernels/decode.h"
#include "kernels/host_network.h"
#include "kernels/reference/decoder.h"
#include "kernels/reference/encoder.h"

namespace sotto::reference {
namespace {

constexpr int kScanTokens = 4096;  // a part of the vocabulary that one piece of work scans

class ReferenceNetwork : public HostNetwork {
 public:
  ReferenceNetwork(std::shared_ptr<const Weights> weights, const NetworkOptions& options);
  const std::string& description() const override { return description_; }

 private:
  void encode_window(int slot, const float* mel, float* encoded) override;
  const float* forward(Pass, std::span<const DecoderRow> rows, AlignmentScores* alignment,
                       AttentionWatch* watch) override {
    return decoder_.forward(rows, memory_, alignment, watch);
  }
  void project(const float* hidden, int m, float* logits) override { decoder_.project(hidden, m, logits); }
  void choose_rows(const float* hidden, int m, std::span<const StepRow> rows, std::span<Choices> choices) override;

  Model model_;
  Encoder encoder_;
  Decoder decoder_;
  std::vector<SlotMemory> memory_;  // of each slot
  Floats logits_;                   // [project_capacity][vocabulary]
  std::vector<Scan> scans_;
  std::string description_;
};

ReferenceNetwork::ReferenceNetwork(std::shared_ptr<const Weights> weights, const NetworkOptions& options)
    : HostNetwork(std::move(weights), options),
      model_(read_model(weights_, team_)),
      encoder_(model_, team_),
      decoder_(model_, team_, options.max_rows, forward_capacity()),
      logits_(int64_t{project_capacity()} * model_.dims.vocabulary) {
  for (int i = 0; i < options.slots; i++) {
    memory_.push_back({encoder_.new_cross_memory(), decoder_.new_self_memory()});
  }
  description_ = std::string("CPU, plain loops (f32, ") + loops().isa + "), " + std::to_string(team_.threads()) +
                 (team_.threads() == 1 ? " thread" : " threads");
}

void ReferenceNetwork::encode_window(int slot, const float* mel, float* encoded) {
  encoder_.run(mel, encoded);
  encoder_.fill_cross_memory(encoded, memory_[slot].cross);
}

void ReferenceNetwork::choose_rows(const float* hidden, int m, std::span<const StepRow> rows,
                                   std::span<Choices> choices) {
  project(hidden, m, logits_.data());
  const int vocabulary = model_.dims.vocabulary, parts = (vocabulary + kScanTokens - 1) / kScanTokens;
  scans_.resize(rows.size() * parts);
  team_.parallel_for(static_cast<int64_t>(scans_.size()), 1, [&](int64_t first, int64_t last, int) {
    for (int64_t piece = first; piece < last; piece++) {
      const StepRow& row = rows[piece / parts];
      const SlotRows& slot = slot_rows(row.slot);
      const int token = static_cast<int>(piece % parts) * kScanTokens;
      clear_scan(scans_[piece]);
      scan_part(slot.rules, allowed_next(slot.rules, slot.row[row.row]), ranking_of(slot, row.row),
                logits_.data() + int64_t{row.hidden} * vocabulary, token, std::min(token + kScanTokens, vocabulary),
                choices_wanted(slot), scans_[piece]);
    }
  });
  for (size_t i = 0; i < rows.size(); i++) {
    const SlotRows& slot = slot_rows(rows[i].slot);
    Scan& all = scans_[i * parts];
    for (int part = 1; part < parts; part++) merge_scans(all, scans_[i * parts + part], choices_wanted(slot));
    choose(slot.rules, all, choices_wanted(slot), choices[i]);
  }
}

}  // namespace

std::unique_ptr<Network> open(std::shared_ptr<const Weights> weights, const NetworkOptions& options) {
  return std::make_unique<ReferenceNetwork>(std::move(weights), options);
}

}  // namespace sotto::reference
