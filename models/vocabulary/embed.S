// The vocabulary files as bytes of the program. make.py says what is in them.
        .section .rodata
        .global sotto_english_vocabulary, sotto_english_vocabulary_end
        .global sotto_multilingual_vocabulary, sotto_multilingual_vocabulary_end
sotto_english_vocabulary:
        .incbin "models/vocabulary/english.bin"
sotto_english_vocabulary_end:
sotto_multilingual_vocabulary:
        .incbin "models/vocabulary/multilingual.bin"
sotto_multilingual_vocabulary_end:
        .section .note.GNU-stack, "", %progbits
