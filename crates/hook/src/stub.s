# Entry and exit stubs of hooked functions. Only rax, rcx, rdx and r11 are used, and each is restored: a compiler that saw the function
# may rely on more than the calling convention. Every instruction is covered by unwind information (.cfi).

    .section .tbss,"awT",@nobits
    .balign 16
    .hidden sintonia_ring
    .globl sintonia_ring
    .type sintonia_ring, @object
    .size sintonia_ring, 32
sintonia_ring: .zero 32         # +0 next record, +8 end of the chunk, +16 the ring, +24 set while a chunk is requested
    .text

# An entry of the hook table: +0 address of the relocated function, +8 first word of its entry records, +16 of its exit records,
# +24 values to read at entry, +32 at exit, +40 actions at entry, +48 at exit. In a cache line of their own, because they are written:
# +64 number of calls, +72 their ticks. The counts are not atomic, so threads may lose some. For a replaced function: +80 replacement,
# +88 result registers besides rax: 1 rdx, 2 xmm0 and xmm1.

# Reserves a record, into rcx. One instruction, so that a hooked signal handler gets the next one.
.macro TAKE_ROOM
    movq sintonia_ring@GOTTPOFF(%rip), %rdx
    movl $128, %ecx
    xaddq %rcx, %fs:(%rdx)
    cmpq %fs:8(%rdx), %rcx
    jb 1f
    call sintonia_more_room
1:
.endm

# Stores the time, then marks the record as complete with the lap from the chunk's header.
.macro COMPLETE tag
    rdtsc
    shlq $32, %rdx
    orq %rdx, %rax
    movq %rax, 8(%rcx)
    movq %rcx, %rax
    andq $-8192, %rax
    movq (%rax), %rax
    orq \tag(%r11), %rax
    movq %rax, (%rcx)
.endm

# Saves the given components of the processor state at the top of the stack; uses rax and rdx.
.macro SAVE_STATE parts
    xorl %eax, %eax
    .set word, 512
    .rept 8
    movq %rax, word(%rsp)       # the XSAVE header must be zero
    .set word, word+8
    .endr
    movl {state_parts}(%rip), %eax
    andl \parts, %eax
    xorl %edx, %edx
    xsave64 (%rsp)
.endm

.macro GIVE_STATE_BACK parts
    movl {state_parts}(%rip), %eax
    andl \parts, %eax
    xorl %edx, %edx
    xrstor64 (%rsp)
.endm

# The frame of a wrapped call: K bytes of copied arguments, rax, rdx, rcx, r11, the target, the ticks of its entry; then the number and the
# caller.
.macro SAVE K
    movq %rax, \K(%rsp)
    movq %rdx, \K+8(%rsp)
    movq %rcx, \K+16(%rsp)
    movq %r11, \K+24(%rsp)
    movl \K+48(%rsp), %r11d
    shlq $7, %r11
    leaq {hooks}(%rip), %rax
    addq %rax, %r11
.endm

.macro GIVE_BACK K
    movq \K(%rsp), %rax
    movq \K+8(%rsp), %rdx
    movq \K+16(%rsp), %rcx
    movq \K+24(%rsp), %r11
.endm

# Common to both records: floating-point registers, the caller's stack pointer, additional values, and the time.
.macro NOTE_REST K, reads, tag
    movq %xmm0, 72(%rcx)
    movq %xmm1, 80(%rcx)
    leaq \K+56(%rsp), %rax
    movq %rax, 16(%rcx)
    movq \reads(%r11), %rdx
    testq %rdx, %rdx
    jz 2f
    call sintonia_read
2:  COMPLETE \tag
.endm

.macro NOTE_ENTRY K
    cmpq $0, 40(%r11)
    je 4f
    call sintonia_act_entry
4:  incq 64(%r11)
    TAKE_ROOM
    movq %rdi, 24(%rcx)
    movq %rsi, 32(%rcx)
    movq \K+8(%rsp), %rax
    movq %rax, 40(%rcx)
    movq \K+16(%rsp), %rax
    movq %rax, 48(%rcx)
    movq %r8, 56(%rcx)
    movq %r9, 64(%rcx)
    NOTE_REST \K, 24, 8
.endm

.macro WRAP name, K
    .hidden \name
    .globl \name
    .type \name, @function
    .balign 64
\name:
    .cfi_startproc
    .cfi_def_cfa_offset 16
    leaq -(\K+48)(%rsp), %rsp
    .cfi_def_cfa_offset \K+64
    SAVE \K
    movq (%r11), %rax
    movq %rax, \K+32(%rsp)
    NOTE_ENTRY \K
    movq 8(%rcx), %rax
    movq %rax, \K+40(%rsp)
    .set word, 0
    .rept \K/8
    movq \K+64+word(%rsp), %rax
    movq %rax, word(%rsp)
    .set word, word+8
    .endr
    GIVE_BACK \K
    call *\K+32(%rsp)
    SAVE \K
    TAKE_ROOM
    movq \K(%rsp), %rax
    movq %rax, 24(%rcx)
    movq \K+8(%rsp), %rax
    movq %rax, 32(%rcx)
    NOTE_REST \K, 32, 16
    movq 8(%rcx), %rax
    subq \K+40(%rsp), %rax
    addq %rax, 72(%r11)
    cmpq $0, 48(%r11)
    je 4f
    call sintonia_act_exit
4:  GIVE_BACK \K
    leaq \K+56(%rsp), %rsp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size \name, .-\name
.endm

    WRAP sintonia_wrap, 0
    WRAP sintonia_wrap_stack, 128

# Records the entry only, and leaves no frame: for functions that use their caller's frame.
    .hidden sintonia_pass
    .globl sintonia_pass
    .type sintonia_pass, @function
    .balign 64
sintonia_pass:
    .cfi_startproc
    .cfi_def_cfa_offset 16
    leaq -48(%rsp), %rsp
    .cfi_def_cfa_offset 64
    SAVE 0
    movq (%r11), %rax
    movq %rax, 32(%rsp)
    NOTE_ENTRY 0
    GIVE_BACK 0
    leaq 56(%rsp), %rsp
    .cfi_def_cfa_offset 8
    jmp *-24(%rsp)              # below the stack pointer, but inside the red zone
    .cfi_endproc
    .size sintonia_pass, .-sintonia_pass

# Calls another function instead of the hooked one. A compiler that saw the hooked function may keep values in registers that it does not
# change; the replacement may change them all. So all are restored except those with a result.
    .hidden sintonia_replace
    .globl sintonia_replace
    .type sintonia_replace, @function
    .balign 64
sintonia_replace:
    .cfi_startproc
    .cfi_def_cfa_offset 16
    pushq %rbp
    .cfi_def_cfa_offset 24
    .cfi_offset rbp, -24
    movq %rsp, %rbp
    .cfi_def_cfa_register rbp
    pushq %rdi
    pushq %rsi
    pushq %rdx                  # -24(%rbp)
    pushq %rcx
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    pushq %rax                  # -72(%rbp)
    subq $40, %rsp              # -80(%rbp): address of the saved state; -96(%rbp) and -112(%rbp): xmm1 and xmm0 as results
    subq {state_bytes}(%rip), %rsp
    andq $-64, %rsp
    movq %rsp, -80(%rbp)
    SAVE_STATE $-2              # x87 results stay in the x87 unit
    subq $128, %rsp
    .set word, 0
    .rept 16
    movq 24+word(%rbp), %rax
    movq %rax, word(%rsp)
    .set word, word+8
    .endr
    movl 8(%rbp), %eax
    shlq $7, %rax
    leaq {hooks}(%rip), %r11
    addq %rax, %r11
    movq 80(%r11), %r11
    movq -72(%rbp), %rax
    movq -24(%rbp), %rdx
    call *%r11
    movq %rax, -72(%rbp)
    movups %xmm0, -112(%rbp)
    movups %xmm1, -96(%rbp)
    movl 8(%rbp), %eax
    shlq $7, %rax
    leaq {hooks}(%rip), %r11
    addq %rax, %r11
    movq 88(%r11), %r11
    testl $1, %r11d
    jz 1f
    movq %rdx, -24(%rbp)
1:  movq -80(%rbp), %rsp
    GIVE_STATE_BACK $-2
    testl $2, %r11d
    jz 1f
    movups -112(%rbp), %xmm0
    movups -96(%rbp), %xmm1
1:  leaq -72(%rbp), %rsp
    popq %rax
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rcx
    popq %rdx
    popq %rsi
    popq %rdi
    popq %rbp
    .cfi_def_cfa rsp, 16
    leaq 8(%rsp), %rsp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size sintonia_replace, .-sintonia_replace

# Reads the values of the list in rdx into the record in rcx. Uses rax, rdx and r11, and restores r11.
    .type sintonia_read, @function
    .balign 64
sintonia_read:
    .cfi_startproc
    pushq %r11
    .cfi_def_cfa_offset 16
    pushq %rcx
    .cfi_def_cfa_offset 24
3:  movl (%rdx), %eax           # rcx + 88 is the address of the next value
    testl %eax, %eax
    jz 9f
    cmpl $2, %eax
    jb 4f                       # at an address
    je 5f                       # through a pointer
    cmpl $4, %eax
    jb 6f                       # through an argument
    je 7f                       # a floating-point argument
    movq (%rsp), %rax           # a stack argument: the record has the stack pointer
    movq 16(%rax), %r11
    addq 8(%rdx), %r11
    jmp 10f
4:  movq 8(%rdx), %r11
    jmp 10f
5:  movq 8(%rdx), %r11
    movq (%r11), %r11
    jmp 8f
6:  movq (%rsp), %r11
    addq 8(%rdx), %r11
    movq (%r11), %r11
8:  cmpq $65536, %r11           # null, or not a pointer
    jb 11f
    movq %r11, %rax
    shrq $47, %rax
    jnz 11f
    addq 16(%rdx), %r11
10: movl 4(%rdx), %eax
    cmpl $4, %eax
    je 12f
    ja 13f
    cmpl $2, %eax
    je 14f
    movzbl (%r11), %eax
    jmp 20f
12: movl (%r11), %eax
    jmp 20f
13: movq (%r11), %rax
    jmp 20f
14: movzwl (%r11), %eax
    jmp 20f
11: xorl %eax, %eax
20: movq %rax, 88(%rcx)
21: addq $8, %rcx
    addq $24, %rdx
    jmp 3b
7:  movl 8(%rdx), %eax
    shll $4, %eax
    leaq 30f(%rip), %r11
    addq %rax, %r11
    jmp *%r11
    .balign 16
30: .irp register, 0, 1, 2, 3, 4, 5, 6, 7
    movq %xmm\register, 88(%rcx)
    jmp 21b
    .balign 16
    .endr
9:  popq %rcx
    .cfi_def_cfa_offset 16
    popq %r11
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size sintonia_read, .-sintonia_read

# A call from a stub into compiled code, with the thread's ring cursor and the hook's entry as arguments; its result is in rcx.
# All registers but rax, rcx and rdx are preserved, vector registers included.
.macro CALL_OUT name, function, moment
    .type \name, @function
    .balign 64
\name:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register rbp
    pushq %rdi
    pushq %rsi
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    subq {state_bytes}(%rip), %rsp
    andq $-64, %rsp
    SAVE_STATE $-1
    movq %fs:0, %rdi
    addq sintonia_ring@GOTTPOFF(%rip), %rdi
    movq %r11, %rsi
    movl $\moment, %edx
    call \function
    movq %rax, %rcx
    GIVE_STATE_BACK $-1
    leaq -48(%rbp), %rsp
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rsi
    popq %rdi
    popq %rbp
    .cfi_def_cfa rsp, 8
    ret
    .cfi_endproc
    .size \name, .-\name
.endm

    CALL_OUT sintonia_more_room, {next_chunk}, 0
    CALL_OUT sintonia_act_entry, {act}, 1
    CALL_OUT sintonia_act_exit, {act}, 2

# One stub of 16 bytes per hook: pushes its number and jumps to the common part.
.macro STUBS name, common
    .hidden \name
    .globl \name
    .balign 64
\name:
    .cfi_startproc
    .set number, 0
    .rept 2048
    .balign 16
    .cfi_def_cfa_offset 8
    pushq $number
    .cfi_def_cfa_offset 16
    jmp \common
    .set number, number+1
    .endr
    .cfi_endproc
.endm

    STUBS sintonia_stubs_wrap, sintonia_wrap
    STUBS sintonia_stubs_wrap_stack, sintonia_wrap_stack
    STUBS sintonia_stubs_pass, sintonia_pass
    STUBS sintonia_stubs_replace, sintonia_replace
