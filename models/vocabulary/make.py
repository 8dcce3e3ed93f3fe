#!/usr/bin/env python3
"""Writes a vocabulary file, which the program embeds, from a model folder's tokenizer.json.

    make.py MODEL_FOLDER/tokenizer.json english.bin         # a vocabulary of 51864: tiny.en and its like
    make.py MODEL_FOLDER/tokenizer.json multilingual.bin    # 51865 and 51866 have the same text tokens

The file holds the text tokens in the order of their ids, which is also the order in which pairs merge: for each, one
byte with the number of its bytes (0 to 255), then the bytes.
"""

import json
import sys


def bytes_of_characters():
    """tokenizer.json spells each byte as one visible character: printable Latin-1 as itself, the rest from U+0100."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {chr(byte): byte for byte in visible} | {chr(0x100 + i): byte for i, byte in enumerate(hidden)}


def main(source, target):
    with open(source, encoding="utf-8") as file:
        vocabulary = json.load(file)["model"]["vocab"]
    end_of_text = vocabulary.pop("<|endoftext|>")
    spelling = {token: text for text, token in vocabulary.items()}
    if sorted(spelling) != list(range(end_of_text)):
        sys.exit(f"{source}: the ids of its text tokens are not 0 to {end_of_text - 1}")
    byte_of = bytes_of_characters()
    with open(target, "wb") as file:
        for token in range(end_of_text):
            text = bytes(byte_of[character] for character in spelling[token])
            file.write(bytes([len(text)]) + text)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
