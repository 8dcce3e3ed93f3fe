// The catalog's facts: one row for each model.
#include "models/catalog.h"

namespace sotto {
namespace {

using Head = std::pair<int, int>;  // (decoder layer, head)

constexpr Head kTinyHeads[] = {{2, 2}, {3, 0}, {3, 2}, {3, 3}, {3, 4}, {3, 5}};
constexpr Head kTinyEnHeads[] = {{1, 0}, {2, 0}, {2, 5}, {3, 0}, {3, 1}, {3, 2}, {3, 3}, {3, 4}};
constexpr Head kBaseHeads[] = {{3, 1}, {4, 2}, {4, 3}, {4, 7}, {5, 1}, {5, 2}, {5, 4}, {5, 6}};
constexpr Head kBaseEnHeads[] = {{3, 3}, {4, 7}, {5, 1}, {5, 5}, {5, 7}};
constexpr Head kSmallHeads[] = {{5, 3}, {5, 9}, {8, 0}, {8, 4}, {8, 7}, {8, 8}, {9, 0}, {9, 7}, {9, 9}, {10, 5}};
constexpr Head kSmallEnHeads[] = {
    {6, 6}, {7, 0}, {7, 3}, {7, 8}, {8, 2}, {8, 5}, {8, 7}, {9, 0}, {9, 4}, {9, 8}, {9, 10}, {10, 0}, {10, 1},
    {10, 2}, {10, 3}, {10, 6}, {10, 11}, {11, 2}, {11, 4}};
constexpr Head kMediumHeads[] = {{13, 15}, {15, 4}, {15, 15}, {16, 1}, {20, 0}, {23, 4}};
constexpr Head kMediumEnHeads[] = {
    {11, 4}, {14, 1}, {14, 12}, {14, 14}, {15, 4}, {16, 0}, {16, 4}, {16, 9}, {17, 12}, {17, 14}, {18, 7}, {18, 10},
    {18, 15}, {20, 0}, {20, 3}, {20, 9}, {20, 14}, {21, 12}};
constexpr Head kLargeV1Heads[] = {{9, 19}, {11, 2}, {11, 4}, {11, 17}, {22, 7}, {22, 11}, {22, 17}, {23, 2}, {23, 15}};
constexpr Head kLargeV2Heads[] = {
    {10, 12}, {13, 17}, {16, 11}, {16, 12}, {16, 13}, {17, 15}, {17, 16}, {18, 4}, {18, 11}, {18, 19}, {19, 11},
    {21, 2}, {21, 3}, {22, 3}, {22, 9}, {22, 12}, {23, 5}, {23, 7}, {23, 13}, {25, 5}, {26, 1}, {26, 12}, {27, 15}};
constexpr Head kLargeV3Heads[] = {
    {7, 0}, {10, 17}, {12, 18}, {13, 12}, {16, 1}, {17, 14}, {19, 11}, {21, 4}, {24, 1}, {25, 6}};
constexpr Head kLargeV3TurboHeads[] = {{2, 4}, {2, 11}, {3, 3}, {3, 6}, {3, 11}, {3, 14}};

constexpr CatalogEntry kCatalog[] = {
    {"tiny", {384, 6, 4, 4, 80, 51865}, kTinyHeads,
     "65147644a518d12f04e32d6f3b26facc3f8dd46e5390956a9424a650c0ce22b9", "openai/whisper-tiny"},
    {"tiny.en", {384, 6, 4, 4, 80, 51864}, kTinyEnHeads,
     "d3dd57d32accea0b295c96e26691aa14d8822fac7d9d27d5dc00b4ca2826dd03", "openai/whisper-tiny.en"},
    {"base", {512, 8, 6, 6, 80, 51865}, kBaseHeads,
     "ed3a0b6b1c0edf879ad9b11b1af5a0e6ab5db9205f891f668f8b0e6c6326e34e", "openai/whisper-base"},
    {"base.en", {512, 8, 6, 6, 80, 51864}, kBaseEnHeads,
     "25a8566e1d0c1e2231d1c762132cd20e0f96a85d16145c3a00adf5d1ac670ead", "openai/whisper-base.en"},
    {"small", {768, 12, 12, 12, 80, 51865}, kSmallHeads,
     "9ecf779972d90ba49c06d968637d720dd632c55bbf19d441fb42bf17a411e794", "openai/whisper-small"},
    {"small.en", {768, 12, 12, 12, 80, 51864}, kSmallEnHeads,
     "f953ad0fd29cacd07d5a9eda5624af0f6bcf2258be67c92b79389873d91e0872", "openai/whisper-small.en"},
    {"medium", {1024, 16, 24, 24, 80, 51865}, kMediumHeads,
     "345ae4da62f9b3d59415adc60127b97c714f32e89e936602e85993674d08dcb1", "openai/whisper-medium"},
    {"medium.en", {1024, 16, 24, 24, 80, 51864}, kMediumEnHeads,
     "d7440d1dc186f76616474e0ff0b3b6b879abc9d1a4926b7adfa41db2d497ab4f", "openai/whisper-medium.en"},
    {"large-v1", {1280, 20, 32, 32, 80, 51865}, kLargeV1Heads,
     "e4b87e7e0bf463eb8e6956e646f1e277e901512310def2c24bf0e11bd3c28e9a", "openai/whisper-large-v1"},
    {"large-v2", {1280, 20, 32, 32, 80, 51865}, kLargeV2Heads,
     "81f7c96c852ee8fc832187b0132e569d6c3065a3252ed18e56effd0b6a73e524", "openai/whisper-large-v2"},
    {"large-v3", {1280, 20, 32, 32, 128, 51866}, kLargeV3Heads,
     "e5b1a55b89c1367dacf97e3e19bfd829a01529dbfdeefa8caeb59b3f1b81dadb", "openai/whisper-large-v3"},
    {"large-v3-turbo", {1280, 20, 32, 4, 128, 51866}, kLargeV3TurboHeads,
     "aff26ae408abcba5fbf8813c21e62b0941638c5f6eebfb145be0c9839262a19a", "openai/whisper-large-v3-turbo"},
    {"distil-small.en", {768, 12, 12, 4, 80, 51864}, {}, "", "distil-whisper/distil-small.en"},
    {"distil-medium.en", {1024, 16, 24, 2, 80, 51864}, {}, "", "distil-whisper/distil-medium.en"},
    {"distil-large-v2", {1280, 20, 32, 2, 80, 51865}, {}, "", "distil-whisper/distil-large-v2"},
    {"distil-large-v3", {1280, 20, 32, 2, 128, 51866}, {}, "", "distil-whisper/distil-large-v3"},
    {"distil-large-v3.5", {1280, 20, 32, 2, 128, 51866}, {}, "", "distil-whisper/distil-large-v3.5"},
};

}  // namespace

std::span<const CatalogEntry> catalog() { return kCatalog; }

}  // namespace sotto
