#include "models/sha256.h"

#include <openssl/evp.h>

#include <fstream>
#include <vector>

#include "models/error.h"

namespace sotto {

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(evp); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  CHECK_INVARIANT(context_->evp && EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(const void* data, size_t size) {
  CHECK_INVARIANT(EVP_DigestUpdate(context_->evp, data, size) == 1);
}

std::string Sha256::hex() const {
  Context copy;  // finishing a copy leaves this one open for more
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  CHECK_INVARIANT(EVP_MD_CTX_copy_ex(copy.evp, context_->evp) == 1);
  CHECK_INVARIANT(EVP_DigestFinal_ex(copy.evp, digest, &length) == 1);
  std::string text;
  for (unsigned i = 0; i < length; ++i) {
    text += "0123456789abcdef"[digest[i] >> 4];
    text += "0123456789abcdef"[digest[i] & 15];
  }
  return text;
}

std::string sha256_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  Sha256 sha;
  std::vector<char> buffer(1 << 20);
  while (in) {
    in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    sha.update(buffer.data(), static_cast<size_t>(in.gcount()));
  }
  if (!in.eof()) throw Error(path + " can't be read; check that it is there and who may read it");
  return sha.hex();
}

}  // namespace sotto
