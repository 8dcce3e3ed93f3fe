#include "kernels/cuda/cuda_network.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/pack_cache.h"
#include "kernels/cuda/decode_step.h"
#include "kernels/cuda/decoder_weights.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/encode.h"
#include "kernels/cuda/encoder_weights.h"
#include "kernels/cuda/memory_plan.h"
#include "kernels/cuda/upload.h"
#include "kernels/host_network.h"
#include "models/error.h"

namespace sotto::cuda {
namespace {

constexpr char kPacked[] = "-cuda1-";  // in the names of packed weights; count it up when their layout changes

struct Precision {
  const char* name;
  Half half;
  WeightType decoder;
  const char* encoder;  // as packed weights' names have it

  bool bytes() const { return decoder == WeightType::i8; }  // in the encoder's products as well
};

Precision precision_named(const std::string& name) {
  if (name.empty() || name == "auto" || name == "f16") return {"f16", Half::f16, WeightType::f16, "f16"};
  if (name == "bf16") return {"bf16", Half::bf16, WeightType::bf16, "bf16"};
  if (name == "int8") return {"int8", Half::f16, WeightType::i8, "int8"};
  throw Error("the CUDA engine has no precision " + name + ": use f16, bf16 or int8");
}

// A token to be fed outside of steps, and what is wanted of it.
struct Fed {
  int slot, position, token;
  bool wanted = false;  // its logits
  int next = -1;        // the token whose probability is wanted
};

class CudaNetwork final : public Network {
 public:
  CudaNetwork(std::shared_ptr<const Weights> weights, const NetworkOptions& options, const Driver& driver, int number,
              std::span<const Image> images);
  ~CudaNetwork() override;

  const Dims& dims() const override { return weights_->dims; }
  const std::string& description() const override { return description_; }
  int n_slots() const override { return plan_.slots; }
  int max_rows() const override { return decoder_.plan.max_rows; }

  void encode(std::span<const float* const> mels, std::span<const int> slots) override;
  std::vector<Beginning> begin(std::span<const int> slots, std::span<const std::vector<int>> prompts,
                               std::span<const Settings> settings) override;
  std::vector<Progress> step() override;
  void stop(int slot) override;
  std::vector<Hypothesis> hypotheses(int slot) const override;
  Alignment align(int slot, std::span<const int> tokens, int n_frames) override;
  std::vector<float> encoder_output(int slot) const override;
  std::vector<float> logits(int slot, std::span<const int> tokens) override;

 private:
  struct Slot {
    bool encoded = false, begun = false, stepping = false;
    bool watched = false;  // where the alignment heads look is wanted
    int n_prompt = 0;
    int n_live = 0;
    uint32_t updates = 0;  // steps since begin(); the sequence of its mail
  };

  void plan_and_allocate();
  void allocate();
  void upload_weights(int threads);
  void try_a_kernel();
  template <class T>
  T* pinned(int64_t n) {
    return static_cast<T*>(memory_.take_pinned(n * sizeof(T)));
  }
  void run(const std::vector<Launch>& launches);
  Slot& at(int slot);
  const Slot& at(int slot) const { return const_cast<CudaNetwork*>(this)->at(slot); }
  void end_steps(int slot);
  void start(int slot, const std::vector<int>& prompt, const Settings& settings);
  template <class Use>
  void feed(std::span<const Fed> tokens, bool align, bool probabilities, const Use& use);
  std::vector<Fed> whole_sequence(int slot, std::span<const int> tokens);
  int write_table(std::span<const Fed> rows);
  void run_step(const StepShape& shape, bool watch);
  void wait_for(int slot);
  Progress news_of(int slot);

  const std::shared_ptr<const Weights> weights_;
  const Precision precision_;
  mutable Device device_;
  DeviceMemory memory_{device_};
  MemoryPlan plan_;
  std::string description_;
  std::byte *encoder_blob_ = nullptr, *decoder_blob_ = nullptr;  // all weights, on the device
  EncoderWeights encoder_weights_;
  EncoderBuffers encoder_buffers_;
  std::byte* encoded_ = nullptr;  // on the device, half [slots][1500][width]
  Decoder decoder_;
  void *cross_k_ = nullptr, *cross_v_ = nullptr;

  // Pinned, and read or written by kernels where it lies.
  float* mel_ = nullptr;         // [windows][3000][mel_bins]
  int32_t* window_slots_ = nullptr;  // [windows]
  SlotMail* mail_ = nullptr;     // [slots]
  RowProbabilities* probabilities_ = nullptr;  // [kMaxStepRows]
  // Pinned, copied from.
  StepTable* table_ = nullptr;
  int32_t *wanted_ = nullptr, *next_ = nullptr;  // [kMaxStepRows]
  SlotRows* rows_ = nullptr;     // [slots]
  SlotState* states_ = nullptr;  // [slots]
  uint32_t* suppress_ = nullptr;  // [slots][suppress_words()]

  std::vector<Slot> slots_;
  std::map<std::array<int, 5>, Handle> graphs_;  // of a step, by its shape and whether attention is watched
};

// ---- Opening -------------------------------------------------------------------------------------------------------

CudaNetwork::CudaNetwork(std::shared_ptr<const Weights> weights, const NetworkOptions& options, const Driver& driver,
                         int number, std::span<const Image> images)
    : weights_(std::move(weights)), precision_(precision_named(options.precision)), device_(driver, number, images) {
  decoder_.plan = {weights_->dims, precision_.decoder, options.slots, options.max_rows,
                   static_cast<int>(weights_->alignment_heads.size())};
  plan_and_allocate();
  slots_.resize(plan_.slots);
  upload_weights(options.threads);
  try_a_kernel();
  description_ = device_.name() + " (sm_" + std::to_string(device_.chip()) + "), " + precision_.name + ", " +
                 std::to_string(plan_.total() / 1'000'000) + " MB of its memory";
}

CudaNetwork::~CudaNetwork() {
  device_.driver().synchronize(device_.stream());
  for (const auto& [shape, graph] : graphs_) device_.destroy_graph(graph);
}

// Memory that the driver calls free can't always be had, in pieces of that size or at all: then the plan shrinks.
void CudaNetwork::plan_and_allocate() {
  const int slots = decoder_.plan.slots;
  for (auto free = static_cast<int64_t>(device_.free_memory());; free = plan_.total() + kReserve - 1) {
    decoder_.plan.slots = slots;
    plan_ = fit_memory(decoder_.plan, free, weights_->name, device_.name());
    decoder_.plan.slots = plan_.slots;
    try {
      return allocate();
    } catch (const OutOfMemory& error) {
      memory_.clear();
      if (plan_.slots > 1 || plan_.windows > 1) continue;
      throw Error(weights_->name + " needs " + std::to_string(plan_.total() / 1'000'000) +
                  " MB for one window, but " + error.what() + ": use a smaller model, a smaller beam, or --device cpu");
    }
  }
}

void CudaNetwork::allocate() {
  const Dims& dims = weights_->dims;
  encoder_blob_ = memory_.take(plan_.encoder_weights, "the encoder's weights", false);
  decoder_blob_ = memory_.take(plan_.decoder_weights, "the decoder's weights", false);
  encoder_weights_ = encoder_weights(dims, encoder_blob_, precision_.bytes());
  decoder_.weights = decoder_weights(dims, precision_.decoder, decoder_blob_);
  encoder_buffers_ = encoder_buffers(dims, plan_.windows, memory_.take(plan_.encoder_buffers, "the encoder", true));
  decoder_.buffers = decoder_buffers(decoder_.plan, memory_.take(plan_.decoder_buffers, "the decoder", true));
  decoder_.cross_k = cross_k_ = memory_.take(plan_.cross, "cross keys", true);
  decoder_.cross_v = cross_v_ = memory_.take(plan_.cross, "cross values", true);
  encoded_ = memory_.take(plan_.encoded, "the encoder's output", false);

  mel_ = pinned<float>(int64_t{plan_.windows} * kMelFrames * dims.mel_bins);
  window_slots_ = pinned<int32_t>(plan_.windows);
  mail_ = pinned<SlotMail>(plan_.slots);
  probabilities_ = pinned<RowProbabilities>(kMaxStepRows);
  table_ = pinned<StepTable>(1);
  wanted_ = pinned<int32_t>(kMaxStepRows);
  next_ = pinned<int32_t>(kMaxStepRows);
  rows_ = pinned<SlotRows>(plan_.slots);
  states_ = pinned<SlotState>(plan_.slots);
  suppress_ = pinned<uint32_t>(int64_t{plan_.slots} * suppress_words(dims.vocabulary));
}

void CudaNetwork::upload_weights(int threads) {
  Team team(threads);
  UploadRing ring(device_);
  const auto send = [&](const std::byte* to, int64_t bytes, const std::string& part, const auto& pack) {
    const std::string key = weights_->digest.empty() ? "" : weights_->digest + kPacked + part;
    const cpu::PackBuffer packed =
        cpu::open_pack(key, bytes, [&](char* base) { pack(reinterpret_cast<std::byte*>(base)); });
    ring.upload(reinterpret_cast<DevicePointer>(to), packed.base, bytes);
  };
  send(encoder_blob_, plan_.encoder_weights, std::string("encoder-") + precision_.encoder, [&](std::byte* base) {
    pack_encoder(*weights_, precision_.half, team, base, precision_.bytes());
  });
  send(decoder_blob_, plan_.decoder_weights, std::string("decoder-") + precision_.name,
       [&](std::byte* base) { pack_decoder(*weights_, precision_.decoder, team, base); });
  device_.synchronize();
}

// What only shows when a kernel runs (a driver older than the kernels, a GPU in a bad state) shows here.
void CudaNetwork::try_a_kernel() {
  const auto mel = reinterpret_cast<const float*>(device_.device_address(mel_));
  device_.launch(mel_operand_kernel(precision_.half).c_str(), mel_operand_shape(1, weights_->dims.mel_bins),
                 MelOperandArgs{mel, encoder_buffers_.mel, weights_->dims.mel_bins});
  device_.synchronize();
}

CudaNetwork::Slot& CudaNetwork::at(int slot) {
  CHECK_INVARIANT(slot >= 0 && slot < n_slots());
  return slots_[slot];
}

void CudaNetwork::run(const std::vector<Launch>& launches) {
  for (const Launch& launch : launches) {
    device_.launch_bytes(launch.kernel.c_str(), launch.shape, launch.args.data());
  }
}

DevicePointer address(const void* memory) { return reinterpret_cast<DevicePointer>(memory); }

// ---- The encoder ---------------------------------------------------------------------------------------------------

void CudaNetwork::encode(std::span<const float* const> mels, std::span<const int> slots) {
  CHECK_INVARIANT(mels.size() == slots.size());
  device_.make_current();
  const Dims& dims = weights_->dims;
  const int64_t mel_size = int64_t{kMelFrames} * dims.mel_bins;
  for (size_t first = 0; first < mels.size(); first += plan_.windows) {
    const int n = static_cast<int>(std::min<size_t>(plan_.windows, mels.size() - first));
    for (int i = 0; i < n; i++) {
      const int slot = slots[first + i];
      end_steps(slot);
      at(slot).encoded = true;
      at(slot).begun = false;
      std::copy_n(mels[first + i], mel_size, mel_ + i * mel_size);
      window_slots_[i] = slot;
    }
    const EncodeTask task = {dims, precision_.half, device_.attribute(kMultiprocessors), n,
                             reinterpret_cast<const float*>(device_.device_address(mel_)),
                             reinterpret_cast<const int32_t*>(device_.device_address(window_slots_)), cross_k_, cross_v_,
                             precision_.bytes()};
    run(encode_launches(task, encoder_weights_, encoder_buffers_));
    const int64_t bytes = int64_t{kAudioContext} * dims.width * 2;
    for (int i = 0; i < n; i++) {
      device_.copy_on_device(address(encoded_ + window_slots_[i] * bytes),
                             address(encoder_buffers_.y + int64_t{i} * kRows * dims.width * 2), bytes);
    }
    device_.synchronize();  // mel_ is free again
  }
}

std::vector<float> CudaNetwork::encoder_output(int slot) const {
  CHECK_INVARIANT(at(slot).encoded);
  device_.make_current();
  std::vector<uint16_t> halves(int64_t{kAudioContext} * weights_->dims.width);
  device_.copy_to_host(halves.data(), address(encoded_ + slot * int64_t(halves.size()) * 2), halves.size() * 2);
  device_.synchronize();
  const Encoding encoding = precision_.half == Half::f16 ? Encoding::f16 : Encoding::bf16;
  return read_all({reinterpret_cast<const std::byte*>(halves.data()), encoding, kAudioContext, weights_->dims.width});
}

// ---- Prompts and whole sequences -----------------------------------------------------------------------------------

void CudaNetwork::end_steps(int slot) {
  if (at(slot).stepping) device_.set_bytes(address(&decoder_.buffers.slots[slot].stepping), 0, sizeof(int32_t));
  at(slot).stepping = false;
}

void CudaNetwork::stop(int slot) {
  device_.make_current();
  end_steps(slot);
}

// All of a slot's state on the device. Its arrays are left as they are: what is read of them is written before.
void CudaNetwork::start(int index, const std::vector<int>& prompt, const Settings& settings) {
  Slot& slot = at(index);
  const int n_prompt = static_cast<int>(prompt.size());
  CHECK_INVARIANT(slot.encoded && n_prompt >= 1 && n_prompt <= kTextContext);
  CHECK_INVARIANT(settings.rows >= 1 && settings.rows <= max_rows());
  const DecoderBuffers& buffers = decoder_.buffers;
  const int words = suppress_words(weights_->dims.vocabulary);
  uint32_t* const suppress = buffers.suppress + int64_t{index} * words;
  if (settings.suppress) {
    CHECK_INVARIANT(settings.suppress->size() >= static_cast<size_t>(words));
    std::copy_n(settings.suppress->data(), words, suppress_ + int64_t{index} * words);
    device_.copy_to_device(address(suppress), suppress_ + int64_t{index} * words, words * sizeof(uint32_t));
  }
  SlotRows& rows = rows_[index];
  start_slot(rows, weights_->dims, settings, n_prompt, settings.suppress ? suppress : nullptr);
  device_.copy_to_device(address(&buffers.rows[index]), &rows, offsetof(SlotRows, finished));
  states_[index] = {.n_prompt = n_prompt, .last_token = prompt.back(), .stepping = !rows.done};
  device_.copy_to_device(address(&buffers.slots[index]), &states_[index], sizeof(SlotState));
  const int64_t where = int64_t{max_rows()} * kTextContext;
  device_.set_bytes(address(buffers.where + index * where), 0, where);
  mail_[index].sequence = 0;
  slot = {true, true, !rows.done, settings.watch_attention, n_prompt, rows.n_live, 0};
}

// Writes rows and their groups where they are copied from. Returns the number of groups.
int CudaNetwork::write_table(std::span<const Fed> rows) {
  StepTable& table = *table_;
  table.n_rows = static_cast<int32_t>(rows.size());
  table.n_groups = 0;
  for (int i = 0; i < table.n_rows; i++) {
    table.row[i] = {rows[i].slot, 0, rows[i].position, rows[i].token};
    CrossGroup* group = table.n_groups > 0 ? &table.group[table.n_groups - 1] : nullptr;
    if (!group || group->slot != rows[i].slot || group->n_rows == kGroupRows) {
      table.group[table.n_groups++] = {rows[i].slot, i, 1};
    } else {
      group->n_rows++;
    }
  }
  return table.n_groups;
}

// Runs tokens through the decoder in pieces. After each, use(piece, n_wanted) finds what was wanted, in order, in
// probabilities_ (with `probabilities`) and in the decoder's logits.
template <class Use>
void CudaNetwork::feed(std::span<const Fed> tokens, bool align, bool probabilities, const Use& use) {
  const DecoderBuffers& buffers = decoder_.buffers;
  static const std::vector<std::pair<int, int>> no_heads;
  for (size_t first = 0; first < tokens.size(); first += kMaxStepRows) {
    const auto piece = tokens.subspan(first, std::min<size_t>(kMaxStepRows, tokens.size() - first));
    const int groups = write_table(piece);
    device_.copy_to_device(address(buffers.table), table_, sizeof(StepTable));
    run(prompt_launches(decoder_, row_class(static_cast<int>(piece.size())), groups,
                        align ? weights_->alignment_heads : no_heads));
    int n_wanted = 0;
    for (size_t i = 0; i < piece.size(); i++) {
      if (!piece[i].wanted) continue;
      wanted_[n_wanted] = static_cast<int32_t>(i);
      next_[n_wanted++] = piece[i].next;
    }
    if (n_wanted > 0) {
      device_.copy_to_device(address(buffers.wanted), wanted_, n_wanted * sizeof(int32_t));
      device_.copy_to_device(address(buffers.next), next_, n_wanted * sizeof(int32_t));
      auto* out = reinterpret_cast<RowProbabilities*>(device_.device_address(probabilities_));
      run(wanted_launches(decoder_, n_wanted, probabilities ? out : nullptr));
    }
    device_.synchronize();
    use(piece, n_wanted);
  }
}

std::vector<Beginning> CudaNetwork::begin(std::span<const int> slots, std::span<const std::vector<int>> prompts,
                                          std::span<const Settings> settings) {
  CHECK_INVARIANT(slots.size() == prompts.size() && slots.size() == settings.size());
  device_.make_current();
  const int sot = special_tokens(weights_->dims.vocabulary).sot;
  std::vector<Fed> fed;
  std::vector<size_t> of;  // index into slots, of each start-of-transcript
  for (size_t s = 0; s < slots.size(); s++) {
    start(slots[s], prompts[s], settings[s]);
    const std::vector<int>& prompt = prompts[s];
    const auto first_sot = std::find(prompt.begin(), prompt.end(), sot) - prompt.begin();
    const bool has_sot = first_sot < static_cast<ptrdiff_t>(prompt.size());
    if (has_sot) of.push_back(s);
    // The last is fed by the first step, and here only if the probabilities after it are wanted.
    const ptrdiff_t n_fed = std::max<ptrdiff_t>(static_cast<ptrdiff_t>(prompt.size()) - 1, has_sot ? first_sot + 1 : 0);
    for (ptrdiff_t i = 0; i < n_fed; i++) {
      CHECK_INVARIANT(prompt[i] >= 0 && prompt[i] < weights_->dims.vocabulary);
      fed.push_back({slots[s], static_cast<int>(i), prompt[i], i == first_sot});
    }
  }
  std::vector<Beginning> result(slots.size());
  const int n_languages =
      weights_->dims.multilingual() ? special_tokens(weights_->dims.vocabulary).n_languages : 0;
  size_t next = 0;
  feed(fed, false, true, [&](std::span<const Fed>, int n_wanted) {
    for (int i = 0; i < n_wanted; i++) {
      Beginning& beginning = result[of[next++]];
      beginning.no_speech_prob = probabilities_[i].no_speech;
      beginning.language_log_probs.assign(probabilities_[i].language_log_probs,
                                          probabilities_[i].language_log_probs + n_languages);
    }
  });
  if (fed.empty()) device_.synchronize();  // what start() copied from is free again
  return result;
}

std::vector<Fed> CudaNetwork::whole_sequence(int index, std::span<const int> tokens) {
  Slot& slot = at(index);
  CHECK_INVARIANT(slot.encoded && !tokens.empty() && tokens.size() <= static_cast<size_t>(kTextContext));
  device_.make_current();
  end_steps(index);
  slot.begun = false;
  const int64_t where = int64_t{max_rows()} * kTextContext;
  device_.set_bytes(address(decoder_.buffers.where + index * where), 0, where);
  std::vector<Fed> fed;
  for (size_t i = 0; i < tokens.size(); i++) {
    CHECK_INVARIANT(tokens[i] >= 0 && tokens[i] < weights_->dims.vocabulary);
    fed.push_back({index, static_cast<int>(i), tokens[i], true, i + 1 < tokens.size() ? tokens[i + 1] : -1});
  }
  return fed;
}

Alignment CudaNetwork::align(int slot, std::span<const int> tokens, int n_frames) {
  CHECK_INVARIANT(n_frames >= 0 && n_frames <= kAudioContext);
  const std::vector<Fed> fed = whole_sequence(slot, tokens);
  const int n_heads = static_cast<int>(weights_->alignment_heads.size()), n = static_cast<int>(tokens.size());
  Alignment result = {n_heads, n, n_frames, std::vector<float>(int64_t{n_heads} * n * n_frames), std::vector<float>(n)};
  std::vector<float> scores(int64_t{n_heads} * kMaxStepRows * kRows);
  feed(fed, true, true, [&](std::span<const Fed> piece, int) {
    device_.copy_to_host(scores.data(), address(decoder_.buffers.scores), scores.size() * sizeof(float));
    device_.synchronize();
    for (size_t i = 0; i < piece.size(); i++) {
      const int position = piece[i].position;
      if (position + 1 < n) result.token_probs[position + 1] = probabilities_[i].next;
      for (int h = 0; h < n_heads; h++) {
        std::copy_n(scores.data() + (int64_t{h} * kMaxStepRows + static_cast<int64_t>(i)) * kRows, n_frames,
                    result.qk.data() + (int64_t{h} * n + position) * n_frames);
      }
    }
  });
  return result;
}

std::vector<float> CudaNetwork::logits(int slot, std::span<const int> tokens) {
  const int64_t vocabulary = weights_->dims.vocabulary, padded = padded_vocabulary(weights_->dims.vocabulary);
  std::vector<float> result(tokens.size() * vocabulary), rows(kMaxStepRows * padded);
  feed(whole_sequence(slot, tokens), false, false, [&](std::span<const Fed> piece, int n) {
    device_.copy_to_host(rows.data(), address(decoder_.buffers.logits), n * padded * sizeof(float));
    device_.synchronize();
    for (int i = 0; i < n; i++) {
      std::copy_n(rows.data() + i * padded, vocabulary, result.data() + piece[i].position * vocabulary);
    }
  });
  return result;
}

// ---- Steps ---------------------------------------------------------------------------------------------------------

void CudaNetwork::run_step(const StepShape& shape, bool watch) {
  Handle& graph = graphs_[{shape.first_slot, shape.n_slots, shape.row_class, shape.n_groups, watch}];
  if (!graph) {
    const std::vector<Launch> launches =
        step_launches(decoder_, shape, reinterpret_cast<SlotMail*>(device_.device_address(mail_)),
                      watch ? weights_->alignment_heads : AlignmentHeads{});
    device_.begin_capture();
    run(launches);
    graph = device_.end_capture();
  }
  device_.launch_graph(graph, "a decoding step");
}

// Until the slot's mail of this step is there; without a call to the driver, unless that takes long.
void CudaNetwork::wait_for(int slot) {
  const std::atomic_ref<uint32_t> sequence(mail_[slot].sequence);
  for (int64_t spins = 1; sequence.load(std::memory_order_acquire) != slots_[slot].updates; spins++) {
    if (spins % 100'000 != 0) continue;
    const Result result = device_.driver().query(device_.stream());
    if (result == kNotReady) continue;
    device_.synchronize();  // throws what went wrong
    CHECK_INVARIANT(sequence.load(std::memory_order_acquire) == slots_[slot].updates);
  }
}

Progress CudaNetwork::news_of(int index) {
  Slot& slot = slots_[index];
  const SlotMail& mail = mail_[index];
  const int eot = special_tokens(weights_->dims.vocabulary).eot;
  Progress progress = {index, mail.done != 0, {}, slot.watched ? mail.most_attended : -1};
  slot.n_live = 0;
  for (int i = 0; i < mail.n_rows; i++) {
    progress.rows.push_back({mail.row[i].token, mail.row[i].parent, mail.row[i].log_prob});
    slot.n_live += mail.row[i].token != eot;
  }
  slot.stepping = !progress.finished;
  return progress;
}

std::vector<Progress> CudaNetwork::step() {
  device_.make_current();
  std::vector<int> stepping;
  for (int s = 0; s < n_slots(); s++) {
    if (slots_[s].stepping) stepping.push_back(s);
  }
  for (size_t first = 0; first < stepping.size();) {
    size_t last = first;
    int n_rows = 0, n_groups = 0;
    bool watch = false;
    for (; last < stepping.size(); last++) {
      const int n_live = slots_[stepping[last]].n_live;
      if (n_rows + n_live > kMaxStepRows || stepping[last] - stepping[first] >= kMaxStepRows) break;
      n_rows += n_live;
      watch = watch || slots_[stepping[last]].watched;
      n_groups += static_cast<int>(ceil_div(n_live, kGroupRows));
    }
    // As few different shapes as possible, since each has its graph.
    const bool all = last - first == stepping.size() && n_slots() <= kMaxStepRows;
    const int first_slot = all ? 0 : stepping[first], end_slot = all ? n_slots() : stepping[last - 1] + 1;
    run_step({first_slot, end_slot - first_slot, row_class(n_rows),
              static_cast<int>(std::bit_ceil(static_cast<unsigned>(n_groups)))},
             watch);
    first = last;
  }
  std::vector<Progress> result;
  for (int slot : stepping) {
    slots_[slot].updates++;
    wait_for(slot);
    result.push_back(news_of(slot));
  }
  return result;
}

std::vector<Hypothesis> CudaNetwork::hypotheses(int slot) const {
  CHECK_INVARIANT(at(slot).begun);
  device_.make_current();
  device_.copy_to_host(&rows_[slot], address(&decoder_.buffers.rows[slot]), sizeof(SlotRows));
  device_.synchronize();
  return hypotheses_of(rows_[slot]);
}

}  // namespace

Found find_gpu(const Driver& driver) {
  const Result started = driver.init(0);
  if (started != 0) return started == kNoDevice ? Found::none : Found::broken;
  int n = 0;
  if (driver.device_count(&n) != 0) return Found::broken;
  return n > 0 ? Found::usable : Found::none;
}

Found find_gpu() {
  if (embedded_images().empty()) return Found::none;
  std::string why_not;
  if (const Driver* driver = open_driver(why_not)) return find_gpu(*driver);
  return driver_is_there() ? Found::broken : Found::none;
}

bool simulated() { return simulated_driver != nullptr; }

std::unique_ptr<Network> open(std::shared_ptr<const Weights> weights, const NetworkOptions& options) {
  if (options.device == "cuda-sim") {
    CHECK_INVARIANT(simulated());
    return std::make_unique<CudaNetwork>(std::move(weights), options, *simulated_driver, 0, simulated_images);
  }
  std::string why_not;
  const Driver* driver = open_driver(why_not);
  if (!driver) throw Error(why_not);
  const size_t colon = options.device.find(':');
  const int number = colon == std::string::npos ? 0 : std::stoi(options.device.substr(colon + 1));
  return std::make_unique<CudaNetwork>(std::move(weights), options, *driver, number, embedded_images());
}

}  // namespace sotto::cuda
