// The seam between a whole network and everything above it: the only place where "which machine" is decided. It is
// opened once; nothing below asks what device it is on, nothing above knows one.
//
// A slot is one audio window: its cross-attention K/V, and up to max_rows rows (beams or samples) with their own decoder
// K/V. Slots join and leave between steps; all rows of all live slots go through one step together. The order of every
// reduction depends on the model and the chip alone, so a window's tokens do not depend on its company or on threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/weights.h"

namespace sotto {

// One bit a token: set means it is never sampled.
using TokenSet = std::vector<uint32_t>;
inline void add_token(TokenSet& set, int token) { set[token / 32] |= 1u << token % 32; }

// How the rows of one slot are sampled, from begin() on.
struct Settings {
  int rows = 1;              // beams at temperature 0 (1: greedy), independent samples above it
  float patience = 1;        // beams: stop at round(rows * patience) finished ones
  float temperature = 0;
  uint64_t sample_key = 0;   // above temperature 0: hash of seed, window's start and attempt; the noise is keyed by this,
                             // row, step and token
  bool timestamps = true;    // apply the timestamp grammar; false: the prompt ends in <|notimestamps|>
  int max_initial_timestamp = 50;  // the first timestamp is at most this many steps of 0.02 s; negative: no limit
  int token_limit = kSampleLimit;  // tokens a row may sample; also bounded by the context of 448
  bool suppress_blank = true;      // " " and end-of-transcript can't come first
  std::shared_ptr<const TokenSet> suppress;  // never sampled; null: none
  bool watch_attention = false;    // tell Progress::most_attended
};

// What begin() saw at the start-of-transcript position of a prompt, wherever it stands.
struct Beginning {
  float no_speech_prob = 0;               // softmax over the whole vocabulary, no rule applied; 0 if the prompt has no SOT
  std::vector<float> language_log_probs;  // [n_languages], softmax over the language tokens alone; empty: English-only model
};

struct SampledRow {
  int token;        // end-of-transcript: the row ended here (greedy, samples)
  int parent;       // row of the step before that this one continues
  float log_prob;   // of the token, after all rules, not divided by the temperature
};

struct Progress {
  int slot;
  bool finished;                  // this slot needs no more steps; its hypotheses can be read
  std::vector<SampledRow> rows;   // live rows after this step
  // Encoder position that the alignment heads, their softmaxes summed, looked at most when the best row's token was
  // sampled; -1 unless Settings::watch_attention.
  int most_attended = -1;
};

struct Hypothesis {
  std::vector<int> tokens;    // sampled ones, end-of-transcript left out
  double sum_log_prob = 0;    // with that of end-of-transcript where the row reached it
  bool finished = false;      // reached end-of-transcript
};

// A teacher-forced pass over tokens (a whole sequence, prompt and end-of-transcript included).
struct Alignment {
  int n_heads, n_tokens, n_frames;
  std::vector<float> qk;      // [n_heads][n_tokens][n_frames]: scaled dot products before the softmax, alignment heads only
  std::vector<float> token_probs;  // [n_tokens]: of tokens[i], given those before it, over the vocabulary below EOT; [0] is 0
};

class Network {
 public:
  virtual ~Network() = default;

  virtual const Dims& dims() const = 0;
  virtual const std::string& description() const = 0;  // one line: device, kernels, precision, threads
  virtual int n_slots() const = 0;
  virtual int max_rows() const = 0;  // of one slot

  // Encoder and cross K/V of several windows at once. mels[i]: [3000][mel_bins], scaled. Ends what the slots held.
  virtual void encode(std::span<const float* const> mels, std::span<const int> slots) = 0;

  // Feeds prompts (ragged, 1 to 448 tokens) to slots that hold an encoded window; drops their earlier rows.
  virtual std::vector<Beginning> begin(std::span<const int> slots, std::span<const std::vector<int>> prompts,
                                       std::span<const Settings> settings) = 0;

  // One token for every live row of every slot that has begun and not finished. Empty when there is none.
  // The first step after begin() samples from the prompt's last position.
  virtual std::vector<Progress> step() = 0;

  // Takes a slot out of further steps before it has finished; what it has can still be read.
  virtual void stop(int slot) = 0;

  // Finished rows in the order they finished, then the best unfinished ones until there are Settings::rows in all.
  virtual std::vector<Hypothesis> hypotheses(int slot) const = 0;

  // n_frames: encoder positions in use (mel frames / 2). Drops the slot's rows, keeps its cross K/V.
  virtual Alignment align(int slot, std::span<const int> tokens, int n_frames) = 0;

  // Encoder output of the window a slot holds, [1500][width], for tests.
  virtual std::vector<float> encoder_output(int slot) const = 0;
  // Logits at every position of a prompt, [n][vocabulary], no rule applied, for tests. Drops the slot's rows.
  virtual std::vector<float> logits(int slot, std::span<const int> tokens) = 0;
};

struct NetworkOptions {
  int threads = 0;   // 0: as many as the process may use (affinity and cgroup limits)
  int slots = 1;
  int max_rows = 5;
  std::string engine;     // "", "auto" or "cpu": this machine's kernels; "reference": the plain network
  std::string device;     // "" or "auto", "cpu", "cuda", "cuda:N"; is_device() knows
  std::string precision;  // "" or "auto", "f32", "f16" (a GPU's), "bf16", "int8"
  std::string isa;        // "" or "auto"; "avx512", "avx2", "portable" ...: instruction set of the CPU's kernels
  std::function<void(const std::string& sentence)> warn;  // told why a GPU that was asked for, or is there, isn't used
};

// Whether NetworkOptions::device can be this. kDevices: for messages.
bool is_device(const std::string& name);
constexpr char kDevices[] = "auto|cpu|cuda|cuda:N";

// Whether nothing is asked for that only one device has, so that a GPU is taken where there is one.
bool leaves_device_open(const NetworkOptions& options);

std::unique_ptr<Network> open_network(std::shared_ptr<const Weights> weights, const NetworkOptions& options);

}  // namespace sotto
