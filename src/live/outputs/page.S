// The captions' page as bytes of the program.
        .section .rodata
        .global sotto_caption_page, sotto_caption_page_end
sotto_caption_page:
        .incbin "src/live/outputs/page.html"
sotto_caption_page_end:
        .section .note.GNU-stack, "", %progbits
