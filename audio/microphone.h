// Microphones, by PortAudio.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "audio/live_source.h"

namespace sotto {

struct InputDevice {
  int number;        // in the list; changes when devices come and go
  std::string name;  // stays: without the card's number, and with the system behind it where two have the same
  int channels = 0;
  double rate = 0;   // Hz, its own
  bool is_default = false;
};

// Those there are now. Throws Error if the sound system can't be asked. Not while a microphone is open.
std::vector<InputDevice> input_devices();

// Which of them is meant: by number, by name, or by a part of a name that only one has, in whatever letters; empty: the
// default one. Throws Error, naming what there is.
const InputDevice& choose_device(const std::vector<InputDevice>& devices, const std::string& wanted);

// Listens to it from now on. One that goes away is waited for, and silence stands for what is missed; the default device is
// whatever is the default one when it is opened again. Throws Error if it can't be opened now.
std::unique_ptr<LiveSource> listen_to_microphone(const std::string& wanted);

}  // namespace sotto
