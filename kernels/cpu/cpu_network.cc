#include "kernels/cpu/cpu_network.h"

#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/decoder.h"
#include "kernels/cpu/encoder.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/packed_model.h"
#include "kernels/host_network.h"

namespace sotto::cpu {
namespace {

const char* name_of(Type type) {
  return type == Type::i8 ? "int8" : type == Type::bf16 ? "bf16" : "f32";
}

class CpuNetwork : public HostNetwork {
 public:
  CpuNetwork(std::shared_ptr<const Weights> weights, const NetworkOptions& options);
  const std::string& description() const override { return description_; }

 private:
  void encode_window(int slot, const float* mel, float* encoded) override {
    encoder_.run(mel, memory_[slot].cross, encoded);
  }
  const float* forward(Pass pass, std::span<const DecoderRow> rows, AlignmentScores* alignment,
                       AttentionWatch* watch) override {
    return decoder_.forward(pass, rows, memory_, alignment, watch);
  }
  void project(const float* hidden, int m, float* logits) override { decoder_.project(hidden, m, logits); }
  void token_probs(const float* hidden, int m, std::span<const int> targets, int limit, float* probs) override {
    decoder_.token_probs(hidden, m, targets, limit, probs);
  }
  void choose_rows(const float* hidden, int m, std::span<const StepRow> rows, std::span<Choices> choices) override {
    decoder_.choose(hidden, m, rows, [this](int slot) -> const SlotRows& { return slot_rows(slot); }, choices);
  }

  const Kernels& kernels_;
  const PackedModel model_;
  Encoder encoder_;
  Decoder decoder_;
  std::vector<SlotMemory> memory_;  // of each slot
  std::string description_;
};

CpuNetwork::CpuNetwork(std::shared_ptr<const Weights> weights, const NetworkOptions& options)
    : HostNetwork(std::move(weights), options),
      kernels_(choose_kernels(options.isa)),
      model_(pack_model(weights_, kernels_, precision_named(options.precision, kernels_), team_)),
      encoder_(model_, kernels_, team_),
      decoder_(model_, kernels_, team_, forward_capacity(), project_capacity()) {
  const Types& types = model_.types;
  for (int i = 0; i < options.slots; i++) {
    memory_.push_back({HeadKv(model_.dims.decoder_layers, model_.dims.heads, types.cross_kv),
                       SelfKv(model_.dims, types.self, max_rows())});
  }
  description_ = std::string("CPU, ") + kernels_.name + " kernels, " + name_of(model_.types.encoder) + ", " +
                 std::to_string(team_.threads()) + (team_.threads() == 1 ? " thread" : " threads");
}

}  // namespace

std::unique_ptr<Network> open(std::shared_ptr<const Weights> weights, const NetworkOptions& options) {
  return std::make_unique<CpuNetwork>(std::move(weights), options);
}

}  // namespace sotto::cpu
