// The page as bytes of the program.
        .section .rodata
        .global sotto_view_page, sotto_view_page_end
sotto_view_page:
        .incbin "src/view/page.html"
sotto_view_page_end:
        .section .note.GNU-stack, "", %progbits
