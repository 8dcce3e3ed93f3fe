#include "src/cli/bench_command.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/cpu/encoder.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/limits.h"
#include "kernels/cuda/roofline.h"
#include "kernels/network.h"
#include "models/catalog.h"
#include "src/cli/bench_kernels.h"
#include "src/cli/bench_plan.h"

namespace sotto {
namespace {

using nlohmann::json;

struct BenchArguments {
  std::string model = "base";
  FetchOptions fetch;
  NetworkOptions network;
  std::vector<int> batches = {1};
  int beam_size = 5;
  int rounds = 5;
  bool kernels = false;
  bool as_json = false;
  std::string plan;  // a chip's name, or empty
};

constexpr int kPrompt = 100;  // tokens, as previous text brings
constexpr int kSteps = 32;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Stage {
  std::string name;
  int threads;
  int windows;           // that the time is for
  double seconds;        // best of all rounds
  cpu::Work work;
  std::vector<Stage> parts = {};
};

// Runs the stages of one network with its threads.
class Bench {
 public:
  Bench(const BenchArguments& arguments, std::shared_ptr<const Weights> weights, int threads)
      : arguments_(arguments), weights_(std::move(weights)) {
    NetworkOptions options = arguments.network;
    options.threads = threads;
    options.max_rows = arguments.beam_size;
    options.slots = std::ranges::max(arguments.batches);
    options.warn = [](const std::string& sentence) {
      throw Error("this bench is of a GPU: " + sentence.substr(0, sentence.rfind(';')));
    };
    network_ = open_network(weights_, options);
    if (network_->n_slots() < options.slots) {
      throw Error(network_->description() + " has memory for " + std::to_string(network_->n_slots()) +
                  " windows at once: use a smaller --batch");
    }
    std::mt19937 generator(1);
    std::normal_distribution<float> normal(0, 0.3f);
    mel_.resize(int64_t(kMelFrames) * weights_->dims.mel_bins);
    for (float& value : mel_) value = normal(generator);
    for (int i = 0; i < options.slots; i++) slots_.push_back(i);
    network_->encode(std::vector<const float*>(slots_.size(), mel_.data()), slots_);
  }

  const std::string& description() const { return network_->description(); }

  double encode_seconds(int windows) {
    const std::vector<const float*> mels(windows, mel_.data());
    return best([&] { network_->encode(mels, std::span(slots_).first(windows)); });
  }

  double prompt_seconds(int windows) {
    return best([&] { begin(windows, 1); });
  }

  double step_seconds(int windows, int rows) {
    double least = 1e9;
    for (int round = 0; round < arguments_.rounds; round++) {
      begin(windows, rows);
      network_->step();  // of the prompt: a row for each window
      for (int i = 0; i < kSteps; i++) {
        const double start = now();
        network_->step();
        least = std::min(least, now() - start);
      }
    }
    return least;
  }

 private:
  template <class Work>
  double best(const Work& work) const {
    double least = 1e9;
    for (int i = 0; i < arguments_.rounds; i++) {
      const double start = now();
      work();
      least = std::min(least, now() - start);
    }
    return least;
  }

  // Rows that never end, whatever they say.
  void begin(int windows, int rows) {
    const std::span<const int> slots = std::span(slots_).first(windows);
    const SpecialTokens special = special_tokens(weights_->dims.vocabulary);
    std::vector<int> prompt(kPrompt, 1000);
    prompt.back() = special.sot;
    auto never = std::make_shared<TokenSet>((weights_->dims.vocabulary + 31) / 32);
    add_token(*never, special.eot);
    Settings settings;
    settings.rows = rows;
    settings.timestamps = false;
    settings.suppress = never;
    for (const int slot : slots_) network_->stop(slot);
    network_->begin(slots, std::vector(slots.size(), prompt), std::vector(slots.size(), settings));
  }

  const BenchArguments& arguments_;
  std::shared_ptr<const Weights> weights_;
  std::unique_ptr<Network> network_;
  std::vector<float> mel_;
  std::vector<int> slots_;
};

constexpr const char* kPartNames[cpu::kEncoderParts] = {
    "convolutions", "queries, keys, values", "attention", "output", "fc1, GELU", "fc2", "cross K/V", "packing of K/V",
    "LayerNorm, operands"};

// Seconds of one thread, the mean of all; of each part the best of all rounds.
cpu::PartSeconds encoder_part_seconds(const BenchArguments& arguments, std::shared_ptr<const Weights> weights,
                                      int threads) {
  Team team(threads);
  const cpu::Kernels& kernels = cpu::choose_kernels(arguments.network.isa);
  const cpu::PackedModel model =
      cpu::pack_model(weights, kernels, cpu::precision_named(arguments.network.precision, kernels), team);
  const Dims dims = model.dims;
  cpu::Encoder encoder(model, kernels, team);
  const cpu::HeadKv cross(dims.decoder_layers, dims.heads, model.types.cross_kv);
  const std::vector<float> mel(int64_t(kMelFrames) * dims.mel_bins, 0.1f);
  std::vector<float> encoded(int64_t(kAudioContext) * dims.width);
  cpu::PartSeconds best;
  best.fill(1e9);
  for (int round = 0; round < arguments.rounds; round++) {
    encoder.run(mel.data(), cross, encoded.data());
    const cpu::PartSeconds seconds = encoder.part_seconds();
    for (size_t i = 0; i < best.size(); i++) best[i] = std::min(best[i], seconds[i] / threads);
  }
  return best;
}

std::vector<Stage> run_stages(const BenchArguments& arguments, std::shared_ptr<const Weights> weights,
                              const cpu::Types& types, int threads) {
  const Dims dims = weights->dims;
  Bench bench(arguments, weights, threads);
  std::vector<Stage> stages;
  const auto add = [&](const std::string& name, int windows, double seconds, const cpu::Work& work) {
    stages.push_back({name, threads, windows, seconds, work});
  };
  add("encode a window, with cross K/V", 1, bench.encode_seconds(1), cpu::encoder_work(dims, types));
  const cpu::PartSeconds parts = encoder_part_seconds(arguments, weights, threads);
  for (int part = 0; part < cpu::kEncoderParts; part++) {
    stages[0].parts.push_back(
        {kPartNames[part], threads, 1, parts[part], cpu::encoder_part_work(dims, types, cpu::EncoderPart(part))});
  }
  std::vector<int> row_counts = {1};
  if (arguments.beam_size > 1) row_counts.push_back(arguments.beam_size);
  for (const int windows : arguments.batches) {
    const std::string of_windows = std::to_string(windows) + (windows == 1 ? " window" : " windows");
    add("prompt of " + std::to_string(kPrompt) + " tokens, " + of_windows, windows, bench.prompt_seconds(windows),
        cpu::prompt_work(dims, types, windows, kPrompt));
    for (const int rows : row_counts) {
      add("step, " + of_windows + " x " + std::to_string(rows) + (rows == 1 ? " row" : " rows"), windows,
          bench.step_seconds(windows, rows), cpu::step_work(dims, types, windows, rows, kPrompt, kSteps / 2));
    }
  }
  return stages;
}

constexpr const char* kTypeNames[] = {"f32", "f16", "bf16", "int8"};

json json_of(const cpu::Limits& limits, int threads) {
  json row = {{"threads", threads}, {"read_gb_s", limits.read / 1e9}};
  for (int type = 0; type < cpu::kTypes; type++)
    if (limits.multiply[type] > 0) row["multiply_gop_s"][kTypeNames[type]] = limits.multiply[type] / 1e9;
  return row;
}

json json_of(const Stage& stage, const cpu::Limits& limits) {
  const double least = cpu::least_seconds(stage.work, limits);
  json row = {{"stage", stage.name}, {"threads", stage.threads}, {"ms", stage.seconds * 1e3}};
  row["ms_per_window"] = stage.seconds * 1e3 / stage.windows;
  row["limit_ms"] = least * 1e3;
  row["share"] = least / stage.seconds;
  row["mb"] = stage.work.bytes / 1e6;
  for (int type = 0; type < cpu::kTypes; type++)
    if (stage.work.ops[type] > 0) row["gop"][kTypeNames[type]] = stage.work.ops[type] / 1e9;
  for (const Stage& part : stage.parts) row["parts"].push_back(json_of(part, limits));
  return row;
}

void print_limits(const cpu::Limits& limits, int threads) {
  std::printf("%7d", threads);
  for (const int type : {0, 2, 3}) {
    if (limits.multiply[type] > 0) {
      std::printf(" %7.0f", limits.multiply[type] / 1e9);
    } else {
      std::printf(" %7s", "-");
    }
  }
  std::printf(" %9.1f\n", limits.read / 1e9);
}

void print_stage(const Stage& stage, const cpu::Limits& limits, const char* indent = "") {
  const double least = cpu::least_seconds(stage.work, limits);
  double ops = 0;
  for (const double of_type : stage.work.ops) ops += of_type;
  std::printf("%-34s %7d %9.2f %9.2f ", (indent + stage.name).c_str(), stage.threads, stage.seconds * 1e3,
              stage.seconds * 1e3 / stage.windows);
  if (least > 0) {
    std::printf("%9.2f %6.0f%% %8.2f %8.1f\n", least * 1e3, 100 * least / stage.seconds, ops / 1e9,
                stage.work.bytes / 1e6);
  } else {
    std::printf("%9s %7s\n", "-", "-");
  }
  for (const Stage& part : stage.parts) print_stage(part, limits, "  ");
}

void bench_stages(const BenchArguments& arguments) {
  const auto weights = open_weights(locate_model(arguments.model, arguments.fetch));
  const cpu::Kernels& kernels = cpu::choose_kernels(arguments.network.isa);
  const cpu::Types types = cpu::types_of(cpu::precision_named(arguments.network.precision, kernels), kernels, *weights);
  std::vector<int> thread_counts = {1};
  const int all = arguments.network.threads > 0 ? arguments.network.threads : default_threads();
  if (all > 1) thread_counts.push_back(all);
  std::vector<cpu::Limits> limits;
  std::vector<std::vector<Stage>> stages;
  for (const int threads : thread_counts) {
    Team team(threads);  // measured before and after the stages: a machine that was taken away for a second has not less
    limits.push_back(cpu::measure_limits(kernels, team));
    stages.push_back(run_stages(arguments, weights, types, threads));
    limits.back() = cpu::best_of(limits.back(), cpu::measure_limits(kernels, team));
  }
  json report;
  for (size_t i = 0; i < limits.size(); i++) {
    report["limits"].push_back(json_of(limits[i], thread_counts[i]));
    for (const Stage& stage : stages[i]) report["stages"].push_back(json_of(stage, limits[i]));
  }
  if (arguments.as_json) {
    report["model"] = weights->name;
    report["kernels"] = kernels.name;
    std::printf("%s\n", report.dump(2).c_str());
    return;
  }
  std::printf("%s kernels; most of each, G a second:\nthreads     f32    bf16    int8   GB read\n", kernels.name);
  for (size_t i = 0; i < limits.size(); i++) print_limits(limits[i], thread_counts[i]);
  std::printf("\n%s; best of %d rounds:\n%-34s %7s %9s %9s %9s %7s %8s %8s\n", weights->name.c_str(), arguments.rounds,
              "stage", "threads", "ms", "a window", "limit ms", "share", "Gop", "MB");
  for (size_t i = 0; i < limits.size(); i++)
    for (const Stage& stage : stages[i]) print_stage(stage, limits[i]);
}

// On a GPU; its limits are its data sheet's.
void bench_gpu(const BenchArguments& arguments) {
  const auto weights = open_weights(locate_model(arguments.model, arguments.fetch));
  Bench bench(arguments, weights, arguments.network.threads);
  const cuda::Chip* chip = cuda::chip_of(bench.description());
  const auto type = arguments.network.precision == "int8" ? cuda::WeightType::i8 : cuda::WeightType::f16;
  json report = {{"model", weights->name}, {"device", bench.description()}, {"stages", json::array()}};
  if (!arguments.as_json) {
    std::printf("%s on %s; best of %d rounds:\n%-34s %9s %9s %7s\n", weights->name.c_str(), bench.description().c_str(),
                arguments.rounds, "stage", "ms", "limit ms", "share");
  }
  const auto print = [&](const std::string& name, double seconds, const std::vector<cuda::StageWork>& stages) {
    double least = 0;
    for (const cuda::StageWork& stage : stages) least += chip ? cuda::least_time(stage, *chip).seconds : 0;
    json row = {{"stage", name}, {"ms", seconds * 1e3}};
    if (chip) row.update({{"limit_ms", least * 1e3}, {"share", least / seconds}});
    report["stages"].push_back(row);
    if (arguments.as_json) return;
    std::printf("%-34s %9.3f ", name.c_str(), seconds * 1e3);
    if (chip) {
      std::printf("%9.3f %6.0f%%\n", least * 1e3, 100 * least / seconds);
    } else {
      std::printf("%9s %7s\n", "-", "-");
    }
  };
  for (const int windows : arguments.batches) {
    print("encode, " + std::to_string(windows) + (windows == 1 ? " window" : " windows"), bench.encode_seconds(windows),
          cuda::encode_work(weights->dims, type, chip ? chip->sms : 108, windows));
    for (const int rows : arguments.beam_size == 1 ? std::vector<int>{1} : std::vector<int>{1, arguments.beam_size}) {
      print("step, " + std::to_string(windows) + " x " + std::to_string(rows) + " rows", bench.step_seconds(windows, rows),
            cuda::step_work(weights->dims, type, windows, rows, kPrompt + kSteps / 2));
    }
  }
  if (arguments.as_json) std::printf("%s\n", report.dump(2).c_str());
}

// Of a name in the catalog the weights need not be here.
PlannedModel planned_model(const BenchArguments& arguments) {
  if (const CatalogEntry* known = find_in_catalog(arguments.model)) {
    return {std::string(known->name), known->dims, static_cast<int>(known->alignment_heads.size())};
  }
  const auto weights = open_weights(locate_model(arguments.model, arguments.fetch));
  return {weights->name, weights->dims, static_cast<int>(weights->alignment_heads.size())};
}

}  // namespace

void add_bench_command(CLI::App& app) {
  auto arguments = std::make_shared<BenchArguments>();
  arguments->network.device = "cpu";
  CLI::App* bench = app.add_subcommand("bench", "the machine's limits, each stage's time and its share of the limit");
  bench->add_option("-m,--model", arguments->model, "a model's name, file or folder")->capture_default_str();
  bench->add_option("--model_dir,--model-dir", arguments->fetch.model_dir, "folder of the models");
  bench->add_flag("--offline", arguments->fetch.offline, "never download anything");
  bench->add_option("--threads", arguments->network.threads, "threads besides 1; 0: all")->check(CLI::Range(0, 1024));
  bench->add_option("--precision", arguments->network.precision, "auto, f32, f16, bf16 or int8")
      ->check(CLI::IsMember({"auto", "f32", "f16", "bf16", "int8"}));
  bench->add_option("--isa", arguments->network.isa, "instruction set of the kernels");
  bench->add_option("--batch", arguments->batches, "windows at once; several: 1,4,8")
      ->delimiter(',')
      ->check(CLI::Range(1, 64));
  bench->add_option("--beam-size,--beam_size", arguments->beam_size, "beams")->check(CLI::Range(1, 32));
  bench->add_option("--rounds", arguments->rounds, "the best of so many counts")->check(CLI::Range(1, 1000));
  bench->add_flag("--kernels", arguments->kernels, "kernels alone, each with its error");
  bench->add_option("--device", arguments->network.device, "cpu, cuda or cuda:N")
      ->capture_default_str()
      ->check([](const std::string& name) {
        const bool known = is_device(name) && name != "auto";  // a bench is of one device, and its limits are told with it
        return known ? std::string() : '"' + name + "\" is none of cpu|cuda|cuda:N";
      });
  bench->add_option("--plan", arguments->plan, "memory and least times on a GPU that isn't here: a100, 4090 or h200")
      ->check([](const std::string& name) {
        return cuda::find_chip(name) ? std::string() : '"' + name + "\" is none of " + cuda::known_chips();
      });
  bench->add_flag("--json", arguments->as_json, "as JSON");
  bench->callback([arguments] {
    if (!arguments->plan.empty()) {
      if (arguments->batches.size() > 1) throw CLI::ValidationError("--plan", "takes one --batch");
      if (arguments->network.precision == "f32") {
        throw CLI::ValidationError("--plan", "a GPU has no precision f32 here: use f16, bf16 or int8");
      }
      NetworkOptions options = arguments->network;
      options.max_rows = arguments->beam_size;
      options.slots = std::ranges::max(arguments->batches);
      bench_plan(arguments->plan, planned_model(*arguments), options, arguments->as_json);
    } else if (arguments->network.device.starts_with("cuda")) {
      bench_gpu(*arguments);
    } else if (arguments->kernels) {
      bench_kernels(cpu::choose_kernels(arguments->network.isa), arguments->rounds, arguments->as_json);
    } else {
      bench_stages(*arguments);
    }
  });
}

}  // namespace sotto
