# Entry and exit stubs of hooked functions. Only rax, rcx, rdx and r11 are used, and each is restored: a compiler that saw the function
# may rely on more than the calling convention. Every instruction is covered by unwind information (.cfi).

    .section .tbss,"awT",@nobits
    .balign 16
    .hidden sintonia_ring
    .globl sintonia_ring
    .type sintonia_ring, @object
    .size sintonia_ring, 56
sintonia_ring: .zero 56         # +0 next record, +8 end of the chunk, +16 the ring, +24 set while a chunk is requested, +32 the pending
                                # return to try first, +40 the table of sums, +48 ticks in MPI functions
    .text

# An entry of the hook table: +0 address of the relocated function, +8 first word of its entry records, +16 of its exit records,
# +24 values to read at entry, +32 at exit, +40 actions at entry, +48 at exit, +56 offset of its sums in a table, +64 what is recorded: 1
# entries, 2 exits, 4 squares and maxima in the sums. For a replaced function: +80 replacement, +88 result registers besides rax: 1 rdx, 2 xmm0 and xmm1.

# A slot of the table of sums: +0 entries, +8 exits, +16 durations, +56 ticks in MPI functions; of each quantity +0 total, +8 and +16
# squares, +24 and +32 maxima of even and odd generations. The table starts with the generation. Each word is changed by one instruction
# (the carry of squares is in the flags), so a hooked signal handler loses nothing.

# Reserves a record, into rcx; rdx has the offset of the thread's cursor. One instruction, so that a hooked signal handler gets the next one.
.macro TAKE_ROOM
    movl $128, %ecx
    xaddq %rcx, %fs:(%rdx)
    cmpq %fs:8(%rdx), %rcx
    jb 1f
    call sintonia_more_room
1:
.endm

# The time, into rax; uses rdx.
.macro TICKS
    rdtsc
    shlq $32, %rdx
    orq %rdx, %rax
.endm

# Stores the time in rax, then marks the record as complete with the lap from the chunk's header.
.macro COMPLETE tag
    movq %rax, 8(%rcx)
    movq %rcx, %rax
    andq $-8192, %rax
    movq (%rax), %rax
    orq \tag(%r11), %rax
    movq %rax, (%rcx)
.endm

# The table of sums of the thread, into rcx, and the offset of the thread's cursor, into rdx.
.macro FIND_SUMS
    movq sintonia_ring@GOTTPOFF(%rip), %rdx
    movq %fs:40(%rdx), %rcx
    testq %rcx, %rcx
    jnz 1f
    call sintonia_claim_sums
    movq sintonia_ring@GOTTPOFF(%rip), %rdx
1:
.endm

# Adds the value in rax, which is in the frame as well, to the maximum and the squares of a quantity of the slot in rcx; rdx has the
# generation. Uses rax and rdx.
.macro ADD_TO_QUANTITY first, value
    orq %rdx, %rax
    shrq $48, %rdx
    andl $1, %edx
    leaq (%rcx,%rdx,8), %rdx
    cmpq \first+24(%rdx), %rax
    jbe 2f
1:  xchgq %rax, \first+24(%rdx)
    cmpq \first+24(%rdx), %rax  # a greater one of a signal handler is put back
    ja 1b
2:  movq \value(%rsp), %rax
    mulq %rax
    addq %rax, \first+8(%rcx)
    adcq %rdx, \first+16(%rcx)
.endm

# Saves the given components of the processor state at an offset from a register; uses rax and rdx.
.macro SAVE_STATE parts, register, offset=0
    xorl %eax, %eax
    .set word, 512
    .rept 8
    movq %rax, \offset+word(\register)       # the XSAVE header must be zero
    .set word, word+8
    .endr
    movl {state_parts}(%rip), %eax
    andl \parts, %eax
    xorl %edx, %edx
    xsave64 \offset(\register)
.endm

.macro GIVE_STATE_BACK parts, register, offset=0
    movl {state_parts}(%rip), %eax
    andl \parts, %eax
    xorl %edx, %edx
    xrstor64 \offset(\register)
.endm

# The frame of a stub: rax, rdx, rcx, r11, +32 the target, +40 the ticks of the entry, +48 of the exit, +56 the thread's ticks in MPI at the
# entry; then the offset of the entry of the hook and the return address.
.macro SAVE_REGISTERS
    movq %rax, (%rsp)
    movq %rdx, 8(%rsp)
    movq %rcx, 16(%rsp)
    movq %r11, 24(%rsp)
.endm

# The entry of the hook whose offset is in the frame, into r11.
.macro FIND_HOOK
    leaq {hooks}(%rip), %r11
    addq 64(%rsp), %r11
.endm

.macro GIVE_BACK
    movq (%rsp), %rax
    movq 8(%rsp), %rdx
    movq 16(%rsp), %rcx
    movq 24(%rsp), %r11
.endm

# Common to both records: floating-point registers, the caller's stack pointer, and additional values.
.macro NOTE_REST reads
    movq %xmm0, 72(%rcx)
    movq %xmm1, 80(%rcx)
    leaq 72(%rsp), %rax
    movq %rax, 16(%rcx)
    movq \reads(%r11), %rdx
    testq %rdx, %rdx
    jz 2f
    call sintonia_read
2:
.endm

.macro ACT_AT_ENTRY
    cmpq $0, 40(%r11)
    je 4f
    call sintonia_act_entry
4:
.endm

# Records the entry, and leaves its time in rax.
.macro RECORD_ENTRY
    TAKE_ROOM
    movq %rdi, 24(%rcx)
    movq %rsi, 32(%rcx)
    movq 8(%rsp), %rax
    movq %rax, 40(%rcx)
    movq 16(%rsp), %rax
    movq %rax, 48(%rcx)
    movq %r8, 56(%rcx)
    movq %r9, 64(%rcx)
    NOTE_REST 24
    TICKS
    movq %rax, 40(%rsp)
    COMPLETE 8
.endm

# Adds the entry to the sums, and records it if it is to be. Its time is in the frame at +40, the ticks in MPI until then at +56.
.macro NOTE_ENTRY
    ACT_AT_ENTRY
    FIND_SUMS
    addq 56(%r11), %rcx
    incq (%rcx)
    movq %fs:48(%rdx), %rax
    movq %rax, 56(%rsp)
    testb $1, 64(%r11)
    jnz 5f
    TICKS
    movq %rax, 40(%rsp)
    jmp 6f
5:  RECORD_ENTRY
6:
.endm

# Adds the exit to the sums, and records it if it is to be.
.macro NOTE_EXIT
    TICKS
    movq %rax, 48(%rsp)
    FIND_SUMS
    movq %fs:48(%rdx), %rax
    subq 56(%rsp), %rax
    movq %rax, 56(%rsp)         # ticks in MPI
    movq (%rcx), %rdx
    addq 56(%r11), %rcx
    incq 8(%rcx)
    movq 48(%rsp), %rax
    subq 40(%rsp), %rax
    jae 3f
    xorl %eax, %eax             # the time stamp counters of two processors may differ a little
3:  movq %rax, 40(%rsp)         # the duration
    addq %rax, 16(%rcx)
    testb $4, 64(%r11)
    jz 3f
    ADD_TO_QUANTITY 16, 40
3:  movq 56(%rsp), %rax
    testq %rax, %rax
    jz 4f
    cmpq 40(%rsp), %rax
    jbe 7f
    movq $0, 56(%rsp)           # a coroutine was entered in another thread: its ticks in MPI are not known
    jmp 4f
7:  addq %rax, 56(%rcx)
    movq sintonia_ring@GOTTPOFF(%rip), %rdx
    movq %fs:40(%rdx), %rdx
    testq %rdx, %rdx
    jz 4f
    movq (%rdx), %rdx
    ADD_TO_QUANTITY 56, 56
4:  testb $2, 64(%r11)
    jz 5f
    movq sintonia_ring@GOTTPOFF(%rip), %rdx
    TAKE_ROOM
    movq (%rsp), %rax
    movq %rax, 24(%rcx)
    movq 8(%rsp), %rax
    movq %rax, 32(%rcx)
    movq 56(%rsp), %rax
    movq %rax, 56(%rcx)
    movq 48(%rsp), %rax
    subq 40(%rsp), %rax
    movq %rax, 64(%rcx)         # the time of the entry
    NOTE_REST 32
    movq 48(%rsp), %rax
    COMPLETE 16
5:  cmpq $0, 48(%r11)
    je 6f
    call sintonia_act_exit
6:
.endm

# The begin of a stub: its frame, the entry of the hook in r11, and its target at +32.
.macro BEGIN_STUB name
    .hidden \name
    .globl \name
    .type \name, @function
    .balign 64
\name:
    .cfi_startproc
    .cfi_def_cfa_offset 16
    leaq -64(%rsp), %rsp
    .cfi_def_cfa_offset 80
    SAVE_REGISTERS
    FIND_HOOK
    movq (%r11), %rax
    movq %rax, 32(%rsp)
.endm

# The end of a stub that leaves no frame: jumps to the address at +32.
.macro JUMP_TO_TARGET name
    GIVE_BACK
    leaq 72(%rsp), %rsp
    .cfi_def_cfa_offset 8
    jmp *-40(%rsp)              # below the stack pointer, but inside the red zone
    .cfi_endproc
    .size \name, .-\name
.endm

# For functions whose arguments are all in registers: calls the function from a frame of its own.
    BEGIN_STUB sintonia_wrap
    NOTE_ENTRY
    GIVE_BACK
    call *32(%rsp)
    SAVE_REGISTERS
    FIND_HOOK
    NOTE_EXIT
    GIVE_BACK
    leaq 72(%rsp), %rsp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size sintonia_wrap, .-sintonia_wrap

# Records the entry only, and leaves no frame: for functions that use their caller's frame.
    BEGIN_STUB sintonia_pass
    ACT_AT_ENTRY
    FIND_SUMS
    addq 56(%r11), %rcx
    incq (%rcx)
    testb $1, 64(%r11)
    jz 6f
    RECORD_ENTRY
6:  JUMP_TO_TARGET sintonia_pass

# The unwind information of calls whose return address was replaced. With p the address of the call at the return point, the address of the
# word before sintonia_returned is a = p + *(u32 *)(p+5) + 1; it says where the pending returns are, and the one of the return point is at
# a + *(u32 *)a + 4 * (p - a + distance of a from the first return point).
.macro PENDING_OF_POINT
    .cfi_escape 0x12, 0x23, 0x05, 0x94, 0x04              # dup, plus_uconst 5, deref_size 4: p operand
    .cfi_escape 0x14, 0x22, 0x23, 0x01                    # over plus, plus_uconst 1: p a
    .cfi_escape 0x14, 0x14, 0x1c                          # over over minus: p a p-a
    .cfi_escape 0x0c, 0x38, 0x00, 0x10, 0x00, 0x22        # const4u 65536*16+56, plus: p a 16*number
    .cfi_escape 0x32, 0x24, 0x16                          # lit2 shl swap: p 64*number a
    .cfi_escape 0x12, 0x94, 0x04, 0x22, 0x22              # dup, deref_size 4, plus plus
.endm

# At a return point: p follows from rip. After a tail call, the return address on the stack is that of another return point. Unwinders tell
# frames apart by the canonical frame address, so return points have one of their own, although they take no stack.
.macro UNWIND_BY_RIP
    .cfi_escape 0x0f, 37                                  # def_cfa_expression, 37 bytes
    .cfi_escape 0x80, 0x00, 0x09, 0xf0, 0x1a              # breg16 0, const1s -16, and: p
    PENDING_OF_POINT
    .cfi_escape 0x23, 56, 0x06, 0x77, 0x00, 0x22          # plus_uconst 56, deref, breg7 0, plus
    .cfi_escape 0x16, 0x07, 2, 0x77, 0x00                 # val_expression of rsp: breg7 0
    .cfi_escape 0x16, 0x10, 32                            # val_expression of rip, 32 bytes
    .cfi_escape 0x80, 0x00, 0x09, 0xf0, 0x1a              # breg16 0, const1s -16, and: p
    PENDING_OF_POINT
    .cfi_escape 0x06                                      # deref
.endm

# Elsewhere: p follows from the return address on the stack, below the canonical frame address.
.macro UNWIND_BY_STACK
    .cfi_escape 0x16, 0x10, 33                            # val_expression of rip, 33 bytes
    .cfi_escape 0x38, 0x1c, 0x06, 0x09, 0xf0, 0x1a        # lit8 minus deref, const1s -16, and: p
    PENDING_OF_POINT
    .cfi_escape 0x06                                      # deref
.endm

# A pending return: +0 the return address that was replaced, +8 its state (0 free, 1 claimed, else live), +16 where the return address is,
# +24 the entry of the hook, +32 what happens at the return: if odd the exit is recorded, and half of it are the thread's ticks in MPI at the
# entry; else the address of the registers to restore after a replaced function, +40 the latest state of a live one, each time another, +48 the ticks of the entry,
# +56 the distance of the canonical frame address of its return point from the stack pointer.

# Claims a pending return, into rcx, or 0 if there is none. The one to try first is in a block that only this thread claims from; one
# instruction, so that a hooked signal handler gets another one. Uses rax and rdx.
.macro CLAIM_PENDING
    movq sintonia_ring@GOTTPOFF(%rip), %rdx
    movq %fs:32(%rdx), %rcx
    testq %rcx, %rcx
    jz 5f
    cmpq $0, 8(%rcx)
    jne 5f
    xorl %eax, %eax
    movl $1, %edx
    cmpxchgq %rdx, 8(%rcx)
    je 6f
5:  call sintonia_claim_pending
6:
.endm

# Replaces the return address by the return point of the claimed return in rcx, which is live from now on, and calls the target at +32 from
# that return point: the function finds the stack as the caller left it, and the processor predicts both returns. After too many tail calls
# in a row, continues behind the macro instead, and the return is not seen. Uses rax and rdx.
.macro CALL_IN_PLACE
    leaq 72(%rsp), %rax
    movq %rax, 16(%rcx)
    movq %r11, 24(%rcx)
    movq 72(%rsp), %rax
    movq %rax, (%rcx)
    leaq sintonia_return_points+4(%rip), %rdx
    subq %rdx, %rax
    movl $8, %edx
    cmpq $16*65536, %rax
    jae 1f
    leaq {pending}(%rip), %rdx  # a tail call: the distance must be another
    movq 56(%rdx,%rax,4), %rdx
    decq %rdx
    jz 2f
1:  movq %rdx, 56(%rcx)
    leaq {pending}(%rip), %rax
    movq %rcx, %rdx
    subq %rax, %rdx
    shrq $2, %rdx               # 64 bytes each; a return point has 16
    leaq sintonia_return_points(%rip), %rax
    addq %rdx, %rax
    movq %rax, 40(%rsp)
    addq $4, %rax
    movq %rax, 72(%rsp)
    movq 40(%rcx), %rax
    addq $2, %rax
    movq %rax, 40(%rcx)
    movq %rax, 8(%rcx)
    movq sintonia_ring@GOTTPOFF(%rip), %rdx
    addq $64, %rcx              # the last one of a block is never free
    movq %rcx, %fs:32(%rdx)
    GIVE_BACK
    leaq 80(%rsp), %rsp
    .cfi_def_cfa_offset 0
    UNWIND_BY_STACK
    jmp *-40(%rsp)              # below the stack pointer, but inside the red zone
    .cfi_def_cfa_offset 80
    .cfi_offset rip, -8
2:  movq $0, 8(%rcx)
.endm

# For functions that may have arguments on the stack: the function finds its stack as the caller left it, and returns to a return point.
    BEGIN_STUB sintonia_in_place
    NOTE_ENTRY
    CLAIM_PENDING
    testq %rcx, %rcx
    jz 7f                       # only the entry of this call is recorded
    movq 56(%rsp), %rax
    leaq 1(%rax,%rax), %rax
    movq %rax, 32(%rcx)
    movq 40(%rsp), %rax
    movq %rax, 48(%rcx)
    CALL_IN_PLACE
7:  JUMP_TO_TARGET sintonia_in_place

# Another function is called instead of the hooked one. A compiler that saw the hooked function may keep values in registers that it does not
# change; the replacement may change them all. So all are restored at the return, except those with a result.
    BEGIN_STUB sintonia_replace
    movq 80(%r11), %rax
    movq %rax, 32(%rsp)
    CLAIM_PENDING
    testq %rcx, %rcx
    jz 7f
    leaq {pending}(%rip), %rax
    movq %rcx, %rdx
    subq %rax, %rdx
    shlq $6, %rdx               # 64 bytes each; the registers have 4096
    addq {saved_registers}(%rip), %rdx
    movq %rdx, 32(%rcx)
    movq %rcx, 40(%rsp)
    movq %rdx, %rcx
    movq %rdi, (%rcx)
    movq %rsi, 8(%rcx)
    movq %r8, 16(%rcx)
    movq %r9, 24(%rcx)
    movq %r10, 32(%rcx)
    movq 8(%rsp), %rax
    movq %rax, 40(%rcx)         # rdx
    movq 16(%rsp), %rax
    movq %rax, 48(%rcx)         # rcx
    movq 24(%rsp), %rax
    movq %rax, 56(%rcx)         # r11
    SAVE_STATE $-2, %rcx, 128   # x87 results stay in the x87 unit
    movq 40(%rsp), %rcx
    CALL_IN_PLACE
7:  JUMP_TO_TARGET sintonia_replace

# Where functions whose return address is replaced are called from and return to: 16 bytes per pending return, so that the stack alone says
# which of them is meant, wherever the program has copied it. At the return the stack pointer is where the caller expects it, and the address
# of the return point is still below it. Unwinders look at the byte before a return address, so the call and the jump need the same
# unwind information.
    .balign 64
    .cfi_startproc
    UNWIND_BY_RIP
    .hidden sintonia_return_points
    .globl sintonia_return_points
sintonia_return_points:
    .rept 65536
    .byte 0xff, 0x54, 0x24, 0xd0        # call *-48(%rsp): the target is below the stack pointer, but inside the red zone
    .byte 0xe9                          # jmp sintonia_returned, never in its short form
    .long sintonia_returned-.-4
    .fill 7, 1, 0x90
    .endr
    .fill 56, 1, 0x90
    .long {pending}-.
    .long 0
    .cfi_endproc

    .type sintonia_returned, @function
sintonia_returned:
    .cfi_startproc
    .cfi_def_cfa_offset 0
    UNWIND_BY_STACK
    leaq -80(%rsp), %rsp
    .cfi_def_cfa_offset 80
    SAVE_REGISTERS
    leaq sintonia_return_points+4(%rip), %rax
    movq 72(%rsp), %rcx
    subq %rax, %rcx
    leaq {pending}(%rip), %rax
    leaq (%rax,%rcx,4), %rcx
    movq (%rcx), %rax
    movq %rax, 64(%rsp)
    .cfi_offset rip, -16
    movq 48(%rcx), %rax
    movq %rax, 40(%rsp)
    movq %rcx, 32(%rsp)
    movq 24(%rcx), %r11
    movq 32(%rcx), %rax
    testb $1, %al
    jz 8f
    shrq $1, %rax
    movq %rax, 56(%rsp)
    NOTE_EXIT
    # The pending return is free before the return point is overwritten: one that is live is never taken for left behind.
9:  movq 32(%rsp), %rcx
    movq sintonia_ring@GOTTPOFF(%rip), %rdx
    movq %fs:32(%rdx), %rax
    xorq %rcx, %rax
    cmpq $4096, %rax
    jae 1f                      # in another block, perhaps of another thread
    movq %rcx, %fs:32(%rdx)
1:  movq 64(%rsp), %rax
    movq $0, 8(%rcx)
    movq %rax, 72(%rsp)
    .cfi_offset rip, -8
    GIVE_BACK
    leaq 72(%rsp), %rsp
    .cfi_def_cfa_offset 8
    ret
    .cfi_def_cfa_offset 80
    .cfi_offset rip, -16
8:  movq %rax, %rcx             # a replaced function has returned
    movups %xmm0, 64(%rcx)
    movups %xmm1, 80(%rcx)
    GIVE_STATE_BACK $-2, %rcx, 128
    movq (%rcx), %rdi
    movq 8(%rcx), %rsi
    movq 16(%rcx), %r8
    movq 24(%rcx), %r9
    movq 32(%rcx), %r10
    movq 88(%r11), %rax
    testl $2, %eax
    jz 1f
    movups 64(%rcx), %xmm0
    movups 80(%rcx), %xmm1
1:  testl $1, %eax
    jnz 1f
    movq 40(%rcx), %rax
    movq %rax, 8(%rsp)          # rdx
1:  movq 48(%rcx), %rax
    movq %rax, 16(%rsp)         # rcx
    movq 56(%rcx), %rax
    movq %rax, 24(%rsp)         # r11
    jmp 9b
    .cfi_endproc
    .size sintonia_returned, .-sintonia_returned

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
    je 5f                       # at a computed location
    cmpl $4, %eax
    jb 6f                       # through an argument
    je 7f                       # a floating-point argument
    movq (%rsp), %rax           # a stack argument: the record has the stack pointer
    movq 16(%rax), %r11
    addq 8(%rdx), %r11
    jmp 10f
4:  movq 8(%rdx), %r11
    jmp 10f
5:  pushq %rcx
    .cfi_def_cfa_offset 32
    pushq %rdx
    .cfi_def_cfa_offset 40
    movq 8(%rdx), %r11
    call sintonia_compute
    movq %rcx, %rax
    popq %rdx
    .cfi_def_cfa_offset 32
    popq %rcx
    .cfi_def_cfa_offset 24
    jmp 20f
6:  movq (%rsp), %r11
    addq 8(%rdx), %r11
    movq (%r11), %r11
    cmpq $65536, %r11           # null, or not a pointer
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
11: movabsq ${null_pointer}, %rax
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
    SAVE_STATE $-1, %rsp
    movq %fs:0, %rdi
    addq sintonia_ring@GOTTPOFF(%rip), %rdi
    movq %r11, %rsi
    movl $\moment, %edx
    call \function
    movq %rax, %rcx
    GIVE_STATE_BACK $-1, %rsp
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
    CALL_OUT sintonia_claim_sums, {claim_sums}, 0
    CALL_OUT sintonia_act_entry, {act}, 1
    CALL_OUT sintonia_act_exit, {act}, 2
    CALL_OUT sintonia_claim_pending, {claim_pending}, 0
    CALL_OUT sintonia_compute, {compute}, 0

# One stub of 16 bytes per hook: pushes the offset of its entry and jumps to the common part.
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
    pushq $number*128
    .cfi_def_cfa_offset 16
    jmp \common
    .set number, number+1
    .endr
    .cfi_endproc
.endm

    STUBS sintonia_stubs_wrap, sintonia_wrap
    STUBS sintonia_stubs_in_place, sintonia_in_place
    STUBS sintonia_stubs_pass, sintonia_pass
    STUBS sintonia_stubs_replace, sintonia_replace
