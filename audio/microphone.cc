#include "audio/microphone.h"

#include <dlfcn.h>
#include <portaudio.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <thread>

#include "audio/mono_resampler.h"
#include "audio/sound_queue.h"
#include "audio/sound_ring.h"
#include "models/dims.h"
#include "models/error.h"

namespace sotto {
namespace {

using Time = std::chrono::steady_clock::time_point;
constexpr auto kDrainEvery = std::chrono::milliseconds(15);
constexpr auto kDeadAfter = std::chrono::milliseconds(1500);  // without a call of the sound system
constexpr auto kTryEvery = std::chrono::seconds(1);
constexpr auto kTellEvery = std::chrono::seconds(30);
constexpr int kRing_s = 4;                             // between the callback and the thread that resamples
constexpr int64_t kMostWaiting = 600 * kSampleRate;    // heard, but not listened to: while a model loads
constexpr int64_t kSlack = kSampleRate / 2;            // by which a card's clock and this machine's may differ

double seconds_between(Time a, Time b) { return std::chrono::duration<double>(b - a).count(); }

void say_nothing(const char*, int, const char*, int, const char*, ...) {}

// ALSA and JACK print what they miss when they are asked for their devices, which is nobody's fault.
void silence_libraries() {
  using AlsaHandler = void (*)(const char*, int, const char*, int, const char*, ...);
  using JackHandler = void (*)(const char*);
  if (void* set = dlsym(RTLD_DEFAULT, "snd_lib_error_set_handler"))
    reinterpret_cast<int (*)(AlsaHandler)>(set)(say_nothing);
  for (const char* name : {"jack_set_error_function", "jack_set_info_function"})
    if (void* set = dlsym(RTLD_DEFAULT, name)) reinterpret_cast<void (*)(JackHandler)>(set)([](const char*) {});
}

// PortAudio looks for devices once, when it is started.
class SoundSystem {
 public:
  SoundSystem() {
    silence_libraries();
    if (const PaError code = Pa_Initialize(); code != paNoError)
      throw Error(std::string("the sound system can't be used: ") + Pa_GetErrorText(code));
  }
  ~SoundSystem() { Pa_Terminate(); }
  SoundSystem(const SoundSystem&) = delete;
  SoundSystem& operator=(const SoundSystem&) = delete;
};

// "HDA Intel PCH: ALC257 Analog (hw:0,0)": the numbers of cards change from one start to the next.
std::string stable_name(std::string name) {
  const auto at = name.rfind(" (hw:");
  if (at != name.npos && name.ends_with(')')) name.erase(at);
  return name;
}

std::string small(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

struct FoundDevice : InputDevice {
  PaDeviceIndex index = paNoDevice;
  double latency_s = 0;
};

std::vector<FoundDevice> find_devices() {
  std::vector<FoundDevice> found;
  for (PaDeviceIndex index = 0; index < Pa_GetDeviceCount(); ++index) {
    const PaDeviceInfo& info = *Pa_GetDeviceInfo(index);
    if (info.maxInputChannels <= 0) continue;
    FoundDevice device;
    device.number = static_cast<int>(found.size());
    device.name = stable_name(info.name);
    for (const FoundDevice& other : found)
      if (other.name == device.name) {
        device.name += std::string(" [") + Pa_GetHostApiInfo(info.hostApi)->name + " " + info.name + "]";
        break;
      }
    device.channels = info.maxInputChannels;
    device.rate = info.defaultSampleRate;
    device.is_default = index == Pa_GetDefaultInputDevice();
    device.index = index;
    device.latency_s = info.defaultHighInputLatency;
    found.push_back(std::move(device));
  }
  return found;
}

class Microphone : public LiveSource {
 public:
  explicit Microphone(const std::string& wanted) : wanted_(wanted), queue_(kMostWaiting) {
    open();
    if (!wanted_.empty()) wanted_ = name_;  // its number may be another's by the time it comes back
    thread_ = std::thread([this] { run(); });
  }

  ~Microphone() override {
    stop_ = true;
    thread_.join();
  }

  bool read(std::vector<float>& out) override { return queue_.read(out); }
  double waiting_s() const override { return queue_.waiting_s(); }
  std::vector<std::string> take_notices() override { return queue_.take_notices(); }

 private:
  static int callback(const void* input, void*, unsigned long n_frames, const PaStreamCallbackTimeInfo*,
                      PaStreamCallbackFlags flags, void* self) {
    auto& microphone = *static_cast<Microphone*>(self);
    if (flags & paInputOverflow) microphone.overflows_.fetch_add(1, std::memory_order_relaxed);
    if (input) microphone.ring_->write({static_cast<const float*>(input), n_frames * microphone.channels_});
    microphone.calls_.fetch_add(1, std::memory_order_relaxed);
    return paContinue;
  }

  void open();
  void close();
  void run();
  void drain();
  void tell_losses();
  void tell_of_loss(const std::string& why);
  void await_return();

  std::string wanted_, name_;
  SoundQueue queue_;
  std::unique_ptr<SoundSystem> system_;
  std::unique_ptr<SoundRing> ring_;
  PaStream* stream_ = nullptr;
  int channels_ = 1;
  int rate_ = kSampleRate;
  std::atomic<uint64_t> calls_ = 0, overflows_ = 0;
  std::unique_ptr<MonoResampler> resampler_;
  std::vector<float> raw_, sound_;
  Time begin_ = std::chrono::steady_clock::now();  // of the sound
  Time last_told_ = begin_ - kTellEvery;
  int64_t n_heard_ = 0;                            // samples since then, 16 kHz
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

void Microphone::open() {
  system_ = std::make_unique<SoundSystem>();
  const std::vector<FoundDevice> found = find_devices();
  const FoundDevice& device = found.at(choose_device({found.begin(), found.end()}, wanted_).number);
  name_ = device.name;
  channels_ = std::min(device.channels, 2);
  rate_ = static_cast<int>(device.rate);
  ring_ = std::make_unique<SoundRing>(static_cast<size_t>(kRing_s) * rate_ * channels_);
  resampler_ = std::make_unique<MonoResampler>();
  const PaStreamParameters parameters{device.index, channels_, paFloat32, device.latency_s, nullptr};
  PaError code = Pa_OpenStream(&stream_, &parameters, nullptr, rate_, paFramesPerBufferUnspecified, paNoFlag, callback, this);
  if (code == paNoError) code = Pa_StartStream(stream_);
  if (code == paNoError) return;
  const std::string why = code == paUnanticipatedHostError ? Pa_GetLastHostErrorInfo()->errorText : Pa_GetErrorText(code);
  close();
  throw Error("the microphone '" + device.name + "' can't be opened: " + why);
}

void Microphone::close() {
  if (stream_) Pa_CloseStream(stream_);
  stream_ = nullptr;
  system_.reset();
}

void Microphone::run() {
  uint64_t calls = 0;
  Time last_call = std::chrono::steady_clock::now();
  while (!stop_) {
    std::this_thread::sleep_for(kDrainEvery);
    drain();
    tell_losses();
    const Time now = std::chrono::steady_clock::now();
    if (const uint64_t so_far = calls_; so_far != calls) {
      calls = so_far;
      last_call = now;
    }
    if (Pa_IsStreamActive(stream_) == 1 && now - last_call < kDeadAfter) continue;
    await_return();
    last_call = std::chrono::steady_clock::now();
  }
  close();
  drain();
  queue_.close();
}

void Microphone::drain() {
  raw_.clear();
  sound_.clear();
  ring_->read(raw_);
  if (!raw_.empty()) resampler_->push(raw_, rate_, channels_, sound_);
  n_heard_ += std::ssize(sound_);
  if (queue_.push(sound_, false) < sound_.size()) tell_of_loss("nobody has listened to it for ten minutes");
}

// Not again and again: whoever loses sound loses it often.
void Microphone::tell_of_loss(const std::string& why) {
  const Time now = std::chrono::steady_clock::now();
  if (now - last_told_ < kTellEvery) return;
  last_told_ = now;
  queue_.notice("sound was lost: " + why);
}

// What the ring had no room for is made up for by silence, so that times stay right. What the sound system lost before it
// called is seen by the clock.
void Microphone::tell_losses() {
  const uint64_t lost = ring_->take_lost() / channels_ * kSampleRate / rate_;
  const uint64_t overflows = overflows_.exchange(0);
  if (lost == 0 && overflows == 0) return;
  const double gone_s = seconds_between(begin_, std::chrono::steady_clock::now());
  const int64_t missing = static_cast<int64_t>(gone_s * kSampleRate) - n_heard_;
  const int64_t silence = missing > kSlack ? missing : std::clamp<int64_t>(missing, 0, static_cast<int64_t>(lost));
  n_heard_ += silence;
  queue_.push(std::vector<float>(silence), false);
  tell_of_loss("this machine was too slow for the microphone '" + name_ + "' for a moment");
}

// The device is gone: until it is there again there is silence.
void Microphone::await_return() {
  close();
  queue_.notice("the microphone '" + name_ + "' has gone; waiting for it");
  while (!stop_) {
    for (auto waited = std::chrono::milliseconds(0); waited < kTryEvery && !stop_; waited += kDrainEvery)
      std::this_thread::sleep_for(kDrainEvery);
    const int64_t due = static_cast<int64_t>(seconds_between(begin_, std::chrono::steady_clock::now()) * kSampleRate);
    if (due > n_heard_) queue_.push(std::vector<float>(due - n_heard_), false);
    n_heard_ = std::max(n_heard_, due);
    try {
      open();
      queue_.notice("the microphone '" + name_ + "' is there again");
      return;
    } catch (const Error&) {  // not yet
    }
  }
}

}  // namespace

std::vector<InputDevice> input_devices() {
  const SoundSystem system;
  const std::vector<FoundDevice> found = find_devices();
  return {found.begin(), found.end()};
}

const InputDevice& choose_device(const std::vector<InputDevice>& devices, const std::string& wanted) {
  if (devices.empty()) throw Error("this machine has no microphone; 'sotto devices' lists what it finds");
  if (wanted.empty()) {
    const auto chosen = std::ranges::find_if(devices, &InputDevice::is_default);
    return chosen == devices.end() ? devices.front() : *chosen;
  }
  const bool number = wanted.find_first_not_of("0123456789") == wanted.npos && wanted.size() < 6;
  if (number && std::stoul(wanted) < devices.size()) return devices[std::stoul(wanted)];
  std::vector<const InputDevice*> same, part;
  for (const InputDevice& device : devices) {
    if (device.name == wanted) same.push_back(&device);
    if (small(device.name).find(small(wanted)) != std::string::npos) part.push_back(&device);
  }
  if (!same.empty()) return *same.front();
  if (part.size() == 1) return *part.front();
  std::string names;
  for (const InputDevice& device : devices) names += (names.empty() ? "'" : ", '") + device.name + "'";
  throw Error((part.empty() ? "there is no microphone '" + wanted + "'" : "several microphones could be '" + wanted + "'") +
              "; there are " + names);
}

std::unique_ptr<LiveSource> listen_to_microphone(const std::string& wanted) {
  return std::make_unique<Microphone>(wanted);
}

}  // namespace sotto
